"""`Effect.next_steps`: what to find out next, and how far it would bring this effect."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from textwrap import fill
from typing import TYPE_CHECKING, Any, Literal, get_args

from scipy.special import ndtri

from alldags import checks, meetings
from alldags.effects.hidden.strength import Strength
from alldags.errors import AlldagsError
from alldags.futures.steps import Ahead, Goal, Step, asked_experiments, asked_rows, with_costs
from alldags.show.numbers import to_precision
from alldags.show.table import Table
from alldags.text import line_width, shortened

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from alldags.results.effect import Effect

SCHEMA = "alldags.next_steps/1"
_MOST_LINES, _LONGEST = 10, 34
_LITTLE = 0.02  # of the variance
_NO_LOSS = 1e-6  # standard deviations
_WIDTH = 2.0 * float(ndtri(0.975))


@dataclass(frozen=True, eq=False)
class NextSteps:
    """What could be found out next, the most worthwhile first; obtained from `Effect.next_steps`.

    Examples
    --------
    >>> import alldags as ad
    >>> study = ad.datasets.example()
    >>> effect = ad.fit(study.table, study.graph, terms=None, rng=0).effect("smoking", "risk")
    >>> found = effect.next_steps(experiments=["smoking"], rows=500)
    >>> found.best.words, round(found.best.sd / effect.sd, 1)
    ('experiment on smoking, 500 rows', 0.4)
    """

    effect: Effect
    steps: tuple[Step, ...]
    loss: float

    @property
    def best(self) -> Step:
        """The step that brings down the standard deviation most, per cost if costs are known."""
        return self.steps[0]

    @cached_property
    def sentence(self) -> str:
        """What a colleague would say."""
        now, best = _number(self.effect.sd), self.best
        if best.removed < _LITTLE:
            return f"None of these steps would change the uncertainty of this effect (sd {now}) much."
        first = f"{_told(best)} would bring the sd of this effect from {_number(best.before)} to "
        others = [step for step in self.steps[1:] if step.kind != best.kind and step.before == best.before]
        rest = f"; {_told(others[0], within=True)} to {_number(others[0].sd)}" if others else ""
        return f"{first}{_number(best.sd)}, on average{rest}."

    def table(self) -> Table:
        """Return one row a step, in the user's units.

        ``sd`` is the root of the mean posterior variance after the step, ``before`` the standard deviation of now (with
        a cause that could be measured left unmeasured, if that is the step) and ``width`` the length of a 95% interval;
        ``removed`` the share of the variance; ``loss`` what deciding by the sign of the effect is expected to lose;
        ``graphs`` the expected entropy of the candidate graphs in bits, where there are several; ``error`` the
        Monte-Carlo error of ``sd``; ``how`` says whether it is exact, from futures that were drawn and fitted, or to
        first order.
        """
        found: dict[str, list[Any]] = {
            "step": [step.words for step in self.steps],
            "sd": [step.sd for step in self.steps],
            "before": [step.before for step in self.steps],
            "width": [_WIDTH * step.sd for step in self.steps],
            "removed": [step.removed for step in self.steps],
            "loss": [step.loss if step.loss > _NO_LOSS * step.before else 0.0 for step in self.steps],
            "graphs": [step.graphs for step in self.steps],
            "cost": [step.cost for step in self.steps],
            "error": [step.error for step in self.steps],
            "how": [step.how for step in self.steps],
        }
        for name in ("graphs", "cost"):
            if all(math.isnan(value) for value in found[name]):
                del found[name]
        return Table(found)

    def to_dict(self) -> dict[str, Any]:
        """Return the sentence and the steps as plain lists and numbers."""
        return {"schema": SCHEMA, "sentence": self.sentence, "sd": self.effect.sd, "loss": self.loss,
                "steps": list(self.table().rows())}  # fmt: skip

    def __str__(self) -> str:
        """Return the sentence and the first steps, at most 80 columns wide."""
        shown = self.steps[:_MOST_LINES]
        wide = min(max(len(step.words) for step in shown), _LONGEST)
        lines = [f"  {'':{wide}}  {'sd now':>9}  {'sd after':>9}  {'variance removed':>16}"]
        for step in shown:
            now, later = _number(step.before), _number(step.sd)
            lines.append(f"  {shortened(step.words, wide):{wide}}  {now:>9}  {later:>9}  {step.removed:>16.0%}")
        more = len(self.steps) - len(shown)
        end = [f"  and {more} more: table()"] if more > 0 else []
        return "\n".join([fill(self.sentence, line_width()), "", *lines, *end])

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the expected standard deviation after each step beside that of now."""
        from alldags.show.plots.steps import plot_steps

        return plot_steps(self.table(), f"sd of the effect of {self.effect.treatment} on {self.effect.outcome}", ax)


