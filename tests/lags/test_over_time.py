"""Graphs over time, and tables with their past."""

from __future__ import annotations

import datetime
from dataclasses import replace

import numpy as np
import pytest

import alldags as ad
from alldags.data.clock import Clock, read_clock, windows
from alldags.engines.exact import Exact
from alldags.nodes.problem import NodeProblem
from alldags.steps import at, past
from naive.over_time import windows_by_looking


def series(rows: int = 120, seed: int = 0) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    x, y = np.zeros(rows), np.zeros(rows)
    for t in range(1, rows):
        x[t] = 0.5 * x[t - 1] + rng.normal()
        y[t] = 0.3 * x[t] + 0.4 * x[t - 1] + 0.3 * y[t - 1] + rng.normal()
    return {"week": np.arange(rows), "x": x, "y": y}


GRAPH = ad.CandidateGraph.over_time(["x", "y"], lags=1, order=["x", "y"])


def test_a_graph_over_time_has_edges_from_the_past_and_inside_a_step():
    graph = ad.CandidateGraph.over_time(["a", "b"], lags=2, probability=0.4, own=0.8, within=0.5)
    assert graph.variables == ("a", "b", "a[-1]", "b[-1]", "a[-2]", "b[-2]")
    assert graph.probability("a[-1]", "a") == 0.8
    assert graph.probability("a[-2]", "a") == graph.probability("b[-1]", "a") == 0.4
    assert graph.blocks == (("a", "b"),)
    tiers = ad.CandidateGraph.over_time(["a", "b", "c"], lags=1, tiers=[["a"], ["b", "c"]], own=None)
    assert tiers.parents("b") == ("a", "a[-1]", "b[-1]", "c[-1]")
    assert tiers.probability("a[-1]", "a") == 0.5


def test_names_of_the_past_are_read_back():
    assert at(past("a[-1] b", 3)) == ("a[-1] b", 3)
    assert at("odd[-0]").lag == 0


def test_a_graph_over_time_is_written_and_read_as_any_other(tmp_path):
    graph = ad.CandidateGraph.over_time(["a b", "c"], lags=2, order=["a b", "c"])
    for ending in ("toml", "json", "csv", "dot", "gml"):
        ad.write_graph(graph, tmp_path / f"graph.{ending}")
        assert dict(ad.read_graph(tmp_path / f"graph.{ending}").edges) == dict(graph.edges)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"within": 0.5, "order": ["x", "y"]}, "give one of within=, order= and tiers="),
        ({"order": ["x"]}, "must have each of the variables"),
        ({"lags": -1}, "lags must be"),
    ],
)
def test_a_graph_over_time_that_cannot_be_is_refused(options, text):
    with pytest.raises(ad.AlldagsError, match=text):
        ad.CandidateGraph.over_time(["x", "y"], **options)


def test_the_past_is_not_a_variable_of_its_own():
    with pytest.raises(ad.AlldagsError, match="name of a column of the past"):
        ad.CandidateGraph.over_time(["x", "x[-1]"])


# -- windows -----------------------------------------------------------------------------------------------------------


def test_two_units_with_one_gap_and_two_lags_have_fourteen_rows():
    time, unit = np.r_[np.arange(10), np.arange(7), np.arange(8, 11)], np.repeat([0, 1], 10)
    assert len(windows(Clock(time), unit, 2).at) == 14


@pytest.mark.parametrize("seed", range(6))
def test_windows_are_those_that_looking_finds(seed):
    rng = np.random.default_rng(seed)
    pairs = np.array([(u, t) for u in range(4) for t in range(12) if rng.random() < 0.8])
    pairs = pairs[rng.permutation(len(pairs))]
    number = {label: i for i, label in enumerate(dict.fromkeys(pairs[:, 0].tolist()))}
    unit = np.array([number[u] for u in pairs[:, 0]])
    for lags in range(4):
        found = windows(Clock(pairs[:, 1]), unit, lags)
        rows = found.at if found.order is None else found.order[found.at]
        assert rows.tolist() == windows_by_looking(pairs[:, 1].tolist(), unit.tolist(), lags)


