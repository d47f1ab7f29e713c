"""Engines for blocks: ways from the problem of several variables, whose order is open, to their joint posterior."""
