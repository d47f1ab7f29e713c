"""What commands print and write."""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any

from alldags.text import line_width, printable

if TYPE_CHECKING:
    from alldags.results.posterior import Posterior


def print_json(value: Any) -> None:
    """Print one JSON object, escaped where the terminal lacks letters."""
    text = json.dumps(_finite(value), ensure_ascii=False, allow_nan=False)
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        text = json.dumps(json.loads(text))
    print(text)


def _finite(value: Any) -> Any:
    """Return the value with null in place of numbers that JSON does not have, infinity above all."""
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def print_with_notes(value: Any, posterior: Posterior) -> None:
    """Print a table, and its notes beside it."""
    print(as_text(value))
    for note in posterior.notes:
        print(filled(f"note: {note.on_command_line}"), file=sys.stderr)


def notes_of(posterior: Posterior) -> list[dict[str, Any]]:
    """Return the notes of a fit as plain records."""
    from alldags.show.json import notes_list

    return notes_list(note.on_command_line for note in posterior.notes)


def as_dict(part: Any) -> Any:
    """Return a table as a list of rows, anything else as it says itself."""
    return part.to_dict() if hasattr(part, "to_dict") else list(part.rows())


def as_text(part: Any) -> str:
    """Return what a part says of itself."""
    if hasattr(part, "text"):
        return str(part.text())
    return str(part)


def filled(text: str) -> str:
    """Wrap a sentence; options are not broken at their hyphens."""
    return fill(printable(text), line_width(), break_long_words=False, break_on_hyphens=False)


def save_picture(axes: Any, target: Path) -> None:
    """Write a picture to a file."""
    from alldags.show.plots.save import save_figure

    save_figure(axes, target)
