"""Every pair of capabilities is right or refused by name.

A capability comes with a way to do the same by hand. A pair is right if doing the one by hand, and asking for the
other, gives the same answer as asking for both.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from calibration.rows import DO_GRAPH, experiment

import alldags as ad
from lines import fit

NAMES = ("z", "x", "m", "y")


@dataclass(frozen=True)
class Question:
    """A table, graphs, and what is said of them."""

    table: Any
    graphs: Any
    options: dict[str, Any]

    def saying(self, **options: Any) -> Question:
        return replace(self, options=self.options | options)

    def with_columns(self, **columns: Any) -> Question:
        return replace(self, table=self.table | columns)

    def without(self, *names: str) -> Question:
        return replace(self, options={name: value for name, value in self.options.items() if name not in names})

    def take(self, rows: Any) -> Question:
        return replace(self, table={name: np.asarray(column)[rows] for name, column in self.table.items()})

    def ask(self) -> ad.Effect:
        table = self.table
        if self.options.get("copies"):
            table = ad.Imputed([table, table])
        options = {"robust": False} | self.without("copies").options  # the model's own numbers
        return fit(table, self.graphs, rng=0, **options).effect("x", "y")


@dataclass(frozen=True)
class Capability:
    """What is asked for, and the same by hand: both change a question that has the columns they need."""

    asked: Callable[[Question], Question]
    by_hand: Callable[[Question], Question] | None = None


def start() -> Question:
    rng = np.random.default_rng(4)
    table = experiment(rng, 120)
    table["target"] = np.array([str(name) for name in table["target"]], dtype=object)
    table |= {"count": rng.integers(0, 3, 120).astype(float), "chance": rng.gamma(2.0, size=120)}
    table |= {"group": rng.integers(0, 30, 120).astype(float), "hole": rng.random(120) < 0.1}
    return Question(table, DO_GRAPH, {"prior": ad.Prior(slab_variance=1.0)})


def with_holes(question: Question) -> Question:
    return question.with_columns(z=np.where(question.table["hole"], np.nan, question.table["z"]))


def kept(question: Question) -> Question:
    return question.take(~question.table["hole"])


def replicated(question: Question) -> Question:
    return question.take(np.repeat(np.arange(len(question.table["x"])), question.table["count"].astype(int)))


def without_edges(question: Question) -> Question:
    graphs = question.graphs if isinstance(question.graphs, list) else [question.graphs]
    cut = [graph.without_edge("z", "x") for graph in graphs]
    return replace(question, graphs=cut if len(cut) > 1 else cut[0])


def two_graphs(question: Question) -> Question:
    return replace(question, graphs=[question.graphs, question.graphs.without_edge("z", "y")])


CAPABILITIES: dict[str, Capability] = {
    "interventions": Capability(lambda q: q.saying(interventions="target")),
    "randomized": Capability(lambda q: q.saying(randomized="x"), without_edges),
    "drop": Capability(lambda q: with_holes(q).saying(missing="drop"), kept),
    "impute": Capability(lambda q: with_holes(q).saying(missing="impute", imputations=3)),
    "imputed": Capability(lambda q: q.saying(copies=True), lambda q: q),
    "frequency": Capability(lambda q: q.saying(weights="count"), replicated),
    "sampling": Capability(lambda q: q.saying(weights="chance", weight_kind="sampling")),
    "cluster": Capability(lambda q: q.saying(cluster="group")),
    "fixed effects": Capability(lambda q: q.saying(fixed_effects="group")),
    "several graphs": Capability(two_graphs),
    "paper": Capability(lambda q: q.saying(prior=ad.Prior.paper())),
    "equivalent": Capability(lambda q: q.saying(prior=ad.Prior(noise=ad.priors.EquivalentNoise()))),
    "horseshoe": Capability(lambda q: q.saying(prior=ad.Prior(coefficients=ad.priors.Horseshoe()), engine="vb")),
    **{
        engine: Capability(lambda q, engine=engine: q.saying(engine=engine))
        for engine in ("exact", "certified", "mcmc", "k2", "full")
    },
}
SETTINGS = ("several graphs", "paper", "equivalent", "horseshoe", "exact", "certified", "mcmc", "k2", "full")

REFUSED = {
    frozenset({"fixed effects", "impute"}): "imputation does not know levels",
    frozenset({"fixed effects", "paper"}): "they are intercepts",
    frozenset({"impute", "imputed"}): "nothing is missing in them",
    frozenset({"drop", "imputed"}): "nothing is missing in them",
}
SAME = {frozenset({"drop", "impute"}), frozenset({"frequency", "sampling"})}  # two values of one keyword
SAMPLED = {"mcmc"}  # rounding may turn a sampler elsewhere


PAIRS = [
    (one, other)
    for one, other in permutations(CAPABILITIES, 2)
    if one not in SETTINGS and frozenset({one, other}) not in SAME
]


@pytest.mark.parametrize(("one", "other"), PAIRS)
def test_pair_is_right_or_refused_by_name(one, other):
    first, second = CAPABILITIES[one], CAPABILITIES[other]
    both = second.asked(first.asked(start()))
    words = REFUSED.get(frozenset({one, other}))
    if words is not None:
        with pytest.raises(ad.AlldagsError, match=words):
            both.ask()
        return
    found = both.ask()
    assert np.isfinite([found.mean, found.sd, *found.interval()]).all()
    assert found.sd > 0
    if first.by_hand is None:
        return  # the pair in the other order, or a test below, says that it is right
    if frozenset({one, other}) == frozenset({"frequency", "impute"}):
        return  # each copy of a row is imputed on its own: the same only on average
    expected = second.asked(first.by_hand(start())).ask()
    tolerance = {"rel": 0.2} if other in SAMPLED else {"rel": 1e-8, "abs": 1e-10}
    assert found.mean == pytest.approx(expected.mean, **tolerance)
    assert found.sd == pytest.approx(expected.sd, **tolerance)


def test_interventions_and_clusters_are_resampled_together():
    question = CAPABILITIES["cluster"].asked(CAPABILITIES["interventions"].asked(start()))
    posterior = fit(question.table, DO_GRAPH, rng=0, **question.options)
    (rows,) = posterior.clusters.tables
    times = np.random.default_rng(0).integers(0, 3, len(rows.clusters))
    count = dict(zip(rows.clusters, times, strict=True))
    table = question.table
    where = np.repeat(np.arange(120), [count[label] for label in table["group"]])
    for child in ("x", "m", "y"):
        mine = where[table["target"][where] != child]
        expected = ad.Moments.from_table({name: table[name][mine] for name in NAMES})
        found = rows.repeated(times).without({child})
        assert found.n == expected.n
        np.testing.assert_allclose(found.scatter, expected.scatter, rtol=1e-12, atol=1e-10)


def test_interventions_and_frequency_weights_are_replicated_rows():
    question = start().saying(interventions="target")
    found = question.saying(weights="count").ask()
    expected = replicated(question).ask()
    assert found.mean == pytest.approx(expected.mean, rel=1e-12)
    for ask in (lambda e: float(e.do(1.0).mean), lambda e: e.do(1.0).new_unit.mean):
        assert ask(found) == pytest.approx(ask(expected), rel=1e-12)
    assert found.sd == pytest.approx(expected.sd, rel=1e-12)


def test_imputed_rows_with_weights_stand_for_so_many():
    question = with_holes(start()).saying(missing="impute", imputations=40)
    found = question.saying(weights="count").ask()
    expected = replicated(question).ask()
    assert found.posterior.rows == expected.posterior.rows
    assert found.mean == pytest.approx(
        expected.mean, abs=5 * np.hypot(found.uncertainty.mean_error, expected.uncertainty.mean_error)
    )
    assert found.sd == pytest.approx(expected.sd, rel=0.05)


def test_sampling_weights_and_clusters_resample_weighted_rows():
    question = start().saying(weights="chance", weight_kind="sampling", cluster="group")
    posterior = fit(question.table, DO_GRAPH, rng=0, **question.options)
    (rows,) = posterior.clusters.tables
    found = rows.repeated(np.full(len(rows.clusters), 2)).without()
    plain = rows.without()
    assert found.n == pytest.approx(2 * plain.n)
    np.testing.assert_allclose(found.scatter, 2 * plain.scatter, rtol=1e-10, atol=1e-10)


def test_completed_tables_and_clusters_take_turns():
    tables = [start().table, start().table]
    tables[1] = tables[1] | {"z": tables[1]["z"] + np.where(tables[1]["hole"], 0.3, 0.0)}
    posterior = fit(ad.Imputed(tables), DO_GRAPH, rng=0, cluster="group")
    assert len(posterior.clusters.tables) == 2
    effect = posterior.effect("x", "y")
    assert effect.summary().missing.imputations == 2
    assert effect.uncertainty.clusters.clusters == 30


def test_every_door_to_the_data_is_the_child(monkeypatch):
    """Nothing but `WorkingData.of` decides which rows a regression has."""
    from alldags.nodes.data import WorkingData

    asked = []
    real = WorkingData.of
    monkeypatch.setattr(WorkingData, "of", lambda self, child: asked.append(child) or real(self, child))
    start().saying(interventions="target").ask()
    assert {"x", "m", "y"} <= set(asked)
