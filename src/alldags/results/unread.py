"""A warning for whoever reads a number and not the note that changes it: once an effect, and never after printing.

Only notes that are known without computing anything are looked at, so that reading a number costs no more than it.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Concatenate, ParamSpec, TypeVar

from alldags.assumptions.notes import known_notes
from alldags.errors import UnreadNoteWarning
from alldags.notes import SEVERITIES
from alldags.text import printable, shortened

if TYPE_CHECKING:
    from alldags.results.effect import Effect

P = ParamSpec("P")
R = TypeVar("R")


def after_notes(method: Callable[Concatenate[Effect, P], R]) -> Callable[Concatenate[Effect, P], R]:
    """Warn when a number is read from outside the package before the effect was shown, if a note changes it."""

    @wraps(method)
    def asked(effect: Effect, /, *args: P.args, **options: P.kwargs) -> R:
        if not effect._was_shown and not _is_inside(sys._getframe(1).f_globals.get("__name__", "")):
            effect._was_shown = True
            _warn(effect)
        return method(effect, *args, **options)

    return asked


def _is_inside(module: str) -> bool:
    return module == "alldags" or module.startswith("alldags.")


def _warn(effect: Effect) -> None:
    worst = [note.text for note in known_notes(effect) if note.severity == SEVERITIES[0]]
    if worst:
        more = f" (and {len(worst) - 1} more in effect.notes)" if len(worst) > 1 else " (print(effect) shows it, too)"
        text = f"{effect.treatment} -> {effect.outcome}: {shortened(printable(worst[0]), 400)}{more}"
        warnings.warn(text, UnreadNoteWarning, stacklevel=3)
