from __future__ import annotations

import stat
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import alldags as ad
from alldags.errors import GraphError
from alldags.graph.io import format_graph, parse_graph, read_graph, write_graph

FORMATS = ("toml", "csv", "dot", "gml", "json", "dagitty")
HOSTILE = (
    "two words", " lead", "trail ", 'say "hi"', '"', "it's", "Größe", "変数", "🙂", "new\nline", "cr\r\nlf",
    "back\\slash",     "end\\", '\\"', "\\n", "\\\nx", "exposure", "latent", "->", "<->", "a -> b", "{", "}", "[", "]",
    ";", ",", "=", "#",
    "--", "//", "/*", "*/", "1st", "12", "1.5", "-3", "nan", "true", "node", "graph", "edge", "digraph", "subgraph",
    "strict", "dag", "cause", "effect", "probability", "&amp;", "&", "<b>", "$x$", "%s", "\x00", "\x7f", "\x85",
    "\u2028", "\ufeff", "\t", "'", "a.b", "a:b", "+", "None", "variables",
)  # fmt: skip


@st.composite
def graphs(draw: st.DrawFn) -> ad.CandidateGraph:
    alphabet = st.one_of(st.sampled_from("\"\\;{}[]#<>-=,:+&\n\r\t '/*.a1"), st.characters(exclude_categories=["Cs"]))
    name = st.one_of(st.sampled_from(HOSTILE), st.text(alphabet, min_size=1, max_size=6))
    names = draw(st.lists(name, min_size=1, max_size=6, unique=True))
    order = draw(st.permutations(names))
    pairs = [(order[i], order[j]) for j in range(len(order)) for i in range(j)]
    probability = st.one_of(st.just(1.0), st.floats(0, 1, exclude_min=True))
    chosen = draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else []
    edges = {pair: draw(probability) for pair in chosen}
    turned = draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs and draw(st.booleans()) else []
    if turned:  # open directions: no certain edges among these, so that none of them can forbid another
        edges = {pair: min(value, 0.5) for pair, value in edges.items()}
        small = st.one_of(st.just(0.25), st.floats(0, 0.499, exclude_min=True))
        edges |= {(effect, cause): draw(small) for cause, effect in turned}
    return ad.CandidateGraph(tuple(names), edges)


@pytest.mark.parametrize("format", FORMATS)
@settings(max_examples=60, deadline=None)
@given(graph=graphs())
def test_round_trip(format: str, graph: ad.CandidateGraph) -> None:
    assert parse_graph(format_graph(graph, format), format) == graph


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_survive_alone_and_in_edges(format: str, name: str) -> None:
    alone = ad.CandidateGraph(("z", name, "a"), {})
    joined = ad.CandidateGraph(("z", name, "a"), {("a", name): 0.25, (name, "z"): 1.0})
    for graph in (alone, joined):
        assert parse_graph(format_graph(graph, format), format) == graph


@pytest.mark.parametrize("ending", [*FORMATS, "gv", "TOML"])
def test_files_round_trip_and_leave_nothing_behind(tmp_path: Path, ending: str) -> None:
    graph = ad.CandidateGraph(("Größe", "b\r\nc", "lone"), {("Größe", "b\r\nc"): 1e-7})
    path = tmp_path / f"graph.{ending}"
    write_graph(graph, path)
    write_graph(graph, str(path))
    assert read_graph(path) == graph
    assert [entry.name for entry in tmp_path.iterdir()] == [path.name]
    assert stat.S_IMODE(path.stat().st_mode) & stat.S_IRUSR


@pytest.mark.parametrize("format", FORMATS)
def test_byte_order_mark(tmp_path: Path, format: str) -> None:
    graph = ad.CandidateGraph.from_order(["a", "b"])
    path = tmp_path / f"graph.{format}"
    path.write_bytes(b"\xef\xbb\xbf" + format_graph(graph, format).encode())
    assert read_graph(path) == graph


@pytest.mark.parametrize("format", FORMATS)
def test_windows_line_ends(format: str) -> None:
    graph = ad.CandidateGraph(("two words", "lone", "c"), {("two words", "c"): 0.125})
    assert parse_graph(format_graph(graph, format).replace("\n", "\r\n"), format) == graph


