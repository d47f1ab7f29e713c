"""Have chains over partitions run long enough? Split R-hat and errors of effects, and what to tell the user.

The numbers judged are means given a partition, which hold no noise from parents or coefficients: chains that disagree
cannot hide behind it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from alldags.engines.sampling.diagnostics import mean_errors, plain_r_hat
from alldags.nodes import Diagnostics
from alldags.typing import FloatArray

R_HAT = 1.05  # of effects and of the log weight; means given a partition have less noise than draws
LEAST_SPREAD = 0.01  # in standardised units: an effect that varies less over partitions is measured by this
LEFT_OUT = (
    0.03  # coefficient, in working units, of an edge without a place, above which an answer is not to be relied on
)
BATCHES = 64  # per chain


@dataclass(frozen=True)
class Agreement:
    """How well several chains agree on one number.

    Parameters
    ----------
    r_hat
        Split R-hat.
    error
        Monte-Carlo standard error: the largest of those from batches, from long batches, and between chains.
    effective_draws
        How many independent partitions would give the same error.
    """

    r_hat: float
    error: float
    effective_draws: float


@dataclass(frozen=True, eq=False)
class PartitionDiagnostics(Diagnostics):
    """How the sampled posterior of a block was obtained and how far it can be trusted.

    Parameters
    ----------
    converged
        Whether chains from different starts agree on every effect inside the block, and no edge is missing.
    remark
        What every sampled answer carries.
    sweeps, chains, walkers
        Sweeps per chain, chains, and walkers in each, of which one is at power 1.
    swap_rate
        Share of exchanges between neighbouring walkers that were made, shape (walkers - 1,).
    split_r_hat, mcse, effective_draws
        Of the mean effect of each cause on each variable inside the block, shape (b + e, b).
    steady_mcse
        Largest error of an effect as seen inside chains; steadier than `mcse`, which also looks between the few chains.
    weight_r_hat
        Split R-hat of the log weight of partitions.
    left_out
        Largest mean coefficient, absence included, that an edge without a place in the tables would have, to first
        order, in working units.
    edges_left_out
        How many of those edges a graph would have on average; most of them are as good as zero.
    reproducible
        False if a time limit ended the run.
    """

    converged: bool = True
    remark: str = ""
    sweeps: int = 0
    chains: int = 0
    walkers: int = 0
    swap_rate: FloatArray = field(default_factory=lambda: np.zeros(0), repr=False)
    split_r_hat: FloatArray = field(default_factory=lambda: np.ones((0, 0)), repr=False)
    mcse: FloatArray = field(default_factory=lambda: np.zeros((0, 0)), repr=False)
    effective_draws: FloatArray = field(default_factory=lambda: np.zeros((0, 0)), repr=False)
    steady_mcse: float = 0.0
    weight_r_hat: float = 1.0
    left_out: float = 0.0
    edges_left_out: float = 0.0
    reproducible: bool = True

    @property
    def troubles(self) -> tuple[str, ...]:
        """All of the warnings."""
        return self.warnings

    @property
    def max_r_hat(self) -> float:
        """Largest split R-hat of an effect inside the block."""
        return float(self.split_r_hat.max(initial=1.0))

    @property
    def max_mcse(self) -> float:
        """Largest Monte-Carlo standard error of an effect inside the block."""
        return float(self.mcse.max(initial=0.0))


def agreement(values: FloatArray) -> Agreement:
    """Return how well chains agree on a number, from its values given each partition, shape (chains, N)."""
    sums = batch_sums(values[:, :, None])
    r_hat, error, draws = (float(part[0]) for part in agreements(sums, values.shape[1]))
    return Agreement(r_hat, error, draws)


def batch_sums(values: FloatArray) -> FloatArray:
    """Return sums, and sums of squares, over batches of partitions: (chains, batches, 2, m) of (chains, N, m)."""
    chains, count, m = values.shape
    length = batch_length(count)
    batches = values[:, : count // length * length].reshape(chains, -1, length, m)
    return np.stack([batches.sum(axis=2), (batches**2).sum(axis=2)], axis=2)


def batch_length(count: int) -> int:
    """Return how many of so many partitions go into a batch."""
    return max(count // BATCHES, 1)


def agreements(sums: FloatArray, count: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return split R-hat, error and effective draws of every column, shape (m,) each.

    `sums` has shape (chains, batches, 2, m), from `count` partitions in each chain.
    """
    length = batch_length(count)
    means = sums[:, :, 0] / length
    half = means.shape[1] // 2
    first, last = sums[:, :half].sum(axis=1), sums[:, -half:].sum(axis=1)
    halves = np.concatenate([first, last]) / (half * length)
    within = (halves[:, 1] - halves[:, 0] ** 2).mean(axis=0)
    between = halves[:, 0].var(axis=0, ddof=1)
    r_hat = np.sqrt(1.0 - 1.0 / (half * length) + between / np.maximum(within, LEAST_SPREAD**2))
    apart = np.sqrt(means.mean(axis=1).var(axis=0, ddof=1) / len(means))
    error = np.maximum(mean_errors(means), apart)
    draws = np.divide(within, error**2, out=np.full_like(within, np.inf), where=error > 0)
    return np.maximum(r_hat, 1.0), error, draws


