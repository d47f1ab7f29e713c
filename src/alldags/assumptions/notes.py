"""Notes: what a reader of one effect should know, each a clause without capital and full stop."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

from alldags.answers.closed import ClosedAnswer
from alldags.answers.pushed import PushedAnswer
from alldags.assumptions.curves import curves_note
from alldags.assumptions.data_notes import effect_data_notes
from alldags.assumptions.examined import ExaminedEffect, ExaminedPosterior
from alldags.assumptions.overlap import extrapolation_note
from alldags.effects.sampled import sampled_orders
from alldags.effects.total import TotalEffect
from alldags.engines.curves.posterior import CurvedPosterior
from alldags.engines.mixtures.node import NOT_USED, ONE_SETTING
from alldags.engines.weighted.posterior import WeightedPosterior
from alldags.families.survival import Survival
from alldags.kinds import MEASURES
from alldags.models.number import expects_few
from alldags.nodes.posterior import NodePosterior
from alldags.notes import Note, in_order
from alldags.show.numbers import number, percent
from alldags.wording import either, option

DOUBTFUL = 0.01  # probability of no effect, from which on the effect given that there is one is another number
OPEN = 0.03  # probability of no effect, from which on it is in doubt
LARGE_SHIFT = 0.5  # posterior standard deviations by which the link may move an effect without a word
LARGE_ERROR = 0.05  # of the standard deviation: Monte-Carlo error of imputation that is worth a word
LARGE_RATIO = 1.25  # of the two standard deviations
FEW_CLUSTERS = 20
_DOUBTFUL = 1.05  # R-hat of the effect
_CHANGES = 0.8  # probability of a hazard ratio that changes with time, from which it is said
_WORDS = {
    "common": "the same for all rows",
    "shared": "different between rows by some terms",
    "arms": "the difference of two curves of their own",
}


def effect_notes(effect: ExaminedEffect, own: Iterable[Note] = ()) -> tuple[Note, ...]:
    """Return the notes of the fit, of the nodes that this effect needs, and of the checks of it, the worst first.

    Parameters
    ----------
    effect
        What was asked.
    own
        What this kind of effect has to say beside what all have.
    """
    return in_order((*_fit_notes(effect), *_node_notes(effect), *own, *_kind_notes(effect), *_checked_notes(effect)))


def known_notes(effect: ExaminedEffect) -> tuple[Note, ...]:
    """Return those of the notes that a fitted effect knows without computing anything, the worst first."""
    nodes = (*_engine_notes_of_nodes(effect), *_convergence(effect), *_many_candidates_note(effect))
    return in_order((*_fit_notes(effect), *nodes))


def posterior_notes(posterior: ExaminedPosterior) -> tuple[Note, ...]:
    """Return the notes of the fit, and of all nodes and blocks fitted so far, each once, the worst first."""
    store = posterior.workings.store
    nodes = (node.diagnostics for key, node in store.fitted() if key.engine is None)
    found: list[HasWarnings] = [*nodes, *(block.diagnostics for block in store.fitted_blocks())]
    return in_order((*posterior.workings.notes, *(note for one in found for note in engine_notes(one))))


def engine_notes(diagnostics: HasWarnings) -> Iterator[Note]:
    """Yield the warnings of an engine as notes: what is the same for every node is for the record."""
    for text in diagnostics.warnings:
        yield Note(text, "for the record" if text in (NOT_USED, ONE_SETTING) else "changes the answer")


class HasWarnings(Protocol):
    """Diagnostics of a node or of a block."""

    @property
    def warnings(self) -> tuple[str, ...]:
        """Sentences a user should read."""
        ...


def _fit_notes(effect: ExaminedEffect) -> Iterator[Note]:
    """Yield the notes of the fit that are about all effects, or about variables that this one runs through."""
    reached = effect.workings.reached
    return (
        note for note in effect.posterior.workings.notes if not note.about or not set(note.about).isdisjoint(reached)
    )


def _node_notes(effect: ExaminedEffect) -> Iterator[Note]:
    yield from _engine_notes_of_nodes(effect)
    yield from _sampled_note([node for node in _nodes(effect) if getattr(node.diagnostics, "remark", "")])
    yield from _sampled_orders_note(effect)


def _engine_notes_of_nodes(effect: ExaminedEffect) -> Iterator[Note]:
    blocks = dict.fromkeys(block for total in effect.workings.totals.items for block in total.order_blocks)
    for diagnostics in (*(node.diagnostics for node in _nodes(effect)), *(block.diagnostics for block in blocks)):
        yield from engine_notes(diagnostics)


def _nodes(effect: ExaminedEffect) -> list[NodePosterior]:
    """Return the regressions that an effect runs through, each once."""
    return list(dict.fromkeys(node for total in effect.workings.totals.items for node in total.nodes()))


def _sampled_orders_note(effect: ExaminedEffect) -> Iterator[Note]:
    """Say that an order was sampled, and how well the chains agree on this effect."""
    for total in effect.workings.totals.items:
        for block, found in sampled_orders(total):
            remark, draws = getattr(block.diagnostics, "remark", ""), min(found.effective_draws, 1e6)
            agreement = f"for this effect R-hat is {found.r_hat:.3f}, with about {draws:,.0f} effective draws"
            yield Note(f"{remark}; {agreement}")


def _sampled_note(sampled: Sequence[NodePosterior]) -> Iterator[Note]:
    """Say, once, that sampling cannot exclude what it has not met, and what was done to meet it."""
    if len(sampled) == 1:
        yield Note(str(getattr(sampled[0].diagnostics, "remark", "")))
    elif sampled:
        searches = min(int(getattr(node.diagnostics, "searches", 0)) for node in sampled)
        yield Note(
            f"{len(sampled)} regressions were sampled: modes that were not met cannot be excluded; at least {searches} "
            "searches for each, from forward and backward selection, full, empty, random and heated sets"
        )


def _checked_notes(effect: ExaminedEffect) -> Iterator[Note]:
    yield from _link_note(effect)
    yield from _regression_note(effect)
    yield from changing_ratio(effect)
    yield from _many_candidates_note(effect)
    yield from _odds_note(effect)
    yield from _slab_note(effect)
    yield from extrapolation_note(effect)
    yield from row_notes(effect)
    yield from curves_note(effect)
    yield from effect_data_notes(effect)


def _link_note(effect: ExaminedEffect) -> Iterator[Note]:
    """Say that the answer depends on whether what drives the treatment acts on the outcome, too."""
    bends = any(_bends(total) for total in effect.workings.totals.items)
    if effect.posterior.workings.link == 0.0 or bends or through_levels(effect):
        return
    check = effect.checks.confounder_link
    if abs(check.shift) <= LARGE_SHIFT:
        return
    names = ", ".join(check.names) or "many covariates together"
    example = check.names[0] if check.names else "z"
    instrument = f"graph.instrument({example!r}, treatment={effect.treatment!r})"
    say_so = either(f"say so: {instrument}", "leave its other edges out of the graph")
    moved = f"moved the effect from {number(check.mean_without)} to {number(check.mean)}"
    yield Note(
        f"weak confounders or instruments: taking what drives {effect.treatment} for possible causes of what comes "
        f"after it {moved} ({abs(check.shift):.1f} standard deviations), most through {names}; if one of them acts on "
        f"{effect.outcome} only through {effect.treatment}, {say_so}",
        "check",
        short=f"weak confounders, or instruments, {moved}",
    )


def _regression_note(effect: ExaminedEffect) -> Iterator[Note]:
    """Say that plain least squares contradicts the average: neither lies in the other's interval."""
    if effect.measure or not effect.workings.variables or effect.workings.has_pairs:
        return  # other units, or zero by assumption, whatever a regression says; or biased by what is hidden
    plain = effect.checks.least_squares
    low, high = effect.interval(0.95)
    if plain is not None and not low <= plain.estimate <= high and not plain.low <= effect.mean <= plain.high:
        count = len(plain.covariates)
        yield Note(
            f"least squares on {effect.treatment} and {'all ' if count > 1 else ''}{count} candidate "
            f"covariate{'' if count == 1 else 's'} gives {number(plain.estimate)} ({number(plain.low)} to "
            f"{number(plain.high)}), outside the interval above: covariates whose edges were averaged away may matter",
            "check",
        )


