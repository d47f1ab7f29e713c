"""What may come of an input: an answer, or a refusal in one short line. Anything else is a finding."""

from __future__ import annotations

import signal
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from alldags.errors import AlldagsError

PATIENCE = 10  # seconds of processor time that an input may take
LONGEST_MESSAGE = 700  # a path may stand before the 500 characters of a message
Outcome = str  # "answered" or "refused"


class Finding(Exception):  # noqa: N818  (it is the good news of a search)
    """An input was neither answered nor refused as it should be; `kind` is the same for the same defect."""

    def __init__(self, kind: str, details: str = "") -> None:
        super().__init__(f"{kind}\n{details}".strip())
        self.kind = kind


class TooSlow(BaseException):
    """An input took longer than `PATIENCE`."""


@dataclass(frozen=True)
class Tally:
    """How many inputs of a target were answered, refused, and what was found."""

    answered: int = 0
    refused: int = 0
    found: int = 0

    def with_one(self, outcome: str) -> Tally:
        """Return the tally with one more."""
        return Tally(**{**self.__dict__, outcome: getattr(self, outcome) + 1})


def judged(question: Callable[[], Any]) -> Outcome:
    """Ask, and return ``"answered"`` or ``"refused"``; a `Finding` is raised for everything else."""
    try:
        with bounded():
            question()
    except Finding:
        raise
    except AlldagsError as error:
        check_message(str(error))
        return "refused"
    except TooSlow:
        raise Finding(f"took more than {PATIENCE} seconds") from None
    except BaseException as error:
        raise Finding(_where(error), traceback.format_exc()) from error
    return "answered"


def check_message(message: str) -> None:
    """Refusals are short, printable and say something."""
    if not message.strip():
        raise Finding("an error without a word")
    if len(message) > LONGEST_MESSAGE:
        raise Finding("a message that is too long", message[:2000])
    if not message.isprintable():
        raise Finding("a message with control characters", repr(message))


@contextmanager
def bounded(seconds: float = PATIENCE) -> Iterator[None]:
    """Inside, `TooSlow` is raised after some seconds of processor time, which a busy machine does not stretch."""

    def stop(*_: object) -> None:
        raise TooSlow

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def _where(error: BaseException) -> str:
    """Return the kind of an error and the line of ours that it passed last."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if "alldags" in Path(frame.filename).parts] or frames
    last = ours[-1]
    return f"{type(error).__name__} at {Path(last.filename).name}:{last.lineno} ({last.name})"