def weight_r_hat(log_weight: FloatArray) -> float:
    """Return the split R-hat of log weights, shape (chains, N); 1 if chains differ by less than a tenth of a nat."""
    return plain_r_hat(log_weight)


# -- words -------------------------------------------------------------------------------------------------------------


def standing_remark(names: tuple[str, ...], chains: int, walkers: int) -> str:
    """Return the sentence that every sampled block carries."""
    return (
        f"the order of {len(names)} variables was sampled: modes that were not met cannot be excluded; {chains} chains "
        f"from random graphs, each with {walkers - 1} heated companions"
    )


def convergence_warnings(
    causes: tuple[str, ...], names: tuple[str, ...], found: PartitionDiagnostics, max_sweeps: int
) -> tuple[str, ...]:
    """Return the sentences a user should read about this run."""
    out = []
    if found.max_r_hat > R_HAT or found.weight_r_hat > R_HAT:
        out.append(_not_agreed(causes, names, found, max_sweeps))
    if found.left_out > LEFT_OUT:
        out.append(
            f"an edge among {_listed(names)} that the sampler's tables have no room for would have a mean coefficient "
            f"of about {found.left_out:.2g} (standardised): do not rely on this answer; leave out candidate edges that "
            "you can rule out, or say more about the order: tiers make blocks smaller"
        )
    return tuple(out)


def _not_agreed(causes: tuple[str, ...], names: tuple[str, ...], found: PartitionDiagnostics, max_sweeps: int) -> str:
    if found.max_r_hat > R_HAT:
        cause, effect = np.unravel_index(int(np.argmax(found.split_r_hat)), found.split_r_hat.shape)
        what = f"R-hat is {found.max_r_hat:.3g} for the effect of {causes[cause]!r} on {names[effect]!r}"
    else:
        what = f"R-hat is {found.weight_r_hat:.3g} for the weight of the orders"
    factor = 10 if max(found.max_r_hat, found.weight_r_hat) > 1.2 else 4
    longer = factor * max(max_sweeps, found.sweeps) if found.reproducible else factor * found.sweeps
    return (
        f"the chains over the order of {_listed(names)} have not agreed: {what} (wanted: {R_HAT}) after {found.sweeps} "
        f"sweeps: do not rely on this answer; run longer, MCMC(max_sweeps={longer}), or say more about the order: "
        "tiers make blocks smaller"
    )


def _listed(names: tuple[str, ...]) -> str:
    return ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")


def is_agreed(found: PartitionDiagnostics) -> bool:
    """Return whether chains agree on all effects and on the weights, and no edge is missing."""
    return found.max_r_hat <= R_HAT and found.weight_r_hat <= R_HAT and found.left_out <= LEFT_OUT


def wanted_longer(found: PartitionDiagnostics, target: float) -> float:
    """Return how many times longer the run should be; at most 1 if it is long enough."""
    need = (found.steady_mcse / target) ** 2
    return max(need, 2.0) if found.max_r_hat > R_HAT or found.weight_r_hat > R_HAT else need
