"""A move of the sampler of parent sets: draw up to ten parents, the members, together, given all others.

With ``R`` the parents present that are no members, the members' system given ``R`` follows from their entries of ``T``.
All its subsets are enumerated (`kernels.subsets.block`), and one of them is drawn. The enumeration also gives
the expectation of every coefficient over the members' presence: of their own, ``m``, and of those in ``R``. With ``A``
the members' precision given ``R``, ``S`` the members present now, and ``d`` the difference between ``m`` and their
current means (zero if absent), that is

``linear_R - T_RB e``, where ``e = d`` on absent members and ``e_S = (A d)_S``,

because ``T_SS`` is minus the inverse of ``A_SS`` and ``T_SU = A_SS^-1 A_SU`` for the absent members ``U``. The
difference to ``linear_R`` is added to the mean that a sweep found. Its expectation is zero, but for a parent that is
seldom present it is a rare and large number, so that it is used for *steady* parents only.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from alldags.engines.kernels.jit import compiled, tight, tight_callable
from alldags.engines.kernels.noise import shape_of
from alldags.engines.kernels.sampler.chain import Chain, Systems, noise_at, padded, safe_flip
from alldags.engines.kernels.sampler.flip import (
    FLIPS,
    ILL_PIVOT,
    MOVED,
    QUADRATIC,
    SETTING,
    SIZE,
    TINY,
)
from alldags.engines.kernels.subsets import block as enumeration
from alldags.engines.kernels.subsets.block import (
    Block,
    Weights,
    collect_means,
    collect_seconds,
    eliminate_block,
    exponentiate,
    largest_exponent,
    make_block,
    make_sums,
    weigh_noise,
    write_exponents,
)
from alldags.typing import BoolArray, FloatArray, IntArray

INCLUSION, MEAN, CONTROL = range(3)  # second axis of a trace
IMPOSSIBLE = 1e-300  # `fast_exp` ends at 3e-308, not at zero


class Sums(NamedTuple):
    """What a chain adds up over sweeps, besides its trace."""

    mean: FloatArray  # (k,), mean of each coefficient, given other parents
    square: FloatArray  # (k,), its second moment
    square_between: FloatArray  # (k,), second moment of its conditional mean
    visits: FloatArray  # (k,), how often these three were added to
    setting: FloatArray  # (G,), visits of each setting
    noise_variance: FloatArray  # (1,)


def new_sums(k: int, settings: int) -> Sums:
    """Return sums of zero."""
    return Sums(np.zeros(k), np.zeros(k), np.zeros(k), np.zeros(k), np.zeros(settings), np.zeros(1))


class Together(NamedTuple):
    """The members, b of k parents, and working space to draw them."""

    members: IntArray  # (b,)
    inside: BoolArray  # (k,), which parents these are
    steady: BoolArray  # (k,), parents whose coefficients are averaged over the members too
    block: Block
    sums: enumeration.Sums
    shares: FloatArray  # (b, k), each member's row of T in terms of the base rows of `Chain.moved`
    precision: FloatArray  # (b, b), the members' entries of T, then their precision without each other
    shift: FloatArray  # (b,)
    a: FloatArray  # (b, b), the same scaled to a unit diagonal
    b: FloatArray  # (b,)
    scale: FloatArray  # (b,)
    row: FloatArray  # (width,), a combination of rows of T
    row_shares: FloatArray  # (k,), its shares


@lru_cache(maxsize=8)
def nothing_together(k: int) -> Together:
    """Return what says that every one of k parents is drawn on its own."""
    return draw_together(np.zeros(0, dtype=np.int64), np.zeros(k, dtype=bool))


def draw_together(members: IntArray, steady: BoolArray) -> Together:
    """Return the working space to draw some of k parents together; `steady` has shape (k,), see `Together`."""
    count, k = members.size, steady.size
    inside = np.zeros(k, dtype=bool)
    inside[members] = True
    square, vector = np.zeros((count, count)), np.zeros(count)
    return Together(
        members=members,
        inside=inside,
        steady=steady,
        block=_make_block(count),
        sums=_make_sums(count),
        shares=np.zeros((count, k)),
        precision=square,
        shift=vector,
        a=square.copy(),
        b=vector.copy(),
        scale=vector.copy(),
        row=np.zeros(padded(k)),
        row_shares=np.zeros(k),
    )


@compiled
def _make_block(count: int) -> Block:
    return make_block(count, np.zeros(count))


@compiled
def _make_sums(count: int) -> enumeration.Sums:
    return make_sums(count, True)


@tight_callable
def draw_block(
    systems: Systems,
    chain: Chain,
    together: Together,
    sums: Sums,
    now: FloatArray,
    control: FloatArray,
    generator: np.random.Generator,
    with_squares: bool,
) -> bool:
    """Draw the presence of all members given all other parents; return False, and do nothing, where this is ill-posed.

    In ``now`` (2, k) the members get inclusion probabilities and means; of the other coefficients, those present and
    steady get the difference that averaging over the members makes. The members' entries of `control` (k,) get the
    drawn presence less its probability. If `with_squares`, the members' moments go to `sums`.
    """
    members, block, inner, scale = together.members, together.block, together.sums, together.scale
    base, in_base, inverse, moved, place = chain.base, chain.in_base, chain.inverse, chain.moved, chain.place
    present, linear, counts, numbers = chain.present, chain.linear, chain.counts, chain.numbers
    setting, count = counts[SETTING], members.shape[0]
    scales, log_factor = systems.scale[setting], systems.log_factor[setting]
    determinant, noise = systems.has_determinant[setting], noise_at(systems, setting)
    weights = Weights(log_factor, systems.log_size, determinant, noise, 0.0)

    precision, shift, shares = together.precision, together.shift, together.shares
    _load_members(precision, shift, shares, members, base, in_base, inverse, moved, place, linear, counts[MOVED])
    q = numbers[QUADRATIC] + _take_out(precision, shift, members, present)
    _scale(together.a, together.b, scale, block.lane_factor, precision, shift, members, scales, log_factor, determinant)
    eliminate_block(block, together.a, together.b, count)
    if not _is_regular(block.inverse, 1 << count):
        return False
    others = counts[SIZE] - (present.shape[0] - (systems.log_size.shape[0] - 1))
    for i in range(count):
        others -= 1 if present[members[i]] else 0
    write_exponents(block, weights, count, 0.0, q, others)
    total = exponentiate(block, determinant, count, largest_exponent(block, count))
    lane = _draw_lane(block.w[count % 2], 1 << count, generator.random() * total)

    for i in range(count):
        inner.inclusion[i] = 0.0
    if with_squares:
        weigh_noise(block, noise, count, others)
        collect_seconds(block, inner, count)
    else:
        collect_means(block, inner, count)
    finite = noise.known or shape_of(noise, others + 1) > 1.0
    _note_members(now, control, sums, inner, members, scale, total, lane, with_squares, finite)
    _spread_means(
        now[MEAN], inner.mean, together.row, together.row_shares, precision, shares, members, base, in_base, moved,
        place, present, together.steady, linear, counts[MOVED],
    )  # fmt: skip

    for i in range(count):
        if (lane >> (count - 1 - i) & 1 == 1) != present[members[i]]:
            safe_flip(systems, chain, members[i])
            counts[FLIPS] += 1
    return True


@tight
def _load_members(
    precision: FloatArray,
    shift: FloatArray,
    shares: FloatArray,
    members: IntArray,
    base: FloatArray,
    in_base: BoolArray,
    inverse: FloatArray,
    moved: IntArray,
    place: IntArray,
    linear: FloatArray,
    moved_count: int,
) -> None:
    """Write the members' entries of T and `linear`.

    Row v of T is the base row v, if v is not in F, less ``sum_f shares[v, f] * base row of F[f]``; in the columns F it
    is ``shares[v]`` itself, up to sign. (`load_row_arrays` says the same of one row.)
    """
    count = members.shape[0]
    for i in range(count):
        v = members[i]
        share, r = shares[i], place[v]
        shift[i] = linear[v]
        if r >= 0:
            sign = 1.0 if in_base[v] else -1.0
            for f in range(moved_count):
                share[f] = sign * inverse[r, f]
        else:
            for f in range(moved_count):
                share[f] = 0.0
            for g in range(moved_count):
                factor, other = base[v, moved[g]], inverse[g]
                for f in range(moved_count):
                    share[f] += factor * other[f]
    for j in range(count):
        u = members[j]
        column, r = base[u], place[u]
        for i in range(j, count):
            v, share = members[i], shares[i]
            if r >= 0:
                value = -share[r] if in_base[u] else share[r]
            else:
                value = column[v] if place[v] < 0 else 0.0
                for f in range(moved_count):
                    value -= share[f] * column[moved[f]]
            precision[i, j] = value
            precision[j, i] = value


@tight
def _take_out(precision: FloatArray, shift: FloatArray, members: IntArray, present: BoolArray) -> float:
    """Turn the members' entries of T into those without the members; return the change of the quadratic form."""
    count = members.shape[0]
    change = 0.0
    for i in range(count):
        if not present[members[i]]:
            continue
        own = precision[i]
        pivot = 1.0 / own[i]
        step = shift[i] * pivot
        change += step * shift[i]
        for r in range(count):
            if r != i:
                target = precision[r]
                factor = target[i] * pivot
                shift[r] -= factor * shift[i]
                for j in range(count):
                    target[j] -= factor * own[j]
                target[i] = -factor
        for j in range(count):
            own[j] *= -pivot
        own[i] = -pivot
        shift[i] = -step
    return change


