"""ACIC 2016: new noise around the published means, rows drawn anew in every replication, rivals that can bend."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from alldags.datasets.challenge import ACIC_SETTINGS, acic
from alldags.datasets.public import TreatmentData
from alldags.errors import EngineError
from replication.baselines import Estimate
from replication.methods import REFERENCE, TERMS, child_rng
from replication.rivals import RIVAL_FUNCTIONS
from replication.runner import Result, Task
from replication.semisynthetic import bayes_estimate, curved_estimate, drop_constant, root_pehe

COSTLY = ("bart",)
CHOICES = (1, 2, 3)  # settings on which the columns and priors of curves were chosen
ONE_EFFECT = (REFERENCE, "least_squares")  # methods that say: the same effect in every row


@dataclass(frozen=True, slots=True)
class Acic:
    """Settings of the experiment; called with a task, it does the replication.

    Parameters
    ----------
    sizes
        Numbers of rows, drawn without replacement, smaller ones nested in larger; at least 4,802 stands for all.
    methods
        Names of methods: straight lines and curves with the default prior, and rivals.
    draws
        Posterior draws for the interval of straight lines.
    costly_replications
        Replications that the costly methods do; see `tasks_of`.
    folder
        Data folder.
    seed
        Of everything.
    """

    sizes: tuple[int, ...]
    methods: tuple[str, ...]
    draws: int = 2000
    costly_replications: int = 10
    folder: str | None = None
    seed: int = 0

    def __call__(self, task: Task) -> list[Result]:
        """Do one replication; ``task.group`` is ``"ACIC 1"`` to ``"ACIC 5"``."""
        rng = child_rng(self.seed, task.group, task.replication)
        data = acic(setting_of(task.group), self.folder, rng=rng)
        order = rng.permutation(data.n)
        results: list[Result] = []
        for size in sorted({min(size, data.n) for size in self.sizes}):
            part = drop_constant(data.take(np.sort(order[:size])))
            results += [self._result(task, part, method) for method in self.methods]
        return results

    def tasks_of(self, method: str, tasks: Iterable[Task]) -> tuple[Task, ...]:
        """Return the tasks that a method does."""
        costly = method in COSTLY
        return tuple(task for task in tasks if not (costly and task.replication >= self.costly_replications))

    def _result(self, task: Task, data: TreatmentData, method: str) -> Result:
        rng = child_rng(self.seed, task.group, task.replication, data.n, method)
        start = time.process_time()
        try:
            estimate = estimated(data, method, rng, self.draws)
        except EngineError:  # no number from this method: counted as failed in the tables
            estimate = Estimate(math.nan)
        seconds = time.process_time() - start
        prior = "default" if method in (REFERENCE, TERMS) else "none"
        truth = (
            float(np.mean(data.mean1 - data.mean0)) if data.mean1 is not None and data.mean0 is not None else math.nan
        )
        spread = root_pehe(data, estimate)
        return Result(*task, data.n, prior, method, estimate.value, truth, estimate.low, estimate.high, seconds, spread)


def setting_of(group: str) -> int:
    """Return the setting of a group's name."""
    return int(group.removeprefix("ACIC "))


def group_of(setting: int) -> str:
    """Return the group's name of a setting."""
    return f"ACIC {setting}"


def estimated(data: TreatmentData, method: str, rng: np.random.Generator, draws: int) -> Estimate:
    """Return one method's estimate, with the effect of every row where the method has one."""
    if method == TERMS:
        return curved_estimate(data, rng)
    if method == REFERENCE:
        found = bayes_estimate(data, "default", method, rng, draws)
    else:
        found = RIVAL_FUNCTIONS[method](data.covariates, data.treatment, data.outcome)
    return replace(found, rows=np.full(data.n, found.value)) if method in ONE_EFFECT else found


def fetch(folder: str | None) -> None:
    """Load every setting once, so that what is missing is known, and downloaded, before the work begins."""
    for setting in ACIC_SETTINGS:
        acic(setting, folder)
