"""The published JSON Schema: everything that is printed satisfies it, and it says something of every key."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

import alldags as ad
from alldags.cli.printing import print_json
from commands import command as command_line
from lines import fit
from results import test_saving

SCHEMA = ad.schema.json_schema()
TYPES = {
    "array": list, "boolean": bool, "integer": int, "null": type(None), "number": (int, float), "object": dict,
    "string": str,
}  # fmt: skip
KNOWN = frozenset(
    [
        "$schema",
        "$defs",
        "$ref",
        "title",
        "description",
        "type",
        "properties",
        "required",
        "items",
        "additionalProperties",
        "const",
        "enum",
        "anyOf",
        "oneOf",
        "minimum",
        "maximum",
    ]
)
STUDY = ad.datasets.example()


def is_type(value, name):
    return isinstance(value, TYPES[name]) and (name == "boolean" or not isinstance(value, bool))


def faults(value, schema=SCHEMA, place="$"):
    """Yield what a value has against a schema: a plain reading of the keywords in `KNOWN`."""
    if "$ref" in schema:
        yield from faults(value, SCHEMA["$defs"][schema["$ref"].removeprefix("#/$defs/")], place)
    for word in ("anyOf", "oneOf"):
        if word in schema:
            each = [list(faults(value, one, place)) for one in schema[word]]
            good = sum(not found for found in each)
            if good == 0 or (word == "oneOf" and good != 1):
                yield f"{place}: {good} of {word}: {min(each, key=len)[:3]}"
    if "const" in schema and value != schema["const"]:
        yield f"{place}: not {schema['const']!r}"
    if "enum" in schema and value not in schema["enum"]:
        yield f"{place}: {value!r} not in {schema['enum']}"
    if "type" in schema:
        names = [schema["type"]] if isinstance(schema["type"], str) else schema["type"]
        if not any(is_type(value, name) for name in names):
            yield f"{place}: {value!r} is not {names}"
            return
    if is_type(value, "number") and not schema.get("minimum", -math.inf) <= value <= schema.get("maximum", math.inf):
        yield f"{place}: {value!r} out of range"
    if isinstance(value, dict):
        yield from (f"{place}: no {name!r}" for name in schema.get("required", ()) if name not in value)
        for name, item in value.items():
            inner = schema.get("properties", {}).get(name, schema.get("additionalProperties"))
            if inner is not None:
                yield from faults(item, inner, f"{place}.{name}")
    if isinstance(value, list):
        for i, item in enumerate(value):
            yield from faults(item, schema.get("items", {}), f"{place}[{i}]")


def printed(capsys, value):
    """Return a value as the command line prints it."""
    print_json(value)
    return json.loads(capsys.readouterr().out)


def effect_of(name):
    table, graph, options = test_saving.CASES[name]
    return fit(table, graph, rng=0, **options).effect("x", "y")


@pytest.mark.filterwarnings("ignore::alldags.AlldagsWarning")
@pytest.mark.parametrize("name", test_saving.CASES)
def test_every_kind_of_effect_satisfies_it(name, capsys):
    found = printed(capsys, effect_of(name).to.dict())
    assert list(faults(found)) == []
    assert set(found) <= set(SCHEMA["$defs"]["effect"]["properties"]), "a key without a description"


def test_it_is_strict_enough_to_fail(capsys):
    good = printed(capsys, effect_of("default").to.dict())
    for change in ({"mean": "large"}, {"schema": "alldags.effect/1"}, {"probability_positive": 1.5}, {"interval": {}}):
        assert list(faults(good | change))
    assert list(faults({name: value for name, value in good.items() if name != "sd"}))
    assert list(faults({}))


def test_an_infinite_deviation_satisfies_it(capsys):
    rng = np.random.default_rng(0)
    table = {"x": rng.standard_normal(3), "y": rng.standard_normal(3)}
    effect = fit(table, ad.CandidateGraph.from_order(["x", "y"]), prior=ad.Prior(1.0)).effect("x", "y")
    assert list(faults(printed(capsys, effect.to.dict()))) == []


def test_sensitivity_and_checks_satisfy_it(capsys):
    posterior = fit(STUDY.table, STUDY.graph, rng=0)
    effect, checks = posterior.effect("smoking", "risk"), posterior.checks("smoking", "risk").to_dict()
    found = printed(capsys, effect.to.dict() | {"sensitivity": effect.sensitivity().to_dict(), "checks": checks})
    assert list(faults(found)) == []
    assert set(found) <= set(SCHEMA["$defs"]["effect"]["properties"])
    assert list(faults(printed(capsys, checks))) == []


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("schema")
    rows = np.column_stack([np.asarray(values, dtype=float) for values in STUDY.table.values()])
    np.savetxt(folder / "data.csv", rows, delimiter=",", header=",".join(STUDY.table), comments="")
    ad.write_graph(STUDY.graph.with_hidden("smoking", "risk", 0.1), folder / "graph.toml")
    return folder


@pytest.mark.parametrize("command", ["effects", "edges", "graph"])
def test_other_commands_satisfy_it(command, files, capsys):
    data = () if command == "graph" else (str(files / "data.csv"), "--graph")
    lines = ("--terms", "straight") if command == "effects" else ()
    command_line([command, *data, str(files / "graph.toml"), "--json", *lines])
    found = json.loads(capsys.readouterr().out)
    assert list(faults(found)) == []
    assert set(found) <= set(SCHEMA["$defs"][command]["properties"])


def test_a_continuous_prior_has_shrinkage_in_place_of_posterior(files, capsys):
    ad.write_graph(STUDY.graph, files / "plain.toml")
    command = ["edges", str(files / "data.csv"), "--graph", str(files / "plain.toml"), "--json", "--engine", "vb"]
    command_line(command)
    assert list(faults(json.loads(capsys.readouterr().out))) == []


def test_the_command_prints_it(capsys):
    command_line(["schema"])
    assert json.loads(capsys.readouterr().out) == SCHEMA


def test_only_known_words_are_used_and_every_key_is_described():
    def walk(schema, place):
        assert set(schema) <= KNOWN, place
        for name, inner in schema.get("properties", {}).items():
            assert "description" in inner or set(inner) & {"const", "enum", "$ref", "minimum"}, f"{place}.{name}"
            walk(inner, f"{place}.{name}")
        for word in ("items", "additionalProperties"):
            if word in schema:
                walk(schema[word], f"{place}.{word}")
        for inner in (*schema.get("anyOf", ()), *schema.get("oneOf", ())):
            walk(inner, place)

    walk(SCHEMA, "$")
    for name, inner in SCHEMA["$defs"].items():
        walk(inner, name)
