"""Slow, obvious twins: every graph, every path, nothing shared with the package's own algebra.

Works on rows, not on moments; uses dense multivariate-normal and Student-t densities, not Schur complements; walks
paths one by one.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np
from scipy import stats


@dataclass
class NaiveNode:
    """Everything about one child given one parent set."""

    parents: tuple[int, ...]
    log_weight: float  # log prior probability of the set + log marginal likelihood
    mean: np.ndarray  # (m,)
    covariance: np.ndarray  # (m, m)
    noise_variance: float


def contrasts(rows: np.ndarray) -> np.ndarray:
    """Take a flat intercept out by n - 1 orthonormal contrasts of the rows (Helmert), not by centring."""
    n = len(rows)
    helmert = np.zeros((n - 1, n))
    for i in range(1, n):
        helmert[i - 1, :i] = 1.0
        helmert[i - 1, i] = -i
        helmert[i - 1] /= math.sqrt(i * (i + 1))
    return helmert @ rows


def node_sets(x, child, candidates, probability, tau, noise):
    """Enumerate the parent sets of one child. `noise` is ("known", s) or ("unknown", a0, b0)."""
    n, m = x.shape
    out = []
    for bits in itertools.product([0, 1], repeat=len(candidates)):
        parents = tuple(c for c, bit in zip(candidates, bits, strict=True) if bit)
        prior = 0.0
        for c, bit in zip(candidates, bits, strict=True):
            p = probability[c, child]
            prior += (math.log(p) if p > 0 else -math.inf) if bit else (math.log1p(-p) if p < 1 else -math.inf)
        if prior == -math.inf:
            continue
        design = x[:, list(parents)]
        y = x[:, child]
        if noise[0] == "known":
            s = noise[1]
            marginal = np.eye(n) / s + tau * design @ design.T
            log_like = stats.multivariate_normal(np.zeros(n), marginal, allow_singular=False).logpdf(y)
            variance, spread = 1.0 / s, 1.0 / s
        else:
            a0, b0 = noise[1:]
            shape = np.eye(n) + tau * design @ design.T
            quadratic = y @ np.linalg.solve(shape, y)
            log_like = (
                math.lgamma(a0 + n / 2)
                - n / 2 * math.log(2 * math.pi)
                - 0.5 * np.linalg.slogdet(shape)[1]
                - (a0 + n / 2) * math.log(b0 + quadratic / 2)
            )
            if a0 > 0 and b0 > 0:
                log_like += a0 * math.log(b0) - math.lgamma(a0)
            variance = (b0 + quadratic / 2) / (a0 + n / 2 - 1)
            spread = variance
        mean, covariance = np.zeros(m), np.zeros((m, m))
        if parents:
            # posterior from the joint of coefficients and data, in units of the noise variance
            ratio = tau * (noise[1] if noise[0] == "known" else 1.0)
            gain = ratio * design.T @ np.linalg.inv(np.eye(n) + ratio * design @ design.T)
            mean[list(parents)] = gain @ y
            block = ratio * np.eye(len(parents)) - gain @ design * ratio
            covariance[np.ix_(parents, parents)] = spread * block
        out.append(NaiveNode(parents, prior + log_like, mean, covariance, variance))
    return out


def all_graphs(x, order_probability, tau, noise):
    """Yield (log weight, coefficient means B (m, m), per-child NaiveNode) for every graph. Row = cause."""
    m = x.shape[1]
    per_node = [
        node_sets(x, j, [i for i in range(m) if order_probability[i, j] > 0], order_probability, tau, noise)
        for j in range(m)
    ]
    for combination in itertools.product(*per_node):
        yield sum(node.log_weight for node in combination), combination


def paths(present, start, end):
    """List all directed paths from start to end as tuples of vertices."""
    if start == end:
        return [(end,)]
    found = []
    for nxt in np.flatnonzero(present[start]):
        found += [(start, *rest) for rest in paths(present, int(nxt), end)]
    return found


def path_moments(combination, source, target, avoid=()):
    """First two moments of the total effect given a graph, path by path; different nodes are independent."""
    m = len(combination)
    present = np.zeros((m, m), dtype=bool)
    for child, node in enumerate(combination):
        present[list(node.parents), child] = True
    for vertex in avoid:
        present[vertex, :] = False
        present[:, vertex] = False
    all_paths = paths(present, source, target)
    mean = 0.0
    for path in all_paths:
        mean += math.prod(combination[b].mean[a] for a, b in itertools.pairwise(path))
    second = 0.0
    for one in all_paths:
        for two in all_paths:
            entering_one = {b: a for a, b in itertools.pairwise(one)}
            entering_two = {b: a for a, b in itertools.pairwise(two)}
            product = 1.0
            for child in set(entering_one) | set(entering_two):
                node = combination[child]
                a, b = entering_one.get(child), entering_two.get(child)
                if a is None or b is None:
                    product *= node.mean[a if b is None else b]
                else:
                    product *= node.covariance[a, b] + node.mean[a] * node.mean[b]
            second += product
    return mean, second, not all_paths


@dataclass
class NaiveEffect:
    log_evidence: float
    mean: float
    second: float
    between: float  # E[(E[T | G])^2]
    no_path: float
    inclusion: np.ndarray  # (m, m)
    edge_mean_present: np.ndarray  # (m, m) E[T | edge present]
    edge_mean_absent: np.ndarray
    do_variance: float  # sum over k != source of E[U_k^2 / s_k]

    @property
    def variance(self):
        return self.second - self.mean**2


def effect(x, probability, tau, noise, source, target, with_do=True):
    """Average the total effect over every graph."""
    m = x.shape[1]
    log_weights, rows = [], []
    for log_weight, combination in all_graphs(x, probability, tau, noise):
        mean, second, none = path_moments(combination, source, target)
        present = np.zeros((m, m))
        for child, node in enumerate(combination):
            present[list(node.parents), child] = 1.0
        spread = 0.0
        if with_do:
            for k in range(m):
                if k != source:
                    u = 1.0 if k == target else path_moments(combination, k, target, avoid=(source,))[1]
                    spread += u * combination[k].noise_variance
        log_weights.append(log_weight)
        rows.append((mean, second, float(none), present, spread))
    log_weights = np.array(log_weights)
    log_evidence = float(np.logaddexp.reduce(log_weights))
    w = np.exp(log_weights - log_evidence)
    means = np.array([row[0] for row in rows])
    present = np.array([row[3] for row in rows])
    inclusion = np.tensordot(w, present, 1)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean_present = np.tensordot(w * means, present, 1) / inclusion
        mean_absent = np.tensordot(w * means, 1 - present, 1) / np.tensordot(w, 1 - present, 1)
    return NaiveEffect(
        log_evidence,
        float(w @ means),
        float(w @ [row[1] for row in rows]),
        float(w @ means**2),
        float(w @ [row[2] for row in rows]),
        inclusion,
        mean_present,
        mean_absent,
        float(w @ [row[4] for row in rows]),
    )


def joint(x, probability, tau, noise, scenarios, target):
    """Return mean and variance of a combination of changes of the target, over every graph and every pair of paths.

    `scenarios` has pairs (weight, moves by vertex): what is moved is set, so that paths into it are cut.
    """
    log_weights, firsts, seconds, none = [], [], [], []
    for log_weight, combination in all_graphs(x, probability, tau, noise):
        walks = []
        for weight, moves in scenarios:
            present = np.zeros((len(combination),) * 2, dtype=bool)
            for child, node in enumerate(combination):
                present[list(node.parents), child] = child not in moves
            walks += [(weight * move, path) for start, move in moves.items() for path in paths(present, start, target)]
        steps = [(size, {b: a for a, b in itertools.pairwise(path)}) for size, path in walks]
        firsts.append(sum(size * _product(combination, step, {}) for size, step in steps))
        seconds.append(sum(s * t * _product(combination, one, two) for s, one in steps for t, two in steps))
        none.append(not walks)
        log_weights.append(log_weight)
    w = np.exp(np.array(log_weights) - np.logaddexp.reduce(log_weights))
    mean = float(w @ firsts)
    return mean, float(w @ seconds) - mean**2, float(w @ np.array(none, dtype=float))


def _product(combination, one, two):
    """Return the mean product of the coefficients along two paths; different nodes are independent."""
    found = 1.0
    for child in set(one) | set(two):
        node, entering = combination[child], [step[child] for step in (one, two) if child in step]
        first, last = entering[0], entering[-1]
        both = node.covariance[first, last] if len(entering) == 2 else 0.0
        found *= node.mean[first] * (node.mean[last] if len(entering) == 2 else 1.0) + both
    return found
