"""
Curves, yes/no outcomes and groups
==================================

What is drawn of an answer that is no straight line. The data are made up: older people gain more from a programme, the
gain from hours of training levels off, and whether somebody finds work is a yes or no.
"""

import numpy as np

import alldags as ad

rng = np.random.default_rng(3)
n = 800
age, school = rng.uniform(20, 60, n), rng.choice(["none", "some", "degree"], n)
joined = (rng.random(n) < 1 / (1 + np.exp((40 - age) / 10))).astype(float)
hours = rng.gamma(3.0, 4.0, n)
pay = 20 + joined * (age - 20) / 8 + 6 * np.log1p(hours) + 4.0 * (school == "degree") + 3 * rng.standard_normal(n)
work = (rng.random(n) < 1 / (1 + np.exp(1.5 - 0.8 * joined - 0.03 * (age - 40)))).astype(float)
table = {"age": age, "school": school, "hours": hours, "joined": joined, "pay": pay, "work": work}
named = {"confounders": ["age", "school", "hours"], "rng": 0}

# %%
# Who benefits? The effect of joining on pay, for rows of each age.

effect = ad.effect(table, treatment="joined", outcome="pay", **named)
print(effect)
ax = effect.plots.rows("age")

# %%
# How much of what? Mean pay when hours are set to a value: the gain levels off.

trained = ad.effect(table, treatment="hours", outcome="pay", confounders=["age", "school"], rng=0)
ax = trained.plots.curve()

# %%
# A yes/no outcome: the difference of probabilities.

found = ad.effect(table, treatment="joined", outcome="work", **named)
ax = found.plot()

# %%
# How strong would an unmeasured common cause have to be? Along each line the estimate would be the same.

ax = found.sensitivity().plot()

# %%
# A treatment of several levels: what each does to the mean.

levels = ad.effect(table, treatment="school", outcome="pay", confounders=["age"], mediators=["joined", "hours"], rng=0)
print(levels.contrasts())
ax = levels.contrast("none", "degree").plot()
