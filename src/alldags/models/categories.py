"""Variables that are categories: what may be asked about them."""

from __future__ import annotations

from alldags.errors import AlldagsError

_ADVICE = "compare two levels: keep their rows alone, or make a 0/1 column of one level against the others"


def category_question(name: str, role: str, levels: int) -> AlldagsError:
    """Say that no effect is about a category."""
    return AlldagsError(
        f"the {role} {name!r} is a category with {levels} levels, which no single number moves; {_ADVICE}"
    )
