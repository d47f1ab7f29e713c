"""Columns as people have them: words, truth values, decimals, dates."""

from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pytest

import alldags as ad
from alldags.errors import DataError
from lines import fit

ROWS = 300
GRAPH = ad.CandidateGraph.from_tiers([["z"], ["x"], ["y"]])


@pytest.fixture
def numbers():
    rng = np.random.default_rng(0)
    z = rng.standard_normal(ROWS)
    x = (z + rng.standard_normal(ROWS) > 0) * 1.0
    return {"z": z, "x": x, "y": x + z + rng.standard_normal(ROWS)}


def words(column, no="no", yes="yes"):
    return np.where(np.asarray(column) == 1, yes, no)


def answer(table, **options):
    return fit(table, GRAPH, rng=0, **options).effect("x", "y")


@pytest.mark.parametrize("make", [dict, pd.DataFrame, pl.DataFrame, lambda t: pl.DataFrame(t).to_arrow()])
def test_two_words_are_zero_and_one_and_are_named_in_the_answer(make, numbers):
    plain = answer(numbers)
    spoken = answer(make(numbers | {"x": words(numbers["x"])}))
    assert (spoken.mean, spoken.sd) == (plain.mean, plain.sd)
    assert "Changing x from 'no' to 'yes' raises y" in str(spoken).replace("\n", " ")
    assert spoken.to.dict()["treatment_words"] == ["no", "yes"]
    assert "words as numbers: x is 0 for 'no' and 1 for 'yes'" in map(str, spoken.notes)


def test_words_in_files(tmp_path, numbers):
    pd.DataFrame(numbers | {"x": words(numbers["x"])}).to_csv(tmp_path / "study.csv", index=False)
    assert "from 'no' to 'yes'" in answer(tmp_path / "study.csv").sentence()


def test_truth_values_are_named(numbers):
    spoken = answer(numbers | {"x": numbers["x"] == 1})
    assert "from False to True" in spoken.sentence()
    assert spoken.mean == answer(numbers).mean
    nullable = pd.DataFrame(numbers).assign(x=pd.array(numbers["x"] == 1, dtype="boolean"))
    assert "from False to True" in answer(nullable).sentence()


@pytest.mark.parametrize(
    ("no", "yes"),
    [("no", "yes"), ("z-control", "a-treated"), ("placebo", "drug"), ("untreated", "treated"), ("f", "m")],
)
def test_which_word_is_one(numbers, no, yes):
    spoken = answer(numbers | {"x": words(numbers["x"], no, yes)})
    first, second = sorted([no, yes]) if no.startswith("z-") else (no, yes)
    assert spoken.to.dict()["treatment_words"] == [first, second]


def test_the_order_of_a_category_decides(numbers):
    ordered = pd.Categorical(words(numbers["x"], "low", "high"), categories=["low", "high"])
    assert answer(pd.DataFrame(numbers).assign(x=ordered)).to.dict()["treatment_words"] == ["low", "high"]
    turned = pd.Categorical(words(numbers["x"], "low", "high"), categories=["high", "low"])
    assert answer(pd.DataFrame(numbers).assign(x=turned)).mean == pytest.approx(-answer(numbers).mean, rel=1e-9)


def _as_parquet(frame, folder):
    frame.to_parquet(folder / "study.parquet")
    return folder / "study.parquet"


@pytest.mark.parametrize("make", [lambda frame, _: frame, lambda frame, _: pl.from_pandas(frame), _as_parquet])
def test_a_column_that_is_declared_a_category_may_have_numbers_for_levels(make, numbers, tmp_path):
    declared = {"x": pd.Categorical(words(numbers["x"], "0", "1")), "z": pd.Categorical(["1", "2", "3"] * 100)}
    spelled = {"x": words(numbers["x"]), "z": ["one", "three", "two"] * 100}
    found = answer(make(pd.DataFrame(numbers | declared), tmp_path))
    plain = answer(pd.DataFrame(numbers | spelled))
    assert found.mean == pytest.approx(plain.mean, rel=1e-9)
    assert any("z is a category with 3 levels ('1', the reference, '2', '3')" in note for note in found.notes)


