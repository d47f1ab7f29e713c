"""Imports go one way: what the contracts in pyproject.toml cannot say.

Imports inside functions count; those made for type hints only do not.
"""

from __future__ import annotations

import grimp
import networkx as nx
import pytest

KERNELS = "alldags.engines.kernels"


@pytest.fixture(scope="module")
def imports() -> nx.DiGraph:
    """An arrow from each module to every module it imports."""
    package = grimp.build_graph("alldags", exclude_type_checking_imports=True, cache_dir=None)
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
