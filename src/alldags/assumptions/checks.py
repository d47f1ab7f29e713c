"""`Posterior.checks`: what the data show of the assumptions behind an answer."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby

import numpy as np

from alldags import meetings
from alldags.assumptions.checked import ROWS_PER_CAUSE, Checked, rows_of, said_of_rows
from alldags.assumptions.examined import ExaminedPosterior
from alldags.assumptions.independences import Independence, implied_independences
from alldags.assumptions.misfit import Residuals, p_values
from alldags.assumptions.moments import association, inflation, inflation_of_group, partial_correlations
from alldags.assumptions.overlap import Overlap, differences_of_moments, overlap_line, overlaps
from alldags.assumptions.regression import fit_rows, score_tests
from alldags.effects.regression import adjustment_set
from alldags.errors import AlldagsError
from alldags.models.capabilities import data_asks
from alldags.show.checks import KINDS, CheckLine, Checks
from alldags.show.numbers import number, percent

LEVEL = 0.01  # p-value, times the number of checks of a kind, below which chance does not explain a finding
LARGE_SHARE = 0.01  # of what a regression leaves unexplained
LARGE_CORRELATION = 0.05
LARGE_INFLATION = 10.0
LARGE_DIFFERENCE = 0.25  # standard deviations between the arms
LARGE_DISPERSION = 1.5
_NOT_BY_LOT = "{name} was randomised, so look whether chance alone decided"


def check_posterior(posterior: ExaminedPosterior, treatment: str | None, outcome: str | None) -> Checks:
    """Make all checks of a posterior, or of what one effect needs.

    Parameters
    ----------
    posterior
        What was fitted.
    treatment, outcome
        Of the effect; both None for everything.
    """
    if (treatment is None) != (outcome is None):
        raise AlldagsError("checks takes a treatment and an outcome, or neither")
    if treatment is not None and outcome is not None:
        posterior.effect(treatment, outcome)  # refuses names that are not in the graph
    meetings.check({"checks": (), **data_asks(posterior.workings.data)})
    table, reason = rows_of(posterior)
    checked = Checked(posterior.graphs, posterior.workings.data, table, treatment, outcome)
    lines = [*_residual_lines(checked), *_collinear_lines(checked), *_independence_lines(checked)]
    lines += _overlap_lines(checked)
    left = [*([] if reason is None else [reason]), *checked.left_out, *said_of_rows(posterior)]
    return Checks(
        tuple(_flagged(lines)),
        0 if table is None else max((fit.rows for fit in checked.fits.values() if fit), default=0),
        tuple(left),
        {name: found.bins for name, found in checked.residuals.items()},
    )


def checks_work(posterior: ExaminedPosterior, treatment: str, outcome: str) -> float:
    """Return rows times squared numbers of causes of the regressions that checks of one effect look at."""
    checked = Checked(posterior.graphs, posterior.workings.data, None, treatment, outcome)
    return float(posterior.rows) * sum((1 + len(checked.causes(child))) ** 2 for child in checked.children)


# -- lines -------------------------------------------------------------------------------------------------------------


def _flagged(lines: Iterable[CheckLine]) -> Iterator[CheckLine]:
    """Yield the lines, flagged where they are large and chance, among so many of a kind, does not explain them."""
    found = list(lines)
    for kind in KINDS:
        group = [line for line in found if line.check == kind]
        tests = sum(math.isfinite(line.p_value) for line in group)
        for line in group:
            chance = math.isfinite(line.p_value) and line.p_value * tests >= LEVEL
            yield replace(line, flagged=line.flagged and not chance)


def _residual_lines(checked: Checked) -> Iterator[CheckLine]:
    levels = frozenset(checked.data.columns(checked.data.categories))
    for child, found in checked.residuals.items():
        for item in found.curvature:
            if item.against in levels or child in checked.data.curved:  # which have no curve, or may have one
                continue
            bent = f"{child} bends with {'its' if item.against == 'fitted values' else ''} {item.against}".replace(
                "  ", " "
            )
            yield CheckLine(
                "straight lines", child, item.against, "share of what is left that a curve takes", item.share,
                item.p_value, item.share >= LARGE_SHARE,
                f"{bent}: a curve would take {percent(item.share)} of what its regression leaves unexplained "
                f"({_p(item.p_value)}); transform it, add a column for the curve, or fit with terms",
            )  # fmt: skip
        yield from _noise_lines(checked, child, found)


def _noise_lines(checked: Checked, child: str, found: Residuals) -> Iterator[CheckLine]:
    if math.isfinite(found.spread_p):
        yield CheckLine(
            "even noise", child, "fitted values", "share of squared residuals that goes with them", found.spread_share,
            found.spread_p, found.spread_share >= LARGE_SHARE,
            f"the noise of {child} changes with its fitted values ({_p(found.spread_p)}): intervals may be too narrow "
            "where it is large; a logarithm often helps",
        )  # fmt: skip
    if math.isfinite(found.dispersion):
        yield CheckLine(
            "even noise", child, "its family", "variance over the mean count", found.dispersion, math.nan,
            found.dispersion > LARGE_DISPERSION,
            f"{child} varies {number(found.dispersion)} times as much as counts with its mean do: intervals are too "
            "narrow",
        )  # fmt: skip
    if found.outliers and child not in checked.data.heavy:  # rows far out are what heavy tails are for
        worst = found.outliers[0]
        yield CheckLine(
            "outlying rows", child, f"row {worst.row}", "standard deviations from its fitted value", worst.residual,
            found.outlier_p, True,
            f"row {worst.row} ({_counted(checked, child)}) has {child} = {number(worst.value)}, "
            f"{abs(worst.residual):.1f} standard deviations {'above' if worst.residual > 0 else 'below'} what its "
            f"causes say ({_p(found.outlier_p)} for the largest of all rows): look whether it is right"
            f"{_about_tails(checked, child, found)}",
        )  # fmt: skip


def _counted(checked: Checked, child: str) -> str:
    """Say how rows are counted: where some have gaps, only the others."""
    table = checked.table
    gaps = table is not None and (child in table.marks.unseen or table.count < table.columns.rows)
    return "counted from 0, without rows that have gaps" if gaps else "counted from 0"


def _about_tails(checked: Checked, child: str, found: Residuals) -> str:
    """Say what to try about rows far out; of what is skewed, such as costs, rows far out are part of the mean."""
    ends = checked.data.look(child).ends
    if ends is not None and ends[0] >= 0.0 and all(item.residual > 0 for item in found.outliers):
        better = "try the family 'gamma' for it" if ends[0] > 0.0 else "ask about its logarithm"
        return f"; {child} is skewed, so that such rows belong to its mean: keep them, or {better}"
    return f", and whether the answer is the same with the family 'student' for {child}, under which they count less"


def _collinear_lines(checked: Checked) -> Iterator[CheckLine]:
    for child in checked.children:
        causes = checked.causes(child)
        if len(causes) < 2:
            continue
        for name, factor in _inflations(checked, child, causes).items():
            others = "the other candidate causes"
            amount = "follows from" if math.isinf(factor) else f"is {percent(1.0 - 1.0 / factor)} explained by"
            yield CheckLine(
                "collinear causes", child, name, "variance inflation", factor, math.nan, factor >= LARGE_INFLATION,
                f"{name} {amount} {others} of {child}: data say little about which of them acts",
            )  # fmt: skip


def _inflations(checked: Checked, child: str, causes: Sequence[str]) -> dict[str, float]:
    """Return the variance inflation of each cause; of a category, that of the levels which others foretell most."""
    data, rows = checked.data, checked.data.of(child)
    columns = data.columns(causes)
    single = dict(zip(columns, inflation(rows, columns).tolist(), strict=True))
    found = {}
    for name in causes:
        own = data.columns((name,))
        rest = [column for column in columns if column not in own]
        found[name] = single[name] if name in single else inflation_of_group(rows, own, rest)
    return found


def _independence_lines(checked: Checked) -> Iterator[CheckLine]:
    items = [item for item in implied_independences(checked.graphs) if checked.data.knows(item.child)]
    items = [item for item in items if item.child not in checked.curved]
    if checked.outcome is not None:  # what else holds between its covariates does not change an effect
        items = [item for item in items if item.child in checked.children]
    for (child, given), group in groupby(items, key=lambda item: (item.child, item.given)):
        same = list(group)
        tests = _score_independences if child in checked.data.families else _line_independences
        for item, (size, p) in tests(checked, child, given, same).items():
            yield _independence_line(item, size, p, _meaning(checked, item))


def _line_independences(
    checked: Checked, child: str, given: tuple[str, ...], items: Sequence[Independence]
) -> dict[Independence, tuple[float, float]]:
    data = checked.data
    if data.categories.keys().isdisjoint((child, *given, *(item.other for item in items))):
        return dict(partial_correlations(data.of(child), items))
    held = data.columns(given)
    tests = {item: (data.columns((child,)), data.columns((item.other,)), held) for item in items}
    found = {item: association(data.of(child), *test) for item, test in tests.items()}
    return {item: pair for item, pair in found.items() if pair is not None}


def _score_independences(
    checked: Checked, child: str, given: tuple[str, ...], items: Sequence[Independence]
) -> dict[Independence, tuple[float, float]]:
    """Test whether other variables belong in the regression of a child that is not normal."""
    of = checked.regressed(child, given)
    fitted = None if of is None or len(given) * ROWS_PER_CAUSE > checked.data.rows else fit_rows(of)
    if fitted is None:
        return {}
    columns = [checked.data.columns((item.other,)) for item in items]
    others = tuple(name for names in columns for name in names)
    found = score_tests(fitted, lambda batch, _: batch.others, others)
    single = dict(
        zip(others, zip(np.sqrt(found.share).tolist(), p_values(found.statistic).tolist(), strict=True), strict=True)
    )
    each = zip(items, (_least_of([single[name] for name in names]) for names in columns), strict=True)
    return {item: (r, value) for item, (r, value) in each if math.isfinite(value)}


def _least_of(tests: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Return size and p-value of the least probable of some tests, as the least of so many."""
    size, p = min(tests, key=lambda test: test[1])
    return size, min(p * len(tests), 1.0) if len(tests) > 1 else p


