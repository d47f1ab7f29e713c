"""Posteriors in files, without pickle: an npz archive of plain arrays, and a header of JSON.

What is written is the recipe, not the fitted nodes: these follow from it, to the last bit on the same versions.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields, is_dataclass
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any, cast

import numpy as np

from alldags.archives import read_arrays, write_arrays
from alldags.data.batches import Marks, RowTable
from alldags.data.cells import Cells
from alldags.data.columns import columns_of
from alldags.data.moments import Moments
from alldags.data.record import MomentsRecord
from alldags.data.rows import RowGroup, RowGroups
from alldags.data.seen import Seen, plain, restored
from alldags.effects.jackknife import Jackknife
from alldags.errors import AlldagsError, DataError
from alldags.families.kinds import FAMILIES
from alldags.graph.candidate import CandidateGraph
from alldags.nodes.measured import Errors
from alldags.notes import Note
from alldags.recipes.checks import check_recipe
from alldags.recipes.recipe import Recipe
from alldags.typing import FloatArray

FORMAT, VERSION = "alldags.posterior", 1
_HOMES = {
    "alldags.priors.prior": ("Prior",),
    "alldags.priors.noise": ("EquivalentNoise", "KnownNoise", "UnknownNoise"),
    "alldags.priors.slabs": ("GPrior", "HyperG", "LearnedSlab", "ZellnerSiow"),
    "alldags.priors.edges": ("BetaBinomial", "EqualEdges"),
    "alldags.priors.mixtures": ("NEG", "Horseshoe", "Laplace", "StudentT"),
    "alldags.families.kinds": tuple(kind.__name__ for kind in FAMILIES.values()),
    "alldags.graph.terms": ("Terms",),
    "alldags.engines": ("EM", "K2", "MCMC", "VB", "Auto", "Certified", "Exact", "Full", "Gibbs"),
}
_CELLS = ("key", "weight", "mean")  # of cells, beside the scatter inside them
_MEMBERS = re.compile(r"header|outside|profile_[a-z]+|rows\d*|(mean|scatter|cell_[a-z]+)\d+")
_HOME = {name: module for module, names in _HOMES.items() for name in names}


def save_recipe(recipe: Recipe, target: str | os.PathLike[str]) -> None:
    """Write what a posterior was made from.

    Parameters
    ----------
    recipe
        What it was made from.
    target
        The file; it appears complete or not at all.
    """
    header, arrays = _header(recipe), _arrays(recipe)
    text = np.frombuffer(json.dumps(header, allow_nan=False).encode(), dtype=np.uint8)
    write_arrays(target, {"header": text, **arrays})


def load_recipe(target: str | os.PathLike[str]) -> tuple[Recipe, str]:
    """Read what a posterior is made from, and the version that wrote it.

    Parameters
    ----------
    target
        A file that `save_recipe` wrote.
    """
    name = os.fspath(target)
    arrays = _read(name)
    try:
        header = json.loads(arrays.pop("header").tobytes())
        found = header["format"], header["version"]
    except (AttributeError, KeyError, RecursionError, TypeError, ValueError) as error:
        raise DataError(f"{name!r} is not a posterior that alldags saved") from error
    if found != (FORMAT, VERSION):
        raise DataError(
            f"{name!r} holds {found[0]!r} of version {found[1]!r}, this alldags reads {FORMAT!r} of version {VERSION}; "
            "use the alldags that wrote it, or fit again"
        )
    try:
        recipe = _recipe(header, arrays)
        check_recipe(recipe)
        return recipe, str(header["alldags"])
    except (ArithmeticError, AttributeError, LookupError, MemoryError, TypeError, ValueError) as error:
        raise DataError(f"{name!r} is damaged: {error}") from error


def _read(name: str) -> dict[str, Any]:
    """Return the arrays of a file; nothing in it is run."""
    with Path(name).open("rb") as file:
        if file.read(2) != b"PK":
            raise DataError(f"{name!r} is not a posterior that alldags saved")
    try:
        return read_arrays(name, _MEMBERS)
    except Exception as error:  # zipfile, zlib and numpy have many for a damaged file
        raise DataError(f"{name!r} is damaged: {error}") from error


# -- header ------------------------------------------------------------------------------------------------------------


def _header(recipe: Recipe) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "version": VERSION,
        "alldags": version("alldags"),
        "graphs": [_graph(graph) for graph in recipe.graphs],
        "shares": list(recipe.shares),
        "prior": _plain(recipe.prior, "the prior"),
        "engine": _plain(recipe.engine, "the engine"),
        "seeds": [_seed(seed) for seed in recipe.seeds],
        "notes": [[note.text, list(note.about) or None] for note in recipe.notes],
        "severities": [note.severity for note in recipe.notes],
        "short": [note.short for note in recipe.notes],
        "clustered": recipe.clustered,
        "robust": recipe.robust,
        "errors": [dict(recipe.errors.reliability), dict(recipe.errors.error_sd)],
        "jackknives": [[key, asdict(check)] for key, check in recipe.jackknives],
        "families": [[name, _plain(family, f"the family of {name!r}")] for name, family in recipe.families],
        "terms": _plain(recipe.terms, "terms"),
        "rows": None if recipe.rows is None else list(recipe.rows.columns.names),
        "marks": None if recipe.rows is None else asdict(recipe.rows.marks),
        "copies": [] if recipe.rows is None else [_differing(recipe.rows, copy) for copy in recipe.copies],
        "parts": [_part(part) for part in recipe.parts],
        "seen": None if recipe.seen is None else plain(recipe.seen)[0],
    }


def _recipe(header: Mapping[str, Any], arrays: Mapping[str, FloatArray]) -> Recipe:
    rows = None if header["rows"] is None else _rows(header, arrays["rows"])
    first, second, third = (np.random.SeedSequence(entropy, spawn_key=key) for entropy, key in header["seeds"])
    parts = tuple(_part_of(item, i, arrays) for i, item in enumerate(header["parts"]))
    graphs = tuple(_graph_of(item) for item in header["graphs"])
    reliability, error_sd = header.get("errors", (None, None))
    return Recipe(
        graphs=graphs,
        shares=tuple(header["shares"]),
        prior=_made(header["prior"]),
        engine=_made(header["engine"]),
        parts=parts,
        seeds=(first, second, third),
        notes=_notes(header),
        clustered=header["clustered"],
        robust=header.get("robust", False),
        errors=Errors.said(reliability, error_sd, graphs[0].variables),
        jackknives=tuple((key, Jackknife(**item)) for key, item in header.get("jackknives", ())),
        families=tuple((name, _made(family)) for name, family in header["families"]),
        terms=_made(header["terms"]),
        rows=rows,
        copies=() if rows is None else _copies(header.get("copies", []), rows, arrays),
        seen=_seen(header.get("seen"), arrays, parts[0].as_read if parts[0].groups else None),
    )


def _rows(header: Mapping[str, Any], values: FloatArray) -> RowTable:
    table = columns_of({name: values[:, i].copy() for i, name in enumerate(header["rows"])}, len(values))
    return RowTable(table, _marks(header.get("marks"), table.names))


def _differing(first: RowTable, other: RowTable) -> list[str]:
    """Return the columns in which a completed table differs from the first; only these are saved."""
    names = first.columns.names
    return [name for name in names if not np.array_equal(first.column(name), other.column(name))]


def _copies(items: Sequence[Sequence[str]], first: RowTable, arrays: Mapping[str, FloatArray]) -> tuple[RowTable, ...]:
    """Return the completed tables but the first."""
    known = {name: first.column(name) for name in first.columns.names}
    found = []
    for place, names in enumerate(items, start=1):
        if not set(names) <= known.keys():
            raise ValueError("'copies' names columns that the rows do not have")
        own = {name: arrays[f"rows{place}"][:, i].copy() for i, name in enumerate(names)} if names else {}
        found.append(RowTable(columns_of(known | own, first.columns.rows), first.marks))
    return tuple(found)


def _marks(item: Mapping[str, Any] | None, names: Sequence[str]) -> Marks:
    """Return which columns of the rows are about the rows; version 0.2 had none."""
    if item is None:
        return Marks()
    unseen = dict(item.get("unseen", {}))
    found = Marks(item["weight"], bool(item["effective"]), dict(item["was_set"]), item["cluster"], unseen)
    used = {found.weight, found.cluster, *found.was_set.values(), *unseen.values()} - {None}
    if not used <= set(names):
        raise ValueError("'marks' names columns that the rows do not have")
    return found


def _notes(header: Mapping[str, Any]) -> tuple[Note, ...]:
    """Return the notes; those of version 0.2 had no severity."""
    severities = header.get("severities") or ["for the record"] * len(header["notes"])
    short = header.get("short") or [""] * len(header["notes"])
    told = zip(header["notes"], severities, short, strict=True)
    return tuple(Note(text, severity, tuple(about or ()), str(brief)) for (text, about), severity, brief in told)


def _seen(header: Any, arrays: Mapping[str, FloatArray], moments: MomentsRecord | None) -> Seen | None:
    return None if header is None or moments is None else restored(header, arrays, moments)


def _graph(graph: CandidateGraph) -> dict[str, Any]:
    return {
        "variables": list(graph.variables),
        "edges": [[cause, effect, p] for (cause, effect), p in graph.edges.items()],
        "hidden": [[first, second, p] for (first, second), p in graph.hidden.items()],
        "correlations": [[first, second, believed] for (first, second), believed in graph.correlations.items()],
        "declared": [[name, treatment, valid] for (name, treatment), valid in graph.declared.items()],
        "calibrate": graph.calibrate,
    }


def _graph_of(item: Mapping[str, Any]) -> CandidateGraph:
    names = ("edges", "hidden", "correlations", "declared")
    edges, hidden, believed, declared = ({(a, b): p for a, b, p in item.get(name, ())} for name in names)
    known = {"hidden": hidden, "correlations": believed, "declared": declared}
    return CandidateGraph(tuple(item["variables"]), edges, item["calibrate"], **known)


def _seed(seed: np.random.SeedSequence) -> list[Any]:
    entropy = seed.entropy
    whole = [int(part) for part in entropy] if isinstance(entropy, Sequence | np.ndarray) else entropy and int(entropy)
    return [whole, [int(key) for key in seed.spawn_key]]


# -- settings ----------------------------------------------------------------------------------------------------------


def _plain(value: Any, what: str) -> Any:
    """Return settings as JSON can hold them: a class of ours becomes its name and its fields."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float | np.floating | np.integer):
        return float(value) if math.isfinite(value) else {"number": repr(float(value))}
    if isinstance(value, tuple | list):
        return [_plain(item, what) for item in value]
    if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
        return {"mapping": [[key, _plain(item, what)] for key, item in value.items()]}
    name = type(value).__name__
    if is_dataclass(value) and name in _HOME and type(value) is getattr(import_module(_HOME[name]), name):
        return {"class": name, **{f.name: _plain(getattr(value, f.name), what) for f in fields(value) if f.init}}
    raise AlldagsError(f"{what} is {value!r}, of which alldags does not know how to save it; keep the script instead")


