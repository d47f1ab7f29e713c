"""All candidates given one parent set, against the whole matrix."""

from __future__ import annotations

import numpy as np
import pytest

from alldags.engines.conjugate.system import conjugate_system
from alldags.engines.sampling.wide.candidates import Wide, wide_problem
from alldags.kernels.sampler import cold
from alldags.nodes import NodeProblem
from alldags.nodes.products import RowProducts
from alldags.priors.edges import BetaBinomial
from alldags.priors.grid import Setting
from alldags.priors.noise import EquivalentNoise, KnownNoise, UnknownNoise
from naive.cold import Everything
from problems import make_problem

pytestmark = pytest.mark.kernels

NOISES = [KnownNoise(2.0), UnknownNoise(1.0, 0.5), EquivalentNoise()]


def rows(k: int = 9, n: int = 30) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    x = rng.normal(size=(n, k)) + 0.7 * rng.normal(size=(n, 1))
    return x, x[:, 0] + rng.normal(size=n)


def problem(setting: Setting, learned: bool = False) -> NodeProblem:
    x, y = rows()
    size = BetaBinomial().log_size(8) if learned else None
    return make_problem(x, y, probability=0.4, certain=[4], settings=(setting,), log_size=size)


def twin(given: NodeProblem) -> Everything:
    found = conjugate_system(given)
    return Everything(
        found.precision,
        found.shift,
        found.log_factor,
        found.log_size,
        found.has_determinant,
        found.noise,
        found.certain,
    )


def front_on(wide: Wide, members: list[int]) -> cold.Front:
    front = cold.new_front(wide.k, wide.k)
    cold.start(wide.given[0], front)
    cold.push(wide.given[0], front, wide.products.times(np.array(members)), np.array(members))
    return front


SETTINGS = [Setting(1.5, noise, slab) for noise in NOISES for slab in ("independent", "g")]
SETTINGS = [one for one in SETTINGS if not (one.slab == "g" and isinstance(one.noise, EquivalentNoise))]


@pytest.mark.parametrize("learned", [False, True])
@pytest.mark.parametrize("setting", SETTINGS)
def test_log_odds_of_all_candidates_are_ratios_of_weights_of_sets(setting: Setting, learned: bool) -> None:
    given = problem(setting, learned)
    wide, slow, members = wide_problem(given), twin(given), [4, 0, 7]
    front, odds = front_on(wide, members), np.empty(given.k)
    cold.log_odds_of_all(wide.given[0], front, odds)
    present = np.isin(np.arange(given.k), members)
    expected = [-np.inf if given.certain[v] else slow.log_odds(present, v) for v in range(given.k)]
    np.testing.assert_allclose(odds, expected, rtol=1e-8)


@pytest.mark.parametrize("setting", SETTINGS)
def test_a_visit_adds_what_is_expected_given_all_others(setting: Setting) -> None:
    given = problem(setting)
    wide, slow, members = wide_problem(given), twin(given), [4, 0, 7]
    for v in (1, 7):
        front, now, hot = front_on(wide, members), np.zeros((4, given.k)), np.ones(given.k, dtype=bool)
        hot[v] = False
        front.numbers[cold.LOG_WEIGHT] = 3.0
        flipped = cold.visit(wide.given[0], front, hot, 0, now, np.random.default_rng(0))
        present = np.isin(np.arange(given.k), members)
        np.testing.assert_allclose(now[:, v], slow.expected(present, v), rtol=1e-8)
        assert (now[:, hot] == 0.0).all()
        gain = slow.log_odds(present, v) * (1 if not present[v] else -1) if flipped == v else 0.0
        assert front.numbers[cold.LOG_WEIGHT] == pytest.approx(3.0 + gain)


