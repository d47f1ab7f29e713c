"""Likely mistakes in the data are said in one line each, and ordinary data are not."""

import json

import numpy as np
import pytest

import alldags as ad
from alldags.datasets.public import find_file
from lines import fit

ROWS = 300


def table(**columns):
    rng = np.random.default_rng(3)
    z = rng.standard_normal(ROWS)
    x = z + rng.standard_normal(ROWS)
    y = 0.5 * x + z + rng.standard_normal(ROWS)
    return {"z": z, "x": x, "y": y} | columns


def noise(seed=0):
    return np.random.default_rng(seed).standard_normal(ROWS)


def levels(count, seed=1):
    return np.random.default_rng(seed).integers(0, count, ROWS)


def graph(*extra):
    return ad.CandidateGraph.from_tiers([["z", *extra], ["x"], ["y"]])


def effect(columns, *extra, **options):
    return fit(columns, graph(*extra), rng=0, **options).effect("x", "y")


def found(words, answer):
    (note,) = [note for note in answer.notes if words in note]
    return note


ALL_WORDS = (
    "copies",
    "dummy trap",
    "determine",
    "symmetric matrix",
    "codes for missing",
    "one cell",
    "identifier",
    "half the",
    "linear probability",
    "two values only",
    "outside the observed",
    "no candidate path",
    "outside the graph",
    "codes or amounts",
)


def test_ordinary_data_have_no_such_note():
    answer = effect(table())
    assert not [word for word in ALL_WORDS for note in answer.notes if word in note]


# -- what moments show -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("as_moments", [False, True])
@pytest.mark.parametrize(("copy", "shown"), [(lambda z: 2.54 * z, "1"), (lambda z: -z + 3, "-1")])
def test_copies_of_a_cause_are_named(copy, shown, as_moments):
    columns = table(inches=copy(table()["z"]))
    columns = ad.Moments.from_table(columns) if as_moments else columns
    assert f"'z' and 'inches' (correlation {shown})" in found("copies", effect(columns, "inches"))


def test_near_copies_are_named_with_their_correlation_and_likes_are_not():
    z = table()["z"]
    assert "(correlation 0.999" in found("copies", effect(table(w=z + 0.02 * noise()), "w"))
    assert not [note for note in effect(table(w=z + 0.1 * noise()), "w").notes if "copies" in note]  # about 0.995


def test_a_copy_of_the_outcome_is_no_copy_among_causes():
    columns = table(y2=table()["y"])
    both = ad.CandidateGraph.from_tiers([["z"], ["x"], ["y", "y2"]])
    assert not [note for note in fit(columns, both, rng=0).notes if "copies" in note]


@pytest.mark.parametrize("as_moments", [False, True])
def test_all_levels_of_a_category_are_a_dummy_trap(as_moments):
    dummies = {f"site{i}": (levels(3) == i) * 1.0 for i in range(3)}
    columns = table(**dummies)
    columns = ad.Moments.from_table(columns) if as_moments else columns
    note = found("dummy trap", effect(columns, *dummies))
    assert "'site0', 'site1', 'site2' add up to 1 in every row" in note
    assert not [note for note in effect(columns, "site0", "site1").notes if "dummy" in note]


def test_two_full_categories_are_two_dummy_traps():
    dummies = {f"a{i}": (levels(3) == i) * 1.0 for i in range(3)} | {
        f"b{i}": (levels(4, 5) == i) * 1.0 for i in range(4)
    }
    notes = [note for note in effect(table(**dummies), *dummies).notes if "dummy trap" in note]
    assert ["a0" in note and "b0" not in note for note in notes] == [True, False]


def test_a_sum_among_the_causes_is_said_to_be_one():
    a, b = noise(1), noise(2)
    assert "'total' by 'a', 'b'" in found("determine", effect(table(a=a, b=b, total=a + b), "a", "b", "total"))


def test_more_candidates_than_half_the_rows():
    columns = {name: column[:20] for name, column in table().items()} | {f"c{i}": noise(i)[:20] for i in range(12)}
    assert "more than half the 20 rows" in found("half the", effect(columns, *(f"c{i}" for i in range(12))))


