"""Write the names that are frozen into ``docs/reference/stable.md``: ``python tests/docs/stable.py``. Read the diff."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import alldags as ad
from alldags import records

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "reference" / "stable.md"
ROOMS = ("datasets", "engines", "priors", "schema", "sites")
WITH_MEMBERS = ("CandidateGraph", "Effect", "Imputed", "Moments", "Posterior")  # of others what they are made with
INSIDE = {
    *(
        "answer",
        "asked",
        "check_known",
        "check_present",
        "derived",
        "has_hyperparameters",
        "is_told",
        "plain",
        "sample",
    ),
    *("jackknife_or_reason", "shown", "stretch", "widened", "widened_level", "workings", "worths"),
}  # of the package's own rooms
SCHEMAS = re.compile(r'"(alldags\.[a-z_]+/\d+)"')
_BLOCK = re.compile(r"(?<=^```text\n).*?(?=^```$)", re.MULTILINE | re.DOTALL)


def frozen() -> str:
    """Return a line for each public name and each public member, with the names of its parameters."""
    lines = [*_of_names("ad", ad, [name for name in ad.__all__ if name not in (*ROOMS, "records", "__version__")])]
    for room in ROOMS:
        module = getattr(ad, room)
        lines += _of_names(f"ad.{room}", module, _public(module))
    lines += _of_names("ad.records", records, records.__all__)
    return "\n".join(dict.fromkeys(lines)) + "\n"


def _public(module: object) -> list[str]:
    said = getattr(module, "__all__", None)
    own = [name for name, value in vars(module).items() if getattr(value, "__module__", "") == module.__name__]
    return sorted(said if said is not None else [name for name in own if name[0] != "_"])


def _of_names(room: str, module: object, names: list[str]) -> Iterator[str]:
    for name in names:
        value = getattr(module, name)
        yield f"{room}.{name}{_parameters(value)}"
        if inspect.isclass(value) and (name in WITH_MEMBERS or room == "ad.records"):
            yield from _members(f"{room}.{name}", value)


def _members(owner: str, kind: type) -> Iterator[str]:
    for name in sorted(set(dir(kind)) - INSIDE - ({"effect"} if owner.startswith("ad.records") else set())):
        if name[0] != "_":
            yield f"{owner}.{name}{_parameters(inspect.getattr_static(kind, name))}"


def _parameters(value: object) -> str:
    """Return the names of what a function takes, or a class that users make; a star stands before those by name."""
    made = getattr(value, "__func__", value)
    if not inspect.isfunction(made) and (not inspect.isclass(made) or _is_returned(made)):
        return ""
    found = [one for one in inspect.signature(made).parameters.values() if one.name not in ("self", "cls")]
    names = [str(one).split(":")[0].split("=")[0] for one in found]
    by_name = [place for place, one in enumerate(found) if one.kind is one.KEYWORD_ONLY][:1]
    return f"({', '.join([*names[: by_name[0]], '*', *names[by_name[0] :]] if by_name else names)})"


def _is_returned(kind: type) -> bool:
    """Tell whether methods return it, and users do not make it."""
    return issubclass(kind, Exception) or kind in (ad.Effect, ad.Posterior) or (
        getattr(records, kind.__name__, None) is kind
    )  # fmt: skip


def schemas() -> set[str]:
    """Return the names and versions of all that is written as JSON."""
    files = (ROOT / "src" / "alldags").rglob("*.py")
    return {found for path in files for found in SCHEMAS.findall(path.read_text(encoding="utf-8"))}


def listed() -> str:
    """Return the names on the page."""
    found = _BLOCK.search(PAGE.read_text(encoding="utf-8"))
    return found.group() if found else ""


if __name__ == "__main__":
    PAGE.write_text(_BLOCK.sub(lambda _: frozen(), PAGE.read_text(encoding="utf-8"), count=1), encoding="utf-8")
