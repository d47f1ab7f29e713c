"""Old names of the twins over parent sets; new tests import `naive`."""

from __future__ import annotations

from naive.hyper import log_gamma_density, log_likelihood
from naive.sets import all_sets, brute_force

__all__ = ["all_sets", "brute_force", "log_gamma_density", "log_likelihood"]
