"""Moments in a file: what sites share instead of rows. Plain numbers and names, as JSON or as NumPy arrays."""

from __future__ import annotations

import json
import os
import re
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from alldags import checks
from alldags.archives import read_arrays, write_arrays
from alldags.data.columns import check_names
from alldags.data.record import MomentsRecord
from alldags.errors import DataError
from alldags.files import write_text
from alldags.typing import FloatArray

SCHEMA = "alldags.moments/1"
ENDINGS = (".json", ".npz")
_SYMMETRY = 1e-9
_MEMBERS = re.compile("schema|n|names|mean|scatter|parts")


def mark_of(moments: MomentsRecord) -> str:
    """Return what tells moments from others, whatever the order of the columns."""
    own = moments.select(sorted(moments.names))
    numbers = np.concatenate([[own.n], own.mean, own.scatter.ravel()])
    return sha256(repr(own.names).encode() + numbers.tobytes()).hexdigest()[:16]


def save_moments(moments: MomentsRecord, path: str | os.PathLike[str]) -> None:
    """Write moments to a ``.json`` or ``.npz`` file, which appears complete or not at all."""
    file = Path(path)
    _check_ending(file)
    if not (np.isfinite(moments.mean).all() and np.isfinite(moments.scatter).all()):
        raise DataError(f"moments that are not finite cannot be written to {str(file)!r}")
    try:
        (_write_json if file.name.lower().endswith(".json") else _write_arrays)(moments, file)
    except OSError as error:
        raise DataError(f"cannot write {str(file)!r}: {error}") from error


def load_moments(path: str | os.PathLike[str]) -> MomentsRecord:
    """Read moments from a ``.json`` or ``.npz`` file; nothing in it is run, and all of it is checked."""
    file = Path(path)
    _check_ending(file)
    try:
        found = (_read_json if file.name.lower().endswith(".json") else _read_arrays)(file)
        if found.get("schema") != SCHEMA:
            raise ValueError(f"its schema is {found.get('schema')!r}, not {SCHEMA!r}")
        return _checked(found)
    except Exception as error:  # json, zipfile and numpy have many for a damaged file
        reason = f"{error} is missing" if isinstance(error, KeyError) else str(error)
        raise DataError(f"{str(file)!r} is not a file of moments, as Moments.save writes it: {reason}") from error


def _check_ending(file: Path) -> None:
    if not file.name.lower().endswith(ENDINGS):
        raise DataError(f"a file of moments must end in .json or .npz, got {file.name!r}")


def _write_json(moments: MomentsRecord, file: Path) -> None:
    content = {
        "schema": SCHEMA,
        "n": moments.n,
        "names": list(moments.names),
        "mean": moments.mean.tolist(),
        "scatter": moments.scatter.tolist(),
        "parts": sorted(moments.parts),
    }
    write_text(file, json.dumps(content, ensure_ascii=False, allow_nan=False))


def _write_arrays(moments: MomentsRecord, file: Path) -> None:
    said = {"schema": np.array(SCHEMA), "n": np.array(moments.n), "names": np.array(moments.names, dtype=np.str_)}
    parts = np.array(sorted(moments.parts), dtype=np.str_)
    write_arrays(file, {**said, "mean": moments.mean, "scatter": moments.scatter, "parts": parts})


def _read_json(file: Path) -> dict[str, Any]:
    content = json.loads(file.read_text(encoding="utf-8"))
    if not isinstance(content, dict):
        raise TypeError("it holds no JSON object")
    return content


def _read_arrays(file: Path) -> dict[str, Any]:
    content = read_arrays(file, _MEMBERS)
    return content | {name: content[name].tolist() for name in ("schema", "n", "names", "parts") if name in content}


def _checked(found: dict[str, Any]) -> MomentsRecord:
    if not checks.is_number(found["n"]) or not 0 < found["n"] < np.inf:
        raise ValueError(f"n is {found['n']!r}")
    mean, scatter = (np.array(found[name], dtype=np.float64) for name in ("mean", "scatter"))
    parts = frozenset(map(str, found.get("parts", ())))
    moments = MomentsRecord(found["n"], mean, scatter, check_names(found["names"]), parts=parts)
    if not (np.isfinite(mean).all() and np.isfinite(scatter).all()):
        raise ValueError("it holds numbers that are not finite")
    check_scatter(scatter)
    return moments


def check_scatter(scatter: FloatArray) -> None:
    """Raise a `ValueError` if these are the cross-products of no table, shape (columns, columns)."""
    size = np.sqrt(np.abs(np.diag(scatter)))
    if (np.diag(scatter) < 0).any() or (np.abs(scatter - scatter.T) > _SYMMETRY * np.outer(size, size)).any():
        raise ValueError("its cross-products are not symmetric, with sums of squares on the diagonal")
    scale = np.where(size > 0, size, 1.0)
    correlation = scatter / scale / scale[:, None]
    if len(scatter) and not np.linalg.eigvalsh(correlation).min() > -_SYMMETRY * len(scatter):
        raise ValueError("its cross-products are those of no table: some sum of the columns has a negative variance")