# -- what rows show ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [{}, {"weights": np.ones(ROWS)}, {"n_jobs": 2}])
@pytest.mark.parametrize("code", [-9.0, -99.0, -999.0, 999.0, 9999.0])
def test_codes_for_missing_values_are_named_and_counted(code, options):
    age = levels(60).astype(float) + 20
    age[::50] = code
    assert f"{code:,.0f} in 'age' (6 rows)" in found("codes", effect(table(age=age), "age", **options))


@pytest.mark.parametrize(
    "column",
    [
        levels(100).astype(float),  # 99 is one of the values
        levels(20) - 9.0,  # -9 is one of them
        np.where(levels(2) == 1, 99.0, 0.0),  # two values
        1000 * noise(),
    ],
)
def test_values_among_others_are_no_codes(column):
    assert not [note for note in effect(table(w=column), "w").notes if "codes" in note]


def test_codes_are_counted_across_batches_and_parts_of_the_data():
    rng = np.random.default_rng(0)
    many = rng.integers(0, 50, 200_000).astype(float)
    many[::1000] = -999
    halves = [ad.Moments.from_table({"w": half}) for half in np.array_split(many, 2)]
    for profile in (ad.Moments.from_table({"w": many}).profile, (halves[0] + halves[1]).profile):
        assert (profile.low[0], profile.counts[0, 0], profile.rest[0, 0], profile.high[0]) == (-999, 200, 0, 49)


@pytest.mark.parametrize("rows", [ROWS, 300_000])
def test_one_cell_that_carries_the_sum_of_squares_is_found_wherever_it_is(rows):
    column = np.random.default_rng(0).standard_normal(rows)
    column[int(0.9 * 65_536) if rows > ROWS else 7] = 1e4
    columns = {name: np.resize(values, rows) for name, values in table().items()} | {"w": column}
    assert "10,000 in 'w' (100%)" in found("one cell", fit(columns, graph("w"), rng=0))


def test_a_rare_yes_is_no_typing_error():
    rare = np.zeros(ROWS)
    rare[5] = 1.0
    assert not [note for note in effect(table(rare=rare), "rare").notes if "one cell" in note]


@pytest.mark.parametrize(
    ("name", "column"),
    [
        ("w", np.arange(ROWS)),
        ("w", np.random.default_rng(0).permutation(ROWS) + 17),
        ("w", np.cumsum(levels(9) + 1) + 1000),
        ("patient_id", np.random.default_rng(0).integers(0, 10**6, ROWS)),
        ("subjectID", levels(40)),
    ],
)
def test_identifiers_are_named(name, column):
    assert repr(name) in found("identifier", effect(table(**{name: column}), name))


@pytest.mark.parametrize(
    ("name", "column"),
    [("humid", levels(40)), ("w", np.sort(noise())), ("w", levels(ROWS)), ("is_id", levels(2)), ("w", levels(9))],
)
def test_other_columns_are_no_identifiers(name, column):
    assert not [note for note in effect(table(**{name: column}), name).notes if "identifier" in note]


# -- tables that are no tables -----------------------------------------------------------------------------------------


def test_a_covariance_matrix_in_place_of_a_table_is_suspected(tmp_path):
    pandas = pytest.importorskip("pandas")
    matrix = pandas.DataFrame(table()).cov()
    matrix.to_csv(tmp_path / "matrix.csv")
    matrix.to_csv(tmp_path / "bare.csv", index=False)
    for given in (matrix, str(tmp_path / "matrix.csv"), str(tmp_path / "bare.csv")):
        assert "Moments.from_covariance" in found("symmetric", fit(given, graph(), rng=0))
    assert "symmetric" in found("symmetric", fit(matrix.to_numpy(), graph(), names=list(matrix), rng=0))


def test_square_tables_are_fitted_without_a_word():
    square = {name: column[:3] for name, column in table().items()}
    assert not [note for note in fit(square, graph(), rng=0).notes if "symmetric" in note]


# -- one effect --------------------------------------------------------------------------------------------------------