def test_the_presence_drawn_has_the_probability_given_all_others() -> None:
    given = problem(SETTINGS[1])
    wide, rng, hot = wide_problem(given), np.random.default_rng(5), np.ones(given.k, dtype=bool)
    hot[2] = False
    front, size = front_on(wide, [4, 0]), 2000
    flips = sum(cold.visit(wide.given[0], front, hot, 0, np.zeros((4, given.k)), rng) == 2 for _ in range(size))
    p = twin(given).expected(np.isin(np.arange(given.k), [4, 0]), 2)[0]
    assert abs(flips / size - p) < 4.0 * np.sqrt(p * (1 - p) / size)


def test_what_was_put_in_can_be_taken_out_again() -> None:
    given = problem(SETTINGS[0])
    wide = wide_problem(given)
    front, again = front_on(wide, [4, 0, 7, 2]), front_on(wide, [4])
    cold.pop(wide.given[0], front, 1)
    for name in ("place", "diagonal", "linear", "counts", "numbers"):
        np.testing.assert_allclose(getattr(front, name), getattr(again, name), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("setting", SETTINGS)
def test_an_exchange_draws_by_the_weights_of_the_sets_it_leads_to(setting: Setting) -> None:
    given = problem(setting)
    wide, slow, rng = wide_problem(given), twin(given), np.random.default_rng(1)
    members, size = [4, 0, 7], 3000
    front, count = front_on(wide, members), {0: np.zeros(given.k), 7: np.zeros(given.k)}
    for _ in range(size):
        front.numbers[cold.LOG_WEIGHT] = 0.0
        place, chosen = cold.exchange(wide.given[0], front, np.empty(given.k), rng)
        count[members[place]][chosen] += 1
        there = np.isin(np.arange(given.k), [*(m for m in members if m != members[place]), chosen])
        change = slow.log_weight(there) - slow.log_weight(np.isin(np.arange(given.k), members))
        assert front.numbers[cold.LOG_WEIGHT] == pytest.approx(change, abs=1e-8)
    present = np.isin(np.arange(given.k), members)
    for out, found in count.items():
        p = slow.exchanges(present, out)
        error = np.sqrt(p * (1 - p) / found.sum()) + 1e-3
        assert abs(found.sum() / size - 0.5) < 0.04  # either uncertain member as often
        assert (np.abs(found / found.sum() - p) < 4.5 * error).all()


def test_the_probability_that_all_others_are_taken_out() -> None:
    given = problem(SETTINGS[1])
    wide, slow, members = wide_problem(given), twin(given), [4, 0, 7, 2]
    hot = np.isin(np.arange(given.k), [0, 4])
    front, total = front_on(wide, members), np.zeros(1)
    v = cold.log_absent(wide.given[0], front, hot, 0, total)
    while v < given.k:
        place = int(front.place[v])
        later = front.members[place + 1 : front.counts[cold.MEMBERS]].copy()
        cold.pop(wide.given[0], front, place)
        cold.push(wide.given[0], front, wide.products.times(later), later)
        v = cold.log_absent(wide.given[0], front, hot, v + 1, total)
    present = np.isin(np.arange(given.k), members)
    assert total[0] == pytest.approx(slow.log_absent(present, np.flatnonzero(~hot)))


def test_rows_answer_as_their_cross_products_do() -> None:
    x, _ = rows()
    gram, found, places = x.T @ x, RowProducts(np.ascontiguousarray(x.T)), np.array([5, 1, 5, 8])
    np.testing.assert_allclose(found.diagonal, np.diag(gram))
    np.testing.assert_allclose(found.block(places), gram[np.ix_(places, places)])
    for _ in range(2):
        np.testing.assert_allclose(found.times(places), gram[places])


def test_products_that_are_not_kept_are_computed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    x, _ = rows(k=80)
    monkeypatch.setattr("alldags.nodes.products._KEPT", 0)
    found = RowProducts(np.ascontiguousarray(x.T))
    for places in (np.arange(0, 60), np.arange(20, 80), np.arange(0, 80), np.arange(60)):
        np.testing.assert_allclose(found.times(places), (x.T @ x)[places])
