"""Regressions on derived columns: curves, products, and effects that differ between rows."""
