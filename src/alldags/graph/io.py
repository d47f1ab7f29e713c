"""Reading and writing candidate graphs as files and as text."""

from __future__ import annotations

import os
from pathlib import Path
from types import ModuleType
from typing import Literal, TypeAlias, cast, get_args

from alldags.errors import GraphError, did_you_mean
from alldags.files import write_text
from alldags.graph.candidate import CandidateGraph
from alldags.graph.formats.collect import checked_probability
from alldags.graph.guess import guess_format

GraphFormat: TypeAlias = Literal["toml", "csv", "dot", "gml", "json", "dagitty", "lavaan", "bnlearn"]

_ENDINGS: dict[str, GraphFormat] = {f".{name}": name for name in get_args(GraphFormat)} | {".gv": "dot"}


def read_graph(path: str | os.PathLike[str], probability: float | None = None) -> CandidateGraph:
    r"""Read a candidate graph from a file; the ending tells the format.

    Parameters
    ----------
    path
        A ``.toml``, ``.csv``, ``.dot`` (or ``.gv``), ``.gml``, ``.json`` or ``.dagitty`` file in UTF-8; or a ``.txt``
        file in any of these formats, or with lines such as ``smoking -> risk``.
    probability
        For edges whose probability the file does not give; None: 1/2, and `CandidateGraph.unstated`.

    Examples
    --------
    >>> import alldags as ad, pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "graph.csv"
    >>> _ = path.write_text("cause,effect,probability\nsmoking,tar,0.9\ntar,cancer,\n")
    >>> dict(ad.read_graph(path).edges)
    {('smoking', 'tar'): 0.9, ('tar', 'cancer'): 0.5}
    """
    path = Path(path)
    format = None if path.suffix.lower() == ".txt" else _format_of(path)
    try:
        text = path.read_bytes().decode()  # bytes, so that line ends inside names are not translated
    except OSError as error:
        raise GraphError(f"cannot read {str(path)!r}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise GraphError(f"{str(path)!r} is not UTF-8 text (byte {error.start}); save it as UTF-8") from error
    except ValueError as error:  # a null character in the path
        raise GraphError(f"cannot read {str(path)!r}: {error}") from error
    try:
        return parse_graph(text, format, probability)
    except GraphError as error:
        raise GraphError(f"{str(path)!r}: {error}") from error


def write_graph(graph: CandidateGraph, path: str | os.PathLike[str]) -> None:
    """Write a candidate graph to a file that `read_graph` reads back unchanged; the ending tells the format.

    The file appears complete or not at all: it is written under a temporary name in the same folder and renamed.

    Examples
    --------
    >>> import alldags as ad, pathlib, tempfile
    >>> graph = ad.CandidateGraph.from_order(["age", "smoking", "cancer"])
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "graph.toml"
    >>> ad.write_graph(graph, path)
    >>> ad.read_graph(path) == graph
    True
    """
    path = Path(path)
    content = format_graph(graph, _format_of(path))
    try:
        write_text(path, content)
    except OSError as error:
        raise GraphError(f"cannot write {str(path)!r}: {error.strerror or error}") from error


def parse_graph(text: str, format: GraphFormat | None = None, probability: float | None = None) -> CandidateGraph:
    """Build a candidate graph from text.

    Parameters
    ----------
    text
        The content of a graph file.
    format
        ``"toml"``, ``"csv"``, ``"dot"``, ``"gml"``, ``"json"``, ``"dagitty"``, ``"lavaan"`` (lines such as
        ``y ~ x + m``) or ``"bnlearn"`` (model strings); by default what the text shows it to be.
    probability
        For edges whose probability the text does not give; None: 1/2, and `CandidateGraph.unstated`.

    Examples
    --------
    >>> import alldags as ad
    >>> graph = ad.parse_graph("dag { age -> {smoking cancer}; smoking -> cancer }", format="dagitty")
    >>> graph.parents("cancer")
    ('age', 'smoking')
    """
    if not isinstance(text, str):
        raise GraphError(f"the text of a graph must be a string, got {type(text).__name__}; use read_graph for files")
    default = None if probability is None else checked_probability(probability, "an edge that names none")
    chosen = cast(GraphFormat, guess_format(text)) if format is None else format
    # spreadsheets start text with a byte-order mark
    graph: CandidateGraph = _module(chosen).parse(text.removeprefix("\ufeff"), default)
    graph.check()
    return graph


def format_graph(graph: CandidateGraph, format: GraphFormat) -> str:
    """Return a candidate graph as text that `parse_graph` turns into the same graph.

    Examples
    --------
    >>> import alldags as ad
    >>> from alldags.graph.io import format_graph
    >>> print(format_graph(ad.CandidateGraph.from_order(["x", "y"]), format="csv"), end="")
    cause,effect,probability
    "x","y",""
    """
    graph.check()
    text: str = _module(format).write(graph)
    return text


def _format_of(path: Path) -> GraphFormat:
    ending = path.suffix.lower()
    if ending not in _ENDINGS:
        raise GraphError(
            f"{str(path)!r} has the ending {ending!r}, which is not a known graph format; known: {', '.join(_ENDINGS)} "
            "and .txt with lines such as smoking -> risk"
        )
    return _ENDINGS[ending]


def _module(format: GraphFormat) -> ModuleType:
    from importlib import import_module

    known = get_args(GraphFormat)
    if format not in known:
        hint = did_you_mean(str(format), known)
        raise GraphError(f"unknown graph format {format!r}{hint}; known: {', '.join(known)}")
    return import_module(f"alldags.graph.formats.{format}")
