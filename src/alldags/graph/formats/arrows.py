"""The grammar that DOT and dagitty share: ``type name { a; b [flag]; a -> b -> c [key=value]; {a b} -> c -- d }``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from alldags.errors import GraphError
from alldags.graph.candidate import CandidateGraph
from alldags.graph.formats.collect import Collector, check_observed, checked_flag
from alldags.graph.formats.tokens import Token, quoted, tokenize

_MAX_DEPTH = 50  # of braces in braces, to stay far from the interpreter's recursion limit
MOST_EDGES = 1_000_000  # of one text, some seconds; {a b} -> {c d} multiplies


@dataclass(frozen=True)
class Dialect:
    """In what DOT and dagitty differ.

    Parameters
    ----------
    name
        For messages.
    types
        Words that may open the text.
    keywords
        Bare words that cannot be names.
    dot
        Whether DOT's extras apply: ``strict``, default attributes, ports, ``subgraph``, HTML strings, the drawing
        attribute ``dir``.
    """

    name: str
    types: tuple[str, ...]
    keywords: frozenset[str]
    dot: bool


def parse_arrows(text: str, probability: float, dialect: Dialect) -> CandidateGraph:
    """Read a graph from text in this dialect."""
    return _Parser(text, probability, dialect).graph()


def write_arrows(graph: CandidateGraph, opening: str, dialect: Dialect) -> str:
    """Write a graph: all variables in order, then all edges with their probabilities."""
    names = {name: quoted(name, dialect.keywords) for name in graph.variables}
    nodes = "".join(f"  {name};\n" for name in names.values())
    undirected = not dialect.dot
    edges = "".join(
        f"  {names[cause]} {arrow} {names[effect]} [{values}];\n"
        for cause, effect, arrow, values in _written_edges(graph, undirected=undirected)
    )
    fitted = "" if graph.calibrate else "  calibrate=false;\n"
    return f"{opening} {{\n{fitted}{nodes}{edges}{_written_hidden(graph, names, dialect)}}}\n"


def _written_hidden(graph: CandidateGraph, names: dict[str, str], dialect: Dialect) -> str:
    """Write hidden common causes as edges with two heads."""
    arrow, both = ("->", "dir=both, ") if dialect.dot else ("<->", "")
    return "".join(
        f'  {names[first]} {arrow} {names[second]} [{both}probability="{probability!r}"'
        f"{_believed(graph, first, second)}];\n"
        for (first, second), probability in graph.hidden.items()
    )


def _believed(graph: CandidateGraph, first: str, second: str) -> str:
    """Write what is believed of a correlation as an attribute."""
    given = graph.correlations.get((first, second))
    numbers = given if isinstance(given, tuple) else (given,)
    return "" if given is None else f', correlation="{" ".join(map(repr, numbers))}"'


def _written_edges(graph: CandidateGraph, *, undirected: bool) -> Iterator[tuple[str, str, str, str]]:
    """Yield both ends, arrow and attributes of each edge; with `undirected`, opposite ones as one."""
    for (cause, effect), probability in graph.edges.items():
        reverse = graph.edges.get((effect, cause))
        if reverse is None or not undirected:
            valid = graph.declared.get((cause, effect))
            declared = "" if valid is None else f', instrument="{valid}"'
            yield cause, effect, "->", f'probability="{probability!r}"{declared}'
        elif graph.variables.index(cause) < graph.variables.index(effect):
            yield cause, effect, "--", _pair_attributes(probability, reverse)


def _pair_attributes(forward: float, backward: float) -> str:
    if forward == backward == (forward + backward) / 2:
        return f'probability="{forward + backward!r}"'
    return f'forward="{forward!r}", backward="{backward!r}"'


class _Parser:
    """A recursive-descent reader over a list of tokens."""

    def __init__(self, text: str, probability: float, dialect: Dialect) -> None:
        self.dialect = dialect
        self.tokens = list(tokenize(text, html=dialect.dot))
        self.position = 0
        self.found = Collector(probability)

    # -- tokens ------------------------------------------------------------------------------------------------------

    @property
    def token(self) -> Token:
        return self.tokens[self.position]

    def take(self) -> Token:
        token = self.token
        if token.kind != "end":
            self.position += 1
        return token

    def at(self, *marks: str) -> bool:
        return self.token.kind == "punctuation" and self.token.text in marks

    def at_word(self, words: Iterable[str]) -> bool:
        return self.token.kind == "word" and self.token.text.lower() in words

    def skip(self, mark: str) -> bool:
        found = self.at(mark)
        self.position += found
        return found

    def expect(self, mark: str) -> None:
        if not self.skip(mark):
            raise self.unexpected(f"expected {mark!r}")

    def unexpected(self, wanted: str) -> GraphError:
        return GraphError(f"line {self.token.line}: {wanted}, got {self.token.text!r}")

    def identifier(self, what: str) -> str:
        """Take a word or a string; strings may be joined with ``+``."""
        token = self.take()
        if token.kind not in ("word", "string"):
            self.position -= token.kind != "end"
            raise self.unexpected(f"expected {what}")
        parts = [token.text]
        while token.kind == "string" and self.at("+"):
            self.take()
            if self.token.kind != "string":
                raise self.unexpected("expected a string after '+'")
            token = self.take()
            parts.append(token.text)
        return "".join(parts)

    # -- grammar -----------------------------------------------------------------------------------------------------

    def graph(self) -> CandidateGraph:
        if self.dialect.dot and self.at_word({"strict"}):
            self.take()
        if not self.at_word(self.dialect.types):
            raise self.unexpected(
                f"{self.dialect.name} text starts with {' or '.join(self.dialect.types)} and an opening brace"
            )
        self.take()
        if not self.at("{"):
            self.identifier("'{'")
        self.block({}, depth=0)
        if self.token.kind != "end":
            raise self.unexpected("expected nothing after the closing brace")
        return self.found.graph()

    def block(self, defaults: dict[str, str], depth: int) -> list[str]:
        """Read ``{ statements }`` and return the names in it; `defaults` are edge attributes in force."""
        if depth > _MAX_DEPTH:
            raise self.unexpected(f"more than {_MAX_DEPTH} braces inside each other")
        defaults = dict(defaults)
        names: dict[str, None] = {}
        self.expect("{")
        while not self.skip("}"):
            if not self.skip(";"):
                names.update(dict.fromkeys(self.statement(defaults, depth)))
        return list(names)

    def statement(self, defaults: dict[str, str], depth: int) -> list[str]:
        following = self.tokens[min(self.position + 1, len(self.tokens) - 1)]
        if self.dialect.dot and self.at_word({"graph", "node", "edge"}) and following.text == "[":
            self.set_defaults(defaults)
            return []
        if self.token.kind in ("word", "string") and (following.kind, following.text) == ("punctuation", "="):
            line, key = self.token.line, self.identifier("a name")
            self.take()
            value = self.identifier("a value")
            if key.lower() == "calibrate" and depth == 0:
                self.found.calibrate = checked_flag(value, f"line {line}")
            return []
        return self.chain(defaults, depth)

    def set_defaults(self, defaults: dict[str, str]) -> None:
        keyword = self.take()
        attributes = self.attributes()
        if keyword.text.lower() == "edge":
            defaults.update(attributes)
        elif keyword.text.lower() == "node":
            check_observed("node", attributes, f"line {keyword.line}")

    def chain(self, defaults: dict[str, str], depth: int) -> list[str]:
        """Read ``group (arrow group)* [attributes]``, note variables and edges, and return all names."""
        line = self.token.line
        groups = [self.group(defaults, depth)]
        arrows = []
        while self.token.kind == "arrow":
            arrows.append(self.take())
            groups.append(self.group(defaults, depth))
        attributes = self.attributes()
        if arrows:
            self.add_edges(groups, arrows, {**defaults, **attributes})
        else:
            for name in groups[0]:
                check_observed(name, attributes, f"line {line}")
        return [name for group in groups for name in group]

    def group(self, defaults: dict[str, str], depth: int) -> list[str]:
        """Read one name, or a set in braces."""
        if self.dialect.dot and self.at_word({"subgraph"}):
            self.take()
            if not self.at("{"):
                self.identifier("a name or '{'")
        if self.at("{"):
            return self.block(defaults, depth + 1)
        if self.at_word(self.dialect.keywords):
            raise self.unexpected('expected a name (put names such as "node" in double quotes)')
        line = self.token.line
        name = self.identifier("a name")
        self.found.variable(name, f"line {line}")
        while self.dialect.dot and self.skip(":"):
            self.identifier("a port")
        return [name]

    def attributes(self) -> dict[str, str]:
        """Read ``[key=value, flag, ...]``, any number of times."""
        attributes = {}
        while self.skip("["):
            while not self.skip("]"):
                key = self.identifier("an attribute or ']'")
                attributes[key.lower()] = self.identifier("a value") if self.skip("=") else "true"
                if self.at(",", ";"):
                    self.take()
        return attributes

    def add_edges(self, groups: list[list[str]], arrows: list[Token], attributes: dict[str, str]) -> None:
        for before, arrow, after in zip(groups, arrows, groups[1:], strict=False):
            causes, effects = (after, before) if arrow.text == "<-" else (before, after)
            self.check_direction(arrow, causes, effects, attributes)
            self.check_count(arrow, len(causes) * len(effects))
            is_open = arrow.text == "--" or (self.dialect.dot and attributes.get("dir", "").lower() == "none")
            for cause in causes:
                for effect in effects:
                    if self.is_hidden(arrow, attributes):
                        self.found.hidden_cause(cause, effect, attributes.get("probability"), f"line {arrow.line}")
                        self.found.correlation(cause, effect, attributes.get("correlation"))
                    elif is_open:
                        self.found.pair(cause, effect, attributes, f"line {arrow.line}")
                    else:
                        self.found.edge(cause, effect, attributes.get("probability"), f"line {arrow.line}")
                        if "instrument" in attributes:
                            self.found.instrument(cause, effect, attributes["instrument"])

    def is_hidden(self, arrow: Token, attributes: dict[str, str]) -> bool:
        """Whether an edge has two heads, and so stands for a hidden common cause."""
        return arrow.text == "<->" or (self.dialect.dot and attributes.get("dir", "").lower() == "both")

    def check_count(self, arrow: Token, more: int) -> None:
        """Refuse what a short text may stand for, but nobody means."""
        if len(self.found.edges) + more > MOST_EDGES:
            raise GraphError(
                f"line {arrow.line}: with this arrow the graph has {len(self.found.edges) + more:,} edges; a text may "
                f"hold {MOST_EDGES:,}: leave out what nobody believes in, or build the graph in Python"
            )

    def check_direction(self, arrow: Token, causes: list[str], effects: list[str], attributes: dict[str, str]) -> None:
        shown = f"line {arrow.line}: the edge {', '.join(causes)} {arrow.text} {', '.join(effects)}"
        if self.dialect.dot and attributes.get("dir", "forward").lower() not in ("forward", "none", "both"):
            raise GraphError(
                f"{shown} has dir={attributes['dir']}; write the edge from cause to effect, without dir, or with "
                "dir=none if its direction is open, dir=both for a hidden common cause"
            )
