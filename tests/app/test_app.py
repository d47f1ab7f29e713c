"""The local page's server: what it answers, and whom."""

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

import pytest

import alldags as ad
from alldags.app.answer import answer, export, graph_of, python_lines
from alldags.app.run import _warm_up_directions
from alldags.app.server import MOST_BYTES, Server
from alldags.app.study import first_question, open_study
from alldags.errors import AlldagsError, DataError, GraphError
from alldags.graph.io import parse_graph
from lines import fit
from show.everything import everything
from show.test_report import HOSTILE, Page

STUDY = ad.datasets.example()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("app")
    with open(folder / "study.csv", "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([*STUDY.table, "comment"])
        writer.writerows([*map(repr, map(float, row)), "fine"] for row in zip(*STUDY.table.values(), strict=True))
    ad.write_graph(STUDY.graph, folder / "graph.toml")
    return folder


@pytest.fixture(scope="module")
def study(folder):
    return open_study(folder / "study.csv", folder / "graph.toml", "smoking", "risk")


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
    assert study.left_out == ("comment",)


def test_answer_is_the_library_s(server, study):
    status, _, body = ask(server, question=dict(study.question))
    reply = json.loads(body)
    effect = fit(STUDY.table, STUDY.graph, rng=0).effect("smoking", "risk")
    assert status == 200
    assert reply["mean"] == pytest.approx(effect.mean, abs=1e-9)
    assert reply["sentence"] == everything(effect).split("\n\n")[0].replace("\n", " ")
    drawn = json.loads(ask(server, "drawing", dict(study.question))[2])
    assert len([e for e in Page(drawn["graph"]).all("g") if "data-cause" in e.attributes]) == len(STUDY.graph.edges)


def test_a_changed_edge_changes_the_answer(server, study):
    moved = {**study.question, "edges": [*study.question["edges"], ["smoking", "risk", 0.02]]}
    reply = json.loads(ask(server, question=moved)[2])
    graph = STUDY.graph.with_edge("smoking", "risk", 0.02)
    assert reply["mean"] == pytest.approx(fit(STUDY.table, graph).effect("smoking", "risk").mean, abs=1e-9)


def least_time(work):
    """Return the least processor time of a few runs, in seconds."""
    spent = []
    for _ in range(5):
        start = time.thread_time()
        work()
        spent.append(time.thread_time() - start)
    return min(spent)


def test_an_answer_costs_little_more_than_the_question_itself(study):
    """Words and two pictures must not make a page slow on which the library alone would be quick."""
    moments, question = study.moments, dict(study.question)
    page = least_time(lambda: answer(study, question))
    alone = least_time(lambda: str(fit(moments, STUDY.graph, rng=0).effect("smoking", "risk")))
    assert page < 4 * alone


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


def test_exports(server, study, folder, monkeypatch, capsys):
    question = dict(study.question)
    graph = json.loads(ask(server, "export/graph", question)[2])
    assert graph["name"] == "graph.toml"
    assert parse_graph(graph["text"], "toml").edges == dict(STUDY.graph.edges)
    python = json.loads(ask(server, "export/python", question)[2])
    monkeypatch.chdir(folder)
    names: dict[str, object] = {}
    exec(python["text"], names)
    capsys.readouterr()
    effect = fit(STUDY.table, STUDY.graph, rng=0).effect("smoking", "risk")
    assert names["effect"].mean == pytest.approx(effect.mean, abs=1e-9)
    report = json.loads(ask(server, "export/report", question)[2])
    assert Page(report["text"]).all("h1")[0].text == "Effect of smoking on risk"
    assert ask(server, "export/secrets", question)[0] == 404


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


def test_without_a_graph(folder):
    question = open_study(folder / "study.csv").question
    assert question["tiers"][1:] == [["exercise"], ["risk"]]
    assert set(question["tiers"][0]) == {"age", "sex", "income", "smoking", "tar"}
    assert (question["treatment"], question["outcome"]) == ("exercise", "risk")
    assert first_question(("x", "y"), None, "y", None)["outcome"] == "x"


def test_hostile_names_stay_text(tmp_path):
    path = tmp_path / "study.csv"
    with open(path, "w", newline="") as file:
        csv.writer(file).writerows([[HOSTILE, "</style>"], [1, 2], [2, 5], [3, 4], [4, 9]])
    with Server(open_study(path)) as server:
        page = Page(server.page.html)
    assert len(page.all("script")) == 2
    assert len(page.all("style")) == 1
    assert page.data()["question"]["treatment"] == HOSTILE


def test_open_directions_come_from_the_graph_and_go_into_it(tmp_path, folder):
    graph = ad.CandidateGraph.from_tiers([["age"], ["smoking", "tar"], ["risk"]], within=[None, 0.6, None])
    ad.write_graph(graph, tmp_path / "open.toml")
    study = open_study(folder / "study.csv", tmp_path / "open.toml", "smoking", "risk")
    assert study.question["pairs"] == [["smoking", "tar", 0.3, 0.3]]
    assert graph_of(study.question) == graph
    expected = fit(STUDY.table, graph, families="normal", rng=0).effect("smoking", "risk")
    assert answer(study, study.question)["mean"] == pytest.approx(expected.mean, rel=1e-9)
    names = {}
    exec(python_lines(study.question, "study.csv").split("posterior")[0], names)
    assert names["graph"] == graph
    assert ad.parse_graph(export(study, study.question, "graph")[1], "toml") == graph


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
        DataError, match=r"'one.csv' has 1 columns of numbers, or two words, without gaps; a page needs two"
    ):
        open_study(path)
    ad.write_graph(ad.CandidateGraph.from_order(["smokin", "risk"]), tmp_path / "graph.toml")
    with pytest.raises(
        DataError,
        match="'smokin' of the graph is no column of numbers without gaps, nor of two words; did you mean 'smoking'",
    ):
        open_study(folder / "study.csv", tmp_path / "graph.toml")
    ad.write_graph(
        ad.CandidateGraph.from_order(["smoking", "risk"]).with_hidden("smoking", "risk"), tmp_path / "h.toml"
    )
    with pytest.raises(
        GraphError, match="the hidden common cause 'smoking' <-> 'risk', for which the page has no place"
    ):
        open_study(folder / "study.csv", tmp_path / "h.toml")
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
    assert "read study.csv: 500 rows, 7 columns" in told
    assert max(map(len, told.splitlines())) <= 80
    told = " ".join(told.split())
    assert "left out, no numbers or with gaps: comment; --missing drop leaves out rows with gaps instead" in told
    assert "warming up: the first answer takes longest" in told


