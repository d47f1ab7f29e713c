"""The structure that TOML and JSON share.

Keys: ``variables`` (list of names), ``probability`` (for edges without their own), ``tiers`` (list of lists) or
``order`` (list), ``edges`` (list of ``{cause, effect, probability}`` or ``[cause, effect, probability]``). Edges
override what tiers or order say; probability 0 excludes an edge.

Open directions: ``within`` (probability of an edge inside a tier, in either direction; a number, or a list with one for
each tier), ``pairs`` (list of ``{first, second, probability}``, ``{first, second, forward, backward}``,
``[first, second, probability]`` or ``[first, second, forward, backward]``; they override, too), ``calibrate`` (true or
false).

Hidden common causes: ``hidden`` (list of ``{first, second, probability, correlation}`` or ``[first, second,
probability]``; the correlation is the shape of its prior, or a list of two limits). Instruments: ``instruments`` (list
of ``{instrument, treatment, valid}`` or ``[instrument, treatment, valid]``, valid a probability or "some").
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from alldags.errors import GraphError, did_you_mean
from alldags.graph.candidate import CandidateGraph
from alldags.graph.edges import Edge, completed_edges
from alldags.graph.formats.collect import Collector, checked_flag, checked_probability

_KEYS = ("variables", "probability", "tiers", "order", "within", "edges", "pairs", "calibrate", "hidden",
         "instruments")  # fmt: skip
_EDGE_KEYS = ("cause", "effect", "probability")
_HIDDEN_KEYS = ("first", "second", "probability")
_INSTRUMENT_KEYS = ("instrument", "treatment", "valid")
_PAIR_KEYS = ("first", "second", "probability", "forward", "backward")
_PAIR_LISTS = {2: _PAIR_KEYS[:2], 3: _PAIR_KEYS[:3], 4: ("first", "second", "forward", "backward")}


def graph_from_document(document: Any, probability: float | None) -> CandidateGraph:
    """Build the graph that a TOML or JSON document describes."""
    content = _checked_keys(document, _KEYS, "the document")
    if "probability" in content:
        probability = checked_probability(content["probability"], "the document")
    base = _base_edges(content, probability)
    found = Collector(probability)
    for number, edge in enumerate(_list(content.get("edges", []), "edges"), 1):
        found.edge(*_edge(edge, f"edge {number}", _EDGE_KEYS), f"edge {number}")
    for number, pair in enumerate(_list(content.get("pairs", []), "pairs"), 1):
        found.pair(*_pair(pair, f"pair {number}"), f"pair {number}")
    for number, pair in enumerate(_list(content.get("hidden", []), "hidden"), 1):
        _add_hidden(found, pair, f"hidden {number}")
    for number, item in enumerate(_list(content.get("instruments", []), "instruments"), 1):
        found.instrument(*_edge(item, f"instrument {number}", _INSTRUMENT_KEYS))
    variables = _variables(content, found)
    calibrate = checked_flag(content.get("calibrate", True), "the document")
    return found.completed(variables, base, calibrate)


def _add_hidden(found: Collector, pair: Any, where: str) -> None:
    """Note a hidden common cause, with what is said of the correlation that it makes."""
    correlation = pair.get("correlation") if isinstance(pair, dict) else None
    plain = {key: value for key, value in pair.items() if key != "correlation"} if isinstance(pair, dict) else pair
    first, second, probability = _edge(plain, where, _HIDDEN_KEYS)
    found.hidden_cause(first, second, probability, where)
    found.correlation(first, second, correlation)


def _base_edges(content: Mapping[str, Any], probability: float | None) -> Mapping[Edge, float]:
    """Return the edges that tiers or order imply."""
    if "tiers" in content and "order" in content:
        raise GraphError("give tiers or order, not both: an order is the same as tiers of one variable each")
    if "within" in content and "tiers" not in content:
        raise GraphError("within says how probable edges inside tiers are, but there are no tiers; give tiers or pairs")
    tiers = _tiers(content)
    if not any(tiers):
        return {}
    graph = CandidateGraph.from_tiers(tiers, probability, content.get("within"))
    return completed_edges(graph.edges, graph.unstated)


def _tiers(content: Mapping[str, Any]) -> list[list[str]]:
    if "order" in content:
        return [[name] for name in _names(content["order"], "order")]
    tiers = _list(content.get("tiers", []), "tiers")
    return [_names(tier, f"tier {number}") for number, tier in enumerate(tiers, 1)]


def _variables(content: Mapping[str, Any], found: Collector) -> tuple[str, ...]:
    """Return all names: as listed, else as in the tiers, else in order of appearance in the edges."""
    in_tiers = [name for tier in _tiers(content) for name in tier]
    if "variables" not in content:
        return tuple(in_tiers or found.variables)
    names = _names(content["variables"], "variables")
    known = set(names)
    for name in in_tiers:
        if name not in known:
            raise GraphError(f"{name!r} is in the tiers but not among the variables{did_you_mean(name, names)}")
    return tuple(names)


def _edge(edge: Any, where: str, keys: tuple[str, str, str]) -> tuple[str, str, Any]:
    first, second, last = keys
    if isinstance(edge, list):
        if len(edge) not in (2, 3):
            raise GraphError(f"{where}: expected [{first}, {second}] or [{first}, {second}, {last}], got {edge!r}")
        edge = dict(zip(keys, edge, strict=False))
    content = _checked_keys(edge, keys, where)
    for key in (first, second):
        if not isinstance(content.get(key), str):
            raise GraphError(f"{where}: the {key} must be a name in quotes, got {content.get(key)!r}")
    return content[first], content[second], content.get(last)


def _pair(pair: Any, where: str) -> tuple[str, str, dict[str, Any]]:
    if isinstance(pair, list):
        if len(pair) not in _PAIR_LISTS:
            raise GraphError(
                f"{where}: expected [first, second], [first, second, probability] or [first, second, forward, "
                f"backward], got {pair!r}"
            )
        pair = dict(zip(_PAIR_LISTS[len(pair)], pair, strict=True))
    content = _checked_keys(pair, _PAIR_KEYS, where)
    for key in ("first", "second"):
        if not isinstance(content.get(key), str):
            raise GraphError(f"{where}: the {key} must be a name in quotes, got {content.get(key)!r}")
    return content["first"], content["second"], content


def _checked_keys(content: Any, known: tuple[str, ...], where: str) -> dict[str, Any]:
    if not isinstance(content, dict):
        raise GraphError(f"{where} must hold the keys {', '.join(known)}; got {content!r}")
    for key in content:
        if key not in known:
            raise GraphError(f"{where} has an unknown key {key!r}{did_you_mean(key, known)}; known: {', '.join(known)}")
    return content


def _list(value: Any, where: str) -> list[Any]:
    if not isinstance(value, list):
        raise GraphError(f"{where} must be a list, got {value!r}")
    return value


def _names(value: Any, where: str) -> list[str]:
    names = _list(value, where)
    for name in names:
        if not isinstance(name, str):
            raise GraphError(f"{where}: names must be strings in quotes, got {name!r}")
    return names
