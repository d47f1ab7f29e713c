"""The local page's server: what it asks, what it answers, and whom."""

from __future__ import annotations

import base64
import csv
import hashlib
import http.client
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import alldags as ad
from alldags.app import server as server_module
from alldags.app.answer import answer, effect_of, graph_of, python_lines
from alldags.app.run import _warm_up
from alldags.app.server import MOST_BYTES, Server
from alldags.app.study import first_question, open_study
from alldags.errors import AlldagsError, DataError, GraphError
from alldags.graph.io import parse_graph
from alldags.interrupts import GivenUp, checkpoint, given_up_if
from alldags.show.screen import screen
from show.test_report import HOSTILE, Page

STUDY = ad.datasets.example()


def write_csv(path, columns):
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("app")
    numbers = {name: list(map(repr, map(float, column))) for name, column in STUDY.table.items()}
    write_csv(folder / "study.csv", {**numbers, "comment": ["fine"] * 500})
    ad.write_graph(STUDY.graph, folder / "graph.toml")
    return folder


@pytest.fixture(scope="module")
def study(folder):
    return open_study(folder / "study.csv", folder / "graph.toml", "smoking", "risk")


def trial(n=300):
    """Rows of a trial with everything in them: words, gaps, an identifier, one value, dates; as text."""
    rng = np.random.default_rng(3)
    age, arm = rng.normal(50, 10, n).round(2), rng.choice(["control", "low", "high"], n)
    site, smoker = rng.choice(["north", "south", "west"], n), rng.choice(["no", "yes"], n)
    score = (0.05 * age + 1.5 * (arm == "high") + 0.02 * (age - 50) ** 2 + rng.normal(size=n)).round(3)
    ill = (rng.random(n) < 1 / (1 + np.exp(1 - (arm == "high")))).astype(int)
    visits = rng.poisson(np.exp(0.4 * (arm == "high")))
    return {
        "patient_id": range(1000, 1000 + n),
        "age": ["" if i % 25 == 0 else value for i, value in enumerate(age)],
        "site": ["" if i % 40 == 1 else value for i, value in enumerate(site)],
        "smoker": smoker,
        "arm": arm,
        "score": ["" if i % 30 == 7 else value for i, value in enumerate(score)],
        "ill": ill,
        "visits": visits,
        "country": ["FR"] * n,
        "seen": [f"2020-01-{1 + i % 28:02}" for i in range(n)],
    }


@pytest.fixture(scope="module")
def trial_csv(tmp_path_factory):
    return write_csv(tmp_path_factory.mktemp("trial") / "trial.csv", trial())


@pytest.fixture(scope="module")
def server(study):
    with Server(study) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def ask(server, path="answer", question=None, method="POST", token=None, **headers):
    """Send a request as a page would; return status, headers and body."""
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=60)
    body = None if question is None else json.dumps(question)
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    connection.request(method, f"/{server.token if token is None else token}/{path}", body, names)
    reply = connection.getresponse()
    found = reply.status, dict(reply.getheaders()), reply.read().decode()
    connection.close()
    return found


# -- answers ---------------------------------------------------------------------------------------------------------


def test_the_graph_file_is_the_first_question(study):
    assert graph_of(study.question).edges == dict(STUDY.graph.edges)
    assert study.question["left"] == ["comment"]  # the graph says so


def test_the_answer_is_what_print_shows(server, study):
    status, _, body = ask(server, question=dict(study.question))
    reply = json.loads(body)
    effect = ad.fit(STUDY.table, STUDY.graph, rng=0).effect("smoking", "risk")
    parts = screen(effect.summary())
    assert status == 200
    assert reply["mean"] == pytest.approx(effect.mean, rel=1e-12)
    assert reply["sentence"] == str(effect).split("\n\n")[0].replace("\n", " ")
    assert reply["rows"] == [list(row) for row in parts.rows]
    assert reply["warnings"] == list(parts.warnings)
    assert reply["under"] == [*parts.under, parts.hidden]
    drawn = json.loads(ask(server, "drawing", dict(study.question))[2])
    assert len([e for e in Page(drawn["graph"]).all("g") if "data-cause" in e.attributes]) == len(STUDY.graph.edges)


