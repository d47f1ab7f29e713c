"""What a page asks before it answers: which columns and rows are left out, and what is done about gaps.

Nothing is left out that was not agreed to. A question carries what was: ``left``, the columns; ``rows``, the variables
whose gaps leave rows out; ``missing``, what is done about all other gaps.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from alldags.app.study import Column, Study, names_in
from alldags.graph.candidate import CandidateGraph
from alldags.text import some

Ask: TypeAlias = dict[str, Any]
_MOST_NAMED = 12


def asks(study: Study, question: Mapping[str, Any], graph: CandidateGraph) -> list[Ask]:
    """Return what is still to be asked, in the order in which a reader meets it.

    Each has a ``text``, perhaps a list of ``items``, and ``choices``: pairs of a label and what choosing it adds to the
    question (``before``: columns that are placed before the treatment).

    Parameters
    ----------
    study
        The table.
    question
        As for `alldags.app.answer.answer`.
    graph
        That of the question.
    """
    agreed = names_in(question.get("left"))
    open_columns = [one for one in study.columns if one.name not in graph.variables and one.name not in agreed]
    odd = [one for one in open_columns if one.trouble or one.is_identifier]
    rest = [one.name for one in open_columns if not (one.trouble or one.is_identifier)]
    return [*_odd(odd), *_unplaced(rest, question), *_gaps(study, question, graph)]


def _odd(columns: Sequence[Column]) -> Iterable[Ask]:
    if columns:
        yield {
            "text": f"{_columns(len(columns))} left out. Is that right?",
            "items": [one.trouble or _counts_rows(one.name) for one in columns],
            "choices": [["Yes, go on without", {"left": [one.name for one in columns]}]],
        }


def _counts_rows(name: str) -> str:
    return f"column {name!r} looks like a row number or an identifier; to use it, place it below"


def _columns(count: int) -> str:
    return f"{count:,} columns are" if count > 1 else "One column is"


def _unplaced(names: Sequence[str], question: Mapping[str, Any]) -> Iterable[Ask]:
    treatment, outcome = question["treatment"], question["outcome"]
    if names:
        before = f"{'All' if len(names) > 1 else 'It'} may act on {treatment} and {outcome}: adjust for {_them(names)}"
        yield {
            "text": f"Where {'do' if len(names) > 1 else 'does'} {some(names, _MOST_NAMED)} belong? What comes before "
            f"{treatment} and may act on it and on {outcome} has to be adjusted for; what {treatment} may act on must "
            "not stand before it. Place columns one by one below, or all at once:",
            "choices": [[before, {"before": list(names)}], [f"Leave {_them(names)} out", {"left": list(names)}]],
        }


def _them(names: Sequence[str]) -> str:
    return "them all" if len(names) > 1 else "it"


def _gaps(study: Study, question: Mapping[str, Any], graph: CandidateGraph) -> Iterable[Ask]:
    """Ask about rows without a variable that acts on nothing, such as the outcome, and about all other gaps."""
    known = {one.name: one for one in study.columns}
    found = [known[name] for name in graph.variables if known[name].gaps]
    acting = {cause for cause, _ in graph.edges}
    ends = [one for one in found if one.name not in acting and not one.words]
    others = [one for one in found if one not in ends]
    missing = question.get("missing")
    agreed = names_in(question.get("rows"))
    for one in ends if missing != "drop" else ():
        if one.name not in agreed:
            yield {
                "text": f"{one.gaps:,} of {study.rows:,} rows have no {one.name}: nothing can be learned about it from "
                "them. What is left stands for all only if its values are missing by chance.",
                "choices": [["Leave these rows out", {"rows": [one.name]}]],
            }
    if others and missing is None:
        yield _other_gaps(study, others, graph)


def _other_gaps(study: Study, columns: Sequence[Column], graph: CandidateGraph) -> Ask:
    counts = some([f"{one.name} ({one.gaps:,})" for one in columns], _MOST_NAMED)
    dropped = study.incomplete(graph.variables)
    return {
        "text": f"Values are missing in {counts}. What is to be done about them? Columns can be left out, too.",
        "choices": [
            ["Fill them in several times, and average", {"missing": "impute"}],
            [f"Leave out all {dropped:,} rows with a gap, of {study.rows:,}", {"missing": "drop"}],
        ],
    }
