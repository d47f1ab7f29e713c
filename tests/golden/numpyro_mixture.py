"""Make `numpyro.json`: three variables, spike and slab on every edge, sampled by NumPyro.

Run with NumPyro installed: ``python tests/golden/numpyro_mixture.py``. Edges are binary variables of the model, drawn
by Gibbs steps between steps of the no-U-turn sampler for everything else: no algebra is shared with this package.
"""

from __future__ import annotations

import json
from pathlib import Path

import jax
import numpy as np
import numpyro
import numpyro.distributions as dist
from jax import numpy as jnp
from numpyro.diagnostics import effective_sample_size, split_gelman_rubin
from numpyro.infer import MCMC, NUTS, DiscreteHMCGibbs

EDGES = {"ab": 0.5, "ac": 0.3, "bc": 0.6}
SLAB, SHAPE, RATE = 1.5, 3.0, 2.0
CHAINS, WARMUP, DRAWS = 4, 1000, 20_000


def model(a: jax.Array, b: jax.Array, c: jax.Array) -> None:
    """Sample noise precisions, edges and coefficients, and observe b and c."""
    precision = {child: numpyro.sample(f"s_{child}", dist.Gamma(SHAPE, RATE)) for child in "bc"}
    present = {edge: numpyro.sample(f"g_{edge}", dist.Bernoulli(p)) for edge, p in EDGES.items()}
    raw = {edge: numpyro.sample(f"z_{edge}", dist.Normal(0.0, 1.0)) for edge in EDGES}
    theta = {edge: present[edge] * raw[edge] * jnp.sqrt(SLAB / precision[edge[1]]) for edge in EDGES}
    for edge, value in theta.items():
        numpyro.deterministic(f"t_{edge}", value)
    numpyro.sample("b", dist.Normal(theta["ab"] * a, precision["b"] ** -0.5), obs=b)
    numpyro.sample("c", dist.Normal(theta["ac"] * a + theta["bc"] * b, precision["c"] ** -0.5), obs=c)


def described(draws: np.ndarray) -> dict[str, float]:
    """Return the mean of draws, shape (chains, draws), its Monte-Carlo error, and split R-hat."""
    size = float(effective_sample_size(draws))
    return {
        "mean": float(draws.mean()),
        "error": float(draws.std() / np.sqrt(size)),
        "rhat": float(split_gelman_rubin(draws)),
    }


def main() -> None:
    numpyro.set_host_device_count(1)
    jax.config.update("jax_enable_x64", True)
    rng = np.random.default_rng(12)
    a = rng.standard_normal(25).round(3)
    b = (0.5 * a + rng.standard_normal(25)).round(3)
    c = (0.35 * b + 0.15 * a + rng.standard_normal(25)).round(3)
    sampler = MCMC(
        DiscreteHMCGibbs(NUTS(model), modified=True),
        num_warmup=WARMUP,
        num_samples=DRAWS,
        num_chains=CHAINS,
        chain_method="sequential",
        progress_bar=False,
    )
    sampler.run(jax.random.PRNGKey(0), *map(jnp.asarray, (a, b, c)))
    draws = {name: np.asarray(value, dtype=float) for name, value in sampler.get_samples(group_by_chain=True).items()}
    total = draws["t_ac"] + draws["t_ab"] * draws["t_bc"]
    quantities = {f"P({edge[0]} -> {edge[1]})": draws[f"g_{edge}"] for edge in EDGES}
    quantities |= {f"coefficient {edge[0]} -> {edge[1]}": draws[f"t_{edge}"] for edge in EDGES}
    quantities |= {"effect": total, "effect squared": total**2, "no path": (total == 0.0).astype(float)}
    quantities |= {f"effect above {value}": (total > value).astype(float) for value in (0.1, 0.4)}
    found = {
        "numpyro": numpyro.__version__,
        "draws": CHAINS * DRAWS,
        "edges": EDGES,
        "slab": SLAB,
        "noise": [SHAPE, RATE],
        "rows": np.column_stack([a, b, c]).tolist(),
        "answers": {name: described(values) for name, values in quantities.items()},
    }
    Path(__file__).with_name("numpyro.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
