"""Pairs of variables with correlated errors: what a hidden common cause of two variables makes of their regressions.

Given the correlation and a ratio of two noise scales, both regressions are one, with twice as many rows
(`alldags.kernels.pairs`); the two numbers go on a grid, as slabs do. `PairProblem` goes in, `PairPosterior` comes out;
each of the two variables has its own `NodePosterior` from it, whose draws go together with those of the other.
"""