def _made(item: Any) -> Any:
    """Return what `_plain` was given; only classes of ours are made."""
    if isinstance(item, list):
        return tuple(_made(part) for part in item)
    if not isinstance(item, dict):
        return item
    if "number" in item:
        return float(item["number"])
    if "mapping" in item:
        return {key: _made(value) for key, value in item["mapping"]}
    known = dict(item)
    name = known.pop("class")
    if name not in _HOME:
        raise ValueError(f"there is no class {name!r} to make")
    return getattr(import_module(_HOME[name]), name)(**{key: _made(value) for key, value in known.items()})


# -- moments -----------------------------------------------------------------------------------------------------------


def _part(part: RowGroups) -> dict[str, Any]:
    return {
        "names": list(part.groups[0].moments.names),
        "effective": part.effective,
        "n": [_number(group.moments.n) for group in part.groups],
        "rows": [_number(group.rows) for group in part.groups],
        "squares": [_number(group.squares) for group in part.groups],
        "targets": [sorted(group.targets) for group in part.groups],
        "clusters": [_label(group.cluster) for group in part.groups],
        "unseen": [sorted(group.unseen) for group in part.groups],
        **({} if part.intercepts == "fixed" else {"intercepts": part.intercepts}),
        "levels": None if part.cells is None else list(part.cells.levels),
        "cells": [0 if group.cells is None else len(group.cells.key) for group in part.groups],
    }


