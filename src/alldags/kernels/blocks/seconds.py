"""Second moments of a number t carried through a block (`kernels.blocks.sums`), summed over all acyclic graphs.

With ``F2_yz(U)`` the sum of ``t_y t_z`` over the graphs on U, and R added to U::

    y in U, z in U            F2_yz
    y in R, z in U            sum_i m_iy F2_iz
    y, z in R, different      sum_i m_iz (sum_k m_ky F2_ki)
    y = z in R                sum_ik M_y,ik F2_ik  (+ noise)

``m_y`` and ``M_y`` average the coefficients' first and second moments over the parent sets of y inside U. Earlier
variables are in U from the start: ``F2_ee' = E[t_e t_e'] f(U)``. Symmetric matrices are packed, (i, j <= i) at
``i (i + 1) / 2 + j``.
"""

from __future__ import annotations

from typing import NamedTuple

from alldags.kernels.blocks.sums import Pairs, Weights, list_pairs
from alldags.kernels.jit import compiled, inner
from alldags.typing import FloatArray, IntArray


class Arrival(NamedTuple):
    """What is carried through a block; e earlier variables."""

    source: int  # variable at which t is held fixed, or -1
    value: float  # where it is held
    mean: FloatArray  # (e,) E[t] of the earlier variables
    square: FloatArray  # (e, e) E[t t']
    through: int  # only what passes through this variable counts, or -1
    noise: FloatArray  # (b,) factor of each variable's own noise variance, 0 for none


class Averages(NamedTuple):
    """Averages over the parent sets inside each set, by node and row of its table."""

    mean: FloatArray  # (b, rows, b + e)
    moment: FloatArray  # (b, rows, packed b + e)
    noise: FloatArray  # (b, rows)


class State(NamedTuple):
    """Sums over the graphs on each set; zero before."""

    f: FloatArray  # (2^b,) as from `fill_forward`
    first: FloatArray  # (2^b, b)
    second: FloatArray  # (2^b, packed b)
    across: FloatArray  # (2^b, b, e) with the earlier variables


class Step(NamedTuple):
    """Working space: what a set and one more layer would have."""

    first: FloatArray  # (b,)
    second: FloatArray  # (packed b,)
    across: FloatArray  # (b, e)
    side: FloatArray  # (b, b) y outside, z inside
    inside: IntArray  # (b,)
    outside: IntArray  # (b,)


@inner
def packed(i: int, j: int) -> int:
    """Return the place of an entry of a packed symmetric matrix."""
    return i * (i + 1) // 2 + j if i >= j else j * (j + 1) // 2 + i


@compiled
def carry_second(
    weights: Weights, pairs: Pairs, averages: Averages, arrival: Arrival, state: State, step: Step
) -> None:
    """Fill the state: first and second moments of t, summed over the graphs on every set."""
    b, e = weights.row.shape[0], arrival.mean.shape[0]
    size = step.second.shape[0]
    for u in range(state.f.shape[0] - 1):
        if not weights.keep[u]:
            continue
        passed = arrival.through >= 0 and (u >> arrival.through & 1) == 1
        take_step(weights, averages, arrival, state, step, u, passed)
        found = list_pairs(weights, u, pairs)
        for n in range(1, found):
            s, factor = pairs.sets[n], pairs.factor[n]
            first, second, across = state.first[s], state.second[s], state.across[s]
            if arrival.through >= 0 and not passed and s >> arrival.through & 1:
                k = arrival.through
                first[k] += factor * step.first[k]
                second[packed(k, k)] += factor * step.second[packed(k, k)]
                continue
            for y in range(b):
                first[y] += factor * step.first[y]
            for i in range(size):
                second[i] += factor * step.second[i]
            for y in range(b):
                for i in range(e):
                    across[y, i] += factor * step.across[y, i]


@inner
def take_step(
    weights: Weights, averages: Averages, arrival: Arrival, state: State, step: Step, u: int, passed: bool
) -> None:
    """Write what the variables outside U would have with parents in U, beside what those inside have."""
    b = weights.row.shape[0]
    insiders, outsiders = 0, 0
    for y in range(b):
        if u >> y & 1:
            step.inside[insiders] = y
            insiders += 1
        else:
            step.outside[outsiders] = y
            outsiders += 1
    keep_inside(state, step, u, insiders)
    for n in range(outsiders):
        y = step.outside[n]
        if y == arrival.source and not passed:
            hold_source(arrival, state, step, u, y, insiders)
        else:
            regress(averages, arrival, state, step, u, y, weights.row[y, u], insiders, passed)
    for n in range(outsiders):
        y = step.outside[n]
        held = y == arrival.source and not passed
        for h in range(n):
            z = step.outside[h]
            if held:
                value = arrival.value * step.first[z]
            elif z == arrival.source and not passed:
                value = arrival.value * step.first[y]
            else:
                value = product(averages, step, y, z, weights.row[z, u], insiders, passed)
            step.second[packed(y, z)] = value
        if not held:
            own = square(averages, arrival, state, u, y, weights.row[y, u], step, insiders, passed)
            step.second[packed(y, y)] = own