def test_dates_are_numbered_by_the_calendar():
    ends = np.array(["2020-01-31", "2020-02-29", "2020-04-30"], dtype="datetime64[D]")
    assert read_clock(ends, "t").step.tolist() == [0, 1, 3]
    quarters = read_clock(
        np.array([datetime.date(2020, 1, 1), datetime.date(2020, 7, 1), datetime.date(2020, 4, 1)]), "t"
    )
    assert (quarters.step.tolist(), quarters.word, quarters.period) == ([0, 2, 1], "quarter", 4)
    weeks = read_clock(np.array(["2024-01-05", "2024-01-12", "2024-01-26"]), "t")
    assert (weeks.step.tolist(), weeks.word) == ([0, 1, 3], "week")


@pytest.mark.parametrize("values", [[0.5, 1.0, 2.0], ["first", "second", "third"]])
def test_times_that_are_no_grid_are_refused(values):
    with pytest.raises(ad.AlldagsError, match="whole numbers or dates"):
        read_clock(np.array(values), "when")


def test_a_row_without_a_time_is_refused():
    with pytest.raises(ad.AlldagsError, match="without a time"):
        ad.fit({**series(), "week": np.r_[np.nan, np.arange(119)]}, GRAPH, time="week")


# -- fits --------------------------------------------------------------------------------------------------------------