def test_words_and_yes_no_columns(tmp_path):
    path = tmp_path / "words.csv"
    rows = ["x,site,smoker,ill"]
    rows += [f"{i % 7},{'abc'[i % 3]},{'yes' if i % 2 else 'no'},{int(i % 5 == 0)}" for i in range(60)]
    path.write_text("\n".join(rows), encoding="utf-8")
    study = open_study(path, None, "smoker", "ill")
    assert study.left_out == ("site",)
    assert study.words == {"smoker": ("no", "yes")}
    found = answer(study, study.question)
    assert found["sentence"].startswith("Changing smoker from 'no' to 'yes' changes ill by")
    assert any("ill is 0 or 1, and straight lines were put through it" in note for note in found["notes"])
    table = ad.read_table(path)
    expected = fit(table, graph_of(study.question), families="normal", rng=0).effect("smoker", "ill")
    assert answer(study, study.question)["mean"] == pytest.approx(expected.mean, abs=1e-12)


def test_the_drawing_belongs_to_the_question(server, study):
    moved = {**study.question, "edges": [*study.question["edges"], ["smoking", "risk", 0.02]]}
    for question in (moved, dict(study.question), moved):
        words, drawn = (json.loads(ask(server, path, question)[2]) for path in ("answer", "drawing"))
        whole = answer(study, question)
        assert (words["sentence"], drawn["graph"]) == (whole["sentence"], whole["graph"])


def test_open_directions_are_warmed_up_without_being_asked_for():
    told = []
    _warm_up_directions(told.append)
    assert re.fullmatch(r"open directions are warmed up, too \(\d+ s\)", told[0])


def test_rows_with_gaps_can_be_left_out_instead_of_columns(tmp_path, monkeypatch, capsys):
    path = tmp_path / "gaps.csv"
    rows = [f"{i % 7},{'' if i < 3 else i % 5},{(i * i) % 11}" for i in range(40)]
    path.write_text("\n".join(["x,m,y", *rows]), encoding="utf-8")
    assert open_study(path).left_out == ("m",)
    study = open_study(path, drop_missing=True)
    assert (study.left_out, study.dropped, study.moments.n) == ((), 3, 37)
    monkeypatch.chdir(tmp_path)
    names = {}
    exec(export(study, study.question, "python")[1], names)
    capsys.readouterr()
    assert names["effect"].mean == pytest.approx(answer(study, study.question)["mean"], abs=1e-12)