def _many_candidates_note(effect: ExaminedEffect) -> Iterator[Note]:
    """Say that there are too many candidates for intervals to be relied on, unless few of them are expected."""
    posterior = effect.posterior
    prior, half = posterior.workings.models.items[0].prior, posterior.rows / 2
    for child in effect.workings.reached:
        graph = max(posterior.graphs, key=lambda one, child=child: len(one.parents(child)))  # type: ignore[misc]
        count = len(graph.parents(child))
        if count > half and not expects_few(graph, prior, child, posterior.rows):
            yield Note(
                f"{child!r} has {count} candidate causes, more than half the {effect.posterior.rows:g} rows: no prior "
                "gives reliable intervals there; leave out causes that you can rule out",
                "changes the answer",
            )


def _slab_note(effect: ExaminedEffect) -> Iterator[Note]:
    """Say that the probability of no effect depends on a slab that was fixed: its odds grow as the slab's width."""
    atom = effect.probability_no_effect
    if effect.posterior.has_hyperparameters or atom is None or not OPEN < atom < 1 - OPEN:
        return
    odds = 10.0**0.5 * atom / (1.0 - atom)
    yield Note(
        "the probability of no effect depends on how large effects are expected to be, which the prior fixes: were ten "
        f"times that variance expected, it would be up to {percent(odds / (1.0 + odds))}",
        "check",
    )


