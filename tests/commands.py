"""Commands in this process, by whatever version of cyclopts is there."""

from __future__ import annotations

import inspect
from collections.abc import Sequence

from alldags import cli

# from its version 4 on, cyclopts would end the process after a command
_OPTIONS = (
    {"result_action": "return_value"} if "result_action" in inspect.signature(type(cli.app).__call__).parameters else {}
)


def command(words: Sequence[str]) -> None:
    """Run a command."""
    cli.app(list(words), **_OPTIONS)
