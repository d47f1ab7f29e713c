"""Effects between many variables, written to a file with no regression kept."""

import numpy as np
import polars
import pytest

import alldags as ad
from alldags.errors import AlldagsError
from lines import fit


def chain_table(count: int, rows: int = 120) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(3)
    table: dict[str, np.ndarray] = {}
    for i in range(count):
        before = list(table.values())[-2:]
        table[f"v{i}"] = 10.0 ** (i % 3) * (rng.standard_normal(rows) + sum(0.5 * x / x.std() for x in before))
    return table


@pytest.fixture(scope="module")
def posterior():
    table = chain_table(9)
    return fit(table, ad.CandidateGraph.from_order(list(table)).with_edge("v3", "v5", 1.0), rng=1)


def test_all_effects_are_those_of_the_tables(posterior, tmp_path):
    posterior.write_effects(tmp_path / "all.parquet")
    found = polars.read_parquet(tmp_path / "all.parquet")
    mean, sd = posterior.effects(link=0.0), posterior.effects_sd(link=0.0)
    assert len(found) == 9 * 8 // 2
    for row in found.iter_rows(named=True):
        pair = row["treatment"], row["outcome"]
        assert row["mean"] == pytest.approx(mean[pair], rel=1e-10)
        assert row["sd"] == pytest.approx(sd[pair], rel=1e-8)


def test_means_alone_have_no_column_of_spreads(posterior, tmp_path):
    posterior.write_effects(tmp_path / "means.parquet", sd=False)
    assert polars.read_parquet(tmp_path / "means.parquet").columns == ["treatment", "outcome", "mean"]


def test_effects_on_one_outcome_are_those_of_single_effects(posterior, tmp_path):
    posterior.write_effects(tmp_path / "on.parquet", "v8", draws=20_000)
    found = polars.read_parquet(tmp_path / "on.parquet")
    want = posterior.effects_on("v8", link=0.0)
    assert found["treatment"].to_list() == want["treatment"]
    assert found["mean"].to_numpy() == pytest.approx(np.array(want["mean"]), rel=1e-10)
    assert found["sd"].to_numpy() == pytest.approx(np.array(want["sd"]), rel=0.03)
    for name in ("low", "high"):
        assert np.abs(found[name].to_numpy() - want[name]).max() <= 0.1 * np.abs(want["sd"]).max()
    assert found["probability_no_effect"].to_numpy() == pytest.approx(
        np.array(want["probability_no_effect"]), abs=0.015
    )


def test_no_regression_is_kept(tmp_path):
    table = chain_table(9)
    posterior = fit(table, ad.CandidateGraph.from_order(list(table)), rng=1)
    posterior.write_effects(tmp_path / "all.parquet")
    assert not list(posterior.workings.store.fitted())


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda p, folder: p.write_effects(folder / "x.csv"), "to a Parquet file; name it .parquet, got '.*x.csv'"),
        (
            lambda p, folder: p.write_effects(folder / "x.parquet", "v88"),
            "'v88' is not in the graph; did you mean 'v8'",
        ),
        (
            lambda p, folder: p.write_effects(folder / "x.parquet", "v8", draws=3),
            "draws must be .* at least 100, got 3",
        ),
    ],
)
def test_what_cannot_be_written_is_refused(posterior, tmp_path, ask, words):
    with pytest.raises(AlldagsError, match=words):
        ask(posterior, tmp_path)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("graphs", "options", "words"),
    [
        (lambda g: [g, g.without_edge("v0", "v1")], {}, "several candidate graphs"),
        (lambda g: g.with_pair("v0", "v1"), {}, "open directions"),
        (lambda g: g.with_hidden("v0", "v1"), {}, "hidden common causes"),
        (lambda g: g, {"prior": ad.Prior(slab=ad.priors.LearnedSlab(shared=True, points=3))}, "nodes share"),
    ],
)
def test_what_regressions_do_not_have_for_themselves_is_refused_by_name(tmp_path, graphs, options, words):
    table = chain_table(4)
    posterior = fit(table, graphs(ad.CandidateGraph.from_order(list(table))), rng=1, **options)
    with pytest.raises(AlldagsError, match=f"{words}.*effects in a file|effects in a file.*{words}"):
        posterior.write_effects(tmp_path / "x.parquet")
