"""Notes on an effect that may bend or differ between rows, each a clause without capital and full stop."""

from __future__ import annotations

from collections.abc import Iterator

from alldags.assumptions.examined import ExaminedCurves
from alldags.assumptions.notes import LARGE_SHIFT
from alldags.effects.curves import DirectCurves
from alldags.effects.pushed_curves import PushedCurves
from alldags.show.numbers import number, percent

_DOUBTFUL = 1.05  # R-hat of the effect
_WORDS = {
    "common": "the same for all rows",
    "shared": "different between rows by some terms",
    "arms": "the difference of two curves of their own",
}


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
