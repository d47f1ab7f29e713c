"""Nodes that are not normal: an engine's posterior of their quadratic, and draws from it that are weighed.

`expansion` finds the quadratic, `weighing` weighs draws under it, `chains` samples where weights cannot be trusted, and
`fit` puts the three together. What differs between families is theirs (`alldags.families`).
"""
