"""All families by name."""

from __future__ import annotations

from alldags.families.base import Family
from alldags.families.categorical import Categorical
from alldags.families.count import Poisson
from alldags.families.gamma import Gamma
from alldags.families.hurdle import Hurdle
from alldags.families.log_normal import LogNormal
from alldags.families.ordered import Ordered
from alldags.families.student import Student
from alldags.families.survival import Survival
from alldags.families.yes_no import Bernoulli

FAMILIES: dict[str, type[Family]] = {
    family.name: family
    for family in (Bernoulli, Poisson, Student, LogNormal, Gamma, Hurdle, Ordered, Categorical, Survival)
}


def is_family(value: object) -> bool:
    """Tell whether something is a family with its settings."""
    return isinstance(value, tuple(FAMILIES.values()))
