"""The tokens of DOT and dagitty text: words, quoted strings, arrows and punctuation, each with its line."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

from alldags.errors import GraphError

Kind: TypeAlias = Literal["word", "string", "arrow", "punctuation", "end"]

_PUNCTUATION = frozenset("{}[];,=:+")
_ARROWS = ("<->", "->", "<-", "--")  # longest first


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of the text.

    Parameters
    ----------
    kind
        What it is; a string never has the meaning of a keyword or an arrow.
    text
        Its content, quotes and escapes removed.
    line
        Where it starts, counted from 1.
    """

    kind: Kind
    text: str
    line: int


def tokenize(text: str, *, html: bool) -> Iterator[Token]:
    """Yield the tokens of `text`, then one of kind ``"end"``.

    With `html`, ``<...>`` is a string, as in DOT; without, ``<-`` and ``<->`` are arrows, as in dagitty.
    """
    position, line = 0, 1
    after_word = False
    while position < len(text):
        kind, content, end = _next(text, position, line, html=html)
        if kind == "word" and after_word:
            raise GraphError(f"line {line}: unexpected {content!r}; put names with special characters in double quotes")
        if kind is not None:
            yield Token(kind, content, line)
        after_word = kind == "word"
        line += text.count("\n", position, end)
        position = end
    yield Token("end", "the end of the text", line)


def _next(text: str, start: int, line: int, *, html: bool) -> tuple[Kind | None, str, int]:
    """Return kind (None for spaces and comments), content and end of what starts at `start`."""
    char = text[start]
    blank = _after_blank(text, start, line)
    if blank > start:
        return None, "", blank
    if char == '"':
        return "string", *_quoted(text, start, line)
    if char == "<" and html:
        return "string", *_html(text, start, line)
    arrow = next((arrow for arrow in _ARROWS if text.startswith(arrow, start)), None)
    if arrow:
        return "arrow", arrow, start + len(arrow)
    if char in _PUNCTUATION:
        return "punctuation", char, start + 1
    return "word", *_word(text, start, line)


def _after_blank(text: str, start: int, line: int) -> int:
    """Return the end of the space or comment at `start`, or `start` if there is none."""
    if text[start].isspace():
        return start + 1
    if text[start] == "#" or text.startswith("//", start):
        end = text.find("\n", start)
        return len(text) if end < 0 else end
    if not text.startswith("/*", start):
        return start
    end = text.find("*/", start + 2)
    if end < 0:
        raise GraphError(f"line {line}: a comment /* is not closed with */")
    return end + 2


def _quoted(text: str, start: int, line: int) -> tuple[str, int]:
    r"""Read a string in double quotes: ``\"`` is a quote, ``\\`` a backslash; one at a line's end is dropped."""
    content: list[str] = []
    position = start + 1
    while position < len(text):
        char = text[position]
        if char == '"':
            return "".join(content), position + 1
        if char == "\\" and text[position + 1 : position + 2] in ('"', "\\", "\n"):
            char = text[position + 1].replace("\n", "")
            position += 1
        content.append(char)
        position += 1
    raise GraphError(f'line {line}: a name that starts with " is not closed')


def _html(text: str, start: int, line: int) -> tuple[str, int]:
    depth = 0
    for position in range(start, len(text)):
        depth += (text[position] == "<") - (text[position] == ">")
        if depth == 0:
            return text[start : position + 1], position + 1
    raise GraphError(f"line {line}: a < is not closed with >")


def _word(text: str, start: int, line: int) -> tuple[str, int]:
    # a minus sign can only start a number
    end = start + 1 if text[start] == "-" else start
    while end < len(text) and _in_word(text[end]):
        end += 1
    word = text[start:end]
    if not word or word == "-":
        raise GraphError(f"line {line}: unexpected {text[start]!r}; put names with special characters in double quotes")
    return word, end


def _in_word(char: str) -> bool:
    return char in "_." or char.isalnum() or (ord(char) > 127 and not char.isspace())


def quoted(name: str, keywords: frozenset[str]) -> str:
    """Return `name` as it is written in DOT and dagitty: bare if it is a plain word, else in double quotes."""
    plain = name.isascii() and name.isidentifier() and name.lower() not in keywords
    return name if plain else '"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"'
