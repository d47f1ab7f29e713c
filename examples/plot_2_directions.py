"""
When the direction is in doubt
==============================

Does stress disturb sleep, or does poor sleep cause stress? One candidate graph cannot hold both directions, so write
down one graph for each view and pass the list. Each is weighed by how well it explains the data.
"""

import matplotlib.pyplot as plt
import numpy as np

import alldags as ad

rng = np.random.default_rng(1)
n = 300
workload = rng.normal(size=n)
stress = 0.9 * workload + rng.normal(size=n)
sleep = -0.5 * stress + rng.normal(size=n)
pain = -0.6 * sleep + 0.3 * stress + rng.normal(size=n)
table = {"workload": workload, "stress": stress, "sleep": sleep, "pain": pain}

# %%
# In both graphs workload may act on everything and everything may act on pain. They differ in one direction.

stress_first = ad.CandidateGraph.from_order(["workload", "stress", "sleep", "pain"])
sleep_first = ad.CandidateGraph.from_order(["workload", "sleep", "stress", "pain"])
graphs = [stress_first, sleep_first]
posterior = ad.fit(table, graphs, graph_weights=[0.5, 0.5], terms=None, rng=0)
print(f"stress -> sleep: probability {posterior.graph_probabilities[0]:.2f}")
print(f"sleep -> stress: probability {posterior.graph_probabilities[1]:.2f}")

# %%
# The correlation of two variables says nothing about a direction. Here workload helps: it drives stress, and sleep is
# independent of it once stress is known. Without such a variable the two graphs would stay close to even.

figure, axes = plt.subplots(2, 1, figsize=(6, 6))
for graph, weight, ax in zip(graphs, posterior.graph_probabilities, axes, strict=True):
    graph.plot(ax=ax, treatment="stress", outcome="pain")
    ax.set_title(f"probability {weight:.2f}")

# %%
# The answer is a mixture of both views. In the second one, stress does not act on sleep, so that only its direct effect
# on pain is left: this is the smaller hump. In truth the effect is 0.3 + 0.5 · 0.6 = 0.6.

effect = posterior.effect(treatment="stress", outcome="pain")
print(effect)

# %%

ax = effect.plot()
