"""Missing values drawn in the graph: each by its own regression and those of all that comes after it."""