def test_a_changed_edge_changes_the_answer(server, study):
    moved = {**study.question, "edges": [*study.question["edges"], ["smoking", "risk", 0.02]]}
    reply = json.loads(ask(server, question=moved)[2])
    graph = STUDY.graph.with_edge("smoking", "risk", 0.02)
    assert reply["mean"] == pytest.approx(ad.fit(STUDY.table, graph, rng=0).effect("smoking", "risk").mean, rel=1e-12)


AGREED = {"left": ["patient_id", "smoker", "ill", "visits", "score", "country", "seen", "age", "site"]}


@pytest.mark.parametrize(
    ("said", "lines"),
    [
        ({"tiers": [["smoker"], ["visits"], ["ill"]], "treatment": "visits", "outcome": "ill"}, "ad.effect("),
        ({"tiers": [["age", "site"], ["smoker"], ["ill"]], "missing": "impute"}, "missing='impute'"),
        ({"tiers": [["age", "site"], ["smoker"], ["ill"]], "missing": "drop"}, "missing='drop'"),
        ({"tiers": [["smoker"], ["score"]], "outcome": "score", "rows": ["score"]}, "outcome='score'"),
        ({"tiers": [["smoker"], ["ill"], ["visits"]], "outcome": "visits", "family": "poisson"}, "mediators="),
        ({"tiers": [["smoker"], ["arm"], ["ill"]], "treatment": "arm"}, "treatment='arm'"),
        ({"tiers": [["smoker"], ["arm"], ["ill"]], "treatment": "arm", "contrast": ["low", "high"]}, ".contrast('low'"),
        ({"tiers": [["smoker"], ["ill"]], "direct": 0.3}, "probability=0.3"),
        ({"tiers": [["smoker"], ["ill"]], "edges": [["smoker", "ill", 0.3]]}, "probability=0.3"),
        ({"tiers": [["arm"], ["smoker"], ["visits"], ["ill"]], "edges": [["arm", "ill", 0]]}, "ad.fit("),
        ({"tiers": [["visits"], ["smoker"], ["ill"]], "direct": None}, "probability=0.5"),
        ({"tiers": [["visits"], ["smoker"], ["ill"]], "probability": 0.2}, "from_tiers("),
        ({"tiers": [["smoker"], ["ill"], ["visits"]]}, "from_tiers("),
        ({"tiers": [["age", "visits"], ["score"]], "pairs": [["age", "visits", 0.2, 0.3]], "missing": "drop",
          "treatment": "visits", "outcome": "score"}, "with_pair("),
    ],
)  # fmt: skip
def test_the_python_lines_give_the_same_answer(trial_csv, monkeypatch, capsys, said, lines):
    question = {"edges": [], "pairs": [], "probability": 0.5, "direct": 1.0, "treatment": "smoker", "outcome": "ill"}
    question = {**question, **AGREED, "left": [*AGREED["left"], "arm"], **said}
    monkeypatch.chdir(trial_csv.parent)
    found = answer(open_study(Path(trial_csv.name)), question)
    assert lines in found["python"]
    names: dict[str, object] = {}
    exec(found["python"], names)
    effect = names["effect"]
    printed = effect.contrasts().screen() if "mean" not in found else screen(effect.summary())
    assert "mean" not in found or found["mean"] == effect.mean  # to the last bit
    assert (found["sentence"], found["rows"]) == (printed.sentence, [list(row) for row in printed.rows])
    assert found["warnings"] == list(printed.warnings)
    assert " ".join(capsys.readouterr().out.split()).startswith(found["sentence"])


def test_an_answer_costs_little_more_than_the_question_itself(study):
    """Words and two pictures must not make a page slow on which the library alone would be quick."""
    question = dict(study.question)
    page = least_time(lambda: answer(study, question))
    alone = least_time(lambda: str(ad.fit(study.table, STUDY.graph, rng=0).effect("smoking", "risk")))
    assert page < 4 * alone


