"""The directive ``command-output``: runs an ``alldags`` command while the site is built and shows what it prints."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

ROOT = Path(__file__).parents[2]


class CommandOutput(SphinxDirective):
    """Run the command in the project's root and show it with its output."""

    required_arguments = 1
    final_argument_whitespace = True

    def run(self) -> list[nodes.Node]:
        program, *arguments = shlex.split(self.arguments[0])
        if program != "alldags":
            raise self.error(f"only alldags commands can be shown, got {program!r}")
        done = subprocess.run(
            [sys.executable, "-c", "from alldags.cli import main; main()", *arguments],
            capture_output=True,
            text=True,
            cwd=ROOT,
            env={**os.environ, "COLUMNS": "88", "NO_COLOR": "1", "TERM": "dumb"},
            check=False,
        )
        if done.returncode:
            raise self.error(f"{self.arguments[0]}: {done.stderr}")
        text = f"$ {self.arguments[0]}\n{done.stdout.rstrip()}"
        block = nodes.literal_block(text, text, language="console")
        return [block]


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_directive("command-output", CommandOutput)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
