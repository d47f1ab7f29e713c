"""Notes are records with a severity, the worst first, wherever they are read."""

from __future__ import annotations

import json

import numpy as np
import pytest

import alldags as ad
from alldags import notes as records
from alldags.assumptions.notes import engine_notes
from alldags.engines.mixtures.node import IS_A_MODE, NOT_USED
from alldags.nodes.posterior import Diagnostics
from alldags.notes import SEVERITIES, Note, in_order
from lines import fit

ROWS = 300
GRAPH = ad.CandidateGraph.from_tiers([["z"], ["x"], ["y"]])


def table(**columns):
    rng = np.random.default_rng(3)
    z = rng.standard_normal(ROWS)
    x = z + rng.standard_normal(ROWS)
    return {"z": z, "x": x, "y": 0.5 * x + z + rng.standard_normal(ROWS), **columns}


def with_gaps(values):
    found = np.array(values)
    found[::9] = np.nan
    return found


def severities(notes):
    return [note.severity for note in notes]


def test_the_text_is_what_is_printed_and_looked_into():
    note = Note("rows were dropped", "changes the answer")
    assert str(note) == f"{note}" == "rows were dropped"
    assert "dropped" in note
    assert "imputed" not in note


def test_the_worst_come_first_and_equals_keep_their_order():
    given = [Note("a"), Note("b", "check"), Note("c", "changes the answer"), Note("d", "check"), Note("e")]
    assert [str(note) for note in in_order(given)] == ["c", "b", "d", "a", "e"]


def test_a_text_said_twice_is_kept_once_with_the_worse_severity():
    assert in_order([Note("a"), Note("a", "check"), Note("a")]) == (Note("a", "check"),)


def test_severities_of_a_fit_are_in_order_and_dropped_rows_lead():
    posterior = fit(table(z=with_gaps(table()["z"]), other=np.arange(ROWS)), GRAPH, missing="drop", rng=0)
    for notes in (posterior.notes, posterior.effect("x", "y").notes, posterior.effect("x", "y").summary().notes):
        assert severities(notes) == sorted(severities(notes), key=SEVERITIES.index)
        assert "rows were dropped" in notes[0]
        assert notes[0].severity == "changes the answer"
        assert "ignored" in notes[-1]
        assert notes[-1].severity == "for the record"


@pytest.mark.parametrize(
    ("words", "severity", "columns", "options"),
    [
        ("were imputed", "check", {"z": with_gaps(table()["z"])}, {"missing": "impute", "imputations": 3}),
        ("linear probability", "changes the answer", {"y": (table()["y"] > 0) * 1.0}, {"families": "normal"}),
        ("straight lines mislead", "changes the answer", {"y": table()["x"] ** 2}, {}),
        ("code it 0 and 1", "check", {"y": (table()["y"] > 0) + 1.0}, {}),
        ("outside the graph", "check", {"w": table()["z"], "z": table()["z"][::-1]}, {}),
        ("edges into 'x' were left out", "for the record", {}, {"randomized": "x"}),
        ("rows stand for", "for the record", {"n": np.repeat(2, ROWS)}, {"weights": "n"}),
    ],
)
def test_each_note_has_the_severity_that_it_deserves(words, severity, columns, options):
    notes = fit(table(**columns), GRAPH, rng=0, **options).effect("x", "y").notes
    assert [note.severity for note in notes if words in note] == [severity]


def test_warnings_of_engines_become_notes_in_one_place():
    found = engine_notes(Diagnostics("em", (NOT_USED, IS_A_MODE, "chains disagree")))
    assert severities(found) == ["for the record", "changes the answer", "changes the answer"]


def test_a_note_about_some_variables_is_left_out_of_effects_past_them():
    columns = table(y=(table()["y"] > 0) * 1.0)
    posterior = fit(ad.Moments.from_table(columns), GRAPH, rng=0)
    (note,) = (note for note in posterior.notes if "may be yes/no" in note)
    assert note.about == ("y",)
    assert note in posterior.effect("x", "y").notes
    assert note not in posterior.effect("z", "x").notes


def test_json_has_text_and_severity():
    effect = fit(table(z=with_gaps(table()["z"])), GRAPH, missing="drop", rng=0).effect("x", "y")
    found = json.loads(json.dumps(effect.to.dict()))["notes"]
    assert [item["text"] for item in found] == [str(note) for note in effect.notes]
    assert [item["severity"] for item in found] == severities(effect.notes)


def test_saved_notes_keep_their_severity(tmp_path):
    posterior = fit(table(z=with_gaps(table()["z"])), GRAPH, missing="drop", rng=0)
    posterior.save(tmp_path / "fit.npz")
    assert ad.load(tmp_path / "fit.npz").notes == posterior.notes


def test_the_schema_knows_the_severities():
    assert tuple(ad.schema.json_schema()["$defs"]["note"]["properties"]["severity"]["enum"]) == records.SEVERITIES


def test_whoever_asked_for_curves_is_not_told_to_ask_for_them():
    rng = np.random.default_rng(0)
    columns = table(y=table()["x"] ** 2 + 0.1 * rng.standard_normal(ROWS))
    told = fit(columns, GRAPH, rng=0).effect("x", "y").notes
    assert any("see terms='auto'" in note for note in told)
    followed = fit(columns, GRAPH, terms="auto", rng=0).effect("x", "y").notes
    assert not any("terms='auto'" in note for note in followed)