def least_time(work):
    """Return the least processor time of a few runs, in seconds."""
    spent = []
    for _ in range(3):
        start = time.thread_time()
        work()
        spent.append(time.thread_time() - start)
    return min(spent)


# -- what is asked first -----------------------------------------------------------------------------------------------


def asked(study, **said):
    """Return what is asked before a question is answered: the texts, and the choices by their labels."""
    question = {**study.question, "treatment": "arm", "outcome": "score", "tiers": [["arm"], ["score"]], **said}
    found = answer(study, question).get("asks", [])
    return [one["text"] for one in found], {label: does for one in found for label, does in one["choices"]}


def test_a_graph_over_time_is_refused_by_name(folder):
    ad.write_graph(ad.CandidateGraph.over_time(["smoking", "risk"], lags=1), folder / "steps.toml")
    with pytest.raises(GraphError, match=r"'smoking\[-1\]', a variable of an earlier step, for which the page has no"):
        open_study(folder / "study.csv", folder / "steps.toml")


def test_nothing_is_answered_before_treatment_and_outcome_are_chosen(trial_csv):
    study = open_study(trial_csv)
    assert (study.question["treatment"], study.question["outcome"], study.question["tiers"]) == (None, None, [])
    for role, other in (("treatment", "outcome"), ("outcome", "treatment")):
        with pytest.raises(AlldagsError, match=f"choose a {role} first"):
            answer(study, {**study.question, "tiers": [["arm"], ["score"]], other: "score"})


def test_columns_without_use_are_left_out_only_when_that_was_agreed_to(trial_csv):
    study = open_study(trial_csv)
    texts, choices = asked(study)
    assert texts[0] == "3 columns are left out. Is that right?"
    assert choices["Yes, go on without"] == {"left": ["patient_id", "country", "seen"]}
    found = answer(study, {**study.question, "treatment": "arm", "outcome": "score", "tiers": [["arm"], ["score"]]})
    items = found["asks"][0]["items"]
    assert "looks like a row number or an identifier" in items[0]
    assert "'FR' in every row" in items[1]
    assert "has dates or times" in items[2]
    assert "3 columns" not in "".join(asked(study, left=["patient_id", "country", "seen"])[0])


def test_columns_without_a_place_are_asked_about(trial_csv):
    study = open_study(trial_csv)
    left = ["patient_id", "country", "seen"]
    texts, choices = asked(study, left=left)
    assert texts[0].startswith("Where do age, site, smoker, ill, visits belong?")
    names = ["age", "site", "smoker", "ill", "visits"]
    assert choices["All may act on arm and score: adjust for them all"] == {"before": names}
    assert choices["Leave them all out"] == {"left": names}
    texts, choices = asked(study, left=[*left, *names[1:]])
    assert texts[0].startswith("Where does age belong?")
    assert choices["It may act on arm and score: adjust for it"] == {"before": ["age"]}


def test_columns_that_were_named_as_codes_are_categories_on_the_page(tmp_path):
    rng = np.random.default_rng(0)
    school = rng.integers(1, 5, 200)
    x = rng.standard_normal(200) + (school == 2)
    columns = {"school": school, "x": x, "y": x + 2.0 * (school == 3) + rng.standard_normal(200)}
    path = write_csv(tmp_path / "study.csv", columns)
    study = open_study(path, None, "x", "y", categories=["school"])
    question = {**study.question, "tiers": [["school"], ["x"], ["y"]]}
    assert next(one.words for one in study.columns if one.name == "school") == ("1", "2", "3", "4")
    there = ad.effect(path, treatment="x", outcome="y", confounders=["school"], categories=["school"], rng=0)
    assert answer(study, question)["mean"] == there.mean
    assert "categories=['school']" in python_lines(question, "study.csv")
    assert "categories" not in python_lines({**question, "tiers": [["x"], ["y"]]}, "study.csv")
    with pytest.raises(DataError, match=r"categories=\['schol'\] is no column of the table; did you mean 'school'"):
        open_study(path, None, "x", "y", categories=["schol"])


