"""Clusters: what rows that belong together do to an answer.

The model takes rows for independent. Where they are not (pupils of a school, visits of a patient, copies of a row), the
evidence is counted several times over: intervals are too narrow, and edges too certain. How much can be seen without a
model of the dependence: draw as many clusters as there are, with replacement, and look how the posterior mean varies
(`sd_clusters`). Its sampling variance over the model's posterior variance is the *design effect*: so many rows carry
the information of one. Where no effect at all is likely, both are those of two separate lumps of probability, and their
ratio says little; so the same is asked of plain least squares, and the larger of the two counts. The answer is that of
the same table with each row counted as one over the design effect, so that everything in it, intervals, probabilities
of no effect and of signs, is in keeping with how clusters vary (Pauli, Racugno and Ventura 2011 adjust composite
likelihoods this way). It never makes an answer more certain.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from alldags.answers.levels import along, change_of, is_category
from alldags.data.clusters import resampled
from alldags.data.rows import RowGroups
from alldags.effects.regression import least_squares, variables_between
from alldags.effects.total import TotalEffect
from alldags.errors import AlldagsWarning, DataError, PriorError
from alldags.models.components import on_other_data
from alldags.nodes.data import WorkingData, working_rows
from alldags.notes import Note
from alldags.wording import option

if TYPE_CHECKING:
    from alldags.results.effect import Effect
    from alldags.results.posterior import Posterior

_RESAMPLES = 200
_SAMPLED_RESAMPLES = 25  # where a node has to be sampled again and again
_LEAST_PER_COLUMN = 4  # clusters for each column of a regression that is resampled
_USABLE = 0.5  # share of resampled tables that must give an answer


@dataclass(frozen=True, slots=True)
class ClusterCheck:
    """The standard deviation of an effect, with rows taken for independent and by resampling clusters.

    Parameters
    ----------
    clusters
        Their number.
    sd_independent
        Posterior standard deviation with rows taken for independent, in units of the effect.
    sd_clusters
        Standard deviation of the posterior mean over resampled clusters, in units of the effect.
    design_effect
        So many rows count as one, at least 1: the square of their ratio, or that of least squares if it is larger.
    resamples
        Number of resampled tables behind `sd_clusters`.
    """

    clusters: int
    sd_independent: float
    sd_clusters: float
    design_effect: float
    resamples: int

    @property
    def ratio(self) -> float:
        """How many times as large the standard deviation is when clusters are resampled."""
        return self.sd_clusters / self.sd_independent if self.sd_independent > 0 else 1.0


@dataclass(frozen=True, eq=False)
class Clusters:
    """The rows of a fit by cluster, ready to be resampled.

    Parameters
    ----------
    tables
        The rows of each completed table; one, unless values were imputed.
    seed
        Of the resampling.
    """

    tables: Sequence[RowGroups]
    seed: np.random.SeedSequence

    @property
    def count(self) -> int:
        """Number of clusters."""
        return len(self.tables[0].clusters)

    def resamples(self, posterior: Posterior, count: int) -> Iterator[WorkingData]:
        """Yield tables of resampled clusters; with several completed tables, from one after the other."""
        model = posterior.workings.models.items[0]
        for place, child in enumerate(
            np.random.SeedSequence(self.seed.entropy, spawn_key=self.seed.spawn_key).spawn(count)
        ):
            rows = resampled(self.tables[place % len(self.tables)], np.random.default_rng(child))
            try:
                fresh = working_rows(rows, model.prior, model.data.pooled.names, model.data.scale)
                yield replace(fresh, levels=model.data.levels)
            except DataError:
                continue  # a variable that does not vary in the clusters drawn


def clusters_note(clusters: Clusters | None) -> tuple[Note, ...]:
    """Say what is asked of clusters, and what is not."""
    if clusters is None:
        return ()
    text = (
        f"{clusters.count:,} clusters: each effect is as uncertain as resampling them shows; edge probabilities and "
        "other tables of the whole fit take rows for independent"
    )
    return (Note(text),)


def clustered(effect: Effect, clusters: Clusters) -> Effect:
    """Return the effect with each row counted as its design effect says."""
    check = _check(effect, clusters)
    if check.design_effect > 1.0:
        posterior = effect.posterior.on(
            [data.tempered(1.0 / check.design_effect) for data in effect.posterior.workings.tables]
        )
    else:
        posterior = effect.posterior
    return type(effect)(posterior, effect._question, check)


def _check(effect: Effect, clusters: Clusters) -> ClusterCheck:
    independent = effect.sd
    is_sampled = effect.mean_error > effect.imputation_error
    count = _SAMPLED_RESAMPLES if is_sampled else _RESAMPLES
    tables = list(clusters.resamples(effect.posterior, count))
    means = np.array(list(_means(effect, tables)))
    if len(means) < _USABLE * count:
        raise DataError(
            f"cluster: of {count} resampled tables only {len(means)} gave an answer, since some variable does not vary "
            f"in most choices of the {clusters.count} clusters; leave out {option('cluster')}, or add clusters"
        )
    spread = float(means.std(ddof=1)) * math.sqrt(clusters.count / (clusters.count - 1))
    known = independent > 0 and math.isfinite(independent)
    factor = (
        max(1.0, (spread / independent) ** 2, _plain_design_effect(effect, tables, clusters.count)) if known else 1.0
    )
    return ClusterCheck(clusters.count, independent, spread, factor, len(means))


def _plain_design_effect(effect: Effect, tables: Sequence[WorkingData], clusters: int) -> float:
    """Return the design effect of plain least squares; 1 where it has too many covariates to say."""
    plain = effect.regression
    if plain is None or plain.error == 0.0 or _LEAST_PER_COLUMN * (len(plain.covariates) + 1) > clusters:
        return 1.0
    names = effect.treatment, effect.outcome
    between = variables_between(effect.posterior.graphs, *names)
    question = effect._question
    changes = [change_of(data, question) if is_category(data, question) else None for data in tables]
    pairs = zip(tables, changes, strict=True)
    found = [least_squares(data, *names, plain.covariates, between, change) for data, change in pairs]
    estimates = [item.estimate for item in found if item is not None]
    if len(estimates) < _USABLE * len(found):
        return 1.0
    return float(np.var(estimates, ddof=1)) * clusters / (clusters - 1) / plain.error**2


def _means(effect: Effect, tables: Sequence[WorkingData]) -> Iterator[float]:
    """Yield the posterior mean of the effect in resampled tables."""
    posterior = effect.posterior
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AlldagsWarning)  # the answer itself says what went wrong
        for data in tables:
            models = on_other_data(posterior.workings.models, [data], posterior.workings.store.empty())
            linked = models.map(lambda model: model.about(effect.treatment)) if posterior.workings.link else models
            try:
                ways = along(linked, effect._question)
                totals = ways.map(lambda model: TotalEffect.of(model, effect.treatment, effect.outcome))
                yield effect.workings.unit * totals.average(lambda total: total.mean)
            except (DataError, PriorError):
                continue