@tight
def _scale(
    a: FloatArray,
    b: FloatArray,
    scale: FloatArray,
    lane_factor: FloatArray,
    precision: FloatArray,
    shift: FloatArray,
    members: IntArray,
    scales: FloatArray,
    log_factor: FloatArray,
    determinant: bool,
) -> None:
    """Write the members' system with a unit diagonal, and the factor of each lane."""
    count = members.shape[0]
    lane_factor[0] = 0.0
    for i in range(count - 1, -1, -1):
        v = members[i]
        pivot = max(precision[i, i], TINY * scales[v])
        scale[i] = 1.0 / math.sqrt(pivot)
        b[i] = shift[i] * scale[i]
        factor = log_factor[v] - (0.5 * math.log(pivot) if determinant else 0.0)
        lanes = np.uint64(1 << (count - 1 - i))
        for lane in range(lanes):
            lane_factor[lanes + lane] = lane_factor[lane] + factor
    for i in range(count):
        for j in range(i):
            a[i, j] = precision[i, j] * scale[i] * scale[j]
        a[i, i] = 1.0


@tight
def _is_regular(inverse: FloatArray, lanes: int) -> bool:
    """Say whether no pivot, of at most 1, was so small that rounding matters."""
    bad = 0
    for i in range(np.uint64(1), np.uint64(lanes)):
        bad += 0 if 0.0 < inverse[i] < 1.0 / ILL_PIVOT else 1
    return bad == 0


