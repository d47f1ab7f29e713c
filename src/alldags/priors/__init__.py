"""Priors: what is believed before the data, each one class with its settings, its checks and its behaviour.

`prior.Prior` holds one prior of the noise (`noise`), one of the coefficients (`slabs`) and one of the edges (`edges`);
each turns itself into numbers for one node, with the grids of `grid`.
"""
