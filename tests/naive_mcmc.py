"""Old names of the twins and the builder that the sampler's tests use; new tests import `naive` and `problems`."""

from __future__ import annotations

from naive.sets import Everything, every_set
from naive.sweep import swept_by_inversion
from problems import make_problem as problem_of

__all__ = ["Everything", "every_set", "problem_of", "swept_by_inversion"]
