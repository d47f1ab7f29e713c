"""Notes on likely mistakes in the data: what goes through without an error, and should not go through unseen.

Each is one line. What moments show is noted whatever the data came from; the rest where rows were seen.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from alldags.assumptions.examined import ExaminedEffect
from alldags.assumptions.outside import outside_note
from alldags.data.look import ColumnLook
from alldags.data.seen import Seen
from alldags.effects.regression import adjustment_set
from alldags.engines.suits import takes_groups
from alldags.graph.candidate import CandidateGraph
from alldags.models.categories import can_be_category
from alldags.notes import Note
from alldags.show.numbers import number
from alldags.text import some
from alldags.typing import FloatArray
from alldags.wording import option

COPY = 0.999  # correlation of near copies
_EXACT = 1e-9  # of the variance: what is left of a column that others determine
_MEMBER = 1e-6  # of a weight, in standard deviations
_NEAR = 0.1  # of the range: how far outside a value may be without changing the answer
_MOST_CODES = 8  # columns that an advice names
_HEAVY = 0.5  # share of the sum of squares of one cell


def table_notes(seen: Seen, graphs: Sequence[CandidateGraph], always: Sequence[str] = ()) -> tuple[Note, ...]:
    """Return the notes on the columns of a table.

    Parameters
    ----------
    seen
        The table.
    graphs
        The candidate graphs: copies matter among the possible causes of one variable.
    always
        Columns that were asked for, such as a trend, of which nobody need be told that they count rows.
    """
    causes = [frozenset(graph.parents(child)) for graph in graphs for child in graph.variables]
    groups = [group for group in dict.fromkeys(causes) if len(group) > 1]
    return (*_dependence_notes(seen, groups), *_row_notes(seen, always))


def effect_data_notes(effect: ExaminedEffect) -> Iterator[Note]:
    """Return the notes on the columns that one effect is about."""
    if not effect.workings.variables:
        none = f"no candidate path leads from {effect.treatment} to {effect.outcome}: if one is possible, add its edges"
        yield Note(none, "changes the answer")
        return
    seen = effect.posterior.workings.data.seen
    if seen is not None:
        yield from _coding_note(effect, seen)
        yield from _skewed_note(effect, seen)
        yield from _staggered_note(effect.treatment, seen)
        yield from _codes_note(effect, seen)
        yield from outside_note(effect, seen)


def range_note(seen: Seen | None, name: str, values: Iterable[float]) -> tuple[Note, ...]:
    """Say that a variable is set to a value outside those that were observed."""
    ends = None if seen is None else seen.look(name).ends
    if ends is None:
        return ()
    low, high = ends
    slack = 1e-9 * (high - low)
    out = [value for value in dict.fromkeys(values) if not low - slack <= value <= high + slack]
    if not out:
        return ()
    few = " and ".join(f"{name} = {number(value)}" for value in out)
    listed = few if len(out) < 3 else f"{name} = {some(map(number, out), 3)}"
    text = (
        f"{listed} {'is' if len(out) == 1 else 'are'} outside the observed values ({number(low)} to {number(high)}): "
        "the answer extends straight lines to where there are no data"
    )
    is_far = any(not low - _NEAR * (high - low) <= value <= high + _NEAR * (high - low) for value in out)
    return (Note(text, "changes the answer" if is_far else "check"),)


# -- what moments show -------------------------------------------------------------------------------------------------


def _dependence_notes(seen: Seen, causes: Sequence[frozenset[str]]) -> Iterator[Note]:
    """Say which candidate causes are copies of each other, or determine each other together."""
    moments = seen.moments
    spread = np.sqrt(np.maximum(np.diag(moments.scatter), 0.0))
    if not causes or not (spread > 0).all():
        return
    correlation = moments.scatter / np.outer(spread, spread)
    copies = _copies(correlation, moments.names, causes)
    if copies:
        yield Note(_copies_words(copies), "check")
    if len(moments.names) < moments.n / 2:
        paired = {name for *pair, _ in copies for name in pair}
        yield from _determined_words(seen, list(_determined(seen, correlation, causes, paired)))


def _determined(
    seen: Seen, correlation: FloatArray, causes: Sequence[frozenset[str]], paired: set[str]
) -> Iterator[tuple[tuple[str, ...], bool]]:
    """Yield candidate causes the last of which the others determine, and whether they are all levels of a category."""
    names, spread = seen.moments.names, np.sqrt(np.diag(seen.moments.scatter))
    for place, weights in _dependencies(correlation):
        others = np.flatnonzero(weights)
        members = tuple(names[i] for i in (*others.tolist(), place))
        if len(members) > 2 and names[place] not in paired and any(group.issuperset(members) for group in causes):
            slopes = weights[others] * spread[place] / spread[others]
            dummies = all(seen.look(name).is_yes_no for name in members)
            yield members, dummies and bool(np.allclose(slopes, -1.0, atol=1e-6))


def _determined_words(seen: Seen, found: Sequence[tuple[tuple[str, ...], bool]]) -> Iterator[Note]:
    for members in (members for members, is_category in found if is_category):
        total = sum(float(seen.moments.mean[seen.moments.index[name]]) for name in members)
        yield Note(
            f"the 0/1 columns {_listed(members)} add up to {total:.0f} in every row (dummy trap): leave one out, as "
            "the reference",
            "check",
        )
    others = [f"{members[-1]!r} by {_listed(members[:-1])}" for members, is_category in found if not is_category]
    if others:
        who = f"candidate causes determine each other: {some(others, 2)}"
        yield Note(f"{who}; data cannot tell which act: leave one out", "check")


def _copies(
    correlation: FloatArray, names: Sequence[str], causes: Sequence[frozenset[str]]
) -> list[tuple[str, str, float]]:
    """Return pairs of candidate causes of one child that are (near) copies, with their correlation, closest first."""
    first, second = np.nonzero(np.triu(np.abs(correlation) >= COPY, 1))
    pairs = [
        (names[i], names[j], float(correlation[i, j])) for i, j in zip(first.tolist(), second.tolist(), strict=True)
    ]
    found = [pair for pair in pairs if any(pair[0] in group and pair[1] in group for group in causes)]
    return sorted(found, key=lambda pair: -abs(pair[2]))


def _copies_words(copies: Sequence[tuple[str, str, float]]) -> str:
    shown = some([f"{a!r} and {b!r} (correlation {_correlation(r)})" for a, b, r in copies])
    return f"candidate causes are (nearly) copies of each other: {shown}; data cannot tell which acts: keep one"


def _correlation(value: float) -> str:
    return f"{math.copysign(math.floor(abs(value) * 1e4 + 1e-6) / 1e4, value):.4g}"


def _dependencies(correlation: FloatArray) -> Iterator[tuple[int, FloatArray]]:
    """Yield columns that those before them determine, with the weights of these, shape (m,): Cholesky, skipping them.

    Examples
    --------
    >>> import numpy as np
    >>> from alldags.assumptions.data_notes import _dependencies
    >>> a, b = np.random.default_rng(0).standard_normal((2, 50))
    >>> place, weights = next(_dependencies(np.corrcoef([a, b, a + b])))
    >>> place, (weights != 0).tolist()
    (2, [True, True, False])
    """
    from scipy.linalg import solve_triangular

    m = len(correlation)
    if np.linalg.eigvalsh(correlation)[0] > _EXACT:
        return
    factor, kept = np.zeros((m, m)), list[int]()
    for place in range(m):
        r = len(kept)
        row = solve_triangular(factor[:r, :r], correlation[kept, place], lower=True)
        left = 1.0 - float(row @ row)
        if left > _EXACT:
            factor[r, :r], factor[r, r] = row, math.sqrt(left)
            kept.append(place)
            continue
        weights = np.zeros(m)
        weights[kept] = solve_triangular(factor[:r, :r], row, lower=True, trans="T")
        yield place, np.where(np.abs(weights) > _MEMBER, weights, 0.0)


# -- what rows show ----------------------------------------------------------------------------------------------------


def _row_notes(seen: Seen, always: Sequence[str]) -> Iterator[Note]:
    """Say which columns have values that stand for missing ones, one cell that outweighs the rest, or row numbers."""
    looks = seen.numbers()
    coded = [look for look in looks if look.codes]
    if coded:
        listed = some(map(_coded, coded))
        yield Note(
            f"values that look like codes for missing ones, far outside the rest: {listed}; they were used as numbers: "
            "leave those cells empty and say what to do about missing values",
            "check",
        )
    heavy = [look for look in looks if not look.codes and look.heaviest[1] > _HEAVY]
    if heavy:
        cells = some(map(_heavy_cell, heavy))
        yield Note(f"one cell carries most of the sum of squares: {cells}; is it a typing error?", "check")
    ids = [look.name for look in looks if look.is_identifier and look.name not in always]
    if ids:
        yield Note(
            f"{_listed(ids)} look{'s' if len(ids) == 1 else ''} like a row number or an identifier: leave it out of "
            "the graph, unless the order of rows matters",
            "check",
        )


def _coded(look: ColumnLook) -> str:
    value, count = look.codes[-1]
    return f"{number(value)} in {look.name!r} ({count:,} row{'s' * (count > 1)})"


def _heavy_cell(look: ColumnLook) -> str:
    value, share = look.heaviest
    return f"{number(value)} in {look.name!r} ({100 * min(share, 1.0):.0f}%)"


# -- one effect --------------------------------------------------------------------------------------------------------


def _coding_note(effect: ExaminedEffect, seen: Seen) -> Iterator[Note]:
    """Say that a yes/no outcome was taken for a number."""
    name, workings = effect.outcome, effect.posterior.workings
    said = any("may be yes/no" in note for note in workings.notes)
    values = None if effect.measure or said or name in workings.data.families else seen.look(name).two_values
    if values == (0.0, 1.0):
        yield Note(
            f"{name} is 0 or 1, and straight lines were put through it (a linear probability model): effects are "
            f"differences of probability, and may leave 0 to 1; without {option('families', 'normal')} the model is "
            "logistic",
            "changes the answer",
        )
    elif values is not None:
        low, high = map(number, values)
        only = f"{name} has two values only, {low} and {high}"
        yield Note(f"{only}: code it 0 and 1 to have a logistic model instead of straight lines", "check")


def _codes_note(effect: ExaminedEffect, seen: Seen) -> Iterator[Note]:
    """Say which covariates are small whole numbers, that may be codes of levels, and were taken as amounts."""
    posterior, workings = effect.posterior, effect.posterior.workings
    rows = workings.table
    if rows is None or "moments" in rows.asked or not takes_groups(workings.store.engine):
        return  # no levels could be counted, or used
    names = [
        name
        for name in adjustment_set(posterior.graphs, effect.treatment, effect.outcome)
        if name not in workings.data.levels and name not in workings.data.was_set
        if seen.look(name).may_be_codes and can_be_category(name, posterior.graphs)
    ]
    if names:
        few = len(names) <= _MOST_CODES  # many of them are coded on purpose, as counts of alleles are
        all_of_them = option("categories", names) if few else option("categories")
        taken = "was taken as an amount" if len(names) == 1 else "were taken as amounts"
        text = f"codes or amounts? {_listed(names)} {taken}; if the numbers are codes of levels: {all_of_them}"
        yield Note(text, "check" if few else "for the record")


def _skewed_note(effect: ExaminedEffect, seen: Seen) -> Iterator[Note]:
    """Say that a skewed outcome has families of its own, and that Student's is none of them."""
    name, data = effect.outcome, effect.posterior.workings.data
    look = seen.look(name)
    if not look.is_skewed or look.ends is None or name in data.families:
        return
    zeros = look.ends[0] == 0.0
    better = option("families", {name: "hurdle" if zeros else "gamma"}) if look.ends[0] >= 0.0 else "normal noise"
    if name in data.heavy:
        yield Note(
            f"{name} is skewed, and Student's noise is not: the answer is about the middle of {name}, to which its "
            f"largest values hardly count, not about its mean; use {better}",
            "changes the answer",
        )
    elif zeros and not look.is_whole:
        yield Note(
            f"{name} is an amount with zeros: {better} takes whether there is any and how much for two regressions, "
            "which fits such outcomes better than lines",
            "check",
            short=f"{name} is an amount with zeros, which the family hurdle fits better than lines",
        )
    elif look.ends[0] > 0.0 and not look.is_whole:
        yield Note(
            f"{name} is positive and skewed: {better} (or 'lognormal') lets causes multiply its mean, and noise grow "
            "with it, which fits such outcomes better than lines",
            "check",
            short=f"{name} is positive and skewed, which the family gamma fits better than lines",
        )


def _staggered_note(treatment: str, seen: Seen) -> Iterator[Note]:
    """Say what fixed effects of units and times average over if a treatment was adopted at different times."""
    if treatment in seen.staggered:
        yield Note(
            f"{treatment} was switched on at different times: fixed effects of units and times then compare later "
            "adopters with earlier ones, too, and average the effects on all of them with weights that can be negative "
            "(Goodman-Bacon 2021); where effects differ between adopters, or grow with time, the answer may lie "
            "outside all of them",
            "check",
        )


# -- words -------------------------------------------------------------------------------------------------------------


def _listed(names: Iterable[str]) -> str:
    return some([repr(name) for name in names])
