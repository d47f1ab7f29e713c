"""`MCMC`: sample parent sets when there are too many to enumerate."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from alldags import checks
from alldags.engines.sampling.diagnostics import R_HAT, MCMCDiagnostics, convergence_warnings
from alldags.engines.suits import check_suits
from alldags.errors import EngineError
from alldags.nodes import NodePosterior, NodeProblem
from alldags.priors.noise import Noise

if TYPE_CHECKING:
    from alldags.engines.sampling.posterior import Estimates
    from alldags.engines.sampling.run import Run

STUCK = 1.05  # an R-hat above: what has been run counts as warm-up
EFFECTIVE_DRAWS = 400  # wanted if no target_mcse is given
WARM_UP = 50  # sweeps, at least
HARD = 16.0  # a run that should be so many times longer grows faster, and chooses again what it draws together
SEEN = 400  # sweeps, at least, to choose them from
WIDEST = 10  # parents drawn together; each more doubles the work
LEAST_RESIDUAL = 2  # place in Chain.numbers, as in kernels.sampler.flip, which is not imported before it is needed


@dataclass(frozen=True, slots=True)
class MCMC:
    """Sample parent sets by Gibbs sweeps with swaps, in several chains, until they agree.

    Each sweep draws the presence of every edge given all others; the parents that compete most are drawn together; a
    swap move then exchanges a parent for another one that explains the same. Inclusion probabilities and means are
    averages of conditional expectations, corrected by control variates, and come with a Monte-Carlo error. The run is
    extended until split R-hat is below 1.01 for every edge with an inclusion probability above 0.01 and the wanted
    accuracy is reached, or `max_sweeps` is.

    Parameters
    ----------
    sweeps
        Sweeps of each chain before convergence is first judged.
    chains
        Chains, at least 2; they start empty, greedy, crowded, and at random.
    target_mcse
        Largest Monte-Carlo standard error wanted for any coefficient's mean, in working units. Without it the error
        is wanted below a twentieth of the coefficient's posterior standard deviation (400 effective draws).
    max_sweeps
        Most sweeps of each chain.
    max_seconds
        Most wall time. A run that it ends is not reproducible, and its diagnostics say so.
    swaps
        Swap moves after each sweep.
    block
        Parents drawn together after each sweep, at most 10; 0 for none.

    Examples
    --------
    >>> import numpy as np, alldags as ad
    >>> from alldags.nodes import NodeProblem, Setting
    >>> problem = NodeProblem(
    ...     child="y", terms=("a", "b"), gram=np.eye(2) * 50, cross=np.array([40.0, 0.0]), total=60.0, n=50,
    ...     probability=np.array([0.5, 0.5]), settings=(Setting(1.0, ad.KnownNoise(1.0)),),
    ... )
    >>> node = ad.engines.MCMC()(problem, np.random.default_rng(0))
    >>> node.mean.round(2).tolist()
    [0.78, 0.0]
    """

    takes: ClassVar[tuple[type, ...]] = (Noise,)
    scope: ClassVar[str | None] = None
    estimate: ClassVar[str] = "posterior mean"

    sweeps: int = 250
    chains: int = 4
    target_mcse: float | None = None
    max_sweeps: int = 50_000
    max_seconds: float | None = None
    swaps: int = 1
    block: int = 8

    def __post_init__(self) -> None:
        for name, least in (("sweeps", 20), ("chains", 2), ("swaps", 0), ("max_sweeps", 20)):
            checks.whole(f"MCMC {name}", getattr(self, name), least, error=EngineError)
        checks.whole("MCMC block", self.block, 0, WIDEST, EngineError)
        for name in ("target_mcse", "max_seconds"):
            if getattr(self, name) is not None:
                checks.positive(f"MCMC {name}", getattr(self, name), EngineError)

    @property
    def name(self) -> str:
        return "mcmc"

    def __call__(self, problem: NodeProblem, rng: np.random.Generator) -> NodePosterior:
        """Return the sampled posterior of one node; without uncertain edges there is nothing to sample."""
        check_suits(self, problem.settings[0])
        from alldags.engines.exact import Exact
        from alldags.engines.sampling.posterior import SampledPosterior

        if problem.free == 0:
            return Exact()(problem, rng)

        child = rng.spawn(1)[0]  # for runs with an edge forced in or out, later
        run, estimates, diagnostics = sample(self, problem, rng)
        return SampledPosterior(problem, run, estimates, diagnostics, self, child)


def sample(engine: MCMC, problem: NodeProblem, rng: np.random.Generator) -> tuple[Run, Estimates, MCMCDiagnostics]:
    """Run chains until they agree, are accurate enough, or have to stop."""
    from alldags.engines.sampling.posterior import judge
    from alldags.engines.sampling.run import advance, forget, stack_systems, start_chains, warm_up
    from alldags.engines.sampling.together import choose_again, choose_together

    clock = _Clock(engine.max_seconds)
    run = start_chains(problem, stack_systems(problem), engine.chains, engine.swaps, rng)
    warm_up(run, 10)  # also tells the clock how fast this node is
    sweeps = max(WARM_UP, engine.sweeps // 4) - run.warm_up
    choose_together(run, clock.affordable(run, sweeps, share=0.25), engine.block)
    target, chosen_again = min(engine.sweeps, engine.max_sweeps), False
    while True:
        advance(run, max(clock.affordable(run, target - run.sweeps), 1 if run.sweeps else 20))
        estimates, found = judge(problem, run)
        need = longer(engine, found)
        if need <= 1.0 or clock.is_over or run.sweeps + run.warm_up >= engine.max_sweeps:
            break
        target = int(min(max(1.1 * need, 1.25), 4.0 if need > HARD else 2.0) * run.sweeps)
        again = engine.block > 0 and not chosen_again and need > HARD and run.sweeps >= SEEN
        if (again or found.max_r_hat > STUCK) and 4 * (run.sweeps + run.warm_up) <= engine.max_sweeps:
            if again:
                choose_again(run, engine.block)
                chosen_again = True
            forget(run)
        target = max(min(target, engine.max_sweeps - run.warm_up), 20)
    found = replace(found, reproducible=not clock.is_over)
    least = min(float(chain.numbers[LEAST_RESIDUAL]) for chain in run.chains)
    words = convergence_warnings(problem.child, problem.terms, found, engine.target_mcse, least)
    return run, estimates, replace(found, warnings=words)


def longer(engine: MCMC, found: MCMCDiagnostics) -> float:
    """Return how many times longer the run should be to reach what is wanted; at most 1 if it is reached."""
    if engine.target_mcse is not None:
        need = (found.max_mcse / engine.target_mcse) ** 2
    else:
        need = EFFECTIVE_DRAWS / float(np.min(found.effective_draws[~np.isnan(found.split_r_hat)], initial=np.inf))
    return max(need, 2.0) if found.max_r_hat > R_HAT else need


class _Clock:
    """Turns a time limit into a number of sweeps, by the rate seen so far."""

    def __init__(self, limit: float | None) -> None:
        self.limit = limit
        self.begin = time.perf_counter()
        self.is_over = False

    def affordable(self, run: Run, sweeps: int, share: float = 1.0) -> int:
        """Return `sweeps`, or fewer if they would not fit into this share of the time that is left."""
        if self.limit is None:
            return sweeps
        spent = time.perf_counter() - self.begin
        fits = max(0, int(share * (self.limit - spent) * (run.sweeps + run.warm_up) / spent))
        self.is_over = self.is_over or fits < sweeps
        return min(sweeps, fits)
