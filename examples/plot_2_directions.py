"""When the direction is in doubt
==============================

Does stress disturb sleep, or does poor sleep cause stress? One candidate graph cannot hold both directions, so write down
one graph for each view and pass the list. Each is weighed by how well it explains the data.
"""

import matplotlib.pyplot as plt
import numpy as np

import alldags as ad

rng = np.random.default_rng(1)
n = 300
workload = rng.normal(size=n)
stress = 0.9 * workload + rng.normal(size=n)
sleep = -0.5 * stress + rng.normal(size=n)
pain = 0.6 * sleep + 0.3 * stress + rng.normal(size=n)
table = {"workload": workload, "stress": stress, "sleep": sleep, "pain": pain}

# %%
# In both graphs workload may act on everything and everything may act on pain. They differ in one direction.

stress_first = ad.CandidateGraph.from_order(["workload", "stress", "sleep", "pain"])
sleep_first = ad.CandidateGraph.from_order(["workload", "sleep", "stress", "pain"])
posterior = ad.fit(table, [stress_first, sleep_first], weights=[0.5, 0.5], rng=0)
for name, weight in zip(["stress -> sleep", "sleep -> stress"], posterior.weights, strict=True):
    print(f"{name}: probability {weight:.3f}")

# %%
# Direction alone leaves no trace in the correlation of two variables. Here workload helps: it drives stress, and sleep
# is independent of it once stress is known. Without such a variable the two graphs would stay close to even.
#
# The answer is a mixture of both views; under the second one sleep is not affected by stress at all.

effect = posterior.effect(treatment="stress", outcome="pain")
print(effect)

# %%

figure, axes = plt.subplots(1, 2, figsize=(9, 3.5))
for graph, weight, ax in zip([stress_first, sleep_first], posterior.weights, axes, strict=True):
    graph.plot(ax=ax, treatment="stress", outcome="pain")
    ax.set_title(f"probability {weight:.3f}")
figure.tight_layout()
