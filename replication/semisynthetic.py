"""The paper's semi-synthetic experiments: IHDP and LBIDD.

The paper does not say how it prepared these data for a model without intercepts and with a known noise precision. Here,
for the paper's prior, every column is centred, covariates are divided by their standard deviation (in LBIDD they run
from -1 to 9999), treatment and outcome keep their units, and ``Prior.paper()`` (tau = s = 1) is applied to the result.
The default prior is applied to the columns as they are; it centres and scales by itself. Columns that are constant in
a subsample are left out of it.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from alldags.data.moments import Moments
from alldags.datasets.public import OUTCOME, TREATMENT, TreatmentData, ihdp, lbidd
from alldags.errors import EngineError
from alldags.fitting import fit
from alldags.graph.terms import Terms
from alldags.typing import FloatArray, IntArray
from replication.baselines import BASELINE_FUNCTIONS, Estimate
from replication.methods import PRIORS, REFERENCE, TERMS, BoundedBayes, child_rng, make_engine, with_mixture
from replication.runner import Result, Task

IHDP_GROUP = "IHDP"
_LEAST_ARM = 2  # rows of each arm in the smallest subsample; with fewer some methods are not defined


@dataclass(frozen=True, slots=True)
class SemiSynthetic:
    """Settings of a semi-synthetic experiment; called with a task, it does the replication.

    Parameters
    ----------
    sizes
        Sizes of nested subsamples of rows, drawn without replacement; a size of at least the number of rows stands
        for all of them.
    methods
        Names of Bayesian methods, run with every prior.
    baselines
        Names of the others.
    priors
        Names of priors.
    extra
        Further pairs of prior and Bayesian method.
    draws
        Posterior draws for an interval.
    curved_size
        Size at which curves are fitted; None for not at all.
    interval_sizes
        Least size at which intervals are made; they are the expensive part where there are many covariates.
    curve_replications
        Replications beyond this many do the full size only; None for no such bound.
    full_only
        Groups of which only the full size is wanted.
    full_once
        Whether all replications have the same full data, so that it is done in replication 0 only.
    folder
        Data folder.
    seed
        Of everything.
    """

    sizes: tuple[int, ...]
    methods: tuple[str, ...]
    baselines: tuple[str, ...]
    priors: tuple[str, ...] = ("paper", "default")
    extra: tuple[tuple[str, str], ...] = ()
    draws: int = 2000
    curved_size: int | None = None
    interval_sizes: int = 0
    curve_replications: int | None = None
    full_only: tuple[str, ...] = ()
    full_once: bool = False
    folder: str | None = None
    seed: int = 0

    def __call__(self, task: Task) -> list[Result]:
        """Do one replication; ``task.group`` is ``"IHDP"`` or an LBIDD identifier."""
        data = load(task, self.folder)
        order = nested_rows(data.treatment, min(self.sizes), child_rng(self.seed, task.group, task.replication))
        results = []
        for size in self._sizes(task, data.n):
            part = data if size == data.n else data.take(order[:size])
            for prior, method, estimate, seconds in self._estimates(part, task):
                ends = estimate.low, estimate.high
                pehe = root_pehe(part, estimate)
                results.append(Result(*task, size, prior, method, estimate.value, data.effect, *ends, seconds, pehe))
        return results

    def _sizes(self, task: Task, n: int) -> list[int]:
        sizes = sorted({min(size, n) for size in self.sizes})
        past = self.curve_replications is not None and task.replication >= self.curve_replications
        if task.group in self.full_only or past:
            sizes = sizes[-1:]
        if self.full_once and task.replication > 0:
            sizes = [size for size in sizes if size < n]
        return sizes

    def _estimates(self, data: TreatmentData, task: Task) -> Iterator[tuple[str, str, Estimate, float]]:
        draws = self.draws if data.n >= self.interval_sizes else 0
        curved = (("default", TERMS),) if data.n == self.curved_size else ()
        for prior, method in (*product(self.priors, self.methods), *self.extra, *curved):
            rng = child_rng(self.seed, task.group, task.replication, data.n, prior, method)
            start = time.process_time()
            try:
                curves = method == TERMS
                estimate = curved_estimate(data, rng) if curves else bayes_estimate(data, prior, method, rng, draws)
            except EngineError:  # no number from this method: counted as failed in the tables
                estimate = Estimate(math.nan)
            yield prior, method, estimate, time.process_time() - start
        varying = drop_constant(data)
        for method in self.baselines:
            start = time.process_time()
            estimate = BASELINE_FUNCTIONS[method](varying.covariates, varying.treatment, varying.outcome)
            yield "none", method, estimate, time.process_time() - start


def load(task: Task, folder: str | None) -> TreatmentData:
    """Return the data set of a task: IHDP replications count from 1, LBIDD has one data set per group."""
    if task.group == IHDP_GROUP:
        return ihdp(task.replication + 1, folder)
    return lbidd(task.group, folder)


def fetch(tasks: Iterable[Task], folder: str | None) -> None:
    """Load every data set once, so that what is missing is known, and downloaded, before the work begins."""
    for task in dict.fromkeys(task if task.group == IHDP_GROUP else Task(task.group, 0) for task in tasks):
        load(task, folder)


def nested_rows(treatment: FloatArray, smallest: int, rng: np.random.Generator) -> IntArray:
    """Return the rows in a random order in which the first `smallest` have at least two of each arm."""
    least = min(_LEAST_ARM, smallest // 2)
    while True:
        order = rng.permutation(len(treatment))
        treated = int(treatment[order[:smallest]].sum())
        if min(treated, smallest - treated) >= least:
            return order


def bayes_estimate(data: TreatmentData, prior: str, method: str, rng: np.random.Generator, draws: int) -> Estimate:
    """Return the posterior mean of the effect and, if `draws` is not 0, its 95% interval."""
    part = drop_constant(data)
    if prior == "paper":
        part = centred(part)
    moments = Moments.from_table(part.array(), names=part.names)
    graph = part.graph()
    engine = BoundedBayes(sweeps=500, max_sweeps=2000) if method == REFERENCE else make_engine(method)
    made = with_mixture(PRIORS[prior](), method)
    effect = fit(moments, graph, prior=made, engine=engine, rng=rng).effect(TREATMENT, OUTCOME)
    if draws == 0:
        return Estimate(effect.mean)
    low, high = np.quantile(effect.draws(draws, rng=rng), [0.025, 0.975])
    return Estimate(effect.mean, float(low), float(high))


def curved_estimate(data: TreatmentData, rng: np.random.Generator) -> Estimate:
    """Return the answer with curves in the outcome's regression: mean, 95% interval, effect of every row."""
    part = drop_constant(data)
    table = dict(zip(part.names, part.array().T, strict=True))
    effect = fit(table, part.graph(), terms={OUTCOME: Terms()}, rng=rng).effect(TREATMENT, OUTCOME)
    return Estimate(effect.mean, *effect.interval(0.95), np.asarray(effect.by(table)["mean"]))


