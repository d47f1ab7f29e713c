"""Which parents to draw together, and what drawing a parent's presence leads to.

Both follow from how one parent's presence acts on the others (`kernels.sampler.response`), seen at a few
states of the chains while they warm up.
"""

from __future__ import annotations

import numpy as np

from alldags.engines.kernels.sampler.block import INCLUSION, MEAN, draw_together
from alldags.engines.kernels.sampler.flip import VISITS
from alldags.engines.kernels.sampler.response import Response, follow, follow_members, new_response
from alldags.engines.kernels.sampler.slowness import slowest_direction
from alldags.engines.sampling.run import Run, warm_up
from alldags.typing import FloatArray

STATES = 16  # of all chains, looked at to see how parents act on each other
STEPS = 3  # other parents through which a parent acts on a third
STEADY = 0.2  # inclusion frequency, above which a coefficient is averaged over the parents drawn together
LONG = 25  # sweeps whose average still shows a slow movement


def choose_together(run: Run, sweeps: int, size: int) -> None:
    """Run `sweeps` that are not recorded, and let what is seen choose `size` parents to draw together."""
    states = min(-(-STATES // len(run.chains)), sweeps // 2)
    if states == 0:
        warm_up(run, sweeps)
        return
    run.response = new_response(run.systems.certain.size)
    warm_up(run, sweeps, run.response, sweeps // states)
    for part in run.response:  # parents that are almost collinear may have no finite answer
        np.nan_to_num(part, copy=False, posinf=0.0, neginf=0.0)
    effects = follow(run.response, STEPS)
    _draw_together(run, influence(run.response, effects), effects, size)


def choose_again(run: Run, size: int) -> None:
    """Let the slowest movement of the chains, in what is recorded, choose `size` parents to draw together."""
    direction = slowest_direction(np.ascontiguousarray(run.trace[:, :, INCLUSION]), max(2, LONG // run.batch))
    _draw_together(run, np.abs(direction), follow(run.response, STEPS), size)


def _draw_together(run: Run, score: FloatArray, effects: FloatArray, size: int) -> None:
    """Draw the parents with the highest scores (k,) together; `effects` is as `follow` says."""
    certain = run.systems.certain
    order = np.argsort(-score, kind="stable")
    free = order[~certain[order]]
    frequency = sum(chain.seen / chain.numbers[VISITS] for chain in run.chains) / len(run.chains)
    run.together = draw_together(np.sort(free[:size]), frequency > STEADY)
    follow_members(effects, run.response, run.together.members, run.together.inside, run.together.steady)
    run.effects = effects


def influence(response: Response, effects: FloatArray) -> FloatArray:
    """Return the variance of some coefficient, the largest one, that is due to drawing each parent's presence, (k,)."""
    return np.asarray((response.spread[:, None] * effects[:, MEAN] ** 2).max(axis=1))