def _number(value: float) -> float | int:
    return int(value) if isinstance(value, int | np.integer) else float(value)


def _label(label: Any) -> Any:
    plain = label.item() if isinstance(label, np.generic) else label
    if plain is not None and not isinstance(plain, str | int | float | bool):
        raise AlldagsError(f"the cluster {label!r} is neither text nor a number and cannot be saved; rename clusters")
    return plain


def _part_of(item: Mapping[str, Any], place: int, arrays: Mapping[str, FloatArray]) -> RowGroups:
    mean, scatter, names = arrays[f"mean{place}"], arrays[f"scatter{place}"], tuple(item["names"])
    unseen = item.get("unseen", [[]] * len(item["n"]))  # version 0.2 had none
    columns = zip(item["n"], item["rows"], item["squares"], item["targets"], item["clusters"], unseen, strict=True)
    cells = _cells_of(item, place, arrays)
    groups = []
    for i, (n, rows, squares, targets, cluster, missed) in enumerate(columns):
        moments = Moments(n, mean[i].copy(), scatter[i].copy(), names)
        groups.append(RowGroup(moments, frozenset(targets), cluster, rows, squares, frozenset(missed), cells[i]))
    return RowGroups(tuple(groups), item["effective"], intercepts=item.get("intercepts", "fixed"))


