"""Closed forms of the conjugate model: one setting as arrays, one parent set, several settings."""
