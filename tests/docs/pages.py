"""Run the code of a documentation page and compare what it prints with what the page shows.

``python`` blocks are run in order in one namespace; a ``text`` block that follows shows what they print. In ``console``
blocks, lines that start with ``$ alldags`` are commands, and the lines that follow them are their output.
Called as a script, this writes the present output into the pages that are named, or into all of them.
"""

from __future__ import annotations

import contextlib
import io
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).parents[2]
PAGES = (
    "README.md",
    "docs/index.md",
    "docs/quickstart.md",
    "docs/explanation/factorisation.md",
    "docs/how-to/add-your-own.md",
    "docs/how-to/unknown-order.md",
    "docs/how-to/yes-no.md",
    "docs/how-to/heavy-tails.md",
    "docs/how-to/outcomes.md",
    "docs/how-to/survival.md",
    "docs/how-to/unmeasured.md",
    "docs/how-to/instruments.md",
    "docs/how-to/share-moments.md",
    "docs/how-to/checks.md",
    "docs/how-to/save.md",
    "docs/how-to/categories.md",
    "docs/how-to/fixed-effects.md",
    "docs/how-to/measurement-error.md",
    "docs/how-to/over-time.md",
    "docs/how-to/mediation.md",
)
DATA_PAGES = (
    "docs/how-to/any-intervention.md",
    "docs/how-to/decide.md",
    "docs/how-to/marginaleffects.md",
    "docs/how-to/curves.md",
    "docs/how-to/experiments.md",
    "docs/how-to/missing.md",
    "docs/how-to/weights-and-clusters.md",
    "docs/tutorials/ihdp.md",
    "docs/tutorials/lalonde.md",
    "docs/tutorials/magic-niab.md",
    "docs/tutorials/twins.md",
)  # public data; or sampled, so that another processor may print other last digits
TEXTBOOK_PAGES = (
    "docs/tutorials/card.md",
    "docs/tutorials/macro.md",
    "docs/tutorials/nhefs.md",
    "docs/tutorials/thornton.md",
)  # their data come with causaldata, and with statsmodels, which it brings
DOWHY_PAGES = ("docs/how-to/other-libraries.md",)  # run where dowhy is installed
_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_NUMBER = re.compile(r"(?<![\w.])-?\d[\d,]*(?:\.\d+)?(?:e-?\d+)?")


@dataclass(frozen=True)
class Output:
    """What a page shows as output, where it stands, and what running the code prints."""

    start: int
    end: int
    shown: str
    printed: str


def run_page(text: str) -> list[Output]:
    """Run all code of a page."""
    module = sys.modules["page"] = ModuleType("page")  # dataclasses look up the module of their class
    names = vars(module)
    printed, outputs = "", []
    for block in _BLOCK.finditer(text):
        language, body = block.groups()
        if language == "python":
            printed += run_python(body, names)
        elif language == "text":
            outputs.append(Output(block.start(2), block.end(2), body, printed))
            printed = ""
        elif language == "console" and body.startswith("$ alldags"):
            command, _, shown = body.partition("\n")
            start, output = block.start(2) + len(command) + 1, run_command(command[2:])
            if shown:  # a command alone has to work, whatever it prints
                outputs.append(Output(start, block.end(2), shown, output))
    return outputs


def page_module(path: Path, name: str) -> ModuleType:
    """Return what the code of a page defines, as a module that can be imported by name."""
    module = sys.modules[name] = ModuleType(name)
    for block in _BLOCK.finditer(path.read_text(encoding="utf-8")):
        if block.group(1) == "python":
            run_python(block.group(2), vars(module))
    return module


def run_python(code: str, names: dict[str, object]) -> str:
    stream = io.StringIO()
    with contextlib.redirect_stdout(stream):
        exec(compile(code, "<page>", "exec"), names)
    return stream.getvalue()


def run_command(line: str) -> str:
    program = [sys.executable, "-c", "from alldags.cli import main; main()"]
    done = subprocess.run(
        [*program, *shlex.split(line)[1:]], capture_output=True, text=True, cwd=ROOT, check=True, encoding="utf-8"
    )
    return done.stdout


def words_and_numbers(text: str) -> tuple[str, list[str]]:
    """Split a text into its words, spacing evened out, and its numbers as they are written."""
    numbers = [number.replace(",", "") for number in _NUMBER.findall(text)]
    return " ".join(_NUMBER.sub("#", text).split()), numbers


def differ(shown: str, printed: str, slack: float = 0.0) -> bool:
    """Tell whether two numbers differ by more than one in the last digit written, and by more than a share of them."""
    most = slack * max(abs(float(shown)), 0.2)
    return abs(float(shown) - float(printed)) > 1.001 * max(last_digit(shown), last_digit(printed)) + most


def last_digit(number: str) -> float:
    """Return what one in the last digit of a written number is worth."""
    mantissa, _, exponent = number.partition("e")
    return 10.0 ** (int(exponent or 0) - len(mantissa.partition(".")[2]))


def is_pinned() -> bool:
    """Tell whether numbers are computed by the versions that everybody develops with: others draw other numbers."""
    pinned = dict(line.split("==") for line in (ROOT / "constraints.txt").read_text(encoding="utf-8").split())
    return all(version(name) == pinned[name] for name in ("numpy", "scipy", "numba"))


def update(path: Path) -> None:
    """Write the present output into a page."""
    text = path.read_text(encoding="utf-8")
    for output in reversed(run_page(text)):
        text = text[: output.start] + output.printed.rstrip("\n") + "\n" + text[output.end :]
    path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    for name in sys.argv[1:] or PAGES + DATA_PAGES + TEXTBOOK_PAGES + DOWHY_PAGES:
        update(ROOT / name)
