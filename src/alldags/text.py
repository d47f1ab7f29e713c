"""Text for people: of bounded length, without control characters, as wide as the terminal."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterable
from dataclasses import dataclass

LONGEST_LINE = 78  # characters of a line of prose: longer ones are hard to read, however wide the terminal is
_SHORTEST_LINE = 20
_LONGEST_MESSAGE = 500
_GAP = " [...] "
_SPELLED = str.maketrans({"…": "...", "±": "+/-", "↔": "<->"})


def printable(text: str) -> str:
    r"""Return the text with everything that would move a terminal's cursor written as an escape.

    Examples
    --------
    >>> from alldags.text import printable
    >>> print(printable("blood\tpressure \x1b[31m"))
    blood\tpressure \x1b[31m
    """
    if not text.isprintable():
        text = "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in text)
    return encodable(text)


def encodable(text: str) -> str:
    """Return the text in letters that standard output has; others are spelled, or written as an escape."""
    encoding = getattr(sys.stdout, "encoding", None)
    if text.isascii() or encoding is None:
        return text
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        return text.translate(_SPELLED).encode(encoding, "backslashreplace").decode(encoding)
    return text


def shortened(text: str, most: int = _LONGEST_MESSAGE) -> str:
    """Return the text with its middle left out where it is long; the end of a message says what to do.

    Examples
    --------
    >>> from alldags.text import shortened
    >>> shortened("a" * 30 + "z" * 30, most=20)
    'aaaaaaaa [...] zzzzz'
    """
    if len(text) <= most:
        return text
    kept = most - len(_GAP)
    return text[: kept - kept * 2 // 5] + _GAP + text[len(text) - kept * 2 // 5 :]


def some(items: Iterable[str], most: int = 4) -> str:
    """Return the first of some items with commas, and how many more there are.

    Examples
    --------
    >>> from alldags.text import some
    >>> some(["a", "b", "c"], most=2)
    'a, b and 1 more'
    """
    shown = list(items)
    more = f" and {len(shown) - most} more" if len(shown) > most else ""
    return ", ".join(shown[:most]) + more


@dataclass(frozen=True, slots=True)
class Printed:
    """What has just been printed: nothing is shown twice, whether it is printed once more or left to a prompt.

    Parameters
    ----------
    text
        What was printed.

    Examples
    --------
    >>> from alldags.text import Printed
    >>> print(Printed.now("said"), end="")
    said
    """

    text: str

    @classmethod
    def now(cls, text: str) -> Printed:
        """Print a text, and return it."""
        print(text)
        return cls(text)

    def __str__(self) -> str:
        return ""

    __repr__ = __str__

    def _ipython_display_(self) -> None:
        """Show nothing more in a notebook."""


def line_width() -> int:
    """Return how many characters a line of prose may have: as many as fit on the terminal, but not more than 78."""
    return max(_SHORTEST_LINE, min(LONGEST_LINE, shutil.get_terminal_size().columns - 2))


def table_width() -> int | None:
    """Return how many characters a line of a table may have; None where it is not shown on a terminal."""
    return shutil.get_terminal_size().columns if sys.stdout is not None and sys.stdout.isatty() else None