def next_steps_of(
    effect: Effect,
    experiments: Sequence[str | tuple[str, int]] | Mapping[str, int] | str | None,
    rows: int | Sequence[int] | None,
    edges: Literal["all"] | Sequence[tuple[str, str]] | None,
    measure: Mapping[str, Strength] | None,
    cost: Mapping[str, float] | None,
    goal: Goal,
    futures: int,
) -> NextSteps:
    """Return what to find out next; arguments as for `Effect.next_steps`."""
    if not 0.0 < effect.sd < math.inf:
        raise AlldagsError(
            f"the effect of {effect.treatment!r} on {effect.outcome!r} has the standard deviation {effect.sd:g}, "
            "which no step makes smaller; ask about an effect that is not known for certain"
        )
    if any(graph.hidden for graph in effect.posterior.graphs):
        meetings.check({"next steps": (), "hidden causes": ()})
    ahead = Ahead(effect, checks.whole("futures", futures, least=2))
    at_hand = max(round(effect.posterior.rows), 2)

    def known(name: str) -> None:
        effect.posterior.check_known(name, "variable of an experiment")

    steps = [ahead.rows(count) for count in asked_rows(rows, at_hand)]
    natural = [name for name in effect.workings.variables if name != effect.outcome]
    steps += [ahead.experiment(*one) for one in asked_experiments(experiments, at_hand, natural, known)]
    if edges is not None and (edges != "all" or effect.workings.has_structure):
        steps += ahead.edges(list(effect.edge_influence().rows()), None if edges == "all" else _pairs(effect, edges))
    for name, strength in (measure or {}).items():
        steps.append(ahead.measurement(name, strength, effect.sensitivity().given(strength).sd))
    if not steps:
        raise AlldagsError("there is no step to look at; give rows=, experiments=, edges= or measure=")
    now = {"sd": effect.sd, "loss": ahead.loss, "graphs": ahead.graphs}[checks.one_of("goal", goal, get_args(Goal))]
    ordered = sorted(with_costs(steps, cost), key=lambda step: -step.worth(goal, now))
    return NextSteps(effect, tuple(ordered), ahead.loss)


def _number(value: float) -> str:
    return to_precision(value, value)


def _pairs(effect: Effect, edges: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return the edges that are asked about, which are candidates."""
    found = []
    for edge in edges:
        pair = tuple(edge)
        if len(pair) != 2 or pair not in effect.posterior.edges:
            raise AlldagsError(
                f"{edge!r} is no candidate edge; give pairs of names such as {effect.posterior.edges[0]!r}"
            )
        found.append((pair[0], pair[1]))
    return found


def _told(step: Step, *, within: bool = False) -> str:
    """Return a step as the subject of a sentence."""
    kind, words = step.kind, step.words
    if kind == "experiments":
        name, rows = words.removeprefix("experiment on ").rsplit(", ", 1)
        return f"{'an' if within else 'An'} experiment on {name} with {rows}"
    if kind == "edges":
        edge = words.removeprefix("learn whether ")
        return f"{'knowing' if within else 'Knowing'} whether {edge} is there"
    if kind == "measurements":
        return f"{'measuring' if within else 'Measuring'} {words.removeprefix('measure ')}"
    return f"{words} of the same kind"
