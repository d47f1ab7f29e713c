"""The JSON Schema of what ``--json`` prints."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

from alldags.kinds import KINDS, MEASURES


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of everything that ``--json`` prints and `Effect.to_dict` returns.

    Examples
    --------
    >>> import alldags as ad
    >>> sorted(ad.schema.json_schema()["$defs"])
    ['checks', 'edges', 'effect', 'effects', 'graph', 'least_squares', 'note', 'ratio', 'response']
    """
    text = files("alldags.show").joinpath("schema.json").read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text)
    effect = found["$defs"]["effect"]["properties"]
    effect["measure"]["enum"] = [*MEASURES, "mean"]
    effect["families"]["items"]["properties"]["family"]["enum"] = [name for name, kind in KINDS.items() if kind.bends]
    return found
