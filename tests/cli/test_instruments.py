"""Instruments on the command line."""

from __future__ import annotations

import json

import numpy as np
import pytest

from commands import command


@pytest.fixture
def study(tmp_path):
    rng = np.random.default_rng(0)
    age, lottery, ability, luck = rng.standard_normal((4, 200))
    school = 0.6 * lottery + 0.4 * age + ability
    wage = 0.5 * school + 0.3 * age + 0.8 * ability + luck
    path = tmp_path / "study.csv"
    rows = np.column_stack([age, lottery, school, wage])
    np.savetxt(path, rows, delimiter=",", header="age,lottery,school,wage", comments="")
    return path


def test_an_effect_by_an_instrument_needs_no_graph(study, capsys):
    asked = ["effect", str(study), "--treatment", "school", "--outcome", "wage", "--confounders", "age"]
    command([*asked, "--instruments", "lottery", "--valid", "0.9", "--terms", "straight", "--json"])
    found = json.loads(capsys.readouterr().out)
    (cause,) = found["correlated_errors"]
    assert (cause["first"], cause["second"]) == ("school", "wage")
    assert cause["instruments"][0]["valid_before"] == pytest.approx(0.9)
    assert found["interval"]["low"] < 0.5 < found["interval"]["high"]


def test_whether_there_is_an_effect_is_asked_beside_instruments(study, capsys):
    asked = ["effect", str(study), "--treatment", "school", "--outcome", "wage", "--confounders", "age"]
    command([*asked, "--instruments", "lottery", "--probability", "0.5", "--terms", "straight", "--json"])
    assert 0.0 < json.loads(capsys.readouterr().out)["probability_no_effect"] < 0.3