def root_pehe(data: TreatmentData, estimate: Estimate) -> float:
    """Return the root mean squared error of the effects of single rows; nan where they, or the truth, are unknown."""
    if estimate.rows is None or data.mean0 is None or data.mean1 is None:
        return math.nan
    return float(np.sqrt(np.mean((estimate.rows - (data.mean1 - data.mean0)) ** 2)))


def drop_constant(data: TreatmentData) -> TreatmentData:
    """Return the data without covariates that do not vary."""
    varying = np.ptp(data.covariates, axis=0) > 0
    columns = tuple(name for name, kept in zip(data.columns, varying, strict=True) if kept)
    return replace(data, covariates=data.covariates[:, varying], columns=columns)


def centred(data: TreatmentData) -> TreatmentData:
    """Return the data with every column centred and the covariates, which must vary, scaled to unit variance."""
    x = data.covariates - data.covariates.mean(axis=0)
    return replace(
        data,
        covariates=x / x.std(axis=0, ddof=1),
        treatment=data.treatment - data.treatment.mean(),
        outcome=data.outcome - data.outcome.mean(),
    )


def both_effects(folder: str | None, replications: int) -> tuple[FloatArray, FloatArray]:
    """Return ``mean(y1 - y0)`` and ``mean(mu1 - mu0)`` of the first IHDP replications, shape (replications,) each."""
    sets = [ihdp(index + 1, folder) for index in range(replications)]
    means = [data.effect_of_means for data in sets]
    return np.array([data.effect for data in sets]), np.array([math.nan if m is None else m for m in means])
