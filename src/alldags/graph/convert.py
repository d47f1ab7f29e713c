"""Names and edges from matrices, data frames, tables of edges and networkx graphs, and back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from alldags.checks import is_number
from alldags.errors import GraphError
from alldags.graph.edges import Edge, with_default
from alldags.typing import FloatArray

if TYPE_CHECKING:
    import networkx as nx


def labelled_matrix(matrix: Any, variables: Sequence[str] | None) -> tuple[tuple[str, ...], FloatArray]:
    """Return names and values of a square matrix of probabilities, row = cause, column = effect.

    Parameters
    ----------
    matrix
        A pandas frame (rows are matched to columns by the index; a plain 0, 1, 2, ... index means the order of the
        columns), any other frame that narwhals knows (rows in the order of the columns), or a square array.
    variables
        Names of an array's rows and columns; for a frame, the order to return.

    Returns
    -------
    names, values
        m names and an array of shape (m, m).
    """
    import narwhals.stable.v2 as nw

    if nw.dependencies.is_pandas_dataframe(matrix):
        names, values = _from_pandas(matrix)
    elif nw.dependencies.is_into_dataframe(matrix):
        frame = nw.from_native(matrix, eager_only=True)
        names, values = tuple(frame.columns), _float_array(frame.to_numpy())
    elif variables is None:
        raise GraphError("a plain matrix needs the names of its rows and columns; pass variables=[...]")
    else:
        return tuple(variables), _square(_float_array(matrix), len(variables))
    values = _square(values, len(names))
    return (names, values) if variables is None else _reordered(names, values, tuple(variables))


def _from_pandas(frame: Any) -> tuple[tuple[str, ...], FloatArray]:
    columns, index = list(frame.columns), list(frame.index)
    if len(set(columns)) < len(columns) or len(set(index)) < len(index):
        raise GraphError(f"the matrix names a variable twice: rows {index}, columns {columns}")
    if index == list(range(len(index))) and columns != index:
        return tuple(columns), _float_array(frame.to_numpy())
    only_one = sorted(map(repr, set(columns) ^ set(index)))
    if only_one:
        raise GraphError(
            f"the rows and columns of the matrix must have the same names; {', '.join(only_one)} is only in one"
        )
    return tuple(columns), _float_array(frame.loc[columns, columns].to_numpy())


def _float_array(values: Any) -> FloatArray:
    array = np.asarray(values.toarray() if hasattr(values, "toarray") else values)
    if array.dtype == np.bool_:
        raise GraphError(
            "a matrix of True and False does not say how probable the edges are; multiply it by the probability of an "
            "edge, for example 0.5, or 1.0 for certain edges"
        )
    try:
        return np.asarray(array, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise GraphError(f"the matrix must hold numbers only: {error}") from error


def _square(values: FloatArray, m: int) -> FloatArray:
    if values.shape != (m, m):
        raise GraphError(f"{m} variables need a matrix of shape ({m}, {m}), got {values.shape}")
    return values


def _reordered(
    names: tuple[str, ...], values: FloatArray, variables: tuple[str, ...]
) -> tuple[tuple[str, ...], FloatArray]:
    if sorted(map(repr, names)) != sorted(map(repr, variables)):
        raise GraphError(f"variables {list(variables)} are not the names of the matrix, {list(names)}")
    rows = [names.index(name) for name in variables]
    return variables, values[np.ix_(rows, rows)]


def matrix_edges(matrix: Any, variables: Sequence[str] | None) -> tuple[tuple[str, ...], dict[Edge, float]]:
    """Return names, and the edges whose probability is not zero, of a square matrix; see `labelled_matrix`."""
    names, values = labelled_matrix(matrix, variables)
    return names, {(names[i], names[j]): float(values[i, j]) for i, j in np.argwhere(values != 0)}


def stated_edges(variables: tuple[str, ...], probabilities: Any) -> tuple[tuple[str, ...], dict[Edge, float]]:
    """Return names and edges of a mapping, a table with one row per edge, or a square matrix; clip rounding above 1."""
    columns = list(getattr(probabilities, "columns", ()))
    value = next((name for name in ("posterior", "probability") if name in columns), None)
    if value is not None and {"cause", "effect"} <= set(columns):
        edges = zip(probabilities["cause"], probabilities["effect"], strict=True)
        probabilities = dict(zip(edges, map(float, probabilities[value]), strict=True))
    if not isinstance(probabilities, Mapping):
        return matrix_edges(probabilities, None if columns else variables)
    return variables, {edge: 1.0 if 1 < p < 1 + 1e-9 else p for edge, p in probabilities.items()}


def shown_edges(edges: Mapping[Edge, float], given: Mapping[Edge, float]) -> dict[Edge, float]:
    """Return the probability to draw for each candidate edge: the given one, unless the edge is certain."""
    for cause, effect in given:
        if (cause, effect) not in edges:
            raise GraphError(f"probabilities has {cause!r} -> {effect!r}, which is not a candidate edge of the graph")
    # data never make an edge certain: what rounds to 1 is still shown as uncertain
    below_one = float(np.nextafter(1.0, 0.0))
    return {edge: 1.0 if prior == 1.0 else min(given.get(edge, 0.0), below_one) for edge, prior in edges.items()}


def networkx_edges(graph: nx.Graph[Any], probability: float | None) -> tuple[tuple[str, ...], dict[Edge, float]]:
    """Return names and edges of a networkx graph; see `CandidateGraph.from_networkx`."""
    import networkx as nx

    if not isinstance(graph, nx.Graph):
        raise GraphError(f"expected a networkx DiGraph, got {type(graph).__name__}")
    edges: dict[Edge, float | None] = {}
    triples: Iterable[tuple[Any, Any, dict[str, Any]]] = graph.edges(data=True)
    for cause, effect, attributes in triples:
        value = stated_probability(attributes, f"the edge {cause!r} -> {effect!r}")
        if (cause, effect) in edges:
            raise GraphError(f"the edge {cause!r} -> {effect!r} is given twice; keep one")
        if graph.is_directed():
            edges[cause, effect] = value
        else:
            edges[cause, effect] = edges[effect, cause] = None if value is None else half(value)
    return _string_names(graph), with_default(edges, probability)


_OTHER_NAMES = ("prob", "p", "weight", "label")  # under which people keep probabilities


def stated_probability(attributes: Mapping[str, Any], edge: str) -> Any:
    """Return the attribute ``probability``; an error if there is none but another that may be meant as one."""
    if "probability" in attributes:
        return attributes["probability"]
    for name in _OTHER_NAMES:
        value = attributes.get(name)
        if is_number(value) and 0.0 < float(value) < 1.0:  # 0, 1 and more are weights of something else
            raise GraphError(
                f"{edge} has the attribute {name} = {value!r}, which may be meant as its probability or not; rename it "
                "to probability, or remove it"
            )
    return None


def half(probability: Any) -> Any:
    """Return the probability of each direction of an edge whose direction is open; what is no number stays."""
    return probability / 2 if is_number(probability) else probability


def networkx_calibrate(graph: nx.Graph[Any]) -> bool:
    """Return what the graph attribute ``calibrate`` says; True if there is none."""
    return bool(graph.graph.get("calibrate", True))


def _string_names(graph: nx.Graph[Any]) -> tuple[str, ...]:
    for name in graph:
        if not isinstance(name, str):
            raise GraphError(f"the node {name!r} is not a string; use nx.relabel_nodes(graph, str)")
    return tuple(graph)


def to_networkx(
    variables: Iterable[str], edges: Mapping[Edge, float | None], calibrate: bool = True
) -> nx.DiGraph[Any]:
    """Return a networkx ``DiGraph`` with the edge attribute ``probability``, nodes in the order of the variables."""
    import networkx as nx

    result: nx.DiGraph[Any] = nx.DiGraph() if calibrate else nx.DiGraph(calibrate=False)
    result.add_nodes_from(variables)
    result.add_edges_from((*edge, {} if value is None else {"probability": value}) for edge, value in edges.items())
    return result
