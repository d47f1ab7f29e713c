"""Notes: what a reader of one effect should know, each a clause without capital and full stop."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence

from alldags.assumptions.curves import curves_note
from alldags.assumptions.data_notes import effect_data_notes
from alldags.assumptions.examined import ExaminedCurves, ExaminedEffect
from alldags.assumptions.overlap import extrapolation_note
from alldags.effects.curves import DirectCurves
from alldags.effects.pushed_curves import PushedCurves
from alldags.effects.sampled import sampled_orders
from alldags.models.families import NoteAbout
from alldags.nodes.posterior import NodePosterior
from alldags.show.numbers import number, percent

OPEN = 0.03  # probability of no effect, from which on it is in doubt
LARGE_SHIFT = 0.5  # posterior standard deviations by which the link may move an effect without a word
LARGE_ERROR = 0.05  # of the standard deviation: Monte-Carlo error of imputation that is worth a word
LARGE_RATIO = 1.25  # of the two standard deviations
FEW_CLUSTERS = 20
_DOUBTFUL = 1.05  # R-hat of the effect
_WORDS = {
    "common": "the same for all rows",
    "shared": "different between rows by some terms",
    "arms": "the difference of two curves of their own",
}


def effect_notes(effect: ExaminedEffect, own: Iterable[str] = ()) -> tuple[str, ...]:
    """Return the notes of the fit, of the nodes that this effect needs, and of the checks of it, each once.

    Parameters
    ----------
    effect
        What was asked.
    own
        What this kind of effect has to say beside what all have.
    """
    reached = set(effect.workings.reached)
    said = effect.posterior.workings.notes
    fit_notes = (note for note in said if not isinstance(note, NoteAbout) or note.about & reached)
    found = (*fit_notes, *_node_notes(effect), *own, *_checked_notes(effect))
    return tuple(dict.fromkeys(str(note) for note in found))


def _node_notes(effect: ExaminedEffect) -> Iterator[str]:
    nodes = dict.fromkeys(node for total in effect.workings.totals.items for node in total.nodes())
    for node in nodes:
        yield from node.diagnostics.warnings
    yield from _sampled_note([node for node in nodes if getattr(node.diagnostics, "remark", "")])
    blocks = dict.fromkeys(block for total in effect.workings.totals.items for block in total.order_blocks)
    for block in blocks:
        yield from block.diagnostics.warnings
    yield from _sampled_orders_note(effect)


def _sampled_orders_note(effect: ExaminedEffect) -> Iterator[str]:
    """Say that an order was sampled, and how well the chains agree on this effect."""
    for total in effect.workings.totals.items:
        for block, found in sampled_orders(total):
            remark, draws = getattr(block.diagnostics, "remark", ""), min(found.effective_draws, 1e6)
            yield f"{remark}; for this effect R-hat is {found.r_hat:.3f}, with about {draws:,.0f} effective draws"


def _sampled_note(sampled: Sequence[NodePosterior]) -> Iterator[str]:
    """Say, once, that sampling cannot exclude what it has not met, and what was done to meet it."""
    if len(sampled) == 1:
        yield str(getattr(sampled[0].diagnostics, "remark", ""))
    elif sampled:
        searches = min(int(getattr(node.diagnostics, "searches", 0)) for node in sampled)
        yield (
            f"{len(sampled)} regressions were sampled: modes that were not met cannot be excluded; at least {searches} "
            "searches for each, from forward and backward selection, full, empty, random and heated sets"
        )


def _checked_notes(effect: ExaminedEffect) -> Iterator[str]:
    yield from _link_note(effect)
    yield from _regression_note(effect)
    yield from _many_candidates_note(effect)
    yield from _slab_note(effect)
    yield from extrapolation_note(effect)
    yield from row_notes(effect)
    yield from curves_note(effect)
    yield from effect_data_notes(effect)


def _link_note(effect: ExaminedEffect) -> Iterator[str]:
    """Say that the answer depends on whether what drives the treatment acts on the outcome, too."""
    if effect.posterior.workings.link == 0.0:
        return
    check = effect.link_check
    if abs(check.shift) <= LARGE_SHIFT:
        return
    names = ", ".join(check.names) or "many covariates together"
    example = check.names[0] if check.names else "z"
    yield (
        f"weak confounders or instruments: taking what drives {effect.treatment} for possible causes of what comes "
        f"after it moved the effect from {number(check.mean_without)} to {number(check.mean)} ({abs(check.shift):.1f} "
        f"standard deviations), most through {names}; if one of them acts on {effect.outcome} only through "
        f"{effect.treatment}, say so: graph.instrument({example!r}, treatment={effect.treatment!r})"
    )


def straight_note(effect: ExaminedEffect, straight: ExaminedEffect) -> Iterator[str]:
    """Say that straight lines through zeros and ones, or counts, would give another answer."""
    if not abs(straight.mean - effect.mean) > LARGE_SHIFT * effect.sd:
        return
    low, high = straight.interval(0.95)
    yield (
        f"straight lines, as with families='normal', give {number(straight.mean)} ({number(low)} to {number(high)}) "
        f"instead of {number(effect.mean)}: the {effect.measure} bends where treated and untreated rows differ"
    )


def _regression_note(effect: ExaminedEffect) -> Iterator[str]:
    """Say that plain least squares contradicts the average: neither lies in the other's interval."""
    if effect.measure or not effect.workings.variables:
        return  # other units, or zero by assumption, whatever a regression says
    plain = effect.regression
    low, high = effect.interval(0.95)
    if plain is not None and not low <= plain.estimate <= high and not plain.low <= effect.mean <= plain.high:
        count = len(plain.covariates)
        yield (
            f"least squares on {effect.treatment} and {'all ' if count > 1 else ''}{count} candidate "
            f"covariate{'' if count == 1 else 's'} gives {number(plain.estimate)} ({number(plain.low)} to "
            f"{number(plain.high)}), outside the interval above: covariates whose edges were averaged away may matter"
        )


