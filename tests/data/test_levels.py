"""Columns as people have them: words, truth values, decimals, dates."""

import json
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pytest

import alldags as ad
from alldags.errors import AlldagsError, DataError
from commands import command
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
    assert "from 'no' to 'yes'" in answer(tmp_path / "study.csv").to.sentence()


def test_truth_values_are_named(numbers):
    spoken = answer(numbers | {"x": numbers["x"] == 1})
    assert "from False to True" in spoken.to.sentence()
    assert spoken.mean == answer(numbers).mean
    nullable = pd.DataFrame(numbers).assign(x=pd.array(numbers["x"] == 1, dtype="boolean"))
    assert "from False to True" in answer(nullable).to.sentence()


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
    assert "changes the probability that y is 'dead' by" in spoken.to.sentence()
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


# -- codes that are named as categories ------------------------------------------------------------------------------


@pytest.fixture
def codes(numbers):
    """Codes 1 to 4 of a covariate that acts by its level, not by its number."""
    levels = np.random.default_rng(5).integers(1, 5, ROWS)
    shift = np.array([0.0, 2.0, -1.0, 0.5])[levels - 1]
    return numbers | {"z": levels, "y": numbers["x"] + shift + np.random.default_rng(6).standard_normal(ROWS)}


def spelled(column):
    return np.array([f"level {code}" for code in column])


@pytest.mark.parametrize("make", [dict, pd.DataFrame, pl.DataFrame, lambda t: pl.DataFrame(t).to_arrow()])
def test_named_codes_are_the_category_that_words_would_be(make, codes):
    spoken, named = answer(codes | {"z": spelled(codes["z"])}), answer(make(codes), categories=["z"])
    assert (named.mean, named.sd) == (spoken.mean, spoken.sd) != (answer(codes).mean, answer(codes).sd)
    assert any("z is a category with 4 levels ('1', the reference, '2', '3', '4')" in note for note in named.notes)
    assert "categories=['z']" in named.posterior.recipe.asked.arguments


def test_named_codes_of_a_file_on_the_command_line(codes, tmp_path, capsys):
    pd.DataFrame(codes).to_csv(tmp_path / "study.csv", index=False)
    words = ["effect", str(tmp_path / "study.csv"), "--treatment", "x", "--outcome", "y", "--confounders", "z"]
    command([*words, "--terms", "straight", "--categories", "z", "--json"])
    found = json.loads(capsys.readouterr().out)["mean"]
    there = ad.effect(codes, treatment="x", outcome="y", confounders=["z"], terms=None, categories=["z"], rng=0)
    assert found == pytest.approx(there.mean, rel=1e-9)


def test_gaps_leave_codes_what_they_are_called(codes):
    column = np.where(np.arange(ROWS) < 9, np.nan, codes["z"])
    kept = {name: values[9:] for name, values in codes.items()}
    dropped = answer(codes | {"z": column}, categories=["z"], missing="drop")
    assert dropped.mean == pytest.approx(answer(kept, categories=["z"]).mean, rel=1e-12)
    assert dropped.posterior.workings.data.levels["z"].words == ("1", "2", "3", "4")
    filled = answer(codes | {"z": column}, categories=["z"], missing="impute")
    assert filled.mean == pytest.approx(answer(codes, categories=["z"]).mean, abs=filled.sd)


def test_named_codes_in_tables_completed_elsewhere_and_in_rows_of_another_table(codes):
    copies = ad.Imputed([codes, codes])
    assert answer(copies, categories=["z"]).mean == pytest.approx(answer(codes, categories=["z"]).mean, rel=1e-9)
    posterior = fit(codes, GRAPH, rng=0, categories=["z"])
    here, there = (posterior.do({"x": 1.0}, outcome="y", over=over).mean.median for over in ("sample", codes))
    assert there == pytest.approx(here, abs=0.03)


def test_named_codes_are_saved(codes, tmp_path):
    posterior = fit(codes, GRAPH, rng=0, categories=["z"])
    posterior.save(tmp_path / "study.npz")
    assert ad.load(tmp_path / "study.npz").effect("x", "y").mean == posterior.effect("x", "y").mean


def test_two_codes_are_zero_and_one(numbers):
    named = answer(numbers | {"x": numbers["x"] + 1.0}, categories=["x"])
    assert named.mean == pytest.approx(answer(numbers).mean, rel=1e-12)
    assert "Changing x from '1' to '2'" in named.to.sentence()


@pytest.mark.parametrize(
    ("categories", "said"),
    [
        ("z", r"categories must be a list of names; write categories=\['z'\]"),
        (["zz"], r"categories=\['zz'\] is no variable of the graph; did you mean 'z'\?"),
        (["y"], r"the outcome 'y' is a category|column 'y' has 300 different values"),
    ],
)
def test_what_cannot_be_a_category_is_refused_by_name(codes, categories, said):
    with pytest.raises(AlldagsError, match=said):
        answer(codes, categories=categories)


def test_categories_need_rows_that_can_be_counted(codes):
    with pytest.raises(DataError, match=r"categories=\['z'\] needs a table whose rows can be counted here"):
        answer(ad.Moments.from_table(codes), categories=["z"])


def test_too_many_codes_are_refused_in_words_for_codes(numbers):
    with pytest.raises(DataError, match=r"column 'z' has 300 different values .* leave it out of categories="):
        answer(numbers | {"z": np.arange(ROWS)}, categories=["z"])