def _odds_note(effect: ExaminedEffect) -> Iterator[Note]:
    """Say that stated odds of the asked edge pull the estimate to zero, by half a standard deviation or more."""
    edge, atom = (effect.treatment, effect.outcome), effect.probability_no_effect
    stated = [graph.edges[edge] for graph in effect.posterior.graphs if edge in graph.edges]
    if atom is None or not DOUBTFUL <= atom <= 1 - DOUBTFUL or not stated or max(stated) == 1.0:
        return
    given = effect.mean / (1.0 - atom)
    spread = math.sqrt(max((effect.sd**2 + effect.mean**2) / (1.0 - atom) - given**2, 0.0))
    if not abs(given - effect.mean) > LARGE_SHIFT * spread:
        return
    sure = either(f"graph.with_edge({edge[0]!r}, {edge[1]!r}, 1.0)", "probability 1 in the graph")
    yield Note(
        f"the stated {percent(stated[0])} for {edge[0]} -> {edge[1]} pulls the estimate from {number(given)} to "
        f"{number(effect.mean)}: if you are sure of an effect, say so: {sure}",
        "check",
    )


# -- missing values and clusters -------------------------------------------------------------------------------------


def row_notes(effect: ExaminedEffect) -> Iterator[Note]:
    """Say how much missing values and clusters matter."""
    yield from _imputation_notes(effect)
    yield from _cluster_notes(effect)


def _imputation_notes(effect: ExaminedEffect) -> Iterator[Note]:
    share = effect.uncertainty.missing_information
    if share is None:
        return
    text = f"missing values account for {100 * share:.0f}% of the variance of this effect"
    uncertain = effect.uncertainty.imputation_error
    error = uncertain / effect.sd if effect.sd > 0 else 0.0
    if error <= LARGE_ERROR:
        yield Note(text)
        return
    enough = math.ceil(share / LARGE_ERROR**2 / 10.0) * 10
    yield Note(
        f"{text}; the Monte-Carlo error of the mean from imputation is {number(uncertain)}, more than "
        f"{100 * LARGE_ERROR:.0f}% of the standard deviation: {enough} imputed tables would do",
        "check",
    )


def _cluster_notes(effect: ExaminedEffect) -> Iterator[Note]:
    check = effect.uncertainty.clusters
    if check is None:
        return
    if check.ratio > LARGE_RATIO:
        yield Note(
            f"rows of a cluster are alike: with rows taken for independent the standard deviation would be "
            f"{number(check.sd_independent)}, by how the {check.clusters:,} clusters vary it is "
            f"{number(check.sd_clusters)}; {number(check.design_effect)} rows say as much as one that stands "
            "alone"
        )
    elif check.ratio < 1.0 / LARGE_RATIO:
        yield Note(
            f"by how the {check.clusters:,} clusters vary the standard deviation is {number(check.sd_clusters)}, "
            f"less than with rows taken for independent ({number(check.sd_independent)}); the answer keeps the larger"
        )
    if check.clusters < FEW_CLUSTERS:
        few = (
            f"only {check.clusters} clusters: how much they differ is poorly known; the interval has quantiles of "
            f"Student's distribution with {check.clusters - 1} degrees of freedom, and may still be too narrow"
        )
        yield Note(few, "check")


# -- effects that may bend or differ between rows ---------------------------------------------------------------------


def _kind_notes(effect: ExaminedEffect) -> Iterator[Note]:
    """Say what straight lines alone give, and how effects that bend were computed."""
    if not effect.measure or isinstance(effect.answer, ClosedAnswer):
        return
    bends = any(_bends(total) for total in effect.workings.totals.items)
    if bends:
        yield from _convergence(effect)
        yield from _structures(effect)
        yield from _pushed(effect)
    yield from _left_straight(effect)
    yield from _straight(effect, bends)


