"""Sampling a regression with 60 candidates: effective draws a second, against NUTS on a horseshoe (NumPyro, nutpie).

Another prior for the same question, which of 60 causes act: spike and slab here, a horseshoe there. Counted is the
least effective number of draws of a coefficient, by CPU seconds of one process, warm-up included and compiling not.
Programs that are not installed are left out.
"""

from __future__ import annotations

import time
from importlib.util import find_spec

import numpy as np

import alldags as ad
from alldags.engines.mcmc import MCMC
from alldags.priors.grid import Setting
from benchmarks.bench_mcmc import regression, regression_problem
from benchmarks.report import Row, cpu_seconds

PEERS = {"numpyro": "a horseshoe in NumPyro", "nutpie": "a horseshoe in nutpie"}


def own_draws_per_second(x: np.ndarray, y: np.ndarray) -> float:
    problem = regression_problem(x, y, Setting(1.0, ad.priors.UnknownNoise()))
    engine = MCMC(sweeps=1000, max_sweeps=1000)
    engine(problem, np.random.default_rng(0))
    seconds = cpu_seconds(lambda: engine(problem, np.random.default_rng(1)))
    found = engine(problem, np.random.default_rng(1)).diagnostics
    return float(np.nanmin(found.effective_draws)) / seconds


def run() -> list[Row]:
    """Least effective draws of a coefficient per second, k = 60, n = 200, against NUTS on a horseshoe."""
    x, y = regression()
    ours = own_draws_per_second(x, y)
    rows = [Row("effective draws per second, k = 60", ours, "/s", note="least of all coefficients")]
    for name, sample in (("numpyro", _numpyro), ("nutpie", _nutpie)):
        if find_spec(name) is not None:
            ess, seconds = sample(x, y)
            note = f"{name}: {ess:.0f} in {seconds:.0f} s"
            what, faster = f"60 candidates, 200 rows: {ess:.0f} effective draws", ours / (ess / seconds)
            rows.append(Row(what, faster, "times faster", 100, ">=", note, PEERS[name], ess / ours, seconds))
    return rows


def _numpyro(x: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    import jax
    import numpyro
    import numpyro.distributions as dist
    from numpyro.diagnostics import effective_sample_size

    def model() -> None:
        tau = numpyro.sample("tau", dist.HalfCauchy(1.0))
        local = numpyro.sample("local", dist.HalfCauchy(1.0).expand([x.shape[1]]))
        z = numpyro.sample("z", dist.Normal(0.0, 1.0).expand([x.shape[1]]))
        theta = numpyro.deterministic("theta", z * local * tau)
        sigma = numpyro.sample("sigma", dist.HalfCauchy(1.0))
        numpyro.sample("y", dist.Normal(x @ theta, sigma), obs=y)

    sampler = numpyro.infer.MCMC(numpyro.infer.NUTS(model), num_warmup=1000, num_samples=1000, progress_bar=False)
    sampler.run(jax.random.PRNGKey(1))  # compiles
    start = time.process_time()
    sampler.run(jax.random.PRNGKey(0))
    theta = np.asarray(sampler.get_samples(group_by_chain=True)["theta"])
    return float(effective_sample_size(theta).min()), time.process_time() - start


def _nutpie(x: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    import nutpie
    import pymc as pm
    from arviz_stats.base import array_stats

    with pm.Model() as model:
        tau = pm.HalfCauchy("tau", 1.0)
        local = pm.HalfCauchy("local", 1.0, shape=x.shape[1])
        z = pm.Normal("z", 0.0, 1.0, shape=x.shape[1])
        theta = pm.Deterministic("theta", z * local * tau)
        sigma = pm.HalfCauchy("sigma", 1.0)
        pm.Normal("y", x @ theta, sigma, observed=y)
    compiled = nutpie.compile_pymc_model(model)
    start = time.process_time()
    trace = nutpie.sample(compiled, draws=1000, tune=1000, chains=4, cores=1, seed=1, progress_bar=False)
    seconds = time.process_time() - start
    draws = np.moveaxis(np.asarray(trace.posterior["theta"]), 2, 0)
    return float(array_stats.ess(draws, chain_axis=1, draw_axis=2).min()), seconds