def lagged(table: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    return {"x": table["x"][1:], "y": table["y"][1:], "x[-1]": table["x"][:-1], "y[-1]": table["y"][:-1]}


def test_the_effect_in_the_same_step_is_that_of_a_table_of_lagged_columns():
    table = series()
    one = ad.fit(table, GRAPH, time="week", rng=0).effect("x", "y")
    two = ad.fit(lagged(table), GRAPH, terms=None, rng=0).effect("x", "y")
    assert one.mean == pytest.approx(two.mean, rel=1e-12)
    assert one.sd == pytest.approx(two.sd, rel=1e-12)
    assert one.interval() == pytest.approx(two.interval(), rel=1e-12)
    assert one.probability_no_effect == pytest.approx(two.probability_no_effect, abs=1e-12)


def test_rows_in_any_order_give_the_same_answer():
    table = series()
    mixed = np.random.default_rng(3).permutation(120)
    shuffled = {name: values[mixed] for name, values in table.items()}
    one, two = (ad.fit(t, GRAPH, time="week", rng=0).effect("x", "y", after=2) for t in (table, shuffled))
    assert one.mean == pytest.approx(two.mean, rel=1e-10)


def test_borders_of_units_are_not_crossed():
    table, other = series(60, 1), series(60, 2)
    both = {name: np.r_[table[name], other[name]] for name in table} | {"shop": np.repeat(["b", "a"], 60)}
    found = ad.fit(both, GRAPH, time="week", unit="shop", rng=0)
    assert found.rows == 118
    stacked = {name: np.r_[lagged(table)[name], lagged(other)[name]] for name in lagged(table)}
    want = ad.fit(stacked, GRAPH, terms=None, rng=0).effect("x", "y")
    assert found.effect("x", "y").mean == pytest.approx(want.mean, rel=1e-12)


def test_a_gap_in_a_cell_leaves_out_the_rows_that_need_it():
    table = series()
    table["x"][50] = np.nan
    with pytest.raises(ad.AlldagsError, match="missing"):
        ad.fit(table, GRAPH, time="week")
    assert ad.fit(table, GRAPH, time="week", missing="drop").rows == 117


def test_files_are_read_across_their_borders_and_must_be_in_order(tmp_path):
    pl = pytest.importorskip("polars")
    frame = pl.DataFrame(series())
    for part in range(3):
        frame[part * 40 : (part + 1) * 40].write_parquet(tmp_path / f"part-{part}.parquet")
    found = ad.fit(str(tmp_path / "part-*.parquet"), GRAPH, time="week", rng=0)
    assert found.rows == 119
    want = ad.fit(series(), GRAPH, time="week", rng=0).effect("x", "y").mean
    assert found.effect("x", "y").mean == pytest.approx(want, rel=1e-10)
    frame.sort("y").write_parquet(tmp_path / "mixed.parquet")
    with pytest.raises(ad.AlldagsError, match="not in the order of week"):
        ad.fit(tmp_path / "mixed.parquet", GRAPH, time="week")


def query_of(frame, engine: str):
    if engine == "polars":
        return frame.lazy()
    if engine == "dask":
        pd, dask = pytest.importorskip("pandas"), pytest.importorskip("dask.dataframe")
        table = pd.DataFrame(frame.to_dict(as_series=False)).astype({"week": "Int64"})
        return dask.from_pandas(table, npartitions=3, sort=False)
    return pytest.importorskip("duckdb").connect().from_arrow(frame.to_arrow())


@pytest.mark.parametrize("engine", ["polars", "duckdb", "dask"])
def test_queries_look_their_past_up_themselves(engine):
    pl = pytest.importorskip("polars")
    table = {**series(), "shop": np.repeat([1, 2], 60)}
    frame = pl.DataFrame(table).sample(fraction=1.0, shuffle=True, seed=1)
    found = ad.fit(query_of(frame, engine), GRAPH, time="week", unit="shop", rng=0)
    want = ad.fit(table, GRAPH, time="week", unit="shop", rng=0)
    assert found.rows == want.rows == 118
    assert found.effect("x", "y").mean == pytest.approx(want.effect("x", "y").mean, rel=1e-10)


@pytest.mark.parametrize("engine", ["polars", "duckdb", "dask"])
def test_times_of_queries_may_be_more_than_one_apart(engine):
    pl = pytest.importorskip("polars")
    table = {**series(), "shop": np.repeat([1, 2], 60)}
    table["week"] = 2000 + 7 * table["week"]
    gap = pl.DataFrame(table).filter(pl.col("week") != 2070)
    found = ad.fit(query_of(gap, engine), GRAPH, time="week", unit="shop", rng=0)
    want = ad.fit(gap, GRAPH, time="week", unit="shop", rng=0)
    assert found.rows == want.rows == 116
    assert found.effect("x", "y").mean == pytest.approx(want.effect("x", "y").mean, rel=1e-10)


@pytest.mark.parametrize("engine", ["polars", "duckdb", "dask"])
@pytest.mark.parametrize("lags", [0, 1])
def test_two_rows_of_a_query_at_the_same_time_are_refused_as_in_frames(engine, lags):
    pl = pytest.importorskip("polars")
    table = {**series(), "shop": np.repeat([1, 2], 60)}
    table["week"][70] = 71
    graph = ad.CandidateGraph.over_time(["x", "y"], lags=lags, order=["x", "y"])
    sentence = r"have the same time \(and unit\): a series has one row at each step; say which rows belong together"
    for rows, named in ((pl.DataFrame(table), "rows 71 and 72 "), (None, "two rows of shop 2, week 71 ")):
        told = query_of(pl.DataFrame(table), engine) if rows is None else rows
        with pytest.raises(ad.AlldagsError, match=named + sentence):
            ad.fit(told, graph, time="week", unit="shop", lags=lags)


@pytest.mark.parametrize("engine", ["polars", "duckdb", "dask"])
def test_times_of_queries_that_are_missing_or_on_no_grid_are_refused(engine):
    pl = pytest.importorskip("polars")
    table = {**series(), "shop": np.repeat([1, 2], 60)}
    table["week"] = 2 * table["week"] + (table["shop"] == 2)
    with pytest.raises(ad.AlldagsError, match="no whole number of steps apart: rows of a unit are 2 or more apart"):
        ad.fit(query_of(pl.DataFrame(table), engine), GRAPH, time="week", unit="shop")
    hole = pl.DataFrame(table).with_columns(pl.when(pl.col("week") > 4).then(pl.col("week")).alias("week"))
    with pytest.raises(ad.AlldagsError, match="time='week' has rows without a time"):
        ad.fit(query_of(hole, engine), GRAPH, time="week", unit="shop")
    with pytest.raises(ad.AlldagsError, match="unit='week' has rows without a unit"):
        ad.fit(query_of(hole, engine), GRAPH, time="shop", unit="week")


def test_a_query_without_units_is_one_series_across_its_parts():
    pl = pytest.importorskip("polars")
    want = ad.fit(series(), GRAPH, time="week", rng=0)
    for engine in ("polars", "duckdb", "dask"):
        found = ad.fit(query_of(pl.DataFrame(series()), engine), GRAPH, time="week", rng=0)
        assert found.rows == want.rows == 119
        assert found.effect("x", "y").mean == pytest.approx(want.effect("x", "y").mean, rel=1e-10)


def test_a_saved_posterior_answers_the_same_after_steps(tmp_path):
    posterior = ad.fit(series(), GRAPH, time="week", rng=0)
    want = posterior.effect("x", "y", after=3)
    posterior.save(tmp_path / "fit.npz")
    found = ad.load(tmp_path / "fit.npz").effect("x", "y", after=3)
    assert found.mean == pytest.approx(want.mean, abs=1e-14)
    assert found.probability_never == want.probability_never
    with pytest.raises(ad.AlldagsError, match="is in the past"):
        ad.load(tmp_path / "fit.npz").effect("x[-1]", "y")


def test_trend_and_season_act_always():
    table = series()
    table["y"] = table["y"] + 0.05 * table["week"] + 2.0 * (table["week"] % 4 == 1)
    posterior = ad.fit(table, GRAPH, time="week", always=["trend", "season:4"], rng=0)
    assert {"trend", "season 2", "season 3", "season 4"} <= set(posterior.variables)
    assert posterior.graphs[0].probability("trend", "y") == 1.0
    assert not any("row number" in note for note in posterior.notes)
    plain = ad.fit(table, GRAPH, time="week", rng=0).effect("x", "y", after=2)
    assert any("trend" in note for note in plain.notes)
    better = posterior.effect("x", "y", after=2)
    assert better.sd[1] < plain.sd[1]


def seasonal(strength: float, seed: int, rows: int = 120) -> dict[str, np.ndarray]:
    table = series(rows, seed)
    table["y"] = table["y"] + strength * np.cos(2 * np.pi * table["week"] / 12)
    table["week"] = np.datetime64("2010-01") + table["week"].astype("timedelta64[M]")
    return table


def season_notes(table: dict[str, np.ndarray], **told) -> list[str]:
    notes = ad.fit(table, GRAPH, time="week", rng=0, **told).effect("x", "y", after=1).notes
    return [str(note) for note in notes if "season" in note]


@pytest.mark.parametrize("options", [{}, {"within": 0.5}], ids=["order", "open directions"])
def test_what_acts_always_is_taken_out_whatever_the_slab(options):
    table = series(80)
    step = np.arange(80)
    table["x"] += 0.3 * step + 2.0 * (step % 4 == 1)
    table["y"] += 5.0 * (step % 4 == 2) - 0.1 * step
    told = options or {"order": ["x", "y"]}
    graph = ad.CandidateGraph.over_time(["x", "y"], lags=1, **told)
    posterior = ad.fit(table, graph, time="week", always=["trend", "season:4"], rng=0)
    names = ("x", "y", "x[-1]", "y[-1]")
    columns = np.column_stack([table["x"][1:], table["y"][1:], table["x"][:-1], table["y"][:-1]])
    out = np.column_stack([np.ones(79), step[1:], *(step[1:] % 4 == k for k in (1, 2, 3))])
    left = columns - out @ np.linalg.lstsq(out, columns, rcond=None)[0]
    sd = columns.std(axis=0, ddof=1)
    scatter = (left / sd).T @ (left / sd)
    model = posterior.workings.models.items[0]
    if options:
        found = model.order_block("x")
        assert found is not None
        assert all(node.n == pytest.approx(78 - 8) for node in found.problem.nodes)
        return
    for child, causes in (("x", ("x[-1]", "y[-1]")), ("y", ("x", "x[-1]", "y[-1]"))):
        node = model.node(child)
        places, own = [names.index(name) for name in causes], names.index(child)
        probability = np.array([graph.edges[name, child] for name in causes])
        bare = NodeProblem(child, causes, scatter[np.ix_(places, places)], scatter[places, own], scatter[own, own],
                           78.0 - 4.0, probability, (), rows=79.0)  # fmt: skip
        prior = ad.Prior()
        want = Exact()(replace(bare, settings=prior.settings_of(bare)), np.random.default_rng(0))
        kept = [node.parents.index(name) for name in causes]
        assert node.mean[kept] == pytest.approx(want.mean, rel=1e-6, abs=1e-9)
        assert node.inclusion[kept] == pytest.approx(want.inclusion, abs=1e-6)
        assert np.sqrt(np.diag(node.second_moment)[kept]) == pytest.approx(
            np.sqrt(np.diag(want.second_moment)), rel=1e-6
        )
        assert node.noise_variance == pytest.approx(want.noise_variance, rel=1e-6)


def test_what_acts_always_is_flat_again_after_saving_and_a_column_as_all_for_other_families(tmp_path):
    table = series(80)
    table["y"] += 0.3 * table["week"]
    told = {"time": "week", "always": ["trend"], "rng": 0}
    posterior = ad.fit(table, GRAPH, **told)
    posterior.save(tmp_path / "flat.npz")
    want = posterior.effect("x", "y", after=2)
    found = ad.load(tmp_path / "flat.npz").effect("x", "y", after=2)
    assert found.mean == pytest.approx(want.mean, abs=1e-12)
    assert found.sd == pytest.approx(want.sd, abs=1e-12)
    model = posterior.workings.models.items[0]
    place = model.node("y").parents.index("trend")
    slope = posterior.workings.data.unit("trend", "y") * model.node("y").mean[place]
    assert slope == pytest.approx(0.3 * (1 - 0.3), abs=0.1)  # the past of y grows, too
    heavy = ad.fit(table, GRAPH, families={"y": "student"}, **told)
    assert posterior.workings.data.pooled.flat == {"trend"}
    assert not heavy.workings.data.pooled.flat
    assert heavy.effect("x", "y", after=1).mean[1] == pytest.approx(want.mean[1], abs=0.1)


def test_a_season_that_is_left_is_offered_as_always():
    (note,) = season_notes(seasonal(1.5, 0))
    assert note == "what is left of y goes with the season: add always=['season']"
    assert not season_notes(seasonal(1.5, 0), always=["season"])
    assert not season_notes(seasonal(1.5, 0, rows=30))  # of which there are too few of each month
    assert not season_notes(series())  # whose steps are not known to have a season


def test_a_season_is_seldom_found_where_there_is_none():
    assert sum(bool(season_notes(seasonal(0.0, seed))) for seed in range(20)) <= 2


def test_edges_inside_a_step_that_carry_the_response_are_noted():
    rng = np.random.default_rng(3)
    x, fast, slow = rng.normal(size=(3, 150))
    fast, slow = fast + x, slow + np.append(0.0, x[:-1])
    table = {"t": np.arange(150), "x": x, "fast": fast, "slow": slow}
    graph = ad.CandidateGraph.over_time(["x", "fast", "slow"], lags=1, order=["x", "fast", "slow"])
    posterior = ad.fit(table, graph, time="t", rng=0)
    inside = "edges inside a step carry most of the response"
    assert any(inside in note for note in posterior.effect("x", "fast", after=3).notes)
    assert not any(inside in note for note in posterior.effect("x", "slow", after=3).notes)
    assert not any(inside in note for note in posterior.effect("slow", "x", after=3).notes)  # nothing to carry


# -- what is refused ---------------------------------------------------------------------------------------------------

REFUSED = {
    "no lags": ({"time": "week"}, ad.CandidateGraph.from_order(["x", "y"]), "say lags=0"),
    "other lags": ({"time": "week", "lags": 3}, GRAPH, "go back 1 step;"),
    "no time": ({"unit": "week"}, GRAPH, "unit= needs time="),
    "no column": ({"time": "wek"}, GRAPH, "did you mean 'week'"),
    "two rows": ({"time": "same"}, GRAPH, "have the same time"),
    "impute": ({"time": "week", "missing": "impute"}, GRAPH, "imputation does not know what came before"),
    "curves": ({"time": "week", "terms": {"y": ["curve(x)"]}}, GRAPH, "carried on along straight lines"),
    "rows by number": ({"time": "week", "weights": np.ones(120)}, GRAPH, "weights= must name a column"),
    "intercepts": ({"time": "week", "intercepts": "fixed"}, GRAPH, "intercepts of what"),
    "always": ({"time": "week", "always": ["tend"]}, GRAPH, "neither a column of the data nor"),
    "season": ({"time": "week", "always": ["season"]}, GRAPH, "season:12"),
    "backwards": ({"time": "week"}, GRAPH.with_edge("y", "x[-1]", 0.5), "goes into the past"),
    "both": ({"time": "week", "unit": "shop", "intercepts": "fixed", "fixed_effects": ["shop"]}, GRAPH, "both give"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_is_refused_by_name(name):
    options, graph, text = REFUSED[name]
    table = {**series(), "same": np.zeros(120, dtype=int), "shop": np.repeat([1, 2], 60)}
    with pytest.raises(ad.AlldagsError, match=text):
        ad.fit(table, graph, **options)


def test_moments_have_no_past():
    with pytest.raises(ad.AlldagsError, match="the past of each row has to be looked up"):
        ad.fit(ad.Moments.from_table(lagged(series())), GRAPH, time="week")


def test_lags_0_is_said_and_noted():
    posterior = ad.fit(series(), ad.CandidateGraph.from_order(["x", "y"]), time="week", lags=0, rng=0)
    assert any("lags=0" in note for note in posterior.notes)
    with pytest.raises(ad.AlldagsError, match="without a past nothing is carried on"):
        posterior.effect("x", "y", after=2)