def test_rows_without_the_outcome_are_left_out_only_when_that_was_agreed_to(trial_csv):
    study = open_study(trial_csv)
    left = [one.name for one in study.columns if one.name not in ("arm", "score")]
    texts, choices = asked(study, left=left)
    assert texts[0].startswith("10 of 300 rows have no score")
    assert choices == {"Leave these rows out": {"rows": ["score"]}}
    assert asked(study, left=left, rows=["score"])[0] == []
    assert asked(study, left=left, missing="drop")[0] == []  # as was said on the command line
    found = answer(study, {**study.question, "treatment": "arm", "outcome": "score", "tiers": [["arm"], ["score"]],
                           "left": left, "rows": ["score"]})  # fmt: skip
    assert "score is missing in 10 of 300 rows, which its regression leaves out" in found["warnings"][0]


def test_what_is_done_about_other_gaps_is_asked(trial_csv):
    study = open_study(trial_csv)
    tiers, used = [["age", "site"], ["arm"], ["score"]], ("age", "site", "arm", "score")
    left = [one.name for one in study.columns if one.name not in used]
    texts, choices = asked(study, tiers=tiers, left=left, rows=["score"])
    assert texts == [
        "Values are missing in age (12), site (8). What is to be done about them? Columns can be left out, too."
    ]
    incomplete = sum("" in row for row in zip(*(map(str, trial()[name]) for name in used), strict=True))
    assert choices == {
        "Fill them in several times, and average": {"missing": "impute"},
        f"Leave out all {incomplete} rows with a gap, of 300": {"missing": "drop"},
    }
    for missing in ("impute", "drop"):
        assert asked(study, tiers=tiers, left=left, rows=["score"], missing=missing)[0] == []
    assert open_study(trial_csv, missing="drop").question["missing"] == "drop"


def test_gaps_of_what_acts_on_something_else_are_no_rows_to_leave_out(trial_csv):
    study = open_study(trial_csv)
    left = [one.name for one in study.columns if one.name not in ("arm", "score", "visits")]
    texts, _ = asked(study, tiers=[["arm"], ["score"], ["visits"]], left=left)
    assert len(texts) == 1
    assert texts[0].startswith("Values are missing in score (10)")


# -- overtaking --------------------------------------------------------------------------------------------------------


def test_a_newer_question_overtakes_the_one_that_is_computed_and_those_that_wait(study, monkeypatch):
    going, made = threading.Event(), []

    def slow(_, question):
        made.append(question["probability"])
        for _ in range(3000 if len(made) == 1 else 0):
            going.set()
            time.sleep(0.01)
            checkpoint()
        return ad.fit(STUDY.table, STUDY.graph, terms=None, rng=0).effect("smoking", "risk")

    monkeypatch.setattr(server_module, "effect_of", slow)
    replies: dict[float, dict[str, object]] = {}
    with Server(study) as server:

        def send(probability):
            replies[probability] = server.answer({**study.question, "probability": probability})

        first, second = (threading.Thread(target=send, args=(p,)) for p in (0.1, 0.2))
        first.start()
        going.wait(30)
        start = time.perf_counter()
        second.start()
        first.join()
        second.join()
    assert made == [0.1, 0.2]
    assert replies[0.1] == {"overtaken": True}
    assert replies[0.2]["sentence"].startswith("Raising smoking by one unit raises risk by 0.89")
    assert time.perf_counter() - start < 20  # half a minute, were the first not given up


@pytest.mark.parametrize("missing", ["raise", "impute"])
def test_work_that_nobody_waits_for_is_given_up_at_its_next_step(missing):
    holes = {"age": np.where(np.arange(500) < 50, np.nan, STUDY.table["age"])} if missing == "impute" else {}
    asked = []
    with given_up_if(lambda: asked.append(1) or len(asked) > 2), pytest.raises(GivenUp):
        ad.fit({**STUDY.table, **holes}, STUDY.graph, missing=missing, rng=0).effect("smoking", "risk").summary()
    assert len(asked) == 3


