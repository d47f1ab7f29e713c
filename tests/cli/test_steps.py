"""Series and panels on the command line."""

from __future__ import annotations

import json

import numpy as np
import pytest

from commands import command as command_line


@pytest.fixture
def file(tmp_path):
    rng = np.random.default_rng(0)
    price, sales = np.zeros((2, 120))
    for t in range(1, 120):
        price[t] = 0.5 * price[t - 1] + rng.normal()
        sales[t] = 0.4 * price[t - 1] + 0.3 * sales[t - 1] + rng.normal()
    rows = np.column_stack([np.arange(120), price, sales])
    np.savetxt(tmp_path / "s.csv", rows, delimiter=",", header="week,price,sales", comments="")
    return tmp_path / "s.csv"


def ask(file, *more):
    asked = ["--treatment", "price", "--outcome", "sales", "--time", "week", "--lags", "1"]
    command_line(["effect", str(file), *asked, *more])


def test_an_effect_is_followed_for_some_steps(file, capsys, tmp_path):
    ask(file, "--after", "4", "--report", str(tmp_path / "r.html"), "--plot", str(tmp_path / "r.png"))
    said = capsys.readouterr()
    assert "Raising price by one unit in one step changes sales" in said.out
    assert len(said.out.splitlines()) <= 14
    assert "note: 119 of 120 rows" in said.err
    page = (tmp_path / "r.html").read_text()
    assert "Step by step" in page
    assert "step by step" in page.partition("<figure>")[2]
    assert (tmp_path / "r.png").stat().st_size > 1000


def test_json_has_all_steps(file, capsys):
    ask(file, "--after", "3", "--lasting", "--json")
    found = json.loads(capsys.readouterr().out)
    assert found["schema"] == "alldags.response/1"
    assert found["lasting"] is True
    assert [one["step"] for one in found["steps"]] == [0, 1, 2, 3]


def test_the_effect_in_the_same_step_needs_no_after(file, capsys):
    ask(file)
    assert "raising price by one unit" in capsys.readouterr().out


def test_what_is_of_one_step_is_refused_by_its_option(file):
    with pytest.raises(Exception, match="--paths is of the effect in the same step"):
        ask(file, "--after", "2", "--paths")
