"""An answer on one screen: a sentence, a few rows, what was adjusted for, what to beware of, and where more is.

At most 14 lines of 80 columns, whatever the effect. What does not fit stands in `alldags.show.words`, which has all.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from textwrap import wrap

from alldags.notes import SEVERITIES, Note
from alldags.show.hidden import hidden_short
from alldags.show.measures import mean_word, measured
from alldags.show.numbers import amount, graph_count, no_effect, number, percent, whole_percent
from alldags.show.summary import EffectSummary, LeastSquares
from alldags.show.words import Row, interval_name, raising, row_count, value_word
from alldags.text import line_width, printable
from alldags.wording import either, in_python, on_command_line

MOST_LINES = 14
_MOST_WARNINGS = 3
_MOST_ROWS = 6
_LONGEST_NAME = 20
_LEAST_ROOM = 20  # characters of a value
_NONE, _SURE = 0.01, 0.99  # probability of no effect between which the effect given that there is one comes first
_BARELY = 0.01  # share of the variance that is called "almost none"
_NAMED_FROM = 0.05  # posterior probability of a covariate that is named
_LIKELY = 0.9  # probability of one shape, from which on it is named
_IN_FULL = 0.95  # posterior probability of a covariate that is adjusted for in full
_CERTAIN = 0.995  # probability of a shape that needs no number
_GRAPH = "which causes act"  # what averaging over graphs is about
_NO_NAME = re.compile(r" \d+ covariates")  # instead of names, for which there was no room
_CURVES = "curves needed"  # in the regression of the outcome, to fit
_SOME = "in some graphs"  # is what is adjusted for as far as it is probable
_NOTES = "effect.notes"
_MORE = either('effect.details(), {notes}effect.report("x.html")', "--details{notes}, --json, --report x.html")


@dataclass(frozen=True, slots=True)
class Screen:
    """The parts of a printed answer.

    Parameters
    ----------
    sentence
        The answer.
    rows
        Pairs of a name and a value.
    under
        Lines under the rows, such as what was adjusted for.
    warnings
        Texts of notes that a reader must see, the worst first.
    hidden
        What a hidden cause would have to do; empty if there is nothing to say.
    more
        Where more is.
    notes
        Where all notes are.
    """

    sentence: str
    rows: tuple[Row, ...]
    under: tuple[str, ...]
    warnings: tuple[str, ...]
    hidden: str
    more: str
    notes: str = _NOTES


def screen_text(summary: EffectSummary, *, command: bool = False) -> str:
    """Return an answer as printed on a terminal, in the words of Python or of the command line.

    Examples
    --------
    >>> import alldags as ad
    >>> from alldags.show.screen import screen_text
    >>> study = ad.datasets.example()
    >>> print(screen_text(ad.fit(study.table, study.graph, terms=None, rng=0).effect("smoking", "risk").summary()))
    Raising smoking by one unit raises risk by 0.89 on average (95% interval 0.68
    to 1.09).
    <BLANKLINE>
      effect                     0.89   (0.68 to 1.09)
      least squares, adjusted    0.93   (0.75 to 1.11)
      least squares, unadjusted  0.81   (0.64 to 0.97)
      no effect at all           below 0.1% (19.7% before the data)
      uncertainty from           500 rows (71%), which causes act (29%)
    <BLANKLINE>
    Adjusted for age and income, in some graphs for sex; 65,536 graphs averaged.
    Hidden causes: one must explain 31% of both to reach zero (age: 5%, 8%).
    More: effect.details(), effect.report("x.html")
    """
    return laid_out(screen(summary, command=command))


def screen(summary: EffectSummary, *, command: bool = False) -> Screen:
    """Return the parts of a printed answer."""
    short = with_short_names(summary)
    return Screen(
        sentence=_sentence(short),
        rows=tuple(_rows(short))[:_MOST_ROWS],
        under=adjusted_line(short),
        warnings=warnings(summary.notes, command=command),
        hidden=hidden_short(short, command=command),
        more=more_line(len(summary.notes), command=command),
        notes="--details" if command else _NOTES,
    )


def warnings(notes: Iterable[Note], *, command: bool = False) -> tuple[str, ...]:
    """Return the texts of the notes that a reader must see, the worst first; short ones where there are such."""
    seen = [note for severity in SEVERITIES[:2] for note in notes if note.severity == severity]
    said = [note.on_command_line if command else note for note in seen]
    return tuple(note.short or note.text for note in said)


def more_line(notes: int, *, command: bool = False) -> str:
    """Say where more is."""
    said = (on_command_line if command else in_python)(_MORE)
    counted = f" ({notes} note{'s' * (notes > 1)})" if command else f"effect.notes ({notes}), "
    return f"More: {said.format(notes=counted if notes else '')}"


# -- layout ----------------------------------------------------------------------------------------------------------


def laid_out(parts: Screen) -> str:
    """Return the lines of a printed answer: empty ones only where there is room."""
    width = line_width()
    head = wrap(printable(parts.sentence), width, max_lines=4, placeholder=" ...", break_on_hyphens=False)
    ends = [line for text in (parts.hidden, parts.more) if text for line in _filled(text, width)]
    under = [line for text in parts.under for line in _filled(text, width)]
    room = MOST_LINES - len(head) - len(under) - len(ends)
    rows = _row_lines(parts.rows, width, 2)
    least = min(len(parts.warnings), 2)  # the worst, and how many more there are
    rows = rows if len(rows) + max(least, 1) <= room else _row_lines(parts.rows, width, 1)
    room -= len(rows)
    beware = fitted(parts.warnings, room, width, parts.notes)
    first = [""] * (room > len(beware))
    second = [""] * (room > len(beware) + 1 and bool(rows))
    return "\n".join([*head, *first, *rows, *second, *under, *beware, *ends])


def fitted(texts: Sequence[str], room: int, width: int, where: str = _NOTES) -> list[str]:
    """Return up to three warnings as lines, each with one line, and a second where there is room."""
    most = max(min(_MOST_WARNINGS, room), 0)
    shown = list(texts[:most])
    if 1 < most < len(texts):
        shown[-1] = f"{len(texts) - most + 1} more to read before you use the number: {where}"
    spare, lines = room - len(shown), list[str]()
    for text in shown:
        found = _warning(text, width, 1 + (spare > 0))
        spare -= len(found) - 1
        lines += found
    return lines


def _warning(text: str, width: int, lines: int) -> list[str]:
    """Return one warning in at most so many lines: whole, up to the end of a clause, or with an ellipsis."""
    text = printable(text)
    cut = [text, *(text[:end] for end in _clause_ends(text) if end > (width - 2) * (lines - 0.4))]
    fits = next((part for part in cut if len(_plain_wrap(part, width - 2)) <= lines), text)
    found = wrap(fits, width - 2, max_lines=lines, placeholder=" ...", break_on_hyphens=False)
    return [f"{'!' if i == 0 else ' '} {line}" for i, line in enumerate(found)]


def _clause_ends(text: str) -> list[int]:
    """Return where clauses end, the last first."""
    marks = (i for i in range(len(text) - 1, 0, -1) if text[i] in ",;:" and text[i + 1 : i + 2] == " ")
    return [i for i in marks if text.count("(", 0, i) == text.count(")", 0, i)]


def _plain_wrap(text: str, width: int) -> list[str]:
    return wrap(text, width, break_on_hyphens=False)


def _filled(text: str, width: int) -> list[str]:
    return wrap(printable(text), width, break_on_hyphens=False)


def _row_lines(rows: Sequence[Row], width: int, most: int) -> list[str]:
    """Lay out names and values in two columns; a value that does not fit goes on below itself, up to so many lines."""
    start = max((len(printable(name)) for name, _ in rows), default=0) + 4
    room = max(width - start, _LEAST_ROOM)
    lines = []
    for name, value in rows:
        first, *more = wrap(printable(value), room, max_lines=most, placeholder=" ...") or [""]
        lines += [f"  {printable(name)}".ljust(start) + first, *(" " * start + part for part in more)]
    return lines


# -- names -----------------------------------------------------------------------------------------------------------


def short_name(name: str, most: int = _LONGEST_NAME) -> str:
    """Return a name that fits into a line, its middle left out where it is long.

    Examples
    --------
    >>> from alldags.show.screen import short_name
    >>> short_name("systolic_blood_pressure_at_entry"), short_name("age")
    ('systolic_bl…at_entry', 'age')
    """
    return name if len(name) <= most else f"{name[: most - most * 2 // 5 - 1]}…{name[len(name) - most * 2 // 5 :]}"


def with_short_names(summary: EffectSummary) -> EffectSummary:
    """Return the same answer with names that fit into a line."""
    hidden = summary.hidden
    return replace(
        summary,
        treatment=short_name(summary.treatment),
        outcome=short_name(summary.outcome),
        adjusted=tuple(replace(item, name=short_name(item.name)) for item in summary.adjusted),
        hidden=hidden and replace(hidden, covariate=hidden.covariate and short_name(hidden.covariate, 14)),
        treatment_words=_short_words(summary.treatment_words),
        outcome_words=_short_words(summary.outcome_words),
    )


def _short_words(words: tuple[str, str] | None) -> tuple[str, str] | None:
    return words and (short_name(words[0], 14), short_name(words[1], 14))


# -- sentence --------------------------------------------------------------------------------------------------------


def _sentence(summary: EffectSummary) -> str:
    x, y, atom = summary.treatment, summary.outcome, summary.probability_no_effect
    if atom == 1.0 and not summary.has_path:
        back = f"; {y} acts on {x} in some" if summary.has_reverse_path else ""
        return f"No candidate graph has a path from {x} to {y}, so the effect is zero by assumption{back}."
    if atom is not None and atom > _SURE:
        none = f"the probability of none is {no_effect(summary, atom)}"
        return f"Most probably {x} has no effect on {y}, or one too small to see: {none}."
    if _in_doubt(summary) and summary.given_effect is not None:
        given, likely = summary.given_effect, percent(1.0 - (atom or 0.0))
        changed = _changed(summary, given.mean, given.low, given.high)
        raised = raising(summary)
        return f"If {x} acts on {y} at all ({likely}), {raised[:1].lower()}{raised[1:]} {changed}."
    return f"{raising(summary)} {_changed(summary, summary.mean, summary.low, summary.high)}."


def _in_doubt(summary: EffectSummary) -> bool:
    return summary.probability_no_effect is not None and _NONE <= summary.probability_no_effect <= _SURE


def _changed(summary: EffectSummary, mean: float, low: float, high: float) -> str:
    """Say by how much the outcome changes; which way, where the interval leaves no doubt."""
    verb, size = "changes", mean
    if low > 0 or high < 0:
        verb, size = ("raises", mean) if mean > 0 else ("lowers", -mean)
    ends = f"{amount(summary, low)} to {amount(summary, high)}"
    return f"{verb} {measured(summary)} by {amount(summary, size)} on average ({interval_name(summary)} {ends})"


# -- rows ------------------------------------------------------------------------------------------------------------


def _rows(summary: EffectSummary) -> list[Row]:
    if summary.probability_no_effect == 1.0 and not summary.has_path:
        return size_rows(summary, _least_squares(summary))
    sizes = [*_effects(summary), *_least_squares(summary)]
    found = [*size_rows(summary, sizes), *no_effect_rows(summary), *_uncertainty(summary)]
    place = len(_effects(summary))
    return [*found[:place], *_levels(summary), *found[place:]] if len(found) < _MOST_ROWS else found


Size = tuple[str, float, float, float]  # of a row: its name, estimate and interval


def _effects(summary: EffectSummary) -> list[Size]:
    mode = " (mode)" if summary.estimate == "posterior mode" else ""
    if not _in_doubt(summary) or summary.given_effect is None:
        return [(f"effect{mode}", summary.mean, summary.low, summary.high)]
    given = summary.given_effect
    return [
        ("effect if there is one", given.mean, given.low, given.high),
        ("averaged with none", summary.mean, summary.low, summary.high),
    ]


def _least_squares(summary: EffectSummary) -> list[Size]:
    plain, alone = summary.least_squares, summary.least_squares_alone
    if plain is not None and not plain.covariates:
        return [_size("least squares", plain)]
    named = (("least squares, adjusted", plain), ("least squares, unadjusted", alone))
    return [_size(name, found) for name, found in named if found is not None]


def _size(name: str, found: LeastSquares) -> Size:
    return name, found.estimate, found.low, found.high


def size_rows(summary: EffectSummary, sizes: Sequence[Size]) -> list[Row]:
    """Write estimates under each other, their intervals beside them."""
    means = [amount(summary, mean) for _, mean, _, _ in sizes]
    wide = max(map(len, means), default=0)
    return [
        (name, f"{text.rjust(wide)}   ({amount(summary, low)} to {amount(summary, high)})")
        for text, (name, _, low, high) in zip(means, sizes, strict=True)
    ]


def _levels(summary: EffectSummary) -> list[Row]:
    """Give the mean outcome under both values of the treatment."""
    if summary.levels is None:
        return []
    name = f"{mean_word(summary, 'mean outcome')}, adjusted"
    at = ["as it is", "one unit up"]
    if summary.contrast is not None:
        at = [f"at {value_word(summary, value)}" for value in summary.contrast]
    return [(name, ", ".join(f"{number(level)} {where}" for level, where in zip(summary.levels, at, strict=True)))]


def no_effect_rows(summary: EffectSummary) -> list[Row]:
    """Give the probability of no effect before and after the data, where it was in doubt."""
    atom, before = summary.probability_no_effect, summary.prior_no_effect
    if atom is None or not summary.asks_whether:
        return []
    said = "" if before is None else f" ({percent(before)} before the data)"
    if _in_doubt(summary):
        said = said.replace(" the data", "") + "; small effects look the same"
    return [("no effect at all", f"{no_effect(summary, atom)}{said}")]


def _uncertainty(summary: EffectSummary) -> list[Row]:
    """Say where the variance comes from."""
    if summary.sd == 0.0:
        return []
    return [("uncertainty from", "too few rows to say" if math.isinf(summary.sd) else _parts(summary))]


def _parts(summary: EffectSummary) -> str:
    """Name where the variance comes from, with shares where they are known: the rows, and what else is not known."""
    units = f"{row_count(summary)} rows" if summary.clusters is None else f"{summary.clusters.clusters:,} clusters"
    averaged = summary.log10_graphs > 0 and summary.scope is None
    known = {_GRAPH: summary.sd_structure if averaged else None, "a hidden cause": summary.sd_hidden}
    known["missing values"] = None if summary.missing is None else summary.missing.sd
    shares = {name: _share(summary, sd) for name, sd in known.items() if sd is not None}
    if not shares:
        return f"{units} and {_GRAPH}" if averaged else units
    large = {name: share for name, share in shares.items() if share >= _BARELY}
    rest = f" ({whole_percent(max(1.0 - sum(shares.values()), 0.0))})" if large else ""
    hardly = "".join(f"; hardly from {name}" for name in shares if name not in large)
    return ", ".join([f"{units}{rest}", *(f"{name} ({_part(summary, name, large)})" for name in large)]) + hardly


def _part(summary: EffectSummary, name: str, shares: Mapping[str, float]) -> str:
    directions = _share(summary, summary.sd_direction or 0.0) if name == _GRAPH else 0.0
    open_ways = f", {whole_percent(directions)} no rows can tell" if directions > _BARELY else ""
    return f"{whole_percent(shares[name])}{open_ways}"


def _share(summary: EffectSummary, sd: float) -> float:
    return min((sd / summary.sd) ** 2, 1.0)


# -- adjusted --------------------------------------------------------------------------------------------------------


def adjusted_line(summary: EffectSummary) -> tuple[str, ...]:
    """Say in a line or two what was adjusted for, over how many graphs, and whether straight lines are enough."""
    if not summary.has_path:
        return ()
    end = ", ".join(part for part in (_graphs(summary), _shape(summary)) if part)
    width = line_width()
    short = f"Adjusted {_adjusted(summary, width - len(f'Adjusted ; {end}.'))}; {end}."
    if len(short) <= width and not _NO_NAME.search(short):
        return (short,)
    why = ": straight lines do not fit" if end.endswith(f", {_CURVES}") else ""
    return f"Adjusted {_adjusted(summary, width - len('Adjusted .'))}.", f"{end[0].upper()}{end[1:]}{why}."


def _adjusted(summary: EffectSummary, room: int) -> str:
    """Name the covariates that are in nearly every graph, and those that are in some."""
    if not summary.adjusted:
        return f"for {_candidates(summary)}"
    named = [item for item in summary.adjusted if not item.probability < _NAMED_FROM]
    full = [item.name for item in named if not item.probability < _IN_FULL]
    part = [item.name for item in named if item.name not in full]
    if not named:
        return f"for none of {len(summary.adjusted)} candidates"
    if not full or not part:
        return f"{f'{_SOME} ' * bool(part)}for {_listed(full or part, room - len(f'{_SOME} for '))}"
    for share in (room // 3, 0):  # of what is in some graphs; names of what is in all come first
        some = f", {_SOME} for {_listed(part, max(share, len('99 more')), 'more')}"
        text = f"for {_listed(full, room - len('for ') - len(some))}"
        if not _NO_NAME.search(text):
            break
    return f"{text}{some}"


def _candidates(summary: EffectSummary) -> str:
    """Say what an answer that is not told edge by edge was adjusted for."""
    if summary.either_side:
        return f"what comes before {summary.treatment} in each graph"
    count = 0 if summary.least_squares is None else summary.least_squares.covariates
    return f"all {count} candidates" if count else "nothing"


def _listed(names: Sequence[str], room: int, rest_word: str = "covariates") -> str:
    """Name as many as fit, and say how many more there are."""
    for shown in range(len(names), 0, -1):
        rest = len(names) - shown
        parts = [*names[:shown], *([f"{rest} more"] if rest else [])]
        text = parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
        if len(text) <= room:
            return text
    return f"{len(names)} {rest_word}"


def _graphs(summary: EffectSummary) -> str:
    if summary.scope is not None:
        return summary.scope
    count = graph_count(summary.log10_graphs)
    return "one candidate graph" if count == "1" else f"{count} graphs averaged"


def _shape(summary: EffectSummary) -> str:
    """Say which shape the regression of the outcome most probably has, where several were averaged."""
    if len(summary.shapes) < 2:
        return ""
    name, likely = max(summary.shapes, key=lambda pair: pair[1])
    if likely < _LIKELY:
        return "with and without curves"
    needed = f"no {_CURVES}" if name == "straight" else _CURVES
    return needed if likely > _CERTAIN else f"{needed} ({whole_percent(likely)} probable)"
