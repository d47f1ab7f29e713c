"""`Note`: what a reader should know, and how much it matters."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from textwrap import fill
from typing import Literal, TypeAlias, get_args

from alldags.text import line_width, printable
from alldags.wording import in_python, on_command_line

Severity: TypeAlias = Literal["changes the answer", "check", "for the record"]
SEVERITIES: tuple[Severity, ...] = get_args(Severity)  # the worst first


@dataclass(frozen=True, slots=True)
class Note:
    """Something that a reader should know; ``str(note)`` is its text, and ``"rows" in note`` looks into it.

    Parameters
    ----------
    text
        A clause without capital and full stop; options in it may be marked (`alldags.wording`).
    severity
        ``"changes the answer"``: without it the number, its spread or its meaning would be another one. ``"check"``: it
        asks for a look. ``"for the record"``: how the answer came about.
    about
        Variables: the note matters to effects that run through one of them; empty: to all.
    short
        The same in at most one line of a screen, where the text has no clause that ends there; empty: the text.
    marked
        The text with the marks in it.

    Examples
    --------
    >>> import alldags as ad
    >>> study = ad.datasets.example()
    >>> (note,) = ad.fit({**study.table, "site": [1] * 500}, study.graph).notes
    >>> print(note), note.severity
    columns not in the graph were ignored: 'site'
    (None, 'for the record')
    """

    text: str
    severity: Severity = "for the record"
    about: tuple[str, ...] = ()
    short: str = field(default="", repr=False, compare=False)
    marked: str = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "marked", self.text)
        object.__setattr__(self, "text", in_python(self.text))

    @property
    def on_command_line(self) -> Note:
        """The same note in the words of the command line."""
        return Note(on_command_line(self.marked), self.severity, self.about, on_command_line(self.short))

    def __str__(self) -> str:
        return self.text

    def __contains__(self, words: str) -> bool:
        return words in self.text


class Notes(tuple[Note, ...]):
    """Notes that are printed one below the other, each kind under its name.

    Examples
    --------
    >>> from alldags.notes import Note, Notes
    >>> print(Notes([Note("3 rows were dropped", "changes the answer"), Note("no column was left out")]))
    changes the answer
    - 3 rows were dropped
    for the record
    - no column was left out
    """

    __slots__ = ()

    def __str__(self) -> str:
        kinds = ((kind, [note for note in self if note.severity == kind]) for kind in SEVERITIES)
        lines = [line for kind, found in kinds if found for line in (kind, *map(_item, found))]
        return "\n".join(lines) or "no notes"


def _item(note: Note) -> str:
    return fill(f"- {printable(note.text)}", line_width(), subsequent_indent="  ", break_on_hyphens=False)


def in_order(notes: Iterable[Note]) -> Notes:
    """Return notes, each text once, the worst first, otherwise as they came.

    Examples
    --------
    >>> from alldags.notes import Note, in_order
    >>> [note.text for note in in_order([Note("a"), Note("b", "check"), Note("a", "check")])]
    ['b', 'a']
    """
    found: dict[str, Note] = {}
    for note in sorted(notes, key=lambda note: SEVERITIES.index(note.severity)):
        found.setdefault(note.text, note)
    return Notes(found.values())