@tight
def _draw_lane(w: FloatArray, lanes: int, left: float) -> int:
    for lane in range(lanes):
        left -= w[lane]
        if left < 0.0:
            return lane
    return int(np.argmax(w[:lanes]))


@tight
def _note_members(
    now: FloatArray,
    control: FloatArray,
    sums: Sums,
    inner: enumeration.Sums,
    members: IntArray,
    scale: FloatArray,
    total: float,
    lane: int,
    with_squares: bool,
    finite: bool,
) -> None:
    """Turn the sums over subsets into expectations, in place, and note them; `finite` says if variances exist."""
    count = members.shape[0]
    for i in range(count):
        v, probability = members[i], inner.inclusion[i] / total
        now[INCLUSION, v] = probability
        control[v] += (lane >> (count - 1 - i) & 1) - probability
        inner.mean[i] *= scale[i] / total
        if with_squares:
            between = inner.between[i, i] * scale[i] * scale[i] / total
            within = inner.within[i, i] * scale[i] * scale[i] / total
            if not finite:
                within = np.inf if probability > IMPOSSIBLE else 0.0
            sums.visits[v] += 1.0
            sums.mean[v] += inner.mean[i]
            sums.square_between[v] += between
            sums.square[v] += between + within


@tight
def _spread_means(
    out: FloatArray,
    mean: FloatArray,
    combined: FloatArray,
    combined_shares: FloatArray,
    precision: FloatArray,
    shares: FloatArray,
    members: IntArray,
    base: FloatArray,
    in_base: BoolArray,
    moved: IntArray,
    place: IntArray,
    present: BoolArray,
    steady: BoolArray,
    linear: FloatArray,
    moved_count: int,
) -> None:
    """Move the means of members and steady parents to those over the members' presence; see the module's words."""
    count, width = members.shape[0], combined.shape[0]
    for j in range(width):
        combined[j] = 0.0
    for f in range(moved_count):
        combined_shares[f] = 0.0
    for i in range(count):
        v = members[i]
        weight = mean[i]
        if present[v]:
            weight = 0.0
            for j in range(count):
                u = members[j]
                weight += precision[i, j] * (mean[j] - (linear[u] if present[u] else 0.0))
        share = shares[i]
        for f in range(moved_count):
            combined_shares[f] += weight * share[f]
        if place[v] < 0:
            row = base[v]
            for j in range(width):
                combined[j] += weight * row[j]
    for f in range(moved_count):
        row, weight = base[moved[f]], combined_shares[f]
        for j in range(width):
            combined[j] -= weight * row[j]
    for f in range(moved_count):
        combined[moved[f]] = -combined_shares[f] if in_base[moved[f]] else combined_shares[f]
    for j in range(present.shape[0]):
        out[j] -= combined[j] if present[j] and steady[j] else 0.0
    for i in range(count):
        out[members[i]] = mean[i]