def test_failed_write_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "graph.toml"
    write_graph(ad.CandidateGraph(("a",), {}), path)
    before = path.read_bytes()

    def fail(self: Path, target: Path) -> Path:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(GraphError, match=r"cannot write .*No space left"):
        write_graph(ad.CandidateGraph(("b",), {}), path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_a_symbolic_link_stays_a_link(tmp_path: Path) -> None:
    target, link = tmp_path / "real.json", tmp_path / "link.json"
    target.write_text("old")
    link.symlink_to(target)
    write_graph(ad.CandidateGraph(("a",), {}), link)
    assert link.is_symlink()
    assert read_graph(target).variables == ("a",)


# -- what people write by hand ---------------------------------------------------------------------------------------


def test_toml_tiers_with_overrides() -> None:
    text = """
    probability = 0.3
    tiers = [["age", "sex"], ["smoking"], ["cancer"]]
    [[edges]]
    cause = "smoking"
    effect = "cancer"
    probability = 1
    [[edges]]
    cause = "sex"
    effect = "cancer"
    probability = 0
    """
    expected = (
        ad.CandidateGraph.from_tiers([["age", "sex"], ["smoking"], ["cancer"]], 0.3)
        .with_edge("smoking", "cancer", 1.0)
        .without_edge("sex", "cancer")
    )
    assert parse_graph(text, "toml") == expected


def test_toml_order_and_short_edges_and_variables() -> None:
    text = 'order = ["a", "b", "c"]\nedges = [["a", "c", 0.9]]\nvariables = ["c", "b", "a", "lone"]'
    graph = parse_graph(text, "toml", probability=0.2)
    assert graph.variables == ("c", "b", "a", "lone")
    assert dict(graph.edges) == {("a", "b"): 0.2, ("a", "c"): 0.9, ("b", "c"): 0.2}


def test_json_takes_the_same_keys() -> None:
    text = '{"tiers": [["a", "b"], ["c"]], "probability": 0.1, "edges": [{"cause": "a", "effect": "b"}]}'
    expected = {("a", "c"): 0.1, ("b", "c"): 0.1, ("a", "b"): 0.1}
    assert dict(parse_graph(text, "json").edges) == expected


def test_csv_defaults_spaces_order_and_lone_variables() -> None:
    text = '\ufeffEffect, cause , probability\n\n"c", "a",\nc, b, 0.25\n, d\n'
    graph = parse_graph(text, "csv", probability=0.4)
    assert graph.variables == ("a", "c", "b", "d")
    assert dict(graph.edges) == {("a", "c"): 0.4, ("b", "c"): 0.25}
    assert parse_graph("cause,effect\na,b\n", "csv").edges == {("a", "b"): 0.5}


def test_csv_writes_plain_rows_when_they_suffice() -> None:
    assert format_graph(ad.CandidateGraph.from_order(["x", "y"]), "csv") == 'cause,effect,probability\n"x","y",0.5\n'


def test_dagitty_as_the_web_page_writes_it() -> None:
    text = """
    dag {
    bb="0,0,1,1"   // bounding box
    "sun exposure" [exposure,pos="0.1,0.2"]
    sun_exposure [latent=no, pos="-.2,.3"]
    skin.cancer [outcome,pos="0.5,0.2"] /* a
    comment over lines */
    age [adjusted]
    age -> "sun exposure" -> skin.cancer [beta="-.3"]
    {age sun_exposure} -> skin.cancer [probability=".75"] # trailing
    latent <- age;   skin.cancer <- { exposure latent }
    }
    """
    graph = parse_graph(text, "dagitty", probability=0.2)
    assert graph.variables == ("sun exposure", "sun_exposure", "skin.cancer", "age", "latent", "exposure")
    assert dict(graph.edges) == {
        ("age", "sun exposure"): 0.2,
        ("sun exposure", "skin.cancer"): 0.2,
        ("age", "skin.cancer"): 0.75,
        ("sun_exposure", "skin.cancer"): 0.75,
        ("age", "latent"): 0.2,
        ("exposure", "skin.cancer"): 0.2,
        ("latent", "skin.cancer"): 0.2,
    }


@pytest.mark.parametrize("opening", ["dag", "pdag", "digraph", "DAG", "dag study", 'dag "my study"'])
def test_dagitty_openings_on_one_line(opening: str) -> None:
    assert parse_graph(opening + "{x -> y y -> z}", "dagitty").edges == {("x", "y"): 0.5, ("y", "z"): 0.5}


def test_dot_as_graphviz_users_write_it() -> None:
    text = r"""
    strict digraph "my graph" {
      rankdir=LR; graph [label=<<b>bold</b> -&gt; x>]
      node [shape=box, style="rounded"];
      # preprocessor line
      a:e -> b:w:c [label="p = 0.9", probability=0.9, dir=forward];
      edge [probability=0.2]
      subgraph cluster_one { color=blue; c; d -> e }
      b -> { c d } -> "f" + " g"
      Ünïcode; "with \"quotes\" and \\ and \n and \
joined";
      12 -> -.5
    }
    """
    graph = parse_graph(text, "dot")
    names = ("a", "b", "c", "d", "e", "f g", "Ünïcode", 'with "quotes" and \\ and \\n and joined', "12", "-.5")
    assert graph.variables == names
    assert graph.probability("a", "b") == 0.9
    assert graph.edges["d", "e"] == graph.edges["b", "c"] == graph.edges["d", "f g"] == graph.edges["12", "-.5"] == 0.2
    assert len(graph.edges) == 7


def test_dot_defaults_end_with_their_braces() -> None:
    graph = parse_graph("digraph { {edge [probability=0.1] a -> b} b -> c }", "dot")
    assert dict(graph.edges) == {("a", "b"): 0.1, ("b", "c"): 0.5}


OPEN = {("x", "y"): 0.3, ("y", "x"): 0.3, ("x", "z"): 0.2, ("z", "x"): 0.2, ("y", "z"): 0.4}


@pytest.mark.parametrize(
    ("format", "text"),
    [
        ("csv", "cause,effect,probability\nx,y,0.3\ny,x,0.3\nx,z,\nz,x\ny,z,0.4\n"),
        ("dot", "graph { x -- y [probability=0.6]; x -- z; y -> z [probability=0.4] }"),
        ("dot", "digraph { x -> y [dir=none, probability=0.6]; x -> z; z -> x; y -> z [probability=0.4] }"),
        ("dot", "graph { x -- y [forward=.3, backward=.3]; edge [dir=none] z -> x; y -> z [dir=forward] }"),
        ("dagitty", 'pdag { x -- y [probability="0.6"]; x -- z; y -> z [probability=".4"] }'),
        ("dagitty", 'pdag { {y z} -- x [forward=".3", backward=".3"] }'),
        ("toml", 'edges = [["y", "z"]]\npairs = [["x", "y", 0.6], {first = "z", second = "x"}]'),
        ("toml", 'tiers = [["x", "y", "z"]]\nwithin = 0.6\nedges = [["z", "y", 0], ["y", "z"]]\npairs = [["x", "z"]]'),
        ("json", '{"edges": [["y", "z"]], "pairs": [["y", "x", 0.3, 0.3], ["x", "z"]]}'),
        ("gml", 'graph [ node [ id 0 label "x" ] node [ id 1 label "y" ] edge [ source 0 target 1 probability 0.6 ] ]'),
    ],
)  # fmt: skip
def test_open_directions_as_people_write_them(format: str, text: str) -> None:
    graph = parse_graph(text, format, probability=0.4)
    expected = dict(OPEN)
    if "{y z} -- x" in text:
        expected = {("y", "x"): 0.3, ("x", "y"): 0.3, ("z", "x"): 0.3, ("x", "z"): 0.3}
    if format == "gml":
        expected = dict.fromkeys((("x", "y"), ("y", "x")), 0.3)
    assert dict(graph.edges) == expected
    assert not graph.is_ordered


def test_an_accidental_cycle_is_a_block_that_is_shown() -> None:
    graph = parse_graph("digraph { a -> b -> c -> a }", "dot")
    assert graph.blocks == (("a", "b", "c"),)
    assert "order open among 'a', 'b', 'c'" in str(graph)


def test_how_open_directions_are_written() -> None:
    graph = ad.CandidateGraph.from_order(["a", "b", "c"]).with_pair("a", "b", 0.25).with_pair("b", "c", 0.4, 0.1)
    dagitty = format_graph(graph, "dagitty")
    assert dagitty.startswith("pdag {")
    assert '  a -- b [probability="0.5"];\n' in dagitty
    assert '  b -- c [forward="0.4", backward="0.1"];\n' in dagitty
    assert '  b -> a [probability="0.25"];\n' in format_graph(graph, "dot")  # Graphviz knows no -- among arrows
    assert format_graph(ad.CandidateGraph.from_order(["a", "b"]), "dagitty").startswith("dag {")


@pytest.mark.parametrize("format", FORMATS)
def test_calibrate_survives_where_there_is_a_place_for_it(format: str) -> None:
    graph = ad.CandidateGraph.unordered(["a", "b", "calibrate"]).uncalibrated()
    if format == "csv":
        with pytest.raises(GraphError, match="CSV has no place for calibrate=False; write TOML"):
            format_graph(graph, format)
    else:
        assert parse_graph(format_graph(graph, format), format) == graph


def test_gml_from_another_program() -> None:
    text = 'graph [\n directed 1\n node [ id 7 label "X" ]\n node [ id 3 label "A&#66;" observed "yes" ]\n'
    text += " edge [ source 3 target 7 probability 1 ]\n]"
    assert parse_graph(text, "gml") == ad.CandidateGraph(("X", "AB"), {("AB", "X"): 1.0})


# -- mistakes --------------------------------------------------------------------------------------------------------

MISTAKES = [
    ("csv", "", "line 1: the header must be cause,effect,probability"),
    ("csv", "cause,effect,probabilty\n", "line 1: .*'probabilty'; did you mean 'probability'"),
    ("csv", "cause|effect|probability\na|b|1", "header must be cause,effect,probability"),
    ("csv", "cause,cause,effect\n", "header must be"),
    ("csv", "cause,probability\n", "header must be"),
    ("csv", "cause,effect,probability\na,b,0.5\na,c,0.5,9\n", "line 3: expected 3 values .*got 4"),
    ("csv", "cause,effect,probability\na\n", "line 2: expected 3 values .*got 1"),
    ("csv", "cause,effect,probability\na,b,0,5\n", "line 2: expected 3 values"),
    ("csv", "cause,effect,probability\na,b,high\n", "line 2: the edge 'a' -> 'b' has probability 'high'"),
    ("csv", "cause,effect,probability\na,,0.5\n", "line 2: probability '0.5' without an effect"),
    ("csv", "cause,effect,probability\n,b,0.5\n", "line 2: a variable name is empty"),
    ("csv", 'cause,effect,probability\n"a,b,0.5\n', "line 2: this is not valid CSV"),
    ("csv", "cause,effect,probability\n", "at least one variable"),
    ("csv", "cause,effect,probability\na,b,1\nb,c,1\nc,a,1\n", "certain edges .* cycle '.' -> '.' -> '.' -> '.'"),
    ("csv", "cause,effect,probability\na,b,.5\nb,a,.5\n", "'a' -> 'b' has probability 0.5 .* together 1"),
    ("csv", "cause,effect\na,b\na,b\n", "line 3: the edge 'a' -> 'b' is given twice"),
    ("csv", "cause,effect\na,a\n", "line 2: 'a' -> 'a' is a self-loop"),
    ("toml", "a = 1\nb = ?\n", "not valid TOML: .*line 2"),
    ("toml", "x = " + "[" * 100_000, "TOML"),
    ("toml", 'tier = [["a"]]', "unknown key 'tier'; did you mean 'tiers'"),
    ("toml", 'tiers = [["a"]]\norder = ["a"]', "tiers or order, not both"),
    ("toml", 'tiers = ["a", "b"]', "tier 1 must be a list, got 'a'"),
    ("toml", "order = [1, 2]", "order: names must be strings in quotes, got 1"),
    ("toml", 'order = "ab"', "order must be a list"),
    ("toml", 'order = ["a", "b", "a"]', "'a' is listed twice"),
    ("toml", "edges = 3", "edges must be a list"),
    ("toml", "edges = [3]", "edge 1 must hold the keys cause, effect"),
    ("toml", 'edges = [["a"]]', r"edge 1: expected \[cause, effect\]"),
    ("toml", 'edges = [{cause = "a"}]', "edge 1: the effect must be a name in quotes, got None"),
    ("toml", 'edges = [{cause = "a", efect = "b"}]', "edge 1 has an unknown key 'efect'; did you mean 'effect'"),
    ("toml", 'edges = [["a", "b", true]]', "edge 1: .*probability True"),
    ("toml", 'edges = [["a", "b", nan]]', "edge 1: .*probability nan"),
    ("toml", 'edges = [["a", "b"], ["a", "b", 0.1]]', "edge 2: .*given twice"),
    ("toml", 'probability = 1.5\norder = ["a", "b"]', "the document has probability 1.5"),
    ("toml", 'order = ["smoking", "b"]\nedges = [["smokin", "b"]]', "'smokin', which is not .*did you mean 'smoking'"),
    ("toml", 'variables = ["a"]\norder = ["a", "b"]', "'b' is in the tiers but not among the variables"),
    ("toml", 'variables = ["a", "a"]', "'a' is listed twice"),
    ("toml", 'variables = [""]', "non-empty strings"),
    ("toml", 'order = ["a", "b"]\nedges = [["b", "a"]]', "'a' -> 'b' has probability 0.5 .* together 1"),
    ("toml", 'order = ["a", "b"]\nwithin = 0.5', "no tiers; give tiers or pairs"),
    ("toml", 'tiers = [["a", "b"]]\nwithin = 1', "within is 1; .*below 1"),
    ("toml", 'tiers = [["a", "b"]]\nwithin = [0.5, 0.1]', "within has 2 probabilities for 1 tiers"),
    ("toml", 'pairs = [["a"]]', r"pair 1: expected \[first, second\]"),
    ("toml", 'pairs = [["a", 1]]', "pair 1: the second must be a name in quotes, got 1"),
    ("toml", 'pairs = [["a", "b", 0.5, 0.5]]', "together 1"),
    ("toml", 'pairs = [["a", "b", 1.2]]', "pair 1: the pair 'a' -- 'b' has probability 1.2"),
    ("toml", 'pairs = [{first = "a", second = "b", forward = 0.3}]', "pair 1: .*both forward and backward"),
    ("toml", 'pairs = [{first = "a", second = "b", probability = 0.1, forward = 0.3, backward = 0.1}]', "for either"),
    ("toml", 'pairs = [{first = "a", secnd = "b"}]', "unknown key 'secnd'; did you mean 'second'"),
    ("toml", 'edges = [["a", "b"]]\npairs = [["a", "b"]]', "pair 1: the edge 'a' -> 'b' is given twice"),
    ("toml", 'order = ["a"]\ncalibrate = "perhaps"', "calibrate must be true or false, got 'perhaps'"),
    ("toml", "", "at least one variable"),
    ("json", "", "not valid JSON: .*line 1"),
    ("json", '{\n"edges": [\n}', "not valid JSON: .*line 3"),
    ("json", "[1]", "the document must hold the keys"),
    ("json", "[" * 100_000, "JSON"),
    ("json", "1" * 5000, "JSON"),
    ("json", '{"order": ["a"], "order": ["b"]}', "key 'order' twice"),
    ("json", '{"edges": [["a", "b", NaN]]}', "NaN, which is not a probability"),
    ("json", '{"edges": [["a", "b", 1e999]]}', "probability inf"),
    ("json", '{"variables": ["\\ud800"]}', "surrogate"),
    ("gml", "", "not valid GML"),
    ("gml", "graph [", "not valid GML"),
    ("gml", 'graph [ directed 1 calibrate 3 node [ id 0 label "a" ] ]', "calibrate must be true or false, got 3"),
    ("gml", 'graph [ directed 1 node [ id 0 label "a" ] node [ id 1 label "a" ] ]', "not valid GML: .*duplicated"),
    ("gml", 'graph [ directed 1 node [ id 0 label "U" observed "no" ] ]', "'U' is marked as latent"),
    (
        "gml",
        'graph [ directed 1 node [ id 0 label "a" ] node [ id 1 label "b" ] edge [ source 0 target 1 probability 2 ] ]',
        "'a' -> 'b' has probability 2",
    ),
    ("dot", "", "DOT text starts with digraph"),
    ("dot", "graph {\n a -- b [probability=1] }", "together 1"),
    ("dot", "graph {\n a -- b [forward=0.1] }", "line 2: the pair 'a' -- 'b' needs"),
    ("dot", "graph {\n a -- b; b -- a }", "line 2: the edge 'b' -> 'a' is given twice"),
    ("dot", "graph {\n a -- a }", "line 2: 'a' -> 'a' is a self-loop"),
    ("dot", "digraph {\n calibrate=maybe }", "line 2: calibrate must be true or false"),
    ("dot", "digraph {\n a -> b [dir=back] }", "line 2: .*dir=back.*dir=none if its direction is open"),
    ("dot", "digraph {\n a -> node }", "line 2: expected a name .*got 'node'"),
    ("dot", "digraph {\n x.y-1 -> b }", "line 2: unexpected '-1'"),
    ("dot", "digraph { a -> }", "expected a name, got '}'"),
    ("dot", "digraph { a [x=] }", "expected a value, got ']'"),
    ("dot", "digraph { a [x=1 }", "expected an attribute"),
    ("dot", "digraph { a ", "expected a name, got 'the end of the text'"),
    ("dot", "digraph { a } b", "nothing after the closing brace, got 'b'"),
    ("dot", 'digraph {\n\n "a }', "line 3: a name that starts with \" is not closed"),
    ("dot", "digraph {\n /* a }", "line 2: a comment"),
    ("dot", "digraph { a [label=<b }", "a < is not closed"),
    ("dot", "digraph { a ! b }", "unexpected '!'"),
    ("dot", 'digraph { "" }', "a variable name is empty"),
    ("dot", "digraph { a -> b [probability=1.2] }", "line 1: the edge 'a' -> 'b' has probability '1.2'"),
    ("dot", "digraph { a -> b\n a -> b }", "line 2: .*given twice"),
    ("dot", "digraph {\n a -> a }", "line 2: 'a' -> 'a' is a self-loop"),
    ("dot", "digraph { edge [probability=1] a -> b -> c -> a }", "certain edges contain the cycle"),
    ("dot", "digraph " + "{" * 10_000, "more than 50 braces"),
    ("dot", 'digraph { "a" + }', "expected a string after"),
    ("dagitty", "x y", "dagitty text starts with dag or pdag or digraph"),
    ("dagitty", "mag { x -> y }", "dagitty text starts with"),
    ("dagitty", 'pdag { x -- y [probability="1"] }', "together 1"),
    ("dagitty", "dag {\n x -> y\n U [latent] }", "line 3: .*'U' is marked as latent; write a hidden common cause"),
    ("dagitty", "dag { U [pos=1,Unobserved] }", "'U' is marked as latent"),
    ("dagitty", "dag { S [selected] }", "'S' is marked as selected"),
    ("dagitty", "dag { x @-> y }", "unexpected '@'"),
    ("dagitty", "dag { a -> b <- a }", "given twice"),
    ("dagitty", "dag {", "expected a name"),
    ("dagitty", "dag x y {}", "expected '{', got 'y'"),
    ("dagitty", "dag {}", "at least one variable"),
]  # fmt: skip


@pytest.mark.parametrize(("format", "text", "message"), MISTAKES)
def test_mistakes(format: str, text: str, message: str) -> None:
    with pytest.raises(GraphError, match=f"(?s){message}"):
        parse_graph(text, format)


def test_mistakes_around_files(tmp_path: Path) -> None:
    with pytest.raises(GraphError, match=r"ending '.xlsx', .*known: .toml, .csv, .dot, .*, .lavaan, .bnlearn, .gv"):
        read_graph("graph.xlsx")
    with pytest.raises(GraphError, match="ending ''"):
        write_graph(ad.CandidateGraph(("a",), {}), tmp_path / "graph")
    with pytest.raises(GraphError, match=r"cannot read .*null"):
        read_graph("no\0.csv")
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(GraphError, match=r"cannot read .*directory"):
        read_graph(tmp_path / "folder.csv")
    with pytest.raises(GraphError, match=r"cannot read 'no.csv': No such file"):
        read_graph("no.csv")
    with pytest.raises(GraphError, match=r"cannot write .*No such file"):
        write_graph(ad.CandidateGraph(("a",), {}), tmp_path / "no" / "graph.csv")
    (tmp_path / "bad.csv").write_bytes(b"cause,effect\nGr\xf6\xdfe,b\n")
    with pytest.raises(GraphError, match=r"bad.csv' is not UTF-8 text \(byte 15\)"):
        read_graph(tmp_path / "bad.csv")
    (tmp_path / "cycle.csv").write_text("cause,effect,probability\na,b,1\nb,a,1\n")
    with pytest.raises(GraphError, match=r"cycle.csv': .*cycle"):
        read_graph(tmp_path / "cycle.csv")
    (tmp_path / "pair.csv").write_text("cause,effect,probability\na,b,0.8\nb,a,0.3\n")
    with pytest.raises(GraphError, match=r"pair.csv': .*together 1.1"):
        read_graph(tmp_path / "pair.csv")
    unfinished = ad.CandidateGraph.from_order(["a", "b"]).with_edge("b", "a", 0.7)
    with pytest.raises(GraphError, match=r"together 1\.2"):
        write_graph(unfinished, tmp_path / "graph.csv")
    assert not (tmp_path / "graph.csv").exists()


def test_mistakes_in_the_call() -> None:
    with pytest.raises(GraphError, match="unknown graph format 'tolm'; did you mean 'toml'"):
        parse_graph("", "tolm")  # type: ignore[arg-type]
    with pytest.raises(GraphError, match="must be a string, got bytes"):
        parse_graph(b"", "csv")  # type: ignore[arg-type]
    with pytest.raises(GraphError, match="an edge that names none has probability 50"):
        parse_graph("cause,effect\na,b\n", "csv", probability=50)


# -- fuzzing: whatever comes in, only a GraphError comes out ---------------------------------------------------------

PIECES = (
    "digraph", "dag", "graph", "strict", "subgraph", "node", "edge", "{", "}", "[", "]", "->", "<-", "<->", "--", ";",
    ",", "=", ":", "+", '"', "\\", "<", ">", "#", "//", "/*", "*/", "\n", " ", "a", "b", "c", "-", "1", ".5", "label",
    "probability", "latent", "id", "source", "target", "directed", "cause", "effect", "edges", "tiers", "order", "'",
    "&", "variables", '"a"', '"b"', "null", "true", "nan", "\r", "\x00", "\ud800", "ü", "[[edges]]",
    "cause,effect\n", "&#x",
)  # fmt: skip


def graph_or_none(text: str, format: str) -> ad.CandidateGraph | None:
    try:
        return parse_graph(text, format)
    except GraphError:
        return None


@pytest.mark.parametrize("format", FORMATS)
@settings(max_examples=120, deadline=None)
@given(text=st.one_of(st.lists(st.sampled_from(PIECES), max_size=30).map("".join), st.text(max_size=40)))
@example(text="digraph{a->b[probability=")
def test_fuzzed_text(format: str, text: str) -> None:
    for candidate in (text, f"digraph {{{text}}}", f"dag {{{text}}}", f"graph [ directed 1 {text} ]"):
        graph = graph_or_none(candidate, format)
        assert graph is None or parse_graph(format_graph(graph, format), format) == graph


@pytest.mark.parametrize("format", FORMATS)
@settings(max_examples=60, deadline=None)
@given(graph=graphs(), data=st.data())
def test_damaged_files(format: str, graph: ad.CandidateGraph, data: st.DataObject) -> None:
    text = format_graph(graph, format)
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, min(start + 8, len(text))))
    damaged = text[:start] + data.draw(st.sampled_from(("", *PIECES))) + text[end:]
    graph_or_none(damaged, format)


def test_a_short_text_that_stands_for_millions_of_edges_is_refused_at_once():
    causes, effects = (" ".join(f"{letter}{i}" for i in range(1100)) for letter in "ab")
    with pytest.raises(GraphError, match=r"line 1: with this arrow the graph has 1,210,000 edges; .* in Python"):
        parse_graph(f"digraph {{ {{{causes}}} -> {{{effects}}} }}", "dot")