def test_a_fault_of_ours_is_said_on_the_page_and_shown_in_the_terminal(server, study, monkeypatch, capsys):
    def broken(*_):
        raise ZeroDivisionError("by nothing")

    monkeypatch.setattr(server_module, "effect_of", broken)
    status, _, body = ask(server, question={**study.question, "probability": 0.123})
    assert status == 200
    assert "the computation failed (ZeroDivisionError: by nothing)" in json.loads(body)["error"]
    assert "Traceback" in capsys.readouterr().err


# -- mistakes ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"tiers": "abc"}, "tiers must be a list of lists of names"),
        ({"tiers": [["smoking"], ["smoking"]], "edges": []}, "'smoking'"),
        ({"tiers": [["smoking"], ["else"]], "edges": [], "outcome": "else"}, "'else' is no column of the table"),
        ({"edges": [[["risk"], "smoking", 0.5]]}, "edges must be between names"),
        ({"pairs": [[["risk"], "smoking", 0.2, 0.2]]}, "has a variable that stands in no tier"),
        ({"edges": [["risk", "smoking", 0.5]]}, "'risk' does not stand in a tier before 'smoking'"),
        ({"edges": [["smoking", "risk", 1.5]]}, "1.5"),
        ({"edges": [["smoking", "risk"]]}, r"edges must be a list of [cause, effect, probability]"),
        ({"outcome": "smoking"}, "treatment and outcome are both 'smoking'"),
        ({"treatment": "smokin"}, "did you mean 'smoking'"),
        ({"treatment": 7}, "choose a treatment first, got 7"),
        ({"tiers": [["comment"], ["smoking"], ["risk"]], "edges": []}, "column 'comment' is 'fine' in every row"),
        ({"contrast": ["a"]}, "contrast must be a list of two levels, got ['a']"),
        ({"missing": "guess"}, "missing must be one of ('raise', 'drop', 'impute')"),
        ({"family": "gama"}, "the family of 'risk' must be"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said(server, study, change, message):
    status, _, body = ask(server, question={**study.question, **change})
    assert status == 200
    assert message in json.loads(body)["error"]


@pytest.mark.parametrize("body", ["no JSON", "[1]", "[" * 100_000])
def test_a_body_that_is_no_question(server, body):
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=60)
    connection.request("POST", f"/{server.token}/answer", body)
    assert "a question must be" in json.loads(connection.getresponse().read())["error"]
    connection.close()


def test_exports(server, study):
    question = dict(study.question)
    graph = json.loads(ask(server, "export/graph", question)[2])
    assert graph["name"] == "graph.toml"
    assert parse_graph(graph["text"], "toml").edges == dict(STUDY.graph.edges)
    report = json.loads(ask(server, "export/report", question)[2])
    assert Page(report["text"]).all("h1")[0].text == "Effect of smoking on risk"
    assert python_lines(question, str(study.path)) in [e.text for e in Page(report["text"]).all("pre")]
    assert ask(server, "export/secrets", question)[0] == 404


@pytest.mark.parametrize("path", ["answer", "export/graph", "export/report"])
@pytest.mark.parametrize("name", ["treatment", "outcome", "tiers", "edges", "pairs"])
@pytest.mark.parametrize("value", [None, 7, "\ud800"])
def test_whatever_is_sent_is_answered(server, study, path, name, value):
    """Without a treatment the lines of Python once ended the connection."""
    status, _, body = ask(server, path, {**study.question, name: value})
    assert status == 200
    assert "the computation failed" not in json.loads(body).get("error", "")


# -- whom ------------------------------------------------------------------------------------------------------------


def test_it_listens_on_this_computer_only(server):
    assert server.server_address[0] == "127.0.0.1"
    assert len(server.token) >= 32


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        ({"method": "GET", "path": ""}, 200),
        ({"method": "GET", "path": "", "token": "wrong"}, 403),
        ({"method": "GET", "path": "", "token": ""}, 403),
        ({"method": "GET", "path": "", "Host": "evil.example:80"}, 421),
        ({"method": "GET", "path": "", "Host": "evil.example", "token": "wrong"}, 421),
        ({"method": "GET", "path": "../../etc/passwd"}, 404),
        ({"method": "POST", "path": "answer", "question": {}, "token": "wrong"}, 403),
        ({"method": "POST", "path": "answer", "question": {}, "Origin": "http://evil.example"}, 403),
        ({"method": "POST", "path": "answer", "question": {}, "Origin": "null"}, 403),
        ({"method": "POST", "path": "answer", "question": {}, "Host": "evil.example"}, 421),
        ({"method": "PUT", "path": "answer", "question": {}}, 501),
        ({"method": "POST", "path": "answer", "Content_Length": str(MOST_BYTES + 1)}, 413),
    ],
)
def test_only_who_has_the_address_is_served(server, request_, status):
    assert ask(server, **request_)[0] == status


