"""
Which edge is worth finding out about?
======================================

The answer is averaged over all graphs, but some doubts about the graph matter for it and most do not. For every
uncertain edge, ``edge_influence`` tells the answer with and without the edge, and how much of the posterior variance
would be gone if somebody found out: exactly, for straight lines (``terms=None``).
"""

import math

import matplotlib.pyplot as plt

import alldags as ad

study = ad.datasets.example()
effect = ad.fit(study.table, study.graph, terms=None, rng=0).effect("smoking", "risk")
table = effect.edge_influence()
rows = list(table.rows())[:5]
print("edge                posterior  if present  if absent  variance removed")
for row in rows:
    edge = f"{row['cause']} -> {row['effect']}"
    effects = f"{row['effect_if_present']:10.3f}  {row['effect_if_absent']:9.3f}"
    print(f"{edge:18}  {row['posterior']:9.2f}  {effects}  {row['variance_removed']:16.2%}")

# %%
# One edge carries nearly all of it: a study that settles whether smoking acts on risk directly would remove about two
# fifths of the variance. The other edges are either settled by the data or do not matter for this question.

figure, ax = plt.subplots(figsize=(7, 3))
for place, row in enumerate(reversed(rows)):
    absent, present = row["effect_if_absent"], row["effect_if_present"]
    ax.plot([absent, present], [place, place], color="0.6", zorder=1)
    ax.scatter(absent, place, facecolor="white", edgecolor="C0", zorder=2)
    ax.scatter(present, place, color="C0", zorder=2)
ax.axvline(effect.mean, color="0.3", linestyle=":")
labels = [f"{row['cause']} → {row['effect']}" for row in reversed(rows)]
ax.set_yticks(range(len(rows)), labels)
ax.set_xlabel("effect of smoking on risk; open: edge absent, filled: present")
figure.tight_layout()

# %%
# Would the conclusion change if you had believed something else? ``sign_flips_at`` is the prior probability of an edge
# at which the mean effect would change its sign, all else equal. Here no single edge can do that.

flips = [row for row in table.rows() if not math.isnan(row["sign_flips_at"])]
print("edges that could change the sign:", flips or "none")
