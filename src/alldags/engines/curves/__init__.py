"""Regressions on derived columns: bends, products and learned directions, averaged over structures of modification.

`make` and `learn` make columns from rows, `moments` adds up their cross-products, `structures` fits what they may be
combined to, `fit` weighs these, and `posterior` is the node that the rest of the house sees.
"""
