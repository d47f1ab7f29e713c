"""
One picture for each question
=============================

``effect.plots`` and ``posterior.plots`` draw what the tables hold: one method, one picture, ``ax=`` in, axes out. All
are one column wide, keep colours apart for people who do not see red or green, and can be read in grey. Paths and
residuals are those of straight lines, ``terms=None``.
"""

import alldags as ad

study = ad.datasets.example()
posterior = ad.fit(study.table, study.graph, terms=None, rng=0)
effect = posterior.effect("smoking", "risk")

# %%
# Which effects on risk are there? An interval that is drawn without its dot filled would say that no effect is more
# likely than one.

ax = posterior.plots.effects_on("risk")

# %%
# The part of the graph on which the effect rests. Of a large graph the rest of each tier is folded into one box.

ax = effect.plots.graph(limit=5)

# %%
# How does smoking act? Along three paths, whose means add up.

ax = effect.plots.paths()

# %%
# What would it help to know? The effect without and with each uncertain edge, and the share of the variance that
# knowing it would remove.

ax = effect.plots.influence(limit=6)

# %%
# How much of the uncertainty comes from not knowing the graph?

ax = effect.plots.spread([posterior.effect(name, "risk") for name in ("tar", "exercise", "sex")])

# %%
# What would happen to a new person whose smoking is set to some value?

ax = effect.plots.do()

# %%
# An effect that may not exist: a bar for the chance that there is none, and mean and interval given that there is one.

ax = posterior.effect("sex", "risk").plot()

# %%

ax = posterior.effect("sex", "risk").plots.given_effect()

# %%
# Is a straight line good enough? Residuals of rows grouped by what the regression foretells should lie around zero.

ax = posterior.checks("smoking", "risk").plot_residuals("risk")

# %%
# What the data did to each edge: all probabilities at once, and those that moved most.

ax = posterior.plots.edges()

# %%

ax = posterior.plots.prior(limit=10)

# %%
# Do other ways of computing agree? ``k2`` searches for one graph and forgets that there are others; ``full`` takes
# every candidate edge.

others = {
    engine: ad.fit(study.table, study.graph, engine=engine, rng=0).effect("smoking", "risk")
    for engine in ("mcmc", "k2", "full")
}
ax = effect.plots.compared(others, name="exact")

# %%
# The chains of a regression that was sampled: they should cross each other all the time.

axes = ad.fit(study.table, study.graph, engine="mcmc", rng=0).plots.traces("risk", limit=3)