def _cells_of(item: Mapping[str, Any], place: int, arrays: Mapping[str, FloatArray]) -> list[Cells | None]:
    """Return the cells of each group of a part; files of version 0.2 have none."""
    levels = item.get("levels")
    if levels is None:
        return [None] * len(item["n"])
    ends = np.cumsum(item["cells"])[:-1]
    columns = (cast("list[Any]", np.split(arrays[f"cell_{name}{place}"], ends)) for name in _CELLS)
    parts = zip(*columns, arrays[f"cell_scatter{place}"], strict=True)
    return [Cells(key, weight, mean, scatter, tuple(levels)) for key, weight, mean, scatter in parts]


def _arrays(recipe: Recipe) -> dict[str, FloatArray]:
    found = {}
    for place, part in enumerate(recipe.parts):
        found[f"mean{place}"] = np.stack([group.moments.mean for group in part.groups])
        found[f"scatter{place}"] = np.stack([group.moments.scatter for group in part.groups])
        cells = [group.cells for group in part.groups if group.cells is not None]
        if cells:
            found |= {f"cell_{name}{place}": np.concatenate([getattr(one, name) for one in cells]) for name in _CELLS}
            found[f"cell_scatter{place}"] = np.stack([one.scatter for one in cells])
    if recipe.rows is not None:
        found["rows"] = np.concatenate(list(recipe.rows.batches(recipe.rows.columns.names)))
        for place, copy in enumerate(recipe.copies, start=1):
            if names := _differing(recipe.rows, copy):
                found[f"rows{place}"] = np.concatenate(list(copy.batches(names)))
    return found | ({} if recipe.seen is None else plain(recipe.seen)[1])