def _meaning(checked: Checked, item: Independence) -> str:
    """Say what it means if two variables are not independent."""
    if lots := checked.lots & {item.child, item.other}:
        return _NOT_BY_LOT.format(name=min(lots))
    if not checked.all_causes(item.child) and not checked.all_causes(item.other):
        return "this matters for effects of these two only, not for effects of what comes later"
    return "an edge, or a common cause, is missing from the graph"


def _independence_line(item: Independence, size: float, p: float, meaning: str) -> CheckLine:
    given = f" given {_listed(item.given)}" if item.given else ""
    return CheckLine(
        "independences", f"{item.child} and {item.other}", ", ".join(item.given), "partial correlation", size, p,
        abs(size) >= LARGE_CORRELATION,
        f"every candidate graph says that {item.child} and {item.other} are independent{given}, but their correlation "
        f"is then {size:.2f} ({_p(p)}): {meaning}",
    )  # fmt: skip


def _overlap_lines(checked: Checked) -> Iterator[CheckLine]:
    for treatment in () if checked.data.is_within else _treatments(checked):  # arms are compared within levels
        covariates = _covariates(checked, treatment)
        if not covariates:
            continue
        if checked.table is None:
            yield from _balance_of_moments(checked, treatment, covariates)
            continue
        for found in overlaps(checked, treatment, covariates):
            yield overlap_line(found)
            error = math.sqrt(1.0 / found.treated + 1.0 / found.untreated)
            yield from _balance_lines(checked, found, error)


