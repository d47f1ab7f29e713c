"""Nearly right inputs out of right ones: of text, of bytes, of JSON, of lists of words."""

from __future__ import annotations

import json
from collections.abc import Sequence
from random import Random
from typing import Any

LONGEST = 20_000  # characters of an input: what grows faster than its length shows long before that

NUMBERS = (
    "0", "-0", "1", "-1", "2", "0.5", "1e308", "1e309", "-1e309", "1e-320", "1e-160", "5e-324", "nan", "NaN", "inf",
    "-inf", "Infinity", "1e5", "1,5", "1.5.2", "0x10", "0b1", "1_000", "1,000.5", "९", "½", "--1", "+1", ".5", "5.",
    "9007199254740993", "18446744073709551616", "-9223372036854775809", "1e", "e1", "NA", "null", "None", "true",
    "TRUE", "1" * 400, "0." + "3" * 400, "1 2", "1;2", "１", "\u06651", "1\u00a0000", "$1", "1%", "2024-01-01",
)  # fmt: skip
SIGNS = (
    "", " ", "\n", "\r\n", "\r", "\t", "\x00", "\x1b[31m", "\x7f", "\x85", "\u2028", "\ufeff", "\u202e", "\ud800", "🙂",
    "é", '"', "'", '""', "\\", "\\n", "\\u0000", "{", "}", "[", "]", "(", ")", "<", ">", "->", "<-", "<->", "--", "~",
    "~~", "=~", ":=", "=", "==", ":", "::", ";", ",", ".", "|", "#", "//", "/*", "*/", "*", "+", "-", "@", "&amp;",
    "<b>", "%s", "{0}", "$", "null", "true", "[[edges]]", "[edges]", "tiers", "order", "variables", "edges", "hidden",
    "probability", "cause", "effect", "dag", "digraph", "subgraph", "graph", "node", "edge", "strict", "latent",
    "exposure", "outcome", "within", "a", "b", "x", "y", "a.b", "1st", "source", "target", "id", "label", "directed",
    "--report", "--json", "-", "-h", "--", "--help", "--version",
)  # fmt: skip
VALUES: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 2**53 + 1, 2**64, -(2**63), 0.5, 1e308, 1e-320, float("nan"), float("inf"), "",
    "a", "\x00", "\ud800", "x" * 1000, [], {}, [[]], [None], {"a": 1}, [[["deep"]]], [0.5, "a"], {"class": "Prior"},
    {"number": "nan"}, {"number": "x"}, {"mapping": []}, {"mapping": [["a"]]},
)  # fmt: skip


def text(given: str, rng: Random, others: Sequence[str]) -> str:
    """Return a text after one to six changes."""
    for _ in range(rng.choice((1, 1, 1, 2, 3, 6))):
        given = rng.choice(_TEXT_CHANGES)(given, rng, others)[:LONGEST]
    return given


def _span(size: int, rng: Random) -> tuple[int, int]:
    """Return where a piece begins and ends, most often a short one."""
    begin = rng.randint(0, size)
    return begin, min(size, begin + rng.choice((0, 1, 1, 2, 5, 20, size)))


def _left_out(given: str, rng: Random, _: Sequence[str]) -> str:
    begin, end = _span(len(given), rng)
    return given[:begin] + given[end:]


def _put_in(given: str, rng: Random, _: Sequence[str]) -> str:
    begin, end = _span(len(given), rng)
    return given[:begin] + rng.choice(rng.choice((SIGNS, NUMBERS))) + given[rng.choice((begin, end)) :]


def _repeated(given: str, rng: Random, _: Sequence[str]) -> str:
    begin, end = _span(len(given), rng)
    return given[:begin] + given[begin:end] * rng.choice((2, 2, 3, 50, 2000)) + given[end:]


def _moved(given: str, rng: Random, _: Sequence[str]) -> str:
    begin, end = _span(len(given), rng)
    rest = given[:begin] + given[end:]
    place = rng.randint(0, len(rest))
    return rest[:place] + given[begin:end] + rest[place:]


def _joined(given: str, rng: Random, others: Sequence[str]) -> str:
    other = rng.choice(others)
    return given[: rng.randint(0, len(given))] + other[rng.randint(0, len(other)) :]


def _other_letter(given: str, rng: Random, _: Sequence[str]) -> str:
    if not given:
        return chr(rng.randint(0, 255))
    place = rng.randrange(len(given))
    return given[:place] + chr(rng.choice((rng.randint(0, 127), rng.randint(128, 0xD7FF)))) + given[place + 1 :]


