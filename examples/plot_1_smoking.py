"""
An effect under 65,536 graphs
=============================

The built-in example: 500 made-up people, seven variables, sixteen edges that may or may not exist. How much does one
more cigarette a day raise the risk score? Straight lines (``terms=None``) make the sum over graphs exact.
"""

import alldags as ad

study = ad.datasets.example()
posterior = ad.fit(study.table, study.graph, terms=None, rng=0)
effect = posterior.effect(treatment="smoking", outcome="risk")
print(effect)

# %%
# The whole posterior. Its broad top is made of two groups of graphs, those with and those without a direct effect of
# smoking. A probability of no effect at all would be drawn as a bar of its own at zero; here it is below 0.1%.

ax = effect.plot()

# %%
# What was believed about the edges before the data ...

ax = study.graph.plot(treatment="smoking", outcome="risk")

# %%
# ... and after. The wider and darker an edge, the more probable.

ax = posterior.plot(treatment="smoking", outcome="risk")

# %%
# The most probable graphs, and what acts on risk in them. None is probable enough to be trusted alone.

for graph in posterior.top_graphs(4):
    causes = [cause for cause, effect in graph.edges if effect == "risk"]
    print(f"{graph.probability:.2f}  {len(graph.edges)} edges; risk <- {', '.join(causes)}")
