"""The command line: parse, call the library, print."""

from __future__ import annotations

import os
import sys
from io import TextIOWrapper
from typing import NoReturn

from cyclopts import App, CycloptsError, MissingArgumentError

import alldags
from alldags.cli import effect, graph, others, steps, tables
from alldags.cli.printing import filled, print_json
from alldags.cli.study import FORGOTTEN
from alldags.errors import AlldagsError
from alldags.text import printable, shortened

app = App(
    name="alldags",
    help="Causal effects averaged over every DAG you cannot rule out.",
    version=alldags.__version__,
    help_format="plaintext",
)
if hasattr(app, "suppress_keyboard_interrupt"):  # newer versions would end without a word
    app.suppress_keyboard_interrupt = False
app.command(others.demo)
app.command(effect.effect)
app.command(steps.decide)
app.command(steps.next_steps, name="next")
app.command(tables.effects)
app.command(tables.edges)
app.command(tables.moments)
app.command(graph.graph)
app.command(others.schema)
app.command(others.local_page, name="app")
app.command(others.reproduce)


def _describe_version() -> None:
    """Print all versions as JSON: cyclopts itself prints only our own."""
    from alldags.versions import versions

    print_json(versions(alldags.__version__))


def _run() -> None:
    if sorted(sys.argv[1:]) == ["--json", "--version"]:
        _describe_version()
    else:
        words = [
            "./-" if word == "-" else word for word in sys.argv[1:]
        ]  # standard input, which cyclopts has no word for
        app(words, exit_on_error=False, print_error=False)
    sys.stdout.flush()  # here, where a full disk or a closed pipe is answered


def main() -> None:
    """Run the command line; bad input gives one line on stderr and exit code 2."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # names may hold what the terminal cannot show
    try:
        try:
            _run()
        finally:
            sys.stdout.flush()  # what cannot be written shows here, and not after the end
    except BrokenPipeError:  # the reader of our output has seen enough
        _discard_output()
        raise SystemExit(0) from None
    except (AlldagsError, CycloptsError, OSError) as error:
        said = error.on_command_line if isinstance(error, AlldagsError) else str(error)
        _end(shortened(printable(_forgotten(error) or " ".join(said.split()))), 2)
    except (MemoryError, ImportError) as error:
        short = any(said in str(error) for said in ("map segment", "allocate memory"))  # no room for a library
        if isinstance(error, ImportError) and not short:
            raise
        _end("out of memory; use fewer rows, variables or candidate edges, or a larger machine", 2)
    except KeyboardInterrupt:
        _end("interrupted", 130)


def _forgotten(error: Exception) -> str:
    """Say what an option that was left out is for; empty for other errors."""
    if not isinstance(error, MissingArgumentError) or error.argument is None:
        return ""
    name = error.argument.name
    shown = "the file of the data" if name == "--data" else name
    return f"{shown} is missing: {FORGOTTEN[name]}" if name in FORGOTTEN else ""


def _end(message: str, code: int) -> NoReturn:
    text = f"alldags: {message}"
    print(filled(text) if sys.stderr.isatty() else text, file=sys.stderr)  # one line for programs that read it
    _discard_output()
    raise SystemExit(code) from None


def _discard_output() -> None:
    """Let what could not be written go: Python would try again at its end, and complain."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
