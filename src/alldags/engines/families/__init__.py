"""Nodes that are not normal: a quadratic expansion that the other engines take, made exact by importance weights."""