def _balance_of_moments(checked: Checked, treatment: str, covariates: Sequence[str]) -> Iterator[CheckLine]:
    """Compare the arms where there are no rows: in covariates that are numbers."""
    names = tuple(name for name in covariates if name not in checked.data.categories)
    if treatment in checked.data.categories or not names:
        return
    gaps = differences_of_moments(checked.data.pooled, treatment, names)
    found = Overlap(treatment, names, 0, 0, math.nan, math.nan, gaps)
    yield from _balance_lines(checked, found, _spread_of_gap(checked, treatment))


def _treatments(checked: Checked) -> Iterator[str]:
    """Yield the treatment, or every variable that has both causes and effects, if its values are 0 and 1, or levels."""
    names: Iterable[str] = checked.graphs[0].variables if checked.treatment is None else (checked.treatment,)
    for name in names:
        has_arms = name in checked.data.categories or checked.is_yes_no(name)
        if any(graph.children(name) for graph in checked.graphs) and has_arms:
            yield name


def _covariates(checked: Checked, treatment: str) -> tuple[str, ...]:
    """Return what treated and untreated rows are compared in: what may act on the treatment or on the outcome."""
    graphs = checked.graphs
    if checked.outcome is not None:
        found = adjustment_set(graphs, treatment, checked.outcome)
    else:
        after = set().union(*(graph.descendants(treatment) for graph in graphs))
        found = tuple(name for name in checked.all_causes(treatment) if name not in after)
    return found


def _spread_of_gap(checked: Checked, treatment: str) -> float:
    """Return the standard error of a standardised difference, from the share of treated rows."""
    rows, place = checked.data.pooled, checked.data.pooled.index[treatment]
    share = rows.mean[place] * checked.data.scale_of(treatment)
    return math.sqrt(1.0 / (rows.rows * share * (1.0 - share)))


def _balance_lines(checked: Checked, found: Overlap, error: float) -> Iterator[CheckLine]:
    from scipy.special import chdtrc

    treatment, (low, high) = found.treatment, found.arms
    by_lot = treatment in checked.lots
    meaning = _NOT_BY_LOT.format(name=treatment) if by_lot else "the answer rests on adjusting for it"
    for name, gap in zip(found.covariates, found.differences, strict=True):
        freedom = len(checked.data.columns((name,)))
        p = _both_tails(gap / error) if freedom == 1 else float(chdtrc(freedom, (gap / error) ** 2))
        where = f"{'higher' if gap > 0 else 'lower'} where {treatment} is {high} than where it is {low}"
        if freedom > 1:
            where = f"apart between rows where {treatment} is {high} and where it is {low}"
        yield CheckLine(
            "balance", treatment, name, "standardised mean difference", gap, p, abs(gap) >= LARGE_DIFFERENCE,
            f"{name} is {abs(gap):.2f} standard deviations {where}: {meaning}",
        )  # fmt: skip


def _both_tails(size: float) -> float:
    from scipy.special import ndtr

    return 2.0 * float(ndtr(-abs(size)))


def _p(value: float) -> str:
    return "p < 1e-12" if value < 1e-12 else f"p = {value:.2g}"


def _listed(names: Sequence[str], most: int = 6) -> str:
    more = f" and {len(names) - most + 1} more" if len(names) > most else ""
    return ", ".join(names if not more else names[: most - 1]) + more