def _other_number(given: str, rng: Random, _: Sequence[str]) -> str:
    places = [i for i, letter in enumerate(given) if letter.isdigit()]
    if not places:
        return given + rng.choice(NUMBERS)
    place = rng.choice(places)
    end = place
    while end < len(given) and (given[end].isdigit() or given[end] == "."):
        end += 1
    return given[:place] + rng.choice(NUMBERS) + given[end:]


def _lines_changed(given: str, rng: Random, _: Sequence[str]) -> str:
    lines = given.splitlines(keepends=True)
    if len(lines) > 1:
        i, j = rng.randrange(len(lines)), rng.randrange(len(lines))
        lines[i], lines[j] = lines[j], rng.choice((lines[i], "", "\n", lines[i].strip()))
    return "".join(lines)


_TEXT_CHANGES = (
    _left_out, _put_in, _put_in, _put_in, _repeated, _moved, _joined, _other_letter, _other_number, _lines_changed
)  # fmt: skip


def content(given: bytes, rng: Random, others: Sequence[bytes]) -> bytes:
    """Return the bytes of a file after one to six changes that know nothing of its format."""
    given = bytearray(given)
    for _ in range(rng.choice((1, 1, 2, 3, 6))):
        begin, end = _span(len(given), rng)
        match rng.randrange(6):
            case 0:
                del given[begin:end]
            case 1 if given:
                given[rng.randrange(len(given))] = rng.randrange(256)
            case 2:
                given[begin:end] = bytes(rng.randrange(256) for _ in range(end - begin if end - begin < 50 else 50))
            case 3:
                given[begin:end] = rng.choice(others)[begin:end]
            case 4:
                given[begin:begin] = given[begin:end]
            case _:
                given[begin:end] = rng.choice((b"\xff", b"\x00", b"\x80", b"\x7f")) * (end - begin)
    return bytes(given)


def tree(given: Any, rng: Random) -> Any:
    """Return a copy of a tree of JSON after one to three changes: other values, names, kinds."""
    copy = json.loads(json.dumps(given))
    for _ in range(rng.choice((1, 1, 2, 3))):
        copy = _tree_changed(copy, rng)
    return copy


def _tree_changed(given: Any, rng: Random) -> Any:
    places = list(_places(given))
    if not places:
        return rng.choice(VALUES)
    holder, key = rng.choice(places)
    match rng.randrange(6):
        case 0:
            del holder[key]
        case 1 if isinstance(holder, dict):
            holder[rng.choice(("", "class", "name", str(key) + "s"))] = holder.pop(key)
        case 2:
            other_holder, other_key = rng.choice(places)
            holder[key] = json.loads(json.dumps(other_holder[other_key]))
        case 3 if isinstance(holder, list):
            holder.insert(rng.randint(0, len(holder)), json.loads(json.dumps(holder[key])))
        case 4 if isinstance(holder[key], int | float) and not isinstance(holder[key], bool):
            holder[key] = rng.choice((-holder[key], holder[key] + 1, holder[key] * 1e300, str(holder[key])))
        case _:
            holder[key] = json.loads(json.dumps(rng.choice(VALUES)))
    return given


def _places(given: Any, deepest: int = 8) -> Any:
    if isinstance(given, dict):
        pairs = list(given.items())
    elif isinstance(given, list):
        pairs = list(enumerate(given))[:40]
    else:
        return
    for key, value in pairs:
        yield given, key
        if deepest:
            yield from _places(value, deepest - 1)


def words(given: Sequence[str], rng: Random, vocabulary: Sequence[str]) -> list[str]:
    """Return a list of words after one to four changes; never with a slash, so that no path leaves the folder."""
    found = list(given)
    for _ in range(rng.choice((1, 1, 2, 4))):
        place = rng.randint(0, len(found))
        match rng.randrange(6):
            case 0 if found:
                del found[min(place, len(found) - 1)]
            case 1:
                found.insert(place, rng.choice(vocabulary))
            case 2 if found:
                found[min(place, len(found) - 1)] = rng.choice(vocabulary)
            case 3:
                found.insert(place, rng.choice(rng.choice((NUMBERS, SIGNS))))
            case 4 if found:
                place = min(place, len(found) - 1)
                found[place] = text(found[place], rng, vocabulary)
            case _ if len(found) > 1:
                i, j = rng.randrange(len(found)), rng.randrange(len(found))
                found[i], found[j] = found[j], found[i]
    return [_harmless(word) for word in found]


def _harmless(word: str) -> str:
    kept = "".join(letter for letter in word if letter not in "/\\~\x00" and not "\ud800" <= letter <= "\udfff")
    return kept if kept.strip(".") else kept.replace(".", "")
