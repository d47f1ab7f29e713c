"""Options in messages: marked places, which Python and the command line each put into their own words.

A message is an ordinary string with marks in it, made by an f-string: ``f"use {option('families', 'normal')}"``. Errors
and notes read it in the words of Python; the command line asks them for its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

_OPEN, _OR, _CLOSE = "\x01", "\x02", "\x03"  # no message has them otherwise, and nothing splits words at them
_OTHER_NAMES = {"families": "family"}


def option(name: str, *values: object) -> str:
    """Return the mark of an option: with a value, with a choice of values, or alone.

    Examples
    --------
    >>> from alldags.wording import in_python, on_command_line, option
    >>> said = f"use {option('engine', 'auto', 'exact')} without {option('weight_kind')}"
    >>> print(in_python(said)), print(on_command_line(said))
    use engine='auto' or 'exact' without weight_kind=
    use --engine auto or exact without --weight-kind
    (None, None)
    >>> said = option("families", {"death": "bernoulli", "visits": "poisson"})
    >>> print(in_python(said)), print(on_command_line(said))
    families={'death': 'bernoulli', 'visits': 'poisson'}
    --family death=bernoulli --family visits=poisson
    (None, None)
    """
    flag = f"--{_OTHER_NAMES.get(name, name).replace('_', '-')}"
    if len(values) == 1 and isinstance(values[0], Mapping):
        command = " ".join(f"{flag} {key}={value}" for key, value in values[0].items())
    else:
        command = f"{flag} {_choice(_typed(value) for value in values if value is not True)}".rstrip()
    return either(f"{name}={_choice(map(repr, values))}", command)


def _typed(value: object) -> str:
    """Return a value as it is typed on the command line: names of a list with commas between them."""
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)


def either(python: str, command: str) -> str:
    """Return the mark of words that Python and the command line do not share.

    Examples
    --------
    >>> from alldags.wording import either, on_command_line
    >>> on_command_line(f"ask {either('posterior.checks()', 'with --checks')}")
    'ask with --checks'
    """
    return f"{_OPEN}{python}{_OR}{command}{_CLOSE}"


def in_python(message: str, quote: str = "") -> str:
    """Return a message in the words of Python, what was marked between quotes."""
    return _worded(message, 0, quote)


def on_command_line(message: str) -> str:
    """Return a message in the words of the command line."""
    return _worded(message, 1)


def _choice(values: Iterable[str]) -> str:
    *first, last = tuple(values) or ("",)
    return f"{', '.join(first)} or {last}" if first else last


def _worded(message: str, front: int, quote: str = "") -> str:
    plain, *marked = message.split(_OPEN)
    for part in marked:
        words, _, rest = part.partition(_CLOSE)
        plain += f"{quote}{words.partition(_OR)[2 * front]}{quote}{rest}"
    return plain