@pytest.mark.parametrize("ending", ["parquet", "dta", "csv"])
def test_a_file_and_the_table_read_from_it_have_the_same_levels(numbers, tmp_path, ending):
    path = tmp_path / f"study.{ending}"
    frame = pd.DataFrame(numbers | {"z": pd.Categorical(["c", "a", "b"] * 100)})
    if ending == "dta":
        frame.to_stata(path, write_index=False)
    else:
        getattr(frame, f"to_{ending}")(path, index=False)
    here, there = answer(ad.read_table(path)), answer(path)
    assert here.mean == there.mean
    for effect in (here, there):
        assert any("('a', the reference, 'b', 'c')" in note for note in effect.notes)


def test_a_yes_no_outcome_of_words_is_logistic_and_named(numbers):
    coded = numbers | {"y": (numbers["y"] > 0.5) * 1.0}
    plain, spoken = answer(coded), answer(coded | {"y": words(coded["y"], "alive", "dead")})
    assert (spoken.mean, spoken.measure) == (plain.mean, "risk")
    assert "changes the probability that y is 'dead' by" in spoken.sentence()
    assert spoken.to.dict()["outcome_words"] == ["alive", "dead"]
    named = answer(coded | {"y": words(coded["y"]), "x": words(coded["x"])}, families={"y": "bernoulli"})
    assert "at 'no'" in str(named)


def test_missing_words_are_missing_values(numbers):
    spoken = words(numbers["x"]).astype(object)
    spoken[:5], spoken[5:8], spoken[8] = None, "", "NA"
    with pytest.raises(DataError, match=r"missing values in column 'x' \(9\)"):
        answer(numbers | {"x": spoken})
    dropped = answer(numbers | {"x": spoken}, missing="drop")
    assert any("9 of 300 rows were dropped for missing values in column 'x' (9)" in note for note in dropped.notes)
    assert dropped.mean == pytest.approx(answer({name: column[9:] for name, column in numbers.items()}).mean, rel=1e-12)


def test_nullable_and_decimal_numbers(numbers):
    whole = np.round(10 * numbers["z"])
    plain = answer(numbers | {"z": whole / 10})
    frame = pl.DataFrame(numbers).with_columns(z=pl.Series([Decimal(int(v)) / 10 for v in whole]))
    assert answer(frame).mean == pytest.approx(plain.mean, rel=1e-12)
    frame = pd.DataFrame(numbers).assign(z=pd.array(whole.astype(int), dtype="Int64"))
    assert answer(frame).mean == pytest.approx(plain.mean, rel=1e-9)


@pytest.mark.parametrize(
    "column",
    [
        pd.date_range("2020-01-01", periods=ROWS),
        pd.Series(pd.date_range("2020-01-01", periods=ROWS).date, dtype=object),
        np.arange(ROWS).astype("m8[D]"),
        np.arange(ROWS).astype("M8[D]"),
    ],
)
@pytest.mark.parametrize("make", [dict, pd.DataFrame])
def test_dates_are_refused_with_advice(make, numbers, column):
    with pytest.raises(DataError, match=r"column 'z' has dates or times .* days since the first"):
        answer(make(numbers | {"z": column}))


@pytest.mark.parametrize("make", [dict, pd.DataFrame, pl.DataFrame, lambda t: pl.DataFrame(t).to_arrow()])
def test_dates_beside_the_graph_are_ignored(make, numbers):
    table = numbers | {"x": words(numbers["x"])}
    dates = np.arange(ROWS).astype("M8[D]").astype("M8[ms]")
    assert answer(make(table | {"seen": dates})).mean == answer(make(table)).mean


def test_text_of_many_kinds_is_refused_with_examples(numbers):
    with pytest.raises(DataError, match=r"text with 300 different values .* such as 'n0', 'n1', 'n2'"):
        answer(numbers | {"z": np.array([f"n{i}" for i in range(ROWS)])})
    mixed = np.array([f"{value:.3f}" for value in numbers["z"]], dtype=object)
    mixed[17] = "unknown"
    with pytest.raises(DataError, match="if these are numbers, look for what is not one"):
        answer(numbers | {"z": mixed})


def test_one_word_is_no_variable(numbers):
    with pytest.raises(DataError, match="column 'z' is 'a' in every row"):
        answer(numbers | {"z": np.array(["a"] * ROWS)})


def test_weights_and_interventions_go_with_words(numbers):
    spoken = numbers | {"x": words(numbers["x"])}
    weights = np.arange(ROWS) % 3 + 1
    assert answer(spoken, weights=weights).mean == answer(numbers, weights=weights).mean
    rows = {"z": np.arange(ROWS) < 50}
    assert answer(spoken, interventions=rows).mean == answer(numbers, interventions=rows).mean
