"""Nodes made to fool a sampler of parent sets, with known answers.

Each family is a way in which several parent sets explain a child about equally well although no small change leads from one
to the other. Levels of noise are drawn so that the competitors are, as often as not, of comparable weight.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from alldags.engines.exact import Exact
from alldags.nodes import NodeProblem
from alldags.priors.edges import BetaBinomial
from alldags.priors.grid import Setting
from alldags.priors.noise import KnownNoise, UnknownNoise
from alldags.priors.slabs import LearnedSlab


@dataclass(frozen=True, eq=False)
class Hostile:
    """A problem and its exact answer: inclusion, mean and standard deviation (k,), log evidence."""

    name: str
    problem: NodeProblem
    inclusion: np.ndarray
    mean: np.ndarray
    sd: np.ndarray
    covariance: np.ndarray
    log_evidence: float


Table = tuple[np.ndarray, np.ndarray]  # columns (n, k), child (n,)


# -- families ---------------------------------------------------------------------------------------------------------


def hidden_in(rng: np.random.Generator, signal: np.ndarray, q: int) -> np.ndarray:
    """Return q columns, shape (n, q), each of them mostly nuisance, that together contain the signal exactly."""
    nuisance = 3.0 * rng.normal(size=(len(signal), q - 1))
    mix = np.linalg.qr(rng.normal(size=(q, q)))[0]
    mix[0] = rng.choice([-1.0, 1.0], size=q) * (0.5 + 0.5 * rng.random(q))
    return np.column_stack([signal, nuisance]) @ mix


def balanced_noise(
    rng: np.random.Generator, n: int, extra: int, probability: float, noise: float, spread: float
) -> float:
    """Return the noise of a copy that costs about as much fit as `extra` parents more cost in prior weight."""
    cost = extra * (0.5 * math.log(n) + 1.0 + math.log(1 / probability - 1.0))
    return noise * math.sqrt(math.expm1(max(2.0 * cost * (1.0 + spread * rng.normal()), 0.5) / n))


def copies(rng: np.random.Generator, n: int, k: int, probability: float) -> Table:
    """Signals, each in one noisy copy or hidden in q columns."""
    columns, y, noise = [], np.zeros(n), 0.3 + rng.random()
    while True:
        q = int(rng.integers(2, 6))
        if sum(c.shape[1] for c in columns) + q + 1 > k:
            break
        signal = rng.normal(size=n)
        copy = signal + balanced_noise(rng, n, q - 1, probability, noise, 0.3) * rng.normal(size=n)
        columns += [copy[:, None], hidden_in(rng, signal, q)]
        y += signal
    return padded_out(rng, columns, n, k), y + noise * rng.normal(size=n)


def alternatives(rng: np.random.Generator, n: int, k: int, probability: float) -> Table:
    """Signals hidden in two different groups of columns, and sometimes in a copy too."""
    columns, y, noise = [], np.zeros(n), 0.3 + rng.random()
    while True:
        q, r = (int(v) for v in rng.integers(2, 5, size=2))
        if sum(c.shape[1] for c in columns) + q + r + 1 > k:
            break
        signal = rng.normal(size=n)
        other = signal + balanced_noise(rng, n, abs(q - r) + 0.3, probability, noise, 0.5) * rng.normal(size=n)
        first, second = (signal, other) if q > r else (other, signal)
        columns += [hidden_in(rng, first, q), hidden_in(rng, second, r)]
        if rng.random() < 0.5:
            copy = signal + balanced_noise(rng, n, q - 1, probability, noise, 0.3) * rng.normal(size=n)
            columns.append(copy[:, None])
        y += signal
    return padded_out(rng, columns, n, k), y + noise * rng.normal(size=n)


def rotations(rng: np.random.Generator, n: int, k: int, probability: float) -> Table:
    """Groups of q columns and a rotation of each, all q of which have an effect."""
    columns, y, noise = [], np.zeros(n), 0.3 + rng.random()
    while True:
        q = int(rng.integers(2, 6))
        if sum(c.shape[1] for c in columns) + 2 * q > k:
            break
        x = rng.normal(size=(n, q))
        size = balanced_noise(rng, n, 0.3, probability, noise, 0.5) / math.sqrt(q)
        turned = x @ np.linalg.qr(rng.normal(size=(q, q)))[0] + size * rng.normal(size=(n, q))
        columns += [x, turned]
        y += x @ (0.5 + rng.random(q))
    return padded_out(rng, columns, n, k), y + noise * rng.normal(size=n)


def duplicates(rng: np.random.Generator, n: int, k: int, probability: float) -> Table:
    """Blocks of almost equal columns."""
    del probability
    size = int(rng.integers(2, 7))
    correlation = 1.0 - 10.0 ** rng.uniform(-4, -1)
    common = np.repeat(rng.normal(size=(n, -(-k // size))), size, axis=1)[:, :k]
    x = math.sqrt(correlation) * common + math.sqrt(1.0 - correlation) * rng.normal(size=(n, k))
    effect = np.where(rng.random(k) < 0.25, rng.normal(size=k), 0.0)
    return x, x @ effect + rng.normal(size=n)


def suppressors(rng: np.random.Generator, n: int, k: int, probability: float) -> Table:
    """Pairs and triples that are useful only together, at the edge of being worth their prior weight."""
    columns, y = [], rng.normal(size=n)
    while sum(c.shape[1] for c in columns) + 3 <= k:
        q = int(rng.integers(2, 4))
        signal = rng.normal(size=n)
        cost = q * (0.5 * math.log(n) + 1.0 + math.log(1 / probability - 1.0))
        y += signal * math.sqrt(math.expm1(2.0 * cost * (0.5 + rng.random()) / n))
        columns.append(hidden_in(rng, signal, q))
    return padded_out(rng, columns, n, k), y


def few_rows(rng: np.random.Generator, n: int, k: int, probability: float) -> Table:
    """Hardly more rows than candidates, all of them correlated."""
    del probability
    n = int(rng.integers(12, 50))
    x = rng.normal(size=(n, k)) + rng.uniform(0.3, 2.0) * rng.normal(size=(n, 1))
    return x, x @ np.where(rng.random(k) < 0.4, rng.normal(size=k), 0.0) + rng.normal(size=n)


def padded_out(rng: np.random.Generator, columns: list[np.ndarray], n: int, k: int) -> np.ndarray:
    """Return the columns in random order, filled up with noise to k of them."""
    used = sum(c.shape[1] for c in columns)
    return np.column_stack([*columns, rng.normal(size=(n, k - used))])[:, rng.permutation(k)]


FAMILIES: dict[str, Callable[[np.random.Generator, int, int, float], Table]] = {
    "copies": copies,
    "alternatives": alternatives,
    "rotations": rotations,
    "duplicates": duplicates,
    "suppressors": suppressors,
    "few rows": few_rows,
}


# -- problems ---------------------------------------------------------------------------------------------------------


def small(seed: int, learned: bool = False) -> Hostile:
    """Return a problem with at most 20 candidates and the truth by enumeration; families take turns by the seed."""
    rng = np.random.default_rng([seed, 1])
    name = list(FAMILIES)[seed % len(FAMILIES)]
    k = int(rng.integers(9, 15 if learned else 20))
    n, probability = int(rng.choice([200, 500, 1000, 3000])), float(rng.choice([0.02, 0.1, 0.3, 0.5]))
    x, y = FAMILIES[name](rng, n, k, probability)
    problem = regression(x, y, probability, _settings(rng, learned, len(x)), rng.random() < 0.15)
    node = Exact()(problem, rng)
    covariance = node.second_moment - np.outer(node.mean, node.mean)
    sd = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    return Hostile(name, problem, node.inclusion, node.mean, sd, covariance, float(node.log_evidence))


def _settings(rng: np.random.Generator, learned: bool, rows: int) -> tuple[Setting, ...]:
    if learned:
        return LearnedSlab().settings(rows, UnknownNoise())
    if rng.random() < 0.15:
        return (Setting(float(rows), UnknownNoise(), "g"),)
    return (Setting(float(rng.choice([1.0, 1.0, 100.0])), UnknownNoise()),)


def regression(
    x: np.ndarray, y: np.ndarray, probability: float, settings: tuple[Setting, ...], sized: bool = False
) -> NodeProblem:
    """Return the problem of regressing `y` (n,) on `x` (n, k), both centred and scaled."""
    n, k = x.shape
    x, y = x - x.mean(axis=0), y - y.mean()
    x, y = x / x.std(axis=0), y / y.std()
    names = tuple(f"x{i}" for i in range(k))
    chance, log_size = (0.5, BetaBinomial().log_size(k)) if sized else (probability, None)
    return NodeProblem("y", names, x.T @ x, x.T @ y, float(y @ y), n - 1, np.full(k, chance), settings, log_size)


def large(seed: int, k: int = 35) -> Hostile:
    """Return a problem made of two or three unrelated ones: with known noise its posterior is their product."""
    rng = np.random.default_rng([seed, 2])
    n, probability = int(rng.choice([500, 1000, 3000])), float(rng.choice([0.02, 0.1, 0.3, 0.5]))
    sizes = [int(rng.integers(9, 14))]
    sizes += [(k - sizes[0]) // 2, k - sizes[0] - (k - sizes[0]) // 2]
    names = list(FAMILIES)[:5]
    parts = []
    for size in sizes:
        x, y = FAMILIES[names[int(rng.integers(5))]](rng, n, size, probability)
        parts.append(_known(x, y, probability))
    return _product(parts, probability, rng)


def _known(x: np.ndarray, y: np.ndarray, probability: float) -> NodeProblem:
    part = regression(x, y, probability, (Setting(1.0, KnownNoise(1.0)),))
    whole = np.linalg.solve(part.gram + 1e-8 * np.eye(part.k), part.cross)
    residual = max((part.total - part.cross @ whole) / part.n, 1e-4)
    return NodeProblem(
        "y", part.terms, part.gram, part.cross / math.sqrt(residual), part.total / residual, part.n, part.probability,
        part.settings,
    )  # fmt: skip


def _product(parts: list[NodeProblem], probability: float, rng: np.random.Generator) -> Hostile:
    """Return the problem whose gram matrix has the parts' as blocks; its child is the sum of theirs."""
    k = sum(part.k for part in parts)
    gram, covariance = np.zeros((k, k)), np.zeros((k, k))
    nodes = [Exact()(part, rng) for part in parts]
    at = 0
    for part, node in zip(parts, nodes, strict=True):
        block = slice(at, at + part.k)
        gram[block, block] = part.gram
        covariance[block, block] = node.second_moment - np.outer(node.mean, node.mean)
        at += part.k
    total = sum(part.total for part in parts)
    problem = NodeProblem(
        "y", tuple(f"x{i}" for i in range(k)), gram, np.concatenate([part.cross for part in parts]), total, parts[0].n,
        np.full(k, probability), parts[0].settings,
    )  # fmt: skip
    mean, inclusion = (np.concatenate([getattr(node, what) for node in nodes]) for what in ("mean", "inclusion"))
    common = 0.5 * parts[0].n * math.log(1.0 / (2.0 * math.pi))
    log_evidence = sum(float(node.log_evidence) for node in nodes) - (len(nodes) - 1) * common
    sd = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    return Hostile("product", problem, inclusion, mean, sd, covariance, log_evidence)