def changing_ratio(effect: ExaminedEffect) -> Iterator[Note]:
    """Say that the hazard ratio of the treatment probably changes with time: one number does not tell it."""
    if effect.measure not in ("survival", "log hazard"):
        return
    found = [
        node.family.probability_changing(node.weighted.beside, node.weighted.weights)
        for node in _nodes(effect)
        if isinstance(node, WeightedPosterior) and isinstance(node.family, Survival)
    ]
    if found and min(found) > _CHANGES:
        yield Note(
            f"the hazard ratio of {effect.treatment} changes with time (probability {min(found):.2f}): one ratio "
            "is an average over the events, see effect.survival.ratios() of the difference",
            "check" if effect.measure == "log hazard" else "for the record",
        )


def _bends(total: TotalEffect) -> bool:
    return any(total.model.bends(name) for name in total.span.reached)


def _convergence(effect: ExaminedEffect) -> Iterator[Note]:
    for node in _nodes(effect):
        worst = float(getattr(node.diagnostics, "r_hat", 1.0)) if isinstance(node, CurvedPosterior) else 1.0
        if worst > _DOUBTFUL:
            yield Note(
                f"the chains for {node.problem.child!r} disagree about the effect (R-hat {worst:.2f}): take the "
                "numbers as a guess; fewer curves (Terms(curves=2, products=0)) or more rows help",
                "changes the answer",
            )


def _structures(effect: ExaminedEffect) -> Iterator[Note]:
    weights = {name: p for name, p in effect.probability.structures.items() if p >= 0.005}
    if len(effect.probability.structures) > 1:
        said = ", ".join(
            f"{_WORDS[name]} {percent(p)}" for name, p in sorted(weights.items(), key=lambda item: -item[1])
        )
        yield Note(f"curves were looked for in {effect.outcome}; probability that the effect is {said}")
    for node in _nodes(effect):
        if isinstance(node, CurvedPosterior) and node.screened is not None:
            child = node.problem.child
            yield Note(
                f"of {len(node.parents)} causes of {child}, curves were looked for in the {node.screened} that have "
                "most to do with it or with the treatment, straight lines in all"
            )


def _left_straight(effect: ExaminedEffect) -> Iterator[Note]:
    """Say which children have straight lines because curves could not be computed."""
    names = {
        name
        for total in effect.workings.totals.items
        for name in total.span.reached
        if total.model.data.may_bend(name, effect.treatment) and not total.model.bends(name)
    }
    if names:
        listed = ", ".join(sorted(names))
        yield Note(f"curves of {listed} could not be computed well enough, so that its predictor is straight", "check")


def _pushed(effect: ExaminedEffect) -> Iterator[Note]:
    if isinstance(effect.answer, PushedAnswer):
        count = len(effect.workings.reached)
        yield Note(f"{effect.answer.target.count:,.0f} rows were pushed through {count} regression{'s' * (count > 1)}")


def through_levels(effect: ExaminedEffect) -> tuple[str, ...]:
    """Return the categories that the treatment acts on, on the way to the outcome or as the outcome."""
    return tuple(name for name in effect.workings.reached if name in effect.posterior.workings.data.categories)


def no_line(effect: ExaminedEffect) -> str:
    """Return why straight lines have no answer, for a sentence; empty if they have one."""
    data, names = effect.posterior.workings.data, (effect.outcome, *through_levels(effect))
    return next((f"{name!r}, which {why}" for name in names if (why := data.why_no_line(name))), "")


def _straight(effect: ExaminedEffect, bends: bool) -> Iterator[Note]:
    """Say that straight lines would give another answer."""
    if no_line(effect):
        return
    straight = effect.checks.straight_line
    if not abs(straight.mean - effect.mean) > LARGE_SHIFT * effect.sd:
        return
    low, high = straight.interval(0.95)
    given = f"{number(straight.mean)} ({number(low)} to {number(high)})"
    if bends:
        said = f", as with {option('families', 'normal')}," if effect.measure in MEASURES else ""
        short = f"curves change the answer: linear regressions alone give {given}"
        yield Note(f"curves change the answer: linear regressions alone{said} give {given}", "check", short=short)
        return
    instead = f"give {given} instead of {number(effect.mean)}"
    yield Note(
        f"linear regressions, as with {option('families', 'normal')}, {instead}: the "
        f"{'probability' if effect.measure == 'risk' else 'mean'} bends where treated and untreated rows differ",
        "check",
        short=f"linear regressions {instead}",
    )