def _many_candidates_note(effect: ExaminedEffect) -> Iterator[str]:
    """Say that there are too many candidates for intervals to be relied on."""
    half = effect.posterior.rows / 2
    for child in effect.workings.reached:
        count = max(len(graph.parents(child)) for graph in effect.posterior.graphs)
        if count > half:
            yield (
                f"{child!r} has {count} candidate causes, more than half the {effect.posterior.rows:g} rows: no prior "
                "gives reliable intervals there; leave out causes that you can rule out"
            )


def _slab_note(effect: ExaminedEffect) -> Iterator[str]:
    """Say that the probability of no effect depends on a slab that was fixed: its odds grow as the slab's width."""
    atom = effect.probability_no_path
    if effect.posterior.has_hyperparameters or atom is None or not OPEN < atom < 1 - OPEN:
        return
    odds = 10.0**0.5 * atom / (1.0 - atom)
    yield (
        "the probability of no effect leans on the slab, the size expected of effects, which was fixed: with ten times "
        f"its variance it would be up to {percent(odds / (1.0 + odds))}"
    )


# -- missing values and clusters -------------------------------------------------------------------------------------


def row_notes(effect: ExaminedEffect) -> Iterator[str]:
    """Say how much missing values and clusters matter."""
    yield from _imputation_notes(effect)
    yield from _cluster_notes(effect)


def _imputation_notes(effect: ExaminedEffect) -> Iterator[str]:
    share = effect.missing_information
    if share is None:
        return
    text = f"missing values account for {100 * share:.0f}% of the variance of this effect"
    error = effect.imputation_error / effect.sd if effect.sd > 0 else 0.0
    if error <= LARGE_ERROR:
        yield text
        return
    enough = math.ceil(share / LARGE_ERROR**2 / 10.0) * 10
    yield (
        f"{text}; the Monte-Carlo error of the mean from imputation is {number(effect.imputation_error)}, more than "
        f"{100 * LARGE_ERROR:.0f}% of the standard deviation: {enough} imputed tables would do"
    )


def _cluster_notes(effect: ExaminedEffect) -> Iterator[str]:
    check = effect.clusters
    if check is None:
        return
    if check.ratio > LARGE_RATIO:
        yield (
            f"rows of a cluster are alike: with rows taken for independent the standard deviation would be "
            f"{number(check.sd_independent)}, resampling the {check.clusters:,} clusters gives "
            f"{number(check.sd_clusters)}; the answer counts {number(check.design_effect)} rows as one"
        )
    elif check.ratio < 1.0 / LARGE_RATIO:
        yield (
            f"resampling the {check.clusters:,} clusters gives a standard deviation of {number(check.sd_clusters)}, "
            f"less than with rows taken for independent ({number(check.sd_independent)}); the answer keeps the larger"
        )
    if check.clusters < FEW_CLUSTERS:
        yield f"only {check.clusters} clusters: how much they differ is poorly known, intervals may be too narrow"


# -- effects that may bend or differ between rows ---------------------------------------------------------------------


def curved_notes(effect: ExaminedCurves, curves: DirectCurves | PushedCurves) -> tuple[str, ...]:
    """Return the notes of the fit, of the regressions on the way, and of the checks of this effect."""
    found = (
        *effect.posterior.workings.notes,
        *_convergence(effect),
        *_structures(effect),
        *_pushed(curves),
        *_straight(effect),
        *_link(effect),
    )
    return tuple(dict.fromkeys(found))


def _convergence(effect: ExaminedCurves) -> Iterator[str]:
    for name, node in effect.nodes.items():
        worst = max(
            (
                getattr(fit.node.diagnostics, "asked_r_hat", 1.0)
                for w, fit in zip(node.weights, node.fits, strict=True)
                if w > 0.01
            ),
            default=1.0,
        )
        if worst > _DOUBTFUL:
            yield (
                f"the chains for {name!r} disagree about the effect (R-hat {worst:.2f}): take the numbers as a guess; "
                "fewer curves (Terms(curves=2, products=0)) or more rows help"
            )


def _structures(effect: ExaminedCurves) -> Iterator[str]:
    weights = {name: p for name, p in effect.structures.items() if p >= 0.005}
    if len(effect.structures) > 1:
        said = ", ".join(
            f"{_WORDS[name]} {percent(p)}" for name, p in sorted(weights.items(), key=lambda item: -item[1])
        )
        yield f"curves were looked for in {effect.outcome}; probability that the effect is {said}"


def _pushed(curves: DirectCurves | PushedCurves) -> Iterator[str]:
    if isinstance(curves, PushedCurves):
        how = "its mean is a closed form" if curves.is_straight else "noise is simulated"
        yield f"{curves.rows.count} rows were pushed through {len(curves.nodes)} regressions; {how}"


def _straight(effect: ExaminedCurves) -> Iterator[str]:
    straight = effect.straight_line
    if abs(straight.mean - effect.mean) > LARGE_SHIFT * effect.sd:
        low, high = straight.interval(0.95)
        yield f"straight lines, without terms, give {number(straight.mean)} ({number(low)} to {number(high)})"


def _link(effect: ExaminedCurves) -> Iterator[str]:
    check = effect.link_check
    if abs(check.shift) > LARGE_SHIFT / 2:  # half of the answer has the link
        yield (
            f"what drives {effect.treatment} was taken for a possible cause of {effect.outcome} in half of the answer; "
            f"without that the effect is {number(check.mean_without)} instead of {number(check.mean)}"
        )