@inner
def keep_inside(state: State, step: Step, u: int, insiders: int) -> None:
    """Copy what the variables inside have."""
    e = step.across.shape[1]
    for n in range(insiders):
        y = step.inside[n]
        step.first[y] = state.first[u, y]
        for h in range(n + 1):
            place = packed(y, step.inside[h])
            step.second[place] = state.second[u, place]
        for i in range(e):
            step.across[y, i] = state.across[u, y, i]


@inner
def hold_source(arrival: Arrival, state: State, step: Step, u: int, x: int, insiders: int) -> None:
    """Write the moments of the variable that is held fixed."""
    m = state.f[u]
    step.first[x] = arrival.value * m
    step.second[packed(x, x)] = arrival.value * arrival.value * m
    for n in range(insiders):
        z = step.inside[n]
        step.side[x, z] = arrival.value * state.first[u, z]
        step.second[packed(x, z)] = step.side[x, z]
    for i in range(arrival.mean.shape[0]):
        step.across[x, i] = arrival.value * arrival.mean[i] * m


@inner
def regress(
    averages: Averages, arrival: Arrival, state: State, step: Step, u: int, y: int, row: int, insiders: int,
    passed: bool,
) -> None:  # fmt: skip
    """Write the moments of a variable outside with those inside, and with earlier ones."""
    b, e = step.across.shape
    mean, m = averages.mean[y, row], state.f[u]
    total = 0.0
    for n in range(insiders):
        i = step.inside[n]
        total += mean[i] * state.first[u, i]
    if not passed:
        for i in range(e):
            total += mean[b + i] * arrival.mean[i] * m
    step.first[y] = total
    for n in range(insiders):
        z = step.inside[n]
        total = 0.0
        for h in range(insiders):
            i = step.inside[h]
            total += mean[i] * state.second[u, packed(i, z)]
        if not passed:
            for i in range(e):
                total += mean[b + i] * state.across[u, z, i]
        step.side[y, z] = total
        step.second[packed(y, z)] = total
    for i in range(e):
        total = 0.0
        if not passed:
            for n in range(insiders):
                h = step.inside[n]
                total += mean[h] * state.across[u, h, i]
            for h in range(e):
                total += mean[b + h] * arrival.square[h, i] * m
        step.across[y, i] = total


@inner
def product(averages: Averages, step: Step, y: int, z: int, row: int, insiders: int, passed: bool) -> float:
    """Return the moment of two different variables outside; those of y with all inside and before are written."""
    b, e = step.across.shape
    mean, total = averages.mean[z, row], 0.0
    for n in range(insiders):
        i = step.inside[n]
        total += mean[i] * step.side[y, i]
    if not passed:
        for i in range(e):
            total += mean[b + i] * step.across[y, i]
    return total


@inner
def square(
    averages: Averages, arrival: Arrival, state: State, u: int, y: int, row: int, step: Step, insiders: int,
    passed: bool,
) -> float:  # fmt: skip
    """Return the second moment of a variable outside."""
    b, e = step.across.shape
    moment, m, total = averages.moment[y, row], state.f[u], 0.0
    for n in range(insiders):
        i = step.inside[n]
        part = 0.0
        for h in range(n):
            j = step.inside[h]
            part += moment[packed(i, j)] * state.second[u, packed(i, j)]
        total += 2.0 * part + moment[packed(i, i)] * state.second[u, packed(i, i)]
    if not passed:
        for i in range(e):
            for n in range(insiders):
                j = step.inside[n]
                total += 2.0 * moment[packed(b + i, j)] * state.across[u, j, i]
            for h in range(e):
                total += moment[packed(b + i, b + h)] * arrival.square[i, h] * m
    if arrival.noise[y] > 0.0:
        total += arrival.noise[y] * averages.noise[y, row] * m
    return total
