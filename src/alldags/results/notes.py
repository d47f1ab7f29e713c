"""Notes: what a reader of one effect should know, each a clause without capital and full stop."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from alldags.effects.sampled import sampled_orders
from alldags.models.families import NoteAbout
from alldags.nodes.posterior import NodePosterior
from alldags.results.checks import extrapolation_note
from alldags.results.curves_worth import curves_note
from alldags.results.data_notes import effect_data_notes
from alldags.results.row_notes import row_notes
from alldags.show.numbers import number, percent

if TYPE_CHECKING:
    from alldags.results.effect import Effect

OPEN = 0.03  # probability of no effect, from which on it is in doubt
LARGE_SHIFT = 0.5  # posterior standard deviations by which the link may move an effect without a word


def effect_notes(effect: Effect) -> tuple[str, ...]:
    """Return the notes of the fit, of the nodes that this effect needs, and of the checks of it, each once."""
    reached = {name for total in effect._totals.items for name in total.span.reached}
    fit_notes = (note for note in effect.posterior._notes if not isinstance(note, NoteAbout) or note.about & reached)
    found = (*fit_notes, *_node_notes(effect), *_own_notes(effect))
    return tuple(dict.fromkeys(str(note) for note in found))


def _node_notes(effect: Effect) -> Iterator[str]:
    nodes = dict.fromkeys(node for total in effect._totals.items for node in total.nodes())
    for node in nodes:
        yield from node.diagnostics.warnings
    yield from _sampled_note([node for node in nodes if getattr(node.diagnostics, "remark", "")])
    blocks = dict.fromkeys(block for total in effect._totals.items for block in total.order_blocks)
    for block in blocks:
        yield from block.diagnostics.warnings
    yield from _sampled_orders_note(effect)


def _sampled_orders_note(effect: Effect) -> Iterator[str]:
    """Say that an order was sampled, and how well the chains agree on this effect."""
    for total in effect._totals.items:
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


def _hidden_note(effect: Effect) -> Iterator[str]:
    """Say what a hidden common cause in the graph did to the answer, and that data do not inform it."""
    mixture = effect._hidden
    if mixture is not None:
        low, high = mixture.plain.interval(0.95)
        yield (
            f"a hidden common cause of {effect.treatment} and {mixture.hit} has probability {mixture.probability:.0%}, "
            "which is not informed by the data, nor is its strength; without it the effect is "
            f"{number(mixture.plain.mean)} ({number(low)} to {number(high)}), and so are paths, mediators and "
            "do(x).new_unit"
        )


def _own_notes(effect: Effect) -> Iterator[str]:
    yield from _hidden_note(effect)
    yield from _link_note(effect)
    yield from _straight_note(effect) if effect.measure else _regression_note(effect)
    yield from _many_candidates_note(effect)
    yield from _slab_note(effect)
    yield from extrapolation_note(effect)
    yield from row_notes(effect)
    yield from curves_note(effect)
    yield from effect_data_notes(effect)


def _link_note(effect: Effect) -> Iterator[str]:
    """Say that the answer depends on whether what drives the treatment acts on the outcome, too."""
    if effect.posterior._link == 0.0:
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


def _straight_note(effect: Effect) -> Iterator[str]:
    """Say that straight lines through zeros and ones, or counts, would give another answer."""
    straight = getattr(effect, "straight_line", None)
    if straight is None or not abs(straight.mean - effect.mean) > LARGE_SHIFT * effect.sd:
        return
    low, high = straight.interval(0.95)
    yield (
        f"straight lines, as with families='normal', give {number(straight.mean)} ({number(low)} to {number(high)}) "
        f"instead of {number(effect.mean)}: the {effect.measure} bends where treated and untreated rows differ"
    )


def _regression_note(effect: Effect) -> Iterator[str]:
    """Say that plain least squares contradicts the average: neither lies in the other's interval."""
    plain = effect.regression
    low, high = effect.interval(0.95)
    if all(not total.span.variables for total in effect._totals.items):
        return  # zero by assumption, whatever a regression says
    if plain is not None and not low <= plain.estimate <= high and not plain.low <= effect.mean <= plain.high:
        count = len(plain.covariates)
        yield (
            f"least squares on {effect.treatment} and {'all ' if count > 1 else ''}{count} candidate "
            f"covariate{'' if count == 1 else 's'} gives {number(plain.estimate)} ({number(plain.low)} to "
            f"{number(plain.high)}), outside the interval above: covariates whose edges were averaged away may matter"
        )


def _many_candidates_note(effect: Effect) -> Iterator[str]:
    """Say that there are too many candidates for intervals to be relied on."""
    half = effect.posterior.rows / 2
    for child in dict.fromkeys(child for total in effect._totals.items for child in total.span.reached):
        count = max(len(graph.parents(child)) for graph in effect.posterior.graphs)
        if count > half:
            yield (
                f"{child!r} has {count} candidate causes, more than half the {effect.posterior.rows:g} rows: no prior "
                "gives reliable intervals there; leave out causes that you can rule out"
            )


def _slab_note(effect: Effect) -> Iterator[str]:
    """Say that the probability of no effect depends on a slab that was fixed: its odds grow as the slab's width."""
    atom = effect.probability_no_path
    if effect.posterior.has_hyperparameters or atom is None or not OPEN < atom < 1 - OPEN:
        return
    odds = 10.0**0.5 * atom / (1.0 - atom)
    yield (
        "the probability of no effect leans on the slab, the size expected of effects, which was fixed: with ten times "
        f"its variance it would be up to {percent(odds / (1.0 + odds))}"
    )