def test_host_may_be_called_localhost(server):
    assert ask(server, "", method="GET", Host=f"localhost:{server.server_port}")[0] == 200


def test_policy_allows_the_page_s_own_script_and_style_and_nothing_else(server):
    _, headers, body = ask(server, "", method="GET")
    page = Page(body)
    rules = dict(rule.strip().split(" ", 1) for rule in headers["Content-Security-Policy"].split(";"))
    assert rules["default-src"] == rules["frame-ancestors"] == rules["form-action"] == "'none'"
    assert rules["connect-src"] == "'self'"
    script = next(e.text for e in page.all("script") if "type" not in e.attributes)
    for text, rule in ((script, "script-src"), (page.all("style")[0].text, "style-src")):
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert rules[rule] == f"'sha256-{digest}'"
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Cache-Control"] == "no-store"
    for element in page.elements:
        assert not [name for name in element.attributes if name in ("style", "src") or name.startswith("on")]
    assert server.token not in body


# -- beginnings ------------------------------------------------------------------------------------------------------


def test_without_a_graph_nothing_is_guessed(folder):
    question = open_study(folder / "study.csv", None, "smoking", "risk").question
    assert (question["tiers"], question["left"], question["direct"]) == ([["smoking"], ["risk"]], [], 1.0)
    assert first_question(("x", "y"), None, "y", None)["outcome"] is None


def test_hostile_names_stay_text(tmp_path):
    path = tmp_path / "study.csv"
    with open(path, "w", newline="") as file:
        csv.writer(file).writerows([[HOSTILE, "</style>"], [1, 2], [2, 5], [3, 4], [4, 9]])
    with Server(open_study(path)) as server:
        page = Page(server.page.html)
    assert len(page.all("script")) == 2
    assert len(page.all("style")) == 1
    assert page.data()["columns"] == [HOSTILE, "</style>"]


def test_open_directions_come_from_the_graph_and_go_into_it(tmp_path, folder):
    graph = ad.CandidateGraph.from_tiers([["age"], ["smoking", "tar"], ["risk"]], within=[None, 0.6, None])
    ad.write_graph(graph, tmp_path / "open.toml")
    study = open_study(folder / "study.csv", tmp_path / "open.toml", "smoking", "risk")
    assert study.question["pairs"] == [["smoking", "tar", 0.3, 0.3]]
    assert graph_of(study.question) == graph
    expected = ad.fit(STUDY.table, graph, rng=0).effect("smoking", "risk")
    assert answer(study, study.question)["mean"] == pytest.approx(expected.mean, rel=1e-9)
    names = {}
    exec(python_lines(study.question, "study.csv").split("posterior")[0], names)
    assert names["graph"] == graph


@pytest.mark.parametrize(
    ("pairs", "said"),
    [
        ("ab", "pairs must be a list of"),
        ([["age", "smoking", 0.5]], "pairs must be a list of"),
        ([["age", "nobody", 0.2, 0.2]], "a variable that stands in no tier"),
        ([["age", "smoking", 0.8, 0.8]], "age"),
    ],
)
def test_open_pairs_that_make_no_sense_are_refused(pairs, said):
    with pytest.raises(AlldagsError, match=said):
        graph_of({"tiers": [["age"], ["smoking"], ["risk"]], "pairs": pairs}).check()