def test_straight_lines_through_zeros_and_ones_are_said_to_be_that():
    columns = table(y=(table()["y"] > 0) * 1.0)
    assert "linear probability" in found("linear", effect(columns, families="normal"))
    assert not [note for note in effect(columns).notes if "linear probability" in note]  # logistic
    moments = effect(ad.Moments.from_table(columns))
    assert len([note for note in moments.notes if "straight lines" in note]) == 1


def test_an_outcome_coded_one_and_two_gets_a_hint():
    columns = table(y=(table()["y"] > 0) + 1.0)
    for given in (columns, ad.Moments.from_table(columns)):
        assert "1 and 2: code it 0 and 1" in found("two values", effect(given))


def test_a_skewed_outcome_is_sent_to_families_of_its_own_and_away_from_heavy_tails():
    amounts = table(y=np.exp(table()["y"] / table()["y"].std()))
    assert "families={'y': 'gamma'} (or 'lognormal')" in found("positive and skewed", effect(amounts))
    student = effect(amounts, families={"y": "student"})
    assert "use families={'y': 'gamma'}" in found("Student's noise is not", student)
    assert [note.severity for note in student.notes if "Student's noise" in note] == ["changes the answer"]
    zeros = table(y=np.where(amounts["y"] < 0.5, 0.0, amounts["y"]))
    assert "use families={'y': 'hurdle'}" in found("Student's noise is not", effect(zeros, families={"y": "student"}))
    assert "families={'y': 'hurdle'} takes whether" in found("y is an amount with zeros: ", effect(zeros))
    assert not [note for note in effect(zeros, families={"y": "hurdle"}).notes if "amount with zeros: " in note]
    for columns, families in (
        (zeros, "auto"),
        (table(), "auto"),
        (table(), {"y": "student"}),
        (amounts, {"y": "gamma"}),
    ):
        assert not [note for note in effect(columns, families=families).notes if "skewed" in note]


def test_do_outside_the_observed_values_is_said_to_be_that():
    answer, top = effect(table()), float(table()["x"].max())
    assert "outside the observed values" in answer.do(top + 1).notes[0]
    assert "note: x = " in repr(answer.do(top + 1))
    assert answer.do(top).notes == answer.do(0.0).notes == ()
    assert (
        effect(ad.Moments.from_covariance(np.cov(list(table().values())), ROWS, names=["z", "x", "y"])).do(99).notes
        == ()
    )


def test_risks_outside_the_observed_values_are_said_to_be_that():
    answer = effect(table(y=(table()["y"] > 0) * 1.0))
    assert "x = 50 is outside" in answer.do(50).notes[0]
    assert "x = 50 is outside" in found("observed", answer.contrast(0, 50))
    assert not [note for note in answer.contrast(0, 1).notes if "observed" in note]


def test_a_treatment_without_a_path_is_said_to_have_none():
    answer = fit(table(), graph(), rng=0).effect("y", "x")
    assert "no candidate path leads from y to x" in found("no candidate path", answer)


def test_a_column_outside_the_graph_that_may_confound_is_named():
    columns = table(w=table()["z"] + 0.5 * noise(), z=noise(5), other=noise(4), text=np.array(["a"] * ROWS))
    note = found("outside the graph", effect(columns))
    assert "'w' (0." in note
    assert "other" not in note
    everything = ad.Moments.from_table({name: column for name, column in columns.items() if name != "text"})
    assert "'w' (0." in found("outside the graph", effect(everything))


def test_notes_are_in_json_and_in_the_report(tmp_path):
    pytest.importorskip("jinja2")
    posterior = fit(table(w=2 * table()["z"]), graph("w"), rng=0)
    note = found("copies", posterior.effect("x", "y"))
    assert {"text": note.text, "severity": note.severity, "about": []} in json.loads(
        json.dumps(posterior.effect("x", "y").to.dict())
    )["notes"]
    posterior.report(tmp_path / "report.html", treatment="x", outcome="y")
    assert "copies of each other" in (tmp_path / "report.html").read_text()


# -- public data -------------------------------------------------------------------------------------------------------


