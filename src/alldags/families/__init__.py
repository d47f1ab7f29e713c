"""Families: how a child depends on the predictor that its causes make, one file each.

A family turns rows into a quadratic in the coefficients, which every engine takes as it takes a normal regression; it
says how probable rows are, so that draws under that quadratic can be weighed; and it knows a sampler for where weights
fail. None of them knows what the columns are, which graph the child is in, or which engine is used.
"""
