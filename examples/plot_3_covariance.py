"""
From a published correlation matrix
===================================

The rows of a study are often not public, but its correlations are. A linear model needs nothing else: the number of
rows and the matrix give the same answer as the table would.

The numbers below are made up, in the style of an appendix: parents' education, motivation, hours of practice and a test
score of 210 pupils.
"""

import alldags as ad

names = ["education", "motivation", "practice", "score"]
correlation = [
    [1.00, 0.25, 0.15, 0.35],
    [0.25, 1.00, 0.45, 0.38],
    [0.15, 0.45, 1.00, 0.42],
    [0.35, 0.38, 0.42, 1.00],
]
moments = ad.Moments.from_covariance(correlation, n=210, names=names)

# %%
# Every variable may act on every later one.

graph = ad.CandidateGraph.from_order(names, probability=0.5)
posterior = ad.fit(moments, graph, rng=0)

# %%
# From a correlation matrix effects come out in standard deviations; a covariance matrix keeps the units.

effect = posterior.effect(treatment="motivation", outcome="score")
print(effect)

# %%
# Two ways from motivation to the score, direct and through practice:

print(effect.paths())

# %%
# The direct one is in doubt. That is why the posterior has two humps: one for the graphs with it, one for those
# without.

ax = effect.plot()
