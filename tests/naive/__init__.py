"""Slow, obvious twins of what the package computes: every graph, every path, every parent set, one at a time.

They share no algebra with the package: nothing here imports `alldags.engines`, `alldags.effects` or `alldags.models`,
so that a mistake there cannot be repeated here. What they may import are the records a problem is stated in
(`NodeProblem`, `Setting`, the noise priors) and names of types. A test holds them to it (`tests/test_imports.py`).
"""
