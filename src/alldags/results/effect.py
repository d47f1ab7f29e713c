"""`Effect`: the posterior of one total effect."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cached_property
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from alldags import checks
from alldags.answers.base import Answer
from alldags.answers.choose import choose, models_for, unit_of
from alldags.answers.closed import ClosedAnswer
from alldags.answers.comparison import STEP
from alldags.answers.influence import influence_of_edges, loss_without_mediators
from alldags.answers.inner import InnerAnswer
from alldags.answers.levels import change_of, is_category, is_open
from alldags.answers.pushed import PushedAnswer
from alldags.answers.question import Question
from alldags.assumptions.data_notes import range_note
from alldags.assumptions.noise import noise_notes
from alldags.assumptions.notes import effect_notes
from alldags.assumptions.placebo import Placebo, placebo
from alldags.assumptions.stability import stability
from alldags.effects import outcome as outcomes
from alldags.effects import reach
from alldags.effects.direct import DirectEffect, direct_effect
from alldags.effects.direction import direction_variance
from alldags.effects.jackknife import Jackknife, Stretch
from alldags.effects.link_check import LinkCheck
from alldags.effects.open_pairs import OpenPair, open_pairs
from alldags.effects.regression import Regression, adjustment_set, combined, least_squares, variables_between
from alldags.effects.total import TotalEffect
from alldags.effects.workings import EffectWorkings
from alldags.errors import AlldagsError
from alldags.memory import check_memory
from alldags.models.mixture import Mixture
from alldags.notes import Note
from alldags.priors.words import prior_words
from alldags.results import tables
from alldags.results.by_rows import effects_of_rows, response_curve, row_values
from alldags.results.clusters import ClusterCheck
from alldags.results.contrasts import all_contrasts
from alldags.results.intervene import intervention
from alldags.results.intervention import Intervention
from alldags.results.kept import told_apart
from alldags.results.linked import effect_link_check
from alldags.results.plots import EffectPlots
from alldags.results.quantity import Quantity
from alldags.results.robust import jackknife_of, stretch_of, stretched_sd
from alldags.results.sample import AtomicSample
from alldags.results.scales import odds_ratio, risk_ratio
from alldags.results.summarize import summarize
from alldags.results.treatment_values import treatment_value, treatment_values
from alldags.results.unread import after_notes
from alldags.show.contrasts import Contrasts
from alldags.show.html import effect_html
from alldags.show.json import effect_dict
from alldags.show.maketables import coefficient_frame, statistic
from alldags.show.paper import effect_latex, effect_markdown, methods_paragraph
from alldags.show.screen import screen_text
from alldags.show.summary import EffectSummary
from alldags.show.table import Table
from alldags.show.words import effect_text, sentence
from alldags.typing import FloatArray, RandomSource

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from alldags.results.bidirected import HiddenMixture
    from alldags.results.posterior import Posterior
    from alldags.results.sensitivity import Sensitivity

_DRAWS = 20_000  # behind intervals and probabilities
_PAIRS = 2000  # of graphs of one Markov class, behind `sd_direction`


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
    >>> effect = ad.fit(example.table, example.graph, rng=0).effect(example.treatment, example.outcome)
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
        models = models_for(behind, self._question)
        return EffectWorkings(self.treatment, self.outcome, models, unit_of(behind, self._question))

    @property
    def _totals(self) -> Mixture[TotalEffect]:
        return self.workings.totals

    @cached_property
    def answer(self) -> Answer:
        """How it is computed, for the package's own rooms; its names may change."""
        behind = self.posterior.workings
        return choose(behind, self._question, self._totals, worth=self._set_draws, most=self._most_draws)

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

    @cached_property
    def _hidden(self) -> HiddenMixture | None:
        """What a hidden common cause in the graph makes of the effect."""
        if self._without_hidden is self:
            return None
        from alldags.results.bidirected import hidden_mixture

        return hidden_mixture(self._without_hidden)

    # -- moments -----------------------------------------------------------------------------------------------------

    @property
    @after_notes
    def mean(self) -> float:
        """Posterior mean, the estimate that is optimal under squared loss."""
        return self._mean

    @cached_property
    def _mean(self) -> float:
        return self._plain_mean if self._hidden is None else self._hidden.mean

    @property
    def _plain_mean(self) -> float:
        return self.answer.mean

    @cached_property
    def sd(self) -> float:
        """Posterior standard deviation; infinite if there are too few rows for it to exist.

        As all that is said of the spread, it has what clusters, sampling weights and uneven noise add: see `jackknife`.
        """
        return self._plain_sd if self._hidden is None else self._hidden.sd

    @cached_property
    def _plain_sd(self) -> float:
        return stretched_sd(self, self._stretch)

    @cached_property
    def _checked(self) -> Jackknife | str:
        return jackknife_of(self)

    @property
    def jackknife(self) -> Jackknife | None:
        """What rows or clusters say of the spread of this effect; None if they were not asked (``robust=False``).

        Examples
        --------
        >>> import numpy as np, alldags as ad
        >>> rng = np.random.default_rng(1)
        >>> dose = rng.normal(size=400)
        >>> table = {"dose": dose, "answer": dose + dose**2 * rng.normal(size=400)}
        >>> graph = ad.CandidateGraph.from_edges({("dose", "answer"): 1.0})
        >>> effect = ad.fit(table, graph, rng=0).effect("dose", "answer")
        >>> effect.jackknife.factor > 1.5, effect.sd > 1.5 * effect.jackknife.sd
        (True, True)
        """
        return None if isinstance(self._checked, str) else self._checked

    @cached_property
    def _stretch(self) -> Stretch | None:
        """What makes draws as wide as the jackknife says; None if they are."""
        return stretch_of(self, self.jackknife)

    @property
    def clusters(self) -> ClusterCheck | None:
        """What clusters do to the spread; None without ``cluster=``."""
        check = self.jackknife
        return None if check is None or check.kind != "clusters" else ClusterCheck.of(check)

    @cached_property
    def sd_structure(self) -> float | None:
        """The part of `sd` that comes from not knowing the graph; None if that is not known.

        With learned hyperparameters it also holds what comes from not knowing those.
        """
        if not self._has_structure:
            return None
        if isinstance(self.answer, ClosedAnswer):
            return self.answer.structure_sd
        between = self.answer.structure_variance
        return None if between is None else min(math.sqrt(max(between, 0.0)), self.sd)

    @cached_property
    def sd_missing(self) -> float | None:
        """The part of `sd` that comes from not knowing missing values; None if none were imputed."""
        return None if self._totals.weights.tables == 1 else self.answer.missing_sd

    @property
    def missing_information(self) -> float | None:
        """Share of the posterior variance that comes from missing values; None if none were imputed."""
        return None if self.sd_missing is None else (self.sd_missing / self.sd) ** 2 if self.sd > 0 else 0.0

    @cached_property
    def sd_direction(self) -> float | None:
        """The part of `sd_structure` that comes from directions which no number of observational rows can tell.

        It is the spread of the effect over graphs that entail the same independences: an experiment, or knowing more of
        the order (a tier), makes it smaller, rows do not. 0 where every direction is known; None if the engine has no
        notion of a graph. From draws: see `alldags.effects.direction`.

        Examples
        --------
        >>> import alldags as ad
        >>> study = ad.datasets.example()
        >>> graph = ad.CandidateGraph.unordered(["smoking", "tar", "risk"], 0.5)
        >>> effect = ad.fit(study.table, graph, rng=0).effect("tar", "risk")
        >>> 0 < effect.sd_direction <= effect.sd_structure <= effect.sd
        True
        """
        if self.sd_structure is None or not self._is_closed:
            return None
        stream = self.posterior.workings.stream
        inside = self._totals.average(lambda total: direction_variance(total, _PAIRS, stream()))
        return min(abs(self.workings.unit) * math.sqrt(inside), self.sd_structure)

    @property
    def sd_coefficients(self) -> float | None:
        """The part of `sd` that would remain if the graph were known; ``sd**2 = sd_structure**2 + this**2``.

        Where the graph has a hidden common cause that matters, the two parts are those of the effect without it.
        Where values were imputed, the square of `sd_missing` is a third part.
        """
        if self.sd_structure is None:
            return None
        if math.isinf(self._plain_sd):
            return math.inf
        whole, power = math.frexp(self._plain_sd)
        others = math.hypot(math.ldexp(self.sd_structure, -power), math.ldexp(self.sd_missing or 0.0, -power))
        return math.ldexp(math.sqrt(max(whole**2 - others**2, 0.0)), power)

    @property
    def sd_hidden(self) -> float | None:
        """The part of `sd` that comes from a hidden common cause in the graph; None if none of its matters here."""
        return None if self._hidden is None else math.sqrt(max(self.sd**2 - self._plain_sd**2, 0.0))

    @cached_property
    def _has_structure(self) -> bool:
        return self._totals.all(lambda total: total.has_structure)

    @cached_property
    def mean_error(self) -> float:
        """Monte-Carlo standard error of `mean`; 0 where no node was sampled and no value imputed."""
        sampled = self.answer.error
        return math.hypot(sampled, self.imputation_error) if self.imputation_error else sampled

    @property
    def imputation_error(self) -> float:
        """The part of `mean_error` that comes from the number of imputed tables; 0 if none were."""
        return (self.sd_missing or 0.0) / math.sqrt(max(self._totals.weights.tables - 1, 1))

    @property
    def mean_bound(self) -> float:
        """Bound on the error of `mean` from parent sets left out by certified engines; 0 if none was."""
        return self.answer.bound

    def expected_loss(self, estimate: float) -> float:
        """Return the posterior expected squared error of any estimate; least for `mean`.

        Examples
        --------
        What would it cost to report no effect at all?

        >>> import alldags as ad
        >>> study = ad.datasets.example()
        >>> effect = ad.fit(study.table, study.graph, rng=0).effect("smoking", "risk")
        >>> round(effect.expected_loss(effect.mean), 3), round(effect.expected_loss(0.0), 3)
        (0.011, 0.81)
        """
        bias = checks.finite("estimate", estimate) - self.mean
        return self.sd**2 + bias**2 if max(self.sd, abs(bias)) < 1e150 else math.inf

    # -- distribution ------------------------------------------------------------------------------------------------

    def draws(self, size: int = 4000, rng: RandomSource = None) -> FloatArray:
        """Return independent draws from the posterior, shape (size,); exact zeros where there is no path.

        Without `rng` the draws follow from the seed given to `fit`, and are the same at every call.

        Examples
        --------
        >>> import alldags as ad
        >>> study = ad.datasets.example()
        >>> effect = ad.fit(study.table, study.graph).effect("smoking", "risk")
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
        if rng is None and size == self.answer.size and self._hidden is None:
            return self.answer.values if self._stretch is None else self._stretch(self.answer.values)
        generator = self.posterior.workings.stream() if rng is None else np.random.default_rng(rng)
        plain = self.answer.draws(size, generator)
        plain = plain if self._stretch is None else self._stretch(plain)
        return plain if self._hidden is None else self._hidden.draws(size, plain, generator)

    def _widened(self, draws: FloatArray) -> FloatArray:
        """Return draws of a number that depends on the effect, shape (draws, ...), as wide as the jackknife says."""
        return draws if self._stretch is None else self._stretch.about_mean(draws)

    def _widened_level(self, draws: FloatArray) -> FloatArray:
        """Return the same of a mean outcome, shape (draws,); no risk leaves 0 to 1, and no mean count is negative."""
        if self._stretch is None or self.measure not in ("risk", "rate"):
            return self._widened(draws)
        return np.clip(self._widened(draws), 0.0, 1.0 if self.measure == "risk" else math.inf)

    @cached_property
    def sample(self) -> AtomicSample:
        """The draws behind intervals and probabilities."""
        values = self.draws(self.answer.size)
        exact = self._exact_no_path if self._hidden is None else self._hidden.atom
        atom = float(np.mean(values == 0.0)) if exact is None else exact
        return AtomicSample(values, atom, self._set_draws)

    @after_notes
    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Return the central interval (low, high) that holds the effect with probability `level`.

        An end is exactly 0 when the atom at zero covers that quantile.
        """
        self._check_level(level)
        return self.sample.quantile((1 - level) / 2), self.sample.quantile((1 + level) / 2)

    def interval_error(self, level: float = 0.95) -> tuple[float, float]:
        """Return the Monte-Carlo standard errors of the two ends of `interval`."""
        self._check_level(level)
        return self.sample.quantile_error((1 - level) / 2), self.sample.quantile_error((1 + level) / 2)

    @staticmethod
    def _check_level(level: float) -> None:
        outcomes.check_level(level)

    @property
    def median(self) -> float:
        """Posterior median, the estimate that is optimal under absolute loss."""
        return self.sample.quantile(0.5)

    @property
    def probability_positive(self) -> float:
        """Posterior probability of an effect above zero."""
        return self.sample.above(0.0)

    @property
    def probability_negative(self) -> float:
        """Posterior probability of an effect below zero."""
        return self.sample.below(0.0)

    def probability_above(self, delta: float) -> float:
        """Return the posterior probability of an effect greater than `delta`."""
        return self.sample.above(checks.finite("delta", delta))

    @cached_property
    def _exact_no_path(self) -> float | None:
        if not self._has_structure:
            return 0.0  # continuous priors have no atom
        return self._totals.average_known(reach.probability_no_path)

    @property
    def probability_no_path(self) -> float | None:
        """Posterior probability that no directed path leads from treatment to outcome, so that the effect is zero.

        Exact up to 100,000 sets of reached nodes, else from draws; see `probability_no_path_error`. None if the engine
        has no notion of a graph.
        """
        return self._any_pair.sample.atom if self._has_structure else None

    @property
    def probability_no_path_error(self) -> float:
        """Monte-Carlo standard error of `probability_no_path`; 0 where it is exact."""
        atom, size = self.sample.atom, self._atom_draws
        return math.sqrt(max(atom * (1 - atom), 1.0 / size) / size) if math.isfinite(size) else 0.0

    @cached_property
    def _atom_draws(self) -> float:
        """Number of draws behind `probability_no_path`; infinite where it is computed."""
        if self._exact_no_path in (0.0, 1.0) and not self._is_closed:
            return math.inf  # what is certain has no Monte-Carlo error
        return self.answer.size if self._exact_no_path is None else self._set_draws

    @cached_property
    def _set_draws(self) -> float:
        """Least number of stored parent sets behind the draws of a node on a path; infinite if none was sampled."""
        return min((block.set_draws for total in self._totals.items for block in total.blocks), default=math.inf)

    # -- directions --------------------------------------------------------------------------------------------------

    @cached_property
    def probability_reverse(self) -> float | None:
        """Posterior probability that the outcome acts on the treatment; 0 where no candidate graph has such a path.

        Exact where `probability_no_path` is, else from draws. None if the engine has no notion of a graph.

        Examples
        --------
        >>> import alldags as ad
        >>> study = ad.datasets.example()
        >>> graph = ad.CandidateGraph.unordered(["smoking", "tar", "risk"], 0.5)
        >>> effect = ad.fit(study.table, graph, rng=0).effect("tar", "risk")
        >>> total = (1 - effect.probability_no_path) + effect.probability_reverse + effect.probability_neither
        >>> round(total, 9)
        1.0
        """
        if not self._has_structure:
            return None
        back = self.workings.models.map(lambda model: TotalEffect.of(model, self.outcome, self.treatment))
        if not back.all(lambda total: total.has_structure):
            return None
        none = back.average_known(reach.probability_no_path)
        if none is not None:
            return 1.0 - none
        return float(np.mean(back.draw(_DRAWS, self.posterior.workings.stream(), TotalEffect.draws) != 0.0))

    @property
    def probability_neither(self) -> float | None:
        """Posterior probability that neither acts on the other."""
        if self.probability_no_path is None or self.probability_reverse is None:
            return None
        return max(self.probability_no_path - self.probability_reverse, 0.0)

    @cached_property
    def open_pairs(self) -> tuple[OpenPair, ...]:
        """Pairs of variables whose direction was left open in a block that the effect runs through.

        That of treatment and outcome comes first, then those that the data decide least.
        """
        return open_pairs(self._totals)

    # -- why -----------------------------------------------------------------------------------------------------------

    def paths(self, limit: int = 50) -> Table:
        """Return the paths with the largest mean contributions, and one row for all others; the means sum to `mean`.

        Examples
        --------
        >>> import alldags as ad
        >>> study = ad.datasets.example()
        >>> effect = ad.fit(study.table, study.graph, rng=0).effect("smoking", "risk")
        >>> print(effect.paths(limit=2))
        path                       mean      sd  probability
        smoking -> tar -> risk   0.5333  0.1004            1
        smoking -> risk          0.2772  0.1577       0.8618
        all other paths         0.08341       -            -
        """
        self._require("paths")
        if self._is_closed:
            return tables.paths_table(self._totals, self.workings.unit, self._plain_mean, limit)
        found = self.log_odds.paths(limit)
        return replace(found, note=f"on the {self.log_odds.measure} of {self.outcome}, where paths add up")

    def mediators(self) -> Table:
        """Return, for each variable in between, the effect that passes through it. Rows overlap and do not add up.

        Where a variable on the way is not normal, or bends, it is what would be lost if the one in between did not
        respond; that supposes that one number per row decides the value of a yes/no variable under either treatment.

        Examples
        --------
        >>> import alldags as ad
        >>> study = ad.datasets.example()
        >>> print(ad.fit(study.table, study.graph).effect("smoking", "risk").mediators())
        mediator     mean       sd
        tar        0.5333   0.1004
        exercise  0.08341  0.02874
        """
        self._require("mediators")
        if isinstance(self.answer, PushedAnswer):
            answer, stream = self.answer, self.posterior.workings.stream()
            return loss_without_mediators(answer.responses, self._question.comparison, answer.size, stream)
        return tables.mediators_table(self._totals, self.workings.unit)

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
        >>> first = next(ad.fit(study.table, study.graph).effect("smoking", "risk").edge_influence().rows())
        >>> first["cause"], first["effect"], round(first["variance_removed"], 2)
        ('smoking', 'risk', 0.28)
        """
        if self._is_closed:
            return told_apart(tables.influence_table(self._totals, self.workings.unit, self.answer.sd), self)
        if not self._has_structure:
            raise AlldagsError(
                "edge_influence needs an engine that averages over parent sets, such as 'auto' or 'exact'"
            )
        if self.answer.drawn is None:
            raise AlldagsError(
                "edge_influence of an effect that is computed row by row needs a single candidate graph; fit with one"
            )
        return told_apart(influence_of_edges(*self.answer.drawn, self.mean, self.answer.sd), self)

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
        >>> ten = ad.fit(study.table, study.graph, rng=0).effect("smoking", "risk").do(10.0)
        >>> round(float(ten.mean), 1), round(ten.mean.sd, 2)
        (40.9, 1.02)
        >>> ten.new_unit
        OutcomeDistribution(do(x = 10): mean 40.91, sd 10.54)
        """
        self._require("do")
        value = treatment_value(self, x)
        self._check_arms([value])
        size = None if draws_size is None else checks.whole("draws_size", draws_size, least=1)
        return intervention(self._any_pair, value, size)

    def _check_arms(self, values: Sequence[float]) -> None:
        """Refuse values of a treatment with two arms that it does not have."""
        if not isinstance(self.answer, InnerAnswer):
            return
        arms = self.answer.changes.items[0].node.found.arms
        outside = [] if arms is None else [x for x in values if x not in arms]
        if arms is not None and outside:
            levels = " and ".join(f"{x:g}" for x in arms)
            raise AlldagsError(
                f"{self.treatment!r} has the values {levels}; nothing shows what {outside[0]:g} would do, ask for these"
            )

    def contrast(self, start: float | str, stop: float | str) -> Effect:
        """Return the effect of changing the treatment from `start` to `stop`, in every row.

        Of a treatment of words, such as no and yes or the levels of a category, they may be those.

        Examples
        --------
        >>> import alldags as ad
        >>> study = ad.datasets.example()
        >>> ten = ad.fit(study.table, study.graph, rng=0).effect("smoking", "risk").contrast(0, 10)
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
        self._check_level(level)
        checks.one_of("better", better, ("higher", "lower"))
        return all_contrasts(self, level, better)

    def standardized(self) -> Effect:
        """Return what one standard deviation of the treatment does, in standard deviations of the outcome.

        On the log-odds of an outcome, which have no unit, it is in log-odds.

        Examples
        --------
        >>> import alldags as ad
        >>> study = ad.datasets.example()
        >>> round(ad.fit(study.table, study.graph, rng=0).effect("smoking", "risk").standardized().mean, 2)
        0.44
        """
        self._require("standardized")
        data = self.posterior.workings.data
        unit = 1.0 if self._question.on_link else data.deviation(self.outcome)
        factor = data.deviation(self.treatment) / unit
        return self._asking(replace(self._question, comparison=STEP, factor=factor))

    @cached_property
    def direct(self) -> DirectEffect:
        """Direct effect, the treatment's coefficient in the outcome's regression; and the share that is mediated.

        Examples
        --------
        >>> import alldags as ad
        >>> study = ad.datasets.example()
        >>> direct = ad.fit(study.table, study.graph, rng=0).effect("smoking", "risk").direct
        >>> round(direct.mean, 2), round(direct.probability, 2), round(direct.share_mediated, 2)
        (0.28, 0.86, 0.69)
        """
        self._require("direct")
        edge, unit, stream = (self.treatment, self.outcome), self.workings.unit, self.posterior.workings.stream()
        found = direct_effect(self.workings.models, edge, self._plain_mean / unit, stream)
        return replace(found, **{name: unit * getattr(found, name) for name in ("mean", "sd", "low", "high")})

    # -- other scales --------------------------------------------------------------------------------------------------

    @property
    def measure(self) -> str:
        """What the effect is a difference of, empty for a straight line.

        ``"risk"``, ``"rate"`` (mean counts), ``"mean"`` of what bends, ``"log-odds"`` or ``"log rate"``.
        """
        family = None if self._question.straight else self.posterior.workings.data.families.get(self.outcome)
        if family is not None and self.workings.reached:
            return family.link_words if self._question.on_link else family.measure
        return "" if self._is_closed else "mean"

    @cached_property
    def risks(self) -> tuple[Quantity, Quantity]:
        """Mean outcome under the lower and the higher value of the treatment."""
        self._require("risks")
        low, high = map(self._widened_level, self.answer.levels)
        return Quantity(low), Quantity(high)

    @cached_property
    def risk_ratio(self) -> Quantity:
        """Ratio of the two risks (mean counts); look at the median, its mean may be huge where a risk is near 0."""
        return risk_ratio(self)

    @cached_property
    def odds_ratio(self) -> Quantity:
        """Marginal odds ratio of the two risks; it is not the exponential of a coefficient."""
        return odds_ratio(self)

    @cached_property
    def log_odds(self) -> Effect:
        """The total effect on the log-odds (of a count, the log rate), with exact moments, paths and all.

        Only where all variables between treatment and outcome are normal.
        """
        self._require("log_odds")
        if self.outcome not in self.posterior.workings.data.families:
            raise AlldagsError(
                f"{self.outcome!r} is neither yes/no nor a count, so that it has no log-odds; use the effect itself"
            )
        levels = is_category(self.posterior.workings.data, self._question)
        compared = self._question.comparison if levels else STEP
        return self._asking(replace(self._question, on_link=True, comparison=compared))

    @property
    def log_rate(self) -> Effect:
        """`log_odds` under the name it has for counts."""
        return self.log_odds

    @cached_property
    def straight_line(self) -> Effect:
        """The answer with straight lines through all children, as ``families="normal"`` without terms gives it."""
        return self._asking(replace(self._question, straight=True))

    # -- rows ----------------------------------------------------------------------------------------------------------

    def by(self, rows: Any = None, level: float = 0.95, rng: RandomSource = None) -> Table:
        """Return the effect of each of some rows: mean, sd and interval.

        Parameters
        ----------
        rows
            A table with the outcome's causes that the treatment cannot act on; None for the rows of the fit.
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
        """
        self._check_level(level)
        generator = self.posterior.workings.stream() if rng is None else np.random.default_rng(rng)
        return effects_of_rows(self, row_values(self, rows), level, generator)

    def modifiers(self) -> Table:
        """Return, for each covariate of the outcome's regression, the probability that the effect differs with it.

        Examples
        --------
        >>> import alldags as ad
        >>> study = ad.datasets.example()
        >>> effect = ad.fit(study.table, study.graph, terms="auto", rng=0).effect("tar", "risk")
        >>> list(effect.modifiers().columns)
        ['covariate', 'probability_modifies']
        """
        self._require("modifiers")
        assert isinstance(self.answer, InnerAnswer)
        return tables.modifiers_table(self.answer.changes, self.treatment)

    @property
    def structures(self) -> dict[str, float]:
        """Posterior probability of each structure of effect modification in the outcome's regression."""
        return tables.structures_of(self._totals, self.outcome)

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
        self._check_level(level)
        points = treatment_values(self, values)
        self._check_arms(points)
        return response_curve(self._any_pair, points, level)

    # -- checks --------------------------------------------------------------------------------------------------------

    @cached_property
    def link_check(self) -> LinkCheck:
        """The effect with and without the link; a shift means weak confounders, or instruments.

        The link (`Prior.link`) takes every covariate that drives the treatment for a possible confounder. If the answer
        does not depend on it, that is good news; if it does, so does the truth: see "Many weak confounders".

        Examples
        --------
        >>> import alldags as ad
        >>> study = ad.datasets.example()
        >>> check = ad.fit(study.table, study.graph, rng=0).effect("smoking", "risk").link_check
        >>> bool(abs(check.shift) < 0.5)
        True
        """
        return effect_link_check(self)

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
        >>> effect = ad.fit(study.table, study.graph, rng=0).effect("smoking", "risk")
        >>> print(effect.sensitivity())
        An unmeasured common cause that explains 38% of the unexplained variance of
        both smoking and risk would bring the estimate to zero; 31% would make the 95%
        interval reach zero. The strongest measured covariate, age, explains 5% and
        8%. The data do not say whether there is such a cause.
        """
        from alldags.results.sensitivity import Sensitivity

        self._require("sensitivity")
        return Sensitivity(self._without_hidden, hits, draws)

    def stability(self) -> Table:
        """Return the answer under other edge probabilities, slabs and engine, and without the link; a note if it turns.

        Examples
        --------
        >>> import alldags as ad
        >>> study = ad.datasets.example()
        >>> table = ad.fit(study.table, study.graph, rng=0).effect("smoking", "risk").stability()
        >>> table["variant"][:3]
        ['as fitted', 'edge odds a third', 'edge odds 3 times']
        >>> table.note
        ''
        """
        return stability(self)

    def placebo(self, permutations: int = 20, rng: RandomSource = None) -> Placebo:
        """Return what becomes of the effect when the treatment's values are shuffled among the rows.

        Examples
        --------
        >>> import alldags as ad
        >>> study = ad.datasets.example()
        >>> placebo = ad.fit(study.table, study.graph, rng=0).effect("smoking", "risk").placebo(19, rng=1)
        >>> placebo.p_value, max(map(abs, placebo.means)) < 0.3
        (0.05, True)
        """
        return placebo(self, permutations, rng)

    @cached_property
    def regression(self) -> Regression | None:
        """Least squares of the outcome on the treatment and every candidate covariate; None with too few rows.

        Covariates are the candidate parents of treatment, outcome and the variables between them that the treatment
        cannot act on.

        Examples
        --------
        >>> import alldags as ad
        >>> study = ad.datasets.example()
        >>> plain = ad.fit(study.table, study.graph).effect("smoking", "risk").regression
        >>> plain.covariates
        ('age', 'sex', 'income')
        """
        if self._question.on_link or self._is_open:
            return None
        return self._least_squares(adjustment_set(self.posterior.graphs, self.treatment, self.outcome))

    def _least_squares(self, covariates: Sequence[str]) -> Regression | None:
        between = variables_between(self.posterior.graphs, self.treatment, self.outcome)
        tables = self.posterior.workings.tables
        question = self._question
        changes = [change_of(data, question) if is_category(data, question) else None for data in tables]
        names = self.treatment, self.outcome, covariates, between
        pairs = zip(tables, changes, strict=True)
        found = combined([least_squares(data.straight, *names, own) for data, own in pairs])
        return found if found is None or self._stretch is None else found.widened(self._stretch.factor)

    @cached_property
    def notes(self) -> tuple[Note, ...]:
        """What a reader should know of the table, the computing and the checks of this effect, the worst first.

        Records (`alldags.notes.Note`) with a text and a severity: "changes the answer", "check" or "for the record".
        """
        values = self._question.comparison.values or ()
        outside = range_note(self.posterior.workings.data.seen, self.treatment, values)
        families = self.posterior.workings.data.families
        counts = any(getattr(families.get(name), "name", "") == "poisson" for name in self.workings.reached)
        hidden = () if self._hidden is None else (self._hidden.note,)
        return effect_notes(self, (*hidden, *outside, *noise_notes(self._checked, counts=counts)))

    @property
    def converged(self) -> bool:
        """Whether every node this effect needs was computed or sampled to the end; `notes` say what to do if not."""
        return all(block.diagnostics.is_reliable for total in self._totals.items for block in total.blocks)

    @property
    def engines_used(self) -> dict[str, str]:
        """For each node that this effect needs, the engine that was used."""
        blocks = [block for total in self._totals.items for block in total.blocks]
        return {name: block.diagnostics.engine for block in blocks for name in block.variables}

    # -- showing -------------------------------------------------------------------------------------------------------

    def summary(self, level: float = 0.95) -> EffectSummary:
        """Return the answer as a frozen record of plain numbers, names and notes, with the interval at `level`.

        All that is printed is made from it.

        Examples
        --------
        >>> import alldags as ad
        >>> study = ad.datasets.example()
        >>> summary = ad.fit(study.table, study.graph, rng=0).effect("smoking", "risk").summary(level=0.8)
        >>> summary.estimate, round(summary.mean, 2), round(summary.low, 1), round(summary.high, 1)
        ('posterior mean', 0.89, 0.8, 1.0)
        """
        self._was_shown = True
        return summarize(self, level)

    def plot_rows(self, covariate: str, rows: Any = None, ax: Axes | None = None) -> Axes:
        """Draw the effect of some rows, by default those of the fit, against a covariate, with its interval."""
        self._require("plot_rows")
        return self.plots.rows(covariate, rows, ax)

    def plot_curve(self, values: Sequence[float] | None = None, ax: Axes | None = None) -> Axes:
        """Draw the mean outcome over the rows against the value the treatment is set to."""
        self._require("plot_curve")
        return self.plots.curve(values, ax)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the posterior density, with the atom at zero as a bar of its own."""
        from alldags.show.plots.effect import plot_effect

        return plot_effect(self.summary(), self.sample.draws, ax)

    @property
    def plots(self) -> EffectPlots:
        """Further pictures, of paths, of the influence of edges, of where its spread comes from, of `do`."""
        return EffectPlots(self)

    def sentence(self, style: Literal["plain", "methods"] = "plain") -> str:
        """Return the answer in one plain sentence or two, or as the methods section of a paper would put it.

        Examples
        --------
        >>> import alldags as ad
        >>> study = ad.datasets.example()
        >>> effect = ad.fit(study.table, study.graph, rng=0).effect("smoking", "risk")
        >>> effect.sentence("methods").startswith("The total causal effect of smoking on risk was estimated as its")
        True
        """
        checks.one_of("style", style, ("plain", "methods"))
        if style == "plain":
            return sentence(self.summary())
        prior = self.posterior.workings.models.items[0].prior
        return methods_paragraph(self.summary(), prior_words(prior), version("alldags"))

    def to_latex(self) -> str:
        """Return the small table of the answer in LaTeX, for the package booktabs."""
        return effect_latex(self.summary())

    def to_markdown(self) -> str:
        """Return the answer in Markdown."""
        return effect_markdown(self.summary())

    def to_datatree(self, draws: int = 4000, rng: RandomSource = None) -> Any:
        """Return independent draws of the effect as an xarray ``DataTree`` that ArviZ takes; needs extra ``arviz``.

        The group ``posterior`` has the variable ``effect``, in four equal chains: there is none to be told from
        another. Exact zeros are graphs without a path.

        Examples
        --------
        >>> import alldags as ad
        >>> study = ad.datasets.example()
        >>> tree = ad.fit(study.table, study.graph, rng=0).effect("smoking", "risk").to_datatree()
        >>> dict(tree["posterior"].sizes), tree.attrs["treatment"]
        ({'chain': 4, 'draw': 1000}, 'smoking')
        """
        from alldags.results.datatree import effect_datatree

        return effect_datatree(self, draws, rng)

    def to_dict(self) -> dict[str, Any]:
        """Return the answer as plain numbers, as printed by ``alldags effect --json``."""
        return effect_dict(self.summary())

    def report(self, target: str | os.PathLike[str], *, level: float = 0.95) -> None:
        """Write a report on this effect: a file of HTML that needs nothing else; needs the extra ``report``.

        Examples
        --------
        >>> import alldags as ad, pathlib, tempfile
        >>> study = ad.datasets.example()
        >>> target = pathlib.Path(tempfile.mkdtemp()) / "report.html"
        >>> ad.fit(study.table, study.graph, rng=0).effect("smoking", "risk").report(target)
        >>> target.stat().st_size < 400_000
        True
        """
        from alldags.results.report import write_report

        write_report(self, target, level)

    def details(self) -> None:
        """Print all there is to say: what ``print(effect)`` has no room for, and every note.

        Examples
        --------
        >>> import alldags as ad
        >>> study = ad.datasets.example()
        >>> ad.fit(study.table, study.graph, rng=0).effect("smoking", "tar").details()  # doctest: +ELLIPSIS
        Raising smoking by one unit changes tar by 1.220 on average (95% interval
        1.111 to 1.328), averaged over 65,536 candidate graphs. ...
        """
        print(self.contrasts().details() if self._is_open else effect_text(self.summary()))

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
