"""Imports go one way: what the contracts in pyproject.toml cannot say.

Imports inside functions count; those made for type hints only do not.
"""

from __future__ import annotations

import ast
from pathlib import Path

import grimp
import networkx as nx
import pytest

import naive

KERNELS = "alldags.kernels"


@pytest.fixture(scope="module")
def imports() -> nx.DiGraph:
    """An arrow from each module to every module it imports."""
    package = grimp.build_graph("alldags", "replication", exclude_type_checking_imports=True, cache_dir=None)
    arrows = nx.DiGraph()
    arrows.add_nodes_from(package.modules)
    for module in package.modules:
        arrows.add_edges_from((module, other) for other in package.find_modules_directly_imported_by(module))
    return arrows


def cycles(arrows: nx.DiGraph) -> list[list[str]]:
    return [sorted(group) for group in nx.strongly_connected_components(arrows) if len(group) > 1]


def test_no_module_imports_itself_through_others(imports):
    assert len(imports) > 100
    assert cycles(imports) == []


def test_a_cycle_would_be_seen(imports):
    closed = imports.copy()
    closed.add_edge("alldags.errors", "alldags.fitting")
    assert "alldags.errors" in cycles(closed)[0]


def test_kernels_import_kernels_and_type_names_only(imports):
    kernels = [name for name in imports if name.startswith(KERNELS)]
    assert len(kernels) > 10
    outside = {(name, other) for name in kernels for other in imports[name] if not other.startswith(KERNELS)}
    assert {other for _, other in outside} <= {"alldags.typing"}


def imported(path: Path) -> set[str]:
    """Return the modules a file imports, anywhere in it."""
    found = set()
    for item in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(item, ast.Import):
            found |= {name.name for name in item.names}
        elif isinstance(item, ast.ImportFrom):
            found |= {item.module or "", *(f"{item.module}.{name.name}" for name in item.names)}
    return found


def test_slow_twins_share_no_algebra_with_the_package():
    twins = sorted(Path(naive.__file__).parent.glob("*.py"))
    assert len(twins) >= 8
    algebra = ("alldags.engines", "alldags.effects", "alldags.models", "alldags.results", "problems")
    shared = {(path.name, name) for path in twins for name in imported(path) if name.startswith(algebra)}
    assert shared == set()
    whole = {path.name for path in twins if "alldags" in imported(path)}
    assert whole == set()  # `import alldags` would open every door
