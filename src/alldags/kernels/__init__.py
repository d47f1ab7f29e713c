"""Compiled loops: plain functions of float64 arrays, each with a slow twin in ``tests/naive.py`` that it must equal."""
