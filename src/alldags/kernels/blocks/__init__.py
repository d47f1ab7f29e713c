"""Compiled loops for blocks of variables whose order is open."""
