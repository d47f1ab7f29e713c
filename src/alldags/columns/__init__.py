"""Columns: what a regression is made of, computed from a row's causes; one kind a file."""