def test_mistakes_at_the_beginning(tmp_path, folder):
    path = tmp_path / "one.csv"
    path.write_text("x,word\n1,a\n2,b\n3,c\n", encoding="utf-8")
    with pytest.raises(
        DataError, match=r"'one.csv' has 1 columns that can be used; a page needs two: column 'word' is text"
    ):
        open_study(path)
    ad.write_graph(ad.CandidateGraph.from_order(["smokin", "risk"]), tmp_path / "graph.toml")
    with pytest.raises(
        DataError,
        match="'smokin' of the graph is no column of the table; did you mean 'smoking'",
    ):
        open_study(folder / "study.csv", tmp_path / "graph.toml")
    ad.write_graph(ad.CandidateGraph.from_order(["comment", "risk"]), tmp_path / "graph.toml")
    with pytest.raises(
        DataError, match="'comment' of the graph cannot be used: column 'comment' is 'fine' in every row"
    ):
        open_study(folder / "study.csv", tmp_path / "graph.toml")
    ad.write_graph(
        ad.CandidateGraph.from_order(["smoking", "risk"]).with_hidden("smoking", "risk"), tmp_path / "h.toml"
    )
    with pytest.raises(
        GraphError, match="the hidden common cause 'smoking' <-> 'risk', which the page cannot show or change"
    ) as refused:
        open_study(folder / "study.csv", tmp_path / "h.toml")
    assert "ask alldags effect with this --graph, which models it" in refused.value.on_command_line
    with pytest.raises(AlldagsError, match="the treatment 'smokin' is not there; did you mean 'smoking'"):
        open_study(folder / "study.csv", treatment="smokin")
    with pytest.raises(AlldagsError, match="treatment and outcome are both 'risk'"):
        open_study(folder / "study.csv", treatment="risk", outcome="risk")


def test_command_serves_until_interrupted(folder):
    command = [sys.executable, "-u", "-c", "from alldags.cli import main; main()"]
    arguments = ["app", "study.csv", "--graph", "graph.toml", "--no-browser"]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(
        [*command, *arguments], cwd=folder, stderr=subprocess.PIPE, text=True, env=environment
    ) as process:
        told = ""
        for line in process.stderr:
            told += line
            if line.startswith("open "):
                break
        port, token = re.search(r"http://127\.0\.0\.1:(\d+)/([\w-]+)/", told).groups()
        connection = http.client.HTTPConnection("127.0.0.1", int(port), timeout=60)
        connection.request("GET", f"/{token}/")
        assert connection.getresponse().status == 200
        connection.close()
        process.send_signal(signal.SIGINT)
        assert "Traceback" not in process.stderr.read()
    assert process.returncode == 130
    assert "read study.csv: 500 rows, 8 columns" in told
    assert max(map(len, told.splitlines())) <= 80


def test_the_drawing_belongs_to_the_question(server, study):
    moved = {**study.question, "edges": [*study.question["edges"], ["smoking", "risk", 0.02]]}
    for question in (moved, dict(study.question), moved):
        words, drawn = (json.loads(ask(server, path, question)[2]) for path in ("answer", "drawing"))
        whole = answer(study, question)
        assert (words["sentence"], drawn["graph"]) == (whole["sentence"], whole["graph"])


def test_answers_of_each_kind_are_warmed_up_without_being_asked_for():
    told = []
    _warm_up(told.append)
    assert re.fullmatch(r"warmed up \(\d+ s\); open directions follow", told[0])
    assert re.fullmatch(r"all warmed up \(\d+ s\)", told[1])


def test_what_to_find_out_next_is_that_of_the_report(server, study):
    told = json.loads(ask(server, "next", dict(study.question))[2])
    steps = effect_of(study, study.question).next_steps(futures=8)
    assert told["paragraphs"][0] == steps.sentence
    assert [row[0] for row in told["steps"]] == [step.words for step in steps.steps[:8]]
    assert len(told["heads"]) == len(told["steps"][0])


def test_an_effect_without_a_path_has_no_next_step(server, study):
    backwards = {**study.question, "treatment": study.question["outcome"], "outcome": study.question["treatment"]}
    told = json.loads(ask(server, "next", {**backwards, "direct": None})[2])
    assert told == {"paragraphs": [told["paragraphs"][0]]}
    assert "cannot be said of this effect" in told["paragraphs"][0]