def test_public_data_raise_no_alarm(public_data):
    trials = {name: ad.datasets.lalonde(name, folder=public_data) for name in ("nsw_dw", "psid")}
    sachs = ad.datasets.sachs(folder=public_data).table
    babies = ad.datasets.ihdp(1, folder=public_data).to_pandas()
    before = ["age", "education", "black", "hispanic", "married", "nodegree", "re74", "re75"]
    cases = [
        (trials["nsw_dw"], [before, ["treat"], ["re78"]]),
        (trials["psid"], [before, ["re78"]]),
        (sachs, [["pkc", "pka", "plc"], ["raf", "mek", "erk", "akt"]]),
        (babies, [list(babies)[:-2], ["treatment"], ["outcome"]]),
    ]
    for columns, tiers in cases:
        notes = fit(columns, ad.CandidateGraph.from_tiers(tiers), rng=0).notes
        assert not [word for word in ALL_WORDS for note in notes if word in note]


def test_birth_records_of_twins_show_their_identifiers(public_data):
    pandas = pytest.importorskip("pandas")
    twins = pandas.read_csv(find_file("twins/twins.csv.gz", public_data))
    chosen = ["sample_id", "infant_id_0", "infant_id_1", "bord_0", "bord_1", "gestat10", "mager8"]
    notes = fit(twins, ad.CandidateGraph.from_tiers([chosen, ["t"], ["y"]]), rng=0).notes
    assert any("'sample_id', 'infant_id_0', 'infant_id_1' look like" in note for note in notes)
    assert any("'bord_0' and 'bord_1' (correlation -1)" in note for note in notes)


# -- codes of levels ---------------------------------------------------------------------------------------------------


def test_small_whole_numbers_of_a_covariate_may_be_codes():
    both = effect(table(school=levels(5) + 1, sport=levels(3, seed=2)), "school", "sport")
    note = found("codes or amounts", both)
    assert "'school', 'sport' were taken as amounts" in note
    assert note.text.endswith("codes of levels: categories=['school', 'sport']")
    assert note.on_command_line.text.endswith("codes of levels: --categories school,sport")
    assert note.severity == "check"


@pytest.mark.parametrize(
    "column",
    [
        levels(2),
        levels(2) + 1,
        0.5 * levels(5),
        levels(5) + 1970,
        levels(40),
        levels(5) - 2,
        np.array(list("abc") * 100),
    ],
)
def test_other_columns_are_no_codes(column):
    assert not [note for note in effect(table(school=column), "school").notes if "codes or amounts" in note]


def test_codes_are_noted_only_where_a_category_is_an_answer_to_the_same_question():
    codes = levels(5)
    asked = {
        "outcome": fit(table(y=codes), graph(), rng=0).effect("x", "y"),
        "treatment": fit(table(x=codes), graph(), rng=0).effect("x", "y"),
        "between": fit(table(m=codes), ad.CandidateGraph.from_tiers([["z"], ["x"], ["m"], ["y"]])).effect("x", "y"),
        "moments": effect(ad.Moments.from_table(table(school=codes)), "school"),
        "engine": effect(table(school=codes), "school", engine="vb", prior=ad.Prior(coefficients=ad.priors.NEG())),
        "named": effect(table(school=codes), "school", categories=["school"]),
    }
    assert [name for name, one in asked.items() if any("codes or amounts" in note for note in one.notes)] == []


@pytest.mark.parametrize(("probability", "said"), [(None, False), (0.02, False), (0.5, True)])
def test_many_candidates_of_which_few_are_expected_are_no_trouble(probability, said):
    rng = np.random.default_rng(0)
    names = [f"c{i}" for i in range(70)]
    table = dict(zip(names, rng.standard_normal((70, 100)), strict=True))
    table |= {"y": table["c0"] + rng.standard_normal(100)}
    graph = ad.CandidateGraph.from_tiers([names, ["y"]], probability)
    notes = ad.fit(table, graph, terms=None, rng=0).effect("c0", "y").notes
    assert any("more than half the 100 rows" in note for note in notes) is said
