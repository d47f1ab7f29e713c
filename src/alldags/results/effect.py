"""`Effect`: the posterior of one total effect."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np

from alldags import checks
from alldags.answers import tables
from alldags.answers.base import Answer
from alldags.answers.by_rows import effects_of_rows, response_curve, row_values
from alldags.answers.choose import choose, models_for, unit_of
from alldags.answers.closed import ClosedAnswer
from alldags.answers.comparison import STEP
from alldags.answers.contrasts import all_contrasts
from alldags.answers.counterfactual import counterfactuals
from alldags.answers.do import intervention
from alldags.answers.influence import influence_of_edges
from alldags.answers.inner import InnerAnswer
from alldags.answers.levels import is_category, is_open
from alldags.answers.mediated import KINDS, Kind, Mediation
from alldags.answers.mediation import along_path, mediate
from alldags.answers.question import Question
from alldags.answers.robust import stretched_sd
from alldags.answers.rows_given import OtherRows
from alldags.answers.settings import Set
from alldags.answers.treatment_values import treatment_value, treatment_values
from alldags.answers.world import no_such_arm
from alldags.assumptions.data_notes import range_note
from alldags.assumptions.noise import noise_notes
from alldags.assumptions.notes import effect_notes
from alldags.effects.direct import DirectEffect, direct_effect
from alldags.effects.intervention import Intervention
from alldags.effects.outcome import check_level
from alldags.effects.quantity import Quantity
from alldags.effects.total import TotalEffect
from alldags.effects.workings import EffectWorkings
from alldags.errors import AlldagsError
from alldags.futures.steps import FUTURES, Goal
from alldags.memory import check_memory
from alldags.models.mixture import Mixture
from alldags.notes import Note
from alldags.results.doing import target_notes_of, with_minus
from alldags.results.effect_checks import EffectChecks
from alldags.results.exports import EffectExports
from alldags.results.groups import effect_by_column
from alldags.results.hidden import HiddenCauses
from alldags.results.kept import told_apart
from alldags.results.plots import EffectPlots
from alldags.results.probability import Probability
from alldags.results.scales import Scale, on_link, on_scale
from alldags.results.summarize import summarize
from alldags.results.survival import SurvivalCurves
from alldags.results.uncertainty import Uncertainty
from alldags.results.unread import after_notes
from alldags.show.contrasts import Contrasts
from alldags.show.html import effect_html
from alldags.show.maketables import coefficient_frame, statistic
from alldags.show.screen import screen_text
from alldags.show.summary import EffectSummary
from alldags.show.table import Table
from alldags.show.words import effect_text
from alldags.text import Printed
from alldags.typing import FloatArray, RandomSource
from alldags.wording import option

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from alldags.effects.hidden.strength import Strength
    from alldags.results.next_steps import NextSteps
    from alldags.results.posterior import Posterior
    from alldags.results.sensitivity import Sensitivity


class Effect:
    """Posterior of the total causal effect of a treatment on an outcome, averaged over all candidate graphs.

    Obtained from `Posterior.effect`. Numbers are in the user's units: change of the outcome per unit of treatment; for
    a binary treatment coded 0/1 that is the average treatment effect. Moments are exact where the engine is; intervals
    and probabilities of sign come from independent draws, with the probability of no effect at all put in exactly
    where it can be had.

    Examples
    --------
    >>> import alldags as ad
    >>> example = ad.datasets.example()
    >>> effect = ad.fit(example.table, example.graph, terms=None, rng=0).effect(example.treatment, example.outcome)
    >>> low, high = effect.interval(0.95)
    >>> bool(low < effect.mean < high)
    True
    """

    def __init__(
        self,
        posterior: Posterior,
        question: Question,
        *,
        ignore_hidden: bool = False,
        most_draws: int | None = None,
    ) -> None:
        self.posterior = posterior
        self._question = question
        self._ignore_hidden = ignore_hidden
        self._most_draws = most_draws
        self._was_shown = False  # with its notes
        for total in self._totals.items:
            total.prepare()

    @property
    def treatment(self) -> str:
        """Name of the treatment."""
        return self._question.treatment

    @property
    def outcome(self) -> str:
        """Name of the outcome."""
        return self._question.outcome

    @property
    def over(self) -> str:
        """Over which rows outcomes are averaged."""
        return self._question.over_words

    @cached_property
    def workings(self) -> EffectWorkings:
        """What the answer is computed from, for the package's own rooms; its names may change."""
        behind = self.posterior.workings
        models = models_for(behind.without_hidden if self._ignore_hidden else behind, self._question)
        return EffectWorkings(self.treatment, self.outcome, models, unit_of(behind, self._question))

    @property
    def _totals(self) -> Mixture[TotalEffect]:
        return self.workings.totals

    @cached_property
    def answer(self) -> Answer:
        """How it is computed, for the package's own rooms; its names may change."""
        behind = self.posterior.workings
        return choose(behind, self._question, self._totals, worth=self.workings.set_draws, most=self._most_draws)

    @property
    def _is_open(self) -> bool:
        """Whether the treatment is a category of which no two levels were named."""
        return is_open(self.posterior.workings.data, self._question)

    @property
    def _any_pair(self) -> Effect:
        """For what holds of every pair of levels: itself, or the contrast of the first two levels of a category."""
        return self._with(self._question.between(0.0, 1.0)) if self._is_open else self

    @property
    def _is_closed(self) -> bool:
        return isinstance(self.answer, ClosedAnswer)

    def _require(self, name: str) -> None:
        """Refuse what this effect cannot say."""
        if name in self.answer.lacks:
            raise AlldagsError(self.answer.lacks[name])

    def _asking(self, question: Question) -> Effect:
        """Return the answer to another question about the same posterior."""
        return Effect(self.posterior, question, most_draws=self._most_draws)

    def _with(self, question: Question) -> Effect:
        """Return the answer to a question that differs in what is compared."""
        if self._is_open:  # nothing is known of it yet, such as what clusters do to it
            return self.posterior.asked(question)
        hidden, most = self._ignore_hidden, self._most_draws
        return Effect(self.posterior, question, ignore_hidden=hidden, most_draws=most)

    @cached_property
    def _without_hidden(self) -> Effect:
        """The same effect if the graph's hidden common causes are not there."""
        if self._ignore_hidden or not any(graph.hidden for graph in self.posterior.graphs):
            return self
        return Effect(self.posterior, self._question, ignore_hidden=True)

    # -- moments -----------------------------------------------------------------------------------------------------

    @property
    @after_notes
    def mean(self) -> float:
        """Posterior mean, the estimate that is optimal under squared loss."""
        return self._mean

    @cached_property
    def _mean(self) -> float:
        found = self.answer.mean
        if math.isnan(found):
            raise AlldagsError(
                f"this change of {self.treatment!r} takes {self.outcome!r} beyond what any number holds: it lies far "
                f"outside the data; ask for a smaller one, contrast(start, stop)"
            )
        return found

    @cached_property
    def sd(self) -> float:
        """Posterior standard deviation; infinite if there are too few rows for it to exist.

        As all that is said of the spread, it has what clusters, sampling weights and uneven noise add: see
        `Uncertainty.jackknife`.
        """
        return stretched_sd(self, self.uncertainty.stretch)

    @cached_property
    def uncertainty(self) -> Uncertainty:
        """What `sd` is made of, and how exact the numbers are."""
        return Uncertainty(self)

    # -- distribution ------------------------------------------------------------------------------------------------

    def draws(self, size: int = 4000, rng: RandomSource = None) -> FloatArray:
        """Return independent draws from the posterior, shape (size,); exact zeros where there is no path.

        Without `rng` the draws follow from the seed given to `fit`, and are the same at every call.

        Examples
        --------
        >>> import alldags as ad
        >>> study = ad.datasets.example()
        >>> effect = ad.fit(study.table, study.graph, terms=None).effect("smoking", "risk")
        >>> draws = effect.draws(5000, rng=1)
        >>> bool(abs(draws.mean() - effect.mean) < 5 * effect.sd / 5000**0.5)
        True
        """
        size = checks.whole("size", size, least=1)
        nodes = [node for total in self._totals.items for node in total.nodes()]
        blocks = (block.problem for total in self._totals.items for block in total.order_blocks)
        parents = sum(len(node.parents) for node in nodes)
        parents += sum(len(problem) * len(problem.causes) for problem in blocks)
        check_memory(float(size) * (2 * parents + 4), f"{size:,} draws", "ask for fewer at a time")
        stretch = self.uncertainty.stretch
        if rng is None and size == self.answer.size:
            return self.answer.values if stretch is None else stretch(self.answer.values)
        generator = self.posterior.workings.stream() if rng is None else np.random.default_rng(rng)
        plain = self.answer.draws(size, generator)
        return plain if stretch is None else stretch(plain)

    @after_notes
    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Return the central interval (low, high) that holds the effect with probability `level`.

        An end is exactly 0 when the atom at zero covers that quantile.
        """
        check_level(level)
        sample = self.uncertainty.sample
        return sample.quantile((1 - level) / 2), sample.quantile((1 + level) / 2)

    @property
    def median(self) -> float:
        """Posterior median, the estimate that is optimal under absolute loss."""
        return self.uncertainty.sample.quantile(0.5)

    @property
    def probability_no_effect(self) -> float | None:
        """Posterior probability that no directed path leads from treatment to outcome, so that the effect is zero.

        Exact up to 100,000 sets of reached nodes, else from draws; see `Probability.no_effect_error`. None if the
        engine has no notion of a graph.
        """
        return self._any_pair.uncertainty.sample.atom if self.workings.has_structure else None

    @cached_property
    def probability(self) -> Probability:
        """Probabilities of sign, of sizes and of directions."""
        return Probability(self)

    # -- why -----------------------------------------------------------------------------------------------------------

    def paths(self, limit: int = 50) -> Table:
        """Return the paths with the largest mean contributions, and one row for all others; the means sum to `mean`.

        Examples
        --------
        >>> import alldags as ad
        >>> study = ad.datasets.example()
        >>> effect = ad.fit(study.table, study.graph, terms=None, rng=0).effect("smoking", "risk")
        >>> print(effect.paths(limit=2))
        path                       mean      sd  probability
        smoking -> tar -> risk   0.5333  0.1004            1
        smoking -> risk          0.2772  0.1577       0.8618
        all other paths         0.08341       -            -
        """
        self._require("paths")
        if self._is_closed:
            return tables.paths_table(self._totals, self.workings.unit, self.answer.mean, limit)
        found = on_link(self).paths(limit)
        return replace(found, note=f"on the {on_link(self).measure} of {self.outcome}, where paths add up")

    def mediation(self, through: Sequence[str], kind: Kind = "natural", *, products: bool = True) -> Mediation:
        """Return how much of the effect runs through some variables between treatment and outcome.

        Parameters
        ----------
        through
            The mediators.
        kind
            ``"natural"``: what is left if each row keeps the mediators that it would have under the low value of the
            treatment; ``"interventional"``: if it is given some that rows with its covariates have under that value,
            which also says something where the treatment moves a common cause of mediator and outcome.
        products
            Whether treatment and mediator may act by their product on what comes after: it is then in every regression
            that both are in. Without it, where all is straight lines, effects are sums of `paths`.

        Examples
        --------
        >>> import alldags as ad
        >>> study = ad.datasets.example()
        >>> effect = ad.fit(study.table, study.graph, terms=None, rng=0).effect("smoking", "risk")
        >>> found = effect.mediation(through=["tar", "exercise"], products=False)
        >>> {name: round(part.mean, 2) for name, part in found.parts.items()}
        {'tar': 0.53, 'exercise': 0.08}
        """
        self._require("mediation")
        checks.one_of("kind", kind, KINDS)
        return mediate(self, through, kind, products=checks.flag("products", products))

    def along(self, path: Sequence[str], *, products: bool = True) -> Quantity:
        """Return the effect that is passed on along one path: all else stays as it is under the low value.

        Parameters
        ----------
        path
            Names from treatment to outcome, both among them.
        products
            As for `mediation`.

        Examples
        --------
        >>> import alldags as ad
        >>> study = ad.datasets.example()
        >>> effect = ad.fit(study.table, study.graph, terms=None, rng=0).effect("smoking", "risk")
        >>> round(effect.along(["smoking", "tar", "risk"], products=False).mean, 4)
        0.5333
        """
        self._require("mediation")
        return along_path(self, path, products=checks.flag("products", products))

    def edge_influence(self) -> Table:
        """Return what knowing each uncertain edge would do to the answer, most informative edge first.

        ``posterior`` is the probability of the edge after the data; ``kept_as_confounder`` that with which the effect
        is computed, where what affects the treatment is taken for a likely cause of what comes after it (`Prior.link`).
        ``effect_if_present`` and ``effect_if_absent`` are posterior means given the edge; ``variance_removed`` is the
        share of the posterior variance that knowing the edge would remove; ``sign_flips_at`` is the prior probability
        of the edge at which the posterior mean would change sign, all else equal (``-``: at none). A pair of variables
        whose direction is open is one row with three states: ``reversed`` is the probability of the other direction,
        ``effect_if_reversed`` the mean given that, and ``effect_if_absent`` the mean given no edge between the two.

        Examples
        --------
        >>> import alldags as ad
        >>> study = ad.datasets.example()
        >>> first = next(ad.fit(study.table, study.graph, terms=None).effect("smoking", "risk").edge_influence().rows())
        >>> first["cause"], first["effect"], round(first["variance_removed"], 2)
        ('smoking', 'risk', 0.28)
        """
        if self._is_closed:
            return told_apart(tables.influence_table(self._totals, self.workings.unit, self.answer.sd), self)
        if not self.workings.has_structure:
            raise AlldagsError(
                "edge_influence needs an engine that averages over parent sets, such as 'auto' or 'exact'"
            )
        if self.answer.drawn is None:
            raise AlldagsError(
                "edge_influence of an effect that is computed row by row needs a single candidate graph; fit with one"
            )
        return told_apart(influence_of_edges(*self.answer.drawn, self.mean, self.answer.sd), self)

    def next_steps(
        self,
        experiments: Sequence[str | tuple[str, int]] | Mapping[str, int] | str | None = None,
        rows: int | Sequence[int] | None = None,
        edges: Literal["all"] | Sequence[tuple[str, str]] | None = "all",
        *,
        measure: Mapping[str, Strength] | None = None,
        cost: Mapping[str, float] | None = None,
        goal: Goal = "sd",
        futures: int = FUTURES,
    ) -> NextSteps:
        """Return what to find out next: how far each step would narrow this effect, on average.

        Parameters
        ----------
        experiments
            Variables to set by lot, each with its number of rows: names alone take as many rows as are at hand. Numbers
            are set to their 5% and 95% points, half of the rows each; yes/no variables to both values; categories to
            their levels as often as they are now. None: the treatment and all between it and the outcome.
        rows
            Numbers of further rows of the same kind; None: as many as are at hand.
        edges
            Edges that somebody could tell us about: ``"all"`` that matter, some, or None.
        measure
            Common causes of treatment and outcome that could be measured in the rows at hand, by how strong they may
            be; compared with the uncertainty that leaves them unmeasured.
        cost
            What steps cost: ``{"rows": 1, "experiments": 5, "edges": 200, "measurements": 300}``, the first two per
            row, or by a step's words. Steps are then sorted by what they bring per cost.
        goal
            What steps are sorted by: ``"sd"`` of this effect, ``"loss"`` of deciding by its sign, or ``"graphs"``, the
            entropy of several candidate graphs.
        futures
            Futures that are drawn and fitted for each step, where regressions are straight, normal and small; else what
            rows would say is added up to first order.

        Examples
        --------
        >>> import alldags as ad
        >>> study = ad.datasets.example()
        >>> effect = ad.fit(study.table, study.graph, terms=None, rng=0).effect("smoking", "risk")
        >>> found = effect.next_steps(experiments={"smoking": 200}, rows=[500, 1000])
        >>> [step.words for step in found.steps[:2]]
        ['1,000 more rows', 'experiment on smoking, 200 rows']
        """
        from alldags.results.next_steps import next_steps_of

        return next_steps_of(self, experiments, rows, edges, measure, cost, goal, futures)

    def do(self, x: float | str, draws_size: int | None = None) -> Intervention:
        """Return what the outcome would be if the treatment were set to `x`: its mean over rows, and a new unit's.

        Parameters
        ----------
        x
            A value of the treatment: a number, or one of its words or levels.
        draws_size
            Number of draws behind intervals; None for as many as are cheap.

        Examples
        --------
        >>> import alldags as ad
        >>> study = ad.datasets.example()
        >>> ten = ad.fit(study.table, study.graph, terms=None, rng=0).effect("smoking", "risk").do(10.0)
        >>> round(float(ten.mean), 1), round(ten.mean.sd, 2)
        (40.9, 1.02)
        >>> ten.new_unit
        OutcomeDistribution(do(x = 10): mean 40.91, sd 10.54)
        """
        self._require("do")
        value = treatment_value(self, x)
        self._check_arms([value])
        size = None if draws_size is None else checks.whole("draws_size", draws_size, least=1)
        notes = (*range_note(self.posterior.workings.data.seen, self.treatment, [value]), *self._target_notes)
        found = intervention(self._any_pair._as_asked_of_do, value, size, notes)
        return with_minus(found, self.posterior, Set(self.treatment, x), self._question.over)

    @property
    def _target_notes(self) -> tuple[Note, ...]:
        """What a reader should know of other rows than those of the fit."""
        over = self._question.over
        return target_notes_of(self) if isinstance(over, OtherRows) else ()

    @property
    def _as_asked_of_do(self) -> Effect:
        """Itself, along a straight line per unit of the treatment."""
        if not self._is_closed or is_category(self.posterior.workings.data, self._question):
            return self
        return self._with(replace(self._question, comparison=STEP, factor=1.0))

    def _check_arms(self, values: Sequence[float]) -> None:
        """Refuse values of a treatment with two arms that it does not have."""
        if not isinstance(self.answer, InnerAnswer):
            return
        arms = self.answer.changes.items[0].node.found.arms
        outside = [] if arms is None else [x for x in values if x not in arms]
        if arms is not None and outside:
            raise no_such_arm(self.treatment, arms, f"{outside[0]:g}")

    def contrast(self, start: float | str, stop: float | str) -> Effect:
        """Return the effect of changing the treatment from `start` to `stop`, in every row.

        Of a treatment of words, such as no and yes or the levels of a category, they may be those.

        Examples
        --------
        >>> import alldags as ad
        >>> study = ad.datasets.example()
        >>> ten = ad.fit(study.table, study.graph, terms=None, rng=0).effect("smoking", "risk").contrast(0, 10)
        >>> round(ten.mean, 1), round(ten.sd, 1)
        (8.9, 1.0)
        """
        first, last = treatment_values(self, [start, stop])
        self._check_arms([first, last])
        return self._with(self._question.between(first, last))

    def contrasts(self, level: float = 0.95, better: Literal["higher", "lower"] = "higher") -> Contrasts:
        """Return what changing a category from each level to each other does, and which level is probably best.

        Parameters
        ----------
        level
            Probability that the intervals hold: each by itself, and all at once.
        better
            Whether a higher or a lower mean outcome is best.

        Examples
        --------
        >>> import numpy as np, alldags as ad
        >>> rng = np.random.default_rng(0)
        >>> dose, age = rng.choice(["none", "half", "full"], 300), rng.normal(50, 10, 300)
        >>> pain = 5 - 2 * (dose == "full") - 1 * (dose == "half") + 0.02 * age + rng.standard_normal(300)
        >>> graph = ad.CandidateGraph.from_tiers([["age"], ["dose"], ["pain"]])
        >>> effect = ad.fit({"age": age, "dose": dose, "pain": pain}, graph, rng=0).effect("dose", "pain")
        >>> found = effect.contrasts(better="lower")
        >>> found.table["start"], found.table["stop"], [round(x, 1) for x in found.table["mean"]]
        (['none', 'none', 'full'], ['full', 'half', 'half'], [-1.9, -1.0, 0.9])
        >>> {name: round(p, 2) for name, p in found.probability_best.items()}
        {'none': 0.0, 'full': 1.0, 'half': 0.0}
        """
        check_level(level)
        checks.one_of("better", better, ("higher", "lower"))
        return all_contrasts(self, level, better)

    @cached_property
    def direct(self) -> DirectEffect:
        """Direct effect, the treatment's coefficient in the outcome's regression; and the share that is mediated.

        Examples
        --------
        >>> import alldags as ad
        >>> study = ad.datasets.example()
        >>> direct = ad.fit(study.table, study.graph, terms=None, rng=0).effect("smoking", "risk").direct
        >>> round(direct.mean, 2), round(direct.probability, 2), round(direct.share_mediated, 2)
        (0.28, 0.86, 0.69)
        """
        self._require("direct")
        edge, unit, stream = (self.treatment, self.outcome), self.workings.unit, self.posterior.workings.stream()
        found = direct_effect(self.workings.models, edge, self.answer.mean / unit, stream)
        return replace(found, **{name: unit * getattr(found, name) for name in ("mean", "sd", "low", "high")})

    # -- other scales --------------------------------------------------------------------------------------------------

    @property
    def measure(self) -> str:
        """What the effect is a difference of, empty for a straight line.

        ``"risk"``, ``"rate"`` (mean counts), ``"amount"`` (its mean), ``"score"`` (of grades, its mean), ``"survival"``
        (restricted mean survival times), ``"mean"`` of what bends, ``"log-odds"``, ``"log rate"``, ``"log mean"`` or
        ``"log hazard"``.
        """
        family = None if self._question.straight else self.posterior.workings.data.families.get(self.outcome)
        if family is not None and self.workings.reached:
            return family.link_words if self._question.on_link else family.measure
        return "" if self._is_closed else "mean"

    @cached_property
    def levels(self) -> tuple[Quantity, Quantity]:
        """Mean outcome under the lower and the higher value of the treatment."""
        self._require("levels")
        low, high = map(self.uncertainty.widened_level, self.answer.levels)
        return Quantity(low), Quantity(high)

    @overload
    def on(self, scale: Literal["ratio", "risk ratio", "rate ratio", "odds ratio", "hazard ratio"]) -> Quantity: ...
    @overload
    def on(
        self, scale: Literal["difference", "standardized", "log odds", "log rate", "log mean", "log hazard"]
    ) -> Effect: ...
    def on(self, scale: Scale) -> Effect | Quantity:
        """Return the effect on another scale: a `Quantity` for ratios, else an `Effect` with all that it has.

        Parameters
        ----------
        scale
            ``"ratio"`` of the two mean outcomes of a yes/no outcome, a count or an amount (look at the median: its mean
            may be huge where a level is near 0); ``"odds ratio"`` of a yes/no outcome, marginal, which is not the
            exponential of a coefficient; ``"hazard ratio"`` of a survival time, given the covariates; ``"log odds"`` of
            a yes/no outcome or a grade, ``"log rate"`` of a count, ``"log mean"`` of an amount or ``"log hazard"`` of a
            survival time, on which moments are exact and paths add up, where all variables between treatment and
            outcome are normal; ``"standardized"``, what one standard deviation of the treatment does, in standard
            deviations of the outcome (or log-odds); ``"difference"``, the effect itself.

        Examples
        --------
        >>> import numpy as np, alldags as ad
        >>> rng = np.random.default_rng(0)
        >>> drug = rng.integers(0, 2, 500)
        >>> table = {"drug": drug, "ill": rng.random(500) < np.where(drug == 1, 0.2, 0.4)}
        >>> effect = ad.fit(table, {"ill": ["drug"]}, terms=None, rng=0).effect("drug", "ill")
        >>> round(effect.mean, 1), round(effect.on("ratio").median, 1), round(effect.on("log odds").mean, 1)
        (-0.2, 0.6, -0.8)
        """
        return on_scale(self, scale)

    @property
    def survival(self) -> SurvivalCurves:
        """Survival under both values of the treatment, by any time, with restricted means and hazard ratios."""
        if self.measure != "survival":
            raise AlldagsError(
                f"survival is of the effect on a survival time, which {self.outcome!r} is not here; if it is, say so "
                f"in {option('families')}, with alldags.Survival"
            )
        return SurvivalCurves(self)

    @cached_property
    def _on_link(self) -> Effect:
        """The total effect on the scale of the outcome's predictor."""
        self._require("log odds")
        levels = is_category(self.posterior.workings.data, self._question)
        compared = self._question.comparison if levels else STEP
        return self._asking(replace(self._question, on_link=True, comparison=compared))

    # -- rows ----------------------------------------------------------------------------------------------------------

    def by(self, rows: Any = None, level: float = 0.95, rng: RandomSource = None) -> Table:
        """Return the effect of each of some rows, or of groups of rows: mean, sd and interval.

        Parameters
        ----------
        rows
            A table with the outcome's causes that the treatment cannot act on; None for the rows of the fit. The name
            of a column: the effect in each of its groups (between quartiles, if it has many numbers), and then the
            difference of every two of them, with an interval of its own.
        level
            Probability that each interval holds.
        rng
            Seed of the draws behind intervals.

        Examples
        --------
        >>> import numpy as np, alldags as ad
        >>> rng = np.random.default_rng(1)
        >>> age, treated = rng.uniform(20, 80, 300), rng.integers(0, 2, 300)
        >>> table = {"age": age, "treated": treated, "score": treated * 0.1 * age + rng.standard_normal(300)}
        >>> graph = ad.CandidateGraph.from_edges({("age", "score"): 0.5, ("treated", "score"): 0.5})
        >>> effect = ad.fit(table, graph, terms="auto", rng=0).effect("treated", "score")
        >>> [round(x) for x in effect.by({"age": [30.0, 70.0]})["mean"]]
        [3, 7]
        >>> print(ad.fit({**table, "old": age > 50}, graph, terms="auto", rng=0).effect("treated", "score").by("old"))
        old               mean      sd    low   high
        False             3.56  0.1628  3.266  3.892
        True             6.549  0.1531  6.229  6.837
        True less False  2.989  0.1855  2.593  3.329
        """
        check_level(level)
        if isinstance(rows, str):
            return effect_by_column(self._any_pair if self._is_open else self, rows, level)
        generator = self.posterior.workings.stream() if rng is None else np.random.default_rng(rng)
        return effects_of_rows(self, row_values(self, rows), level, generator)

    def counterfactual(self, rows: Any, values: Any = None, level: float = 0.95) -> Table:
        """Return what the outcome of single rows would have been, had their treatment been another.

        What is known of a row says which noise was its own: a normal variable keeps its residual, a yes/no variable or
        a count its level, as far as its value tells. Of a yes/no outcome it is the probability of a one.

        Parameters
        ----------
        rows
            Numbers of rows of the fit (the first is 0), one truth value for each of them, or a table with treatment,
            outcome, what lies between them, and the causes of these.
        values
            Of the treatment, one or several; None: the two that the effect compares.
        level
            Probability that each interval holds.

        Examples
        --------
        >>> import alldags as ad
        >>> study = ad.datasets.example()
        >>> effect = ad.fit(study.table, study.graph, terms=None, rng=0).effect("smoking", "risk")
        >>> print(effect.counterfactual([0, 1], values=0.25))
        row  smoking  observed   mean     sd    low   high
          0     0.25     49.51  25.86  2.745  20.69  31.39
          1     0.25     65.51   49.2  1.894  45.63  53.02
        """
        check_level(level)
        self._require("do")
        compared = self._question.comparison.values if values is None else values
        if compared is None:
            raise AlldagsError(f"say which values of {self.treatment!r} the rows should have had, such as values=0")
        points = treatment_values(self, compared)
        self._check_arms(points)
        return counterfactuals(self._any_pair._as_asked_of_do, rows, points, level)

    def curve(self, values: Sequence[float | str], level: float = 0.95) -> Table:
        """Return the mean outcome over the rows with the treatment set to each of some values: a dose-response curve.

        Examples
        --------
        >>> import numpy as np, alldags as ad
        >>> rng = np.random.default_rng(0)
        >>> dose = rng.uniform(0, 4, 500)
        >>> table = {"dose": dose, "answer": np.minimum(dose, 2.0) + 0.1 * rng.standard_normal(500)}
        >>> graph = ad.CandidateGraph.from_edges({("dose", "answer"): 1.0})
        >>> effect = ad.fit(table, graph, terms={"answer": ad.Terms()}, rng=0).effect("dose", "answer")
        >>> [round(x, 1) for x in effect.curve([0.5, 1.5, 3.5])["mean"]]
        [0.5, 1.5, 2.0]
        """
        self._require("curve")
        check_level(level)
        points = treatment_values(self, values)
        self._check_arms(points)
        return response_curve(self._any_pair, points, level)

    # -- checks --------------------------------------------------------------------------------------------------------

    @cached_property
    def checks(self) -> EffectChecks:
        """The same question asked in other ways, such as under other priors or of a placebo."""
        return EffectChecks(self)

    @cached_property
    def hidden(self) -> HiddenCauses:
        """What the graph's hidden common causes do to this effect, and what the data say of them.

        Examples
        --------
        >>> import alldags as ad
        >>> study = ad.datasets.example()
        >>> graph = study.graph.with_hidden("smoking", "risk", 1.0).with_edge("smoking", "risk", 1.0)
        >>> hidden = ad.fit(study.table, graph, terms=None, rng=0).effect("smoking", "risk").hidden
        >>> hidden.identified, round(hidden.causes["smoking", "risk"].learned, 1)
        (0.0, 0.0)
        """
        return HiddenCauses(self)

    def sensitivity(self, hits: Iterable[str] | None = None, draws: int = 20_000) -> Sensitivity:
        """Return what the effect would be if something unmeasured acted on treatment and outcome.

        Parameters
        ----------
        hits
            Variables that the hidden cause acts on: the treatment, and any that lie between it and the outcome, or the
            outcome. None: treatment and outcome.
        draws
            Number of draws behind the answers.

        Examples
        --------
        >>> import alldags as ad
        >>> study = ad.datasets.example()
        >>> effect = ad.fit(study.table, study.graph, terms=None, rng=0).effect("smoking", "risk")
        >>> print(effect.sensitivity())
        An unmeasured common cause that explains 38% of the unexplained variance of
        both smoking and risk would bring the estimate to zero; 31% would make the 95%
        interval reach zero. The strongest measured covariate, age, explains 5% and
        8%. A cause as strong as age would leave an effect of 0.734 (0.566 to 0.943)
        if it acts on smoking and risk in the same direction, and of 1.04 (0.83 to
        1.24) if in opposite directions. The data do not say whether there is such a
        cause.
        """
        from alldags.results.sensitivity import Sensitivity

        self._require("sensitivity")
        return Sensitivity(self._without_hidden, hits, draws)

    @cached_property
    def notes(self) -> tuple[Note, ...]:
        """What a reader should know of the table, the computing and the checks of this effect, the worst first.

        Records (`alldags.notes.Note`) with a text and a severity: "changes the answer", "check" or "for the record";
        printed, each stands on lines of its own.
        """
        values = self._question.comparison.values or ()
        outside = range_note(self.posterior.workings.data.seen, self.treatment, values)
        families = self.posterior.workings.data.families
        counts = any(getattr(families.get(name), "name", "") == "poisson" for name in self.workings.reached)
        noise = noise_notes(self.uncertainty.jackknife_or_reason, counts=counts)
        return effect_notes(self, (*self.hidden.notes, *outside, *self._target_notes, *noise))

    # -- showing -------------------------------------------------------------------------------------------------------

    def summary(self, level: float = 0.95) -> EffectSummary:
        """Return the answer as a frozen record of plain numbers, names and notes, with the interval at `level`.

        All that is printed is made from it.

        Examples
        --------
        >>> import alldags as ad
        >>> study = ad.datasets.example()
        >>> summary = ad.fit(study.table, study.graph, terms=None, rng=0).effect("smoking", "risk").summary(level=0.8)
        >>> summary.estimate, round(summary.mean, 2), round(summary.low, 1), round(summary.high, 1)
        ('posterior mean', 0.89, 0.8, 1.0)
        """
        self._was_shown = True
        return summarize(self, level)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the posterior density, with the atom at zero as a bar of its own."""
        from alldags.show.plots.effect import plot_effect

        return plot_effect(self.summary(), self.uncertainty.sample.draws, ax)

    @property
    def plots(self) -> EffectPlots:
        """Further pictures, of paths, of the influence of edges, of where its spread comes from, of `do`."""
        return EffectPlots(self)

    @property
    def to(self) -> EffectExports:
        """The answer as a sentence, LaTeX, Markdown, a dictionary for JSON, or draws for ArviZ."""
        return EffectExports(self)

    def report(self, target: str | os.PathLike[str], *, level: float = 0.95) -> None:
        """Write a report on this effect: a file of HTML that needs nothing else; needs the extra ``report``.

        Examples
        --------
        >>> import alldags as ad, pathlib, tempfile
        >>> study = ad.datasets.example()
        >>> target = pathlib.Path(tempfile.mkdtemp()) / "report.html"
        >>> ad.fit(study.table, study.graph, terms=None, rng=0).effect("smoking", "risk").report(target)
        >>> target.stat().st_size < 400_000
        True
        """
        from alldags.results.report import write_report

        write_report(self, target, level)

    def details(self) -> Printed:
        """Print all there is to say: what ``print(effect)`` has no room for, and every note.

        What is returned has it as ``.text``, and prints as nothing: ``print(effect.details())`` says all once, too.

        Examples
        --------
        >>> import alldags as ad
        >>> study = ad.datasets.example()
        >>> found = ad.fit(study.table, study.graph, terms=None, rng=0).effect("smoking", "tar")
        >>> said = found.details()  # doctest: +ELLIPSIS
        Raising smoking by one unit changes tar by 1.220 on average (95% interval
        1.111 to 1.328), averaged over 65,536 candidate graphs. ...
        """
        return Printed.now(self.contrasts().details() if self._is_open else effect_text(self.summary()))

    def __str__(self) -> str:
        self._was_shown = True
        return self.contrasts().text() if self._is_open else screen_text(self.summary())

    def __repr__(self) -> str:
        if self._is_open:
            words = self.posterior.workings.data.levels[self.treatment].words
            return f"Effect({self.treatment!r} -> {self.outcome!r}: {len(words)} levels, see contrasts())"
        return f"Effect({self.treatment!r} -> {self.outcome!r}: mean {self.mean:.4g}, sd {self.sd:.4g})"

    def _repr_html_(self) -> str:
        return self.contrasts()._repr_html_() if self._is_open else effect_html(self.summary())

    # -- what the package maketables asks for --------------------------------------------------------------------------

    @property
    def __maketables_coef_table__(self) -> Any:
        """One row a coefficient, as a pandas frame; Bayesian results have neither t nor p."""
        return coefficient_frame(self.summary())

    @property
    def __maketables_depvar__(self) -> str:
        return self.outcome

    def __maketables_stat__(self, key: str) -> float | str | None:
        return statistic(self.summary(), key)
