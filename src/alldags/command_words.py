"""What the library says, in the words of the command line: options where a message names keywords of Python."""

from __future__ import annotations

import re
from collections.abc import Callable

_VALUE = r"'([^']*)'"
_LIST = r"'[^']*'(?:(?:, | or )'[^']*')*"
_PLAIN = "interventions|cluster|weights|auxiliary|imputations|randomized"
_SAME = "missing|weight_kind|engine|terms|prior"


def with_options(message: str) -> str:
    """Name options and commands where a message of the library names keywords, methods and functions.

    Examples
    --------
    >>> from alldags.command_words import with_options
    >>> with_options("see fit(..., terms='auto')")
    'see --terms auto'
    >>> with_options("use families='normal', or engine='auto' or 'exact'")
    'use --family normal, or --engine auto or exact'
    """
    for pattern, words in _RULES:
        message = re.sub(pattern, words, message)
    return message


def _option(name: str, value: str) -> str:
    return f"--{name.replace('_', '-')} {value}"


def _listed(found: re.Match[str]) -> str:
    return _option(found[1], found[2].replace("'", ""))


def _families(found: re.Match[str]) -> str:
    pairs = re.findall(rf"{_VALUE}\s*:\s*{_VALUE}", found[1].replace('"', "'"))
    return " ".join(f"--family {name}={family}" for name, family in pairs) or "--family NAME=FAMILY"


# in this order: what holds another rule's words comes first
_RULES: tuple[tuple[str, str | Callable[[re.Match[str]], str]], ...] = (
    (r"drop_missing=True", "--drop-missing"),
    (r"robust=False", "--no-robust"),
    (r"let fit fill them in, with", "fill them in:"),
    (r"families='auto' uses risks where it can", "without --family normal they are risks where that is possible"),
    (r"\bfamilies=\{([^}]*)\}", _families),
    (r"\bfamilies='normal'", "--family normal"),
    (r"\bfamilies=(?!['{])\s*", "--family "),
    (r"\bfit\(\.\.\., ([^()]*)\)", r"\1"),
    (r"\bfit with terms=\{[^}]*\}", "--terms auto"),
    (rf"\b({_SAME})=({_LIST})", _listed),
    (r"\bPrior\(intercept=True\)", "leave out --prior paper"),
    (r"\b(?:Prior\()?(slab_variance|noise_precision|link)=([\d.]+)\)?", lambda found: _option(found[1], found[2])),
    (r"say so: graph\.instrument\([^)]*\)", "leave its other edges out of the graph"),
    (r"\bgraph\.uncalibrated\(\)", "calibrate = false in the graph file"),
    (r"\bposterior\.edge_probabilities\(\)", "alldags edges"),
    (r"\beffect\.edge_influence\(\)", "alldags effect --influence"),
    (r"\b(?:posterior\.)?checks\(\)", "--checks"),
    (r"\beffect\.(sensitivity|paths)\(\)", r"--\1"),
    (rf"\b({_PLAIN})=\s*", r"--\1 "),
)
