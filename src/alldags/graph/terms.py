"""`Terms`: what a child's regression may be made of beside straight lines in its causes.

A *term* is a column that is computed from one or more causes: a bent line, a product, a logarithm. Which of them are
in a regression is averaged over, as for causes; an edge is there if one of the terms that contain the cause is.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

from alldags import checks
from alldags.errors import GraphError, did_you_mean

Modification: TypeAlias = Literal["average", "none", "shared", "arms"]
_MODIFICATIONS = ("average", "none", "shared", "arms")
_FUNCTIONS = ("log", "sqrt", "exp", "square", "curve")
_CALL = re.compile(r"^\s*([A-Za-z_]\w*)\s*\(\s*(.+?)\s*\)\s*$", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Terms:
    """The columns that a child's regression may use, to be chosen from by the data.

    Parameters
    ----------
    curves
        Knots of the bent line through each cause with more than two values; 0 for straight lines.
    products
        Squares and products among so many causes, those with the strongest straight lines; 0 for none.
    index
        Bent lines through one learned direction of all causes for each value of a yes/no treatment: what makes steep
        surfaces, such as an exponential, cheap to describe.
    propensity
        Bent lines through the learned probability of a yes/no treatment.
    trees
        What boosted trees see beside straight lines, in the child for each value of a yes/no treatment, and in the
        treatment: one column each.
    modification
        Whether the effect of a yes/no treatment may differ with the causes: ``"none"``, by terms that are ``"shared"``
        with those without treatment, in separate ``"arms"``, or the ``"average"`` of the three by their evidence.

    Examples
    --------
    >>> import alldags as ad
    >>> ad.Terms(curves=3, index=False)
    Terms(curves=3, products=5, index=False, propensity=True, trees=True, modification='average')
    """

    curves: int = 5
    products: int = 5
    index: bool = True
    propensity: bool = True
    trees: bool = True
    modification: Modification = "average"

    def __post_init__(self) -> None:
        checks.whole("Terms curves", self.curves, 0, 50, GraphError)
        checks.whole("Terms products", self.products, 0, 50, GraphError)
        checks.flag("Terms index", self.index, GraphError)
        checks.flag("Terms propensity", self.propensity, GraphError)
        checks.flag("Terms trees", self.trees, GraphError)
        checks.one_of("Terms modification", self.modification, _MODIFICATIONS, GraphError)


@dataclass(frozen=True, slots=True)
class Factor:
    """A cause inside a term: itself, or a function of it, one of log, sqrt, exp, square and curve."""

    variable: str
    function: str = ""

    def __str__(self) -> str:
        return f"{self.function}({self.variable})" if self.function else self.variable


@dataclass(frozen=True, slots=True)
class GivenTerm:
    """A term that was written down: the product of its factors, and its probability if that was said."""

    factors: tuple[Factor, ...]
    probability: float | None = None

    @property
    def variables(self) -> tuple[str, ...]:
        """The causes in it, each once."""
        return tuple(dict.fromkeys(factor.variable for factor in self.factors))

    def __str__(self) -> str:
        return "*".join(map(str, self.factors))


ChildTerms: TypeAlias = Terms | tuple[GivenTerm, ...]


def parse_term(text: str, causes: Collection[str]) -> GivenTerm:
    """Read a term such as ``"smoking*age"``, ``"log(income)"`` or ``"curve(age)"``.

    Examples
    --------
    >>> from alldags.graph.terms import parse_term
    >>> str(parse_term("log(income) * age", ["income", "age"]))
    'log(income)*age'
    """
    if not isinstance(text, str) or not text.strip():
        raise GraphError(f"a term must be a text such as 'age*sex' or 'log(income)', got {text!r}")
    if text.strip() in causes:  # a name with a star or brackets in it
        return GivenTerm((Factor(text.strip()),))
    factors = tuple(factor for part in text.split("*") for factor in _factors(part.strip(), text, causes))
    if any(factor.function == "curve" for factor in factors) and len(factors) > 1:
        raise GraphError(f"the term {text!r} multiplies a curve; a curve stands alone")
    return GivenTerm(factors)


def _factors(part: str, text: str, causes: Collection[str]) -> tuple[Factor, ...]:
    if part in causes:
        return (Factor(part),)
    base, power, exponent = part.partition("^")
    if power and base.strip() in causes and exponent.strip() == "2":
        return (Factor(base.strip(), "square"),)
    call = _CALL.match(part)
    if call is None:
        raise GraphError(f"the term {text!r} has {part!r}, which is no possible cause{did_you_mean(part, causes)}")
    function, name = call.groups()
    if function not in _FUNCTIONS:
        known = ", ".join(_FUNCTIONS)
        raise GraphError(f"the term {text!r} has the function {function!r}; known are {known}")
    if name not in causes:
        raise GraphError(f"the term {text!r} has {name!r}, which is no possible cause{did_you_mean(name, causes)}")
    return (Factor(name, function),)


def read_terms(terms: Any, causes: Mapping[str, Collection[str]]) -> dict[str, ChildTerms]:
    """Return the terms of every child that has some, from what was given to `fit`.

    Parameters
    ----------
    terms
        None, ``"auto"`` (every child may have curves), or a mapping from children to `Terms`, lists of texts, or
        mappings from texts to probabilities.
    causes
        Possible causes of each variable.
    """
    if terms is None:
        return {}
    if isinstance(terms, str) and terms == "auto":
        return {child: Terms() for child, parents in causes.items() if parents}
    if not isinstance(terms, Mapping):
        raise GraphError(f"terms must be 'auto' or a mapping such as {{'risk': Terms()}}, got {terms!r}")
    for child in terms:
        if child not in causes:
            raise GraphError(f"terms names {child!r}, which is not in the graph{did_you_mean(str(child), causes)}")
        if not causes[child]:
            raise GraphError(f"terms names {child!r}, which has no possible cause in the graph")
    return {child: _child_terms(child, given, causes[child]) for child, given in terms.items()}


def _child_terms(child: str, given: Any, causes: Collection[str]) -> ChildTerms:
    if isinstance(given, Terms):
        return given
    if isinstance(given, str) or not isinstance(given, Sequence | Mapping):
        raise GraphError(
            f"the terms of {child!r} must be Terms(), a list such as ['age*sex'], or probabilities such as "
            f"{{'age*sex': 1.0}}, got {given!r}"
        )
    if not given:
        raise GraphError(f"the list of terms of {child!r} is empty; leave {child!r} out of terms")
    found = [parse_term(text, causes) for text in given]
    return tuple(dict.fromkeys(map(_with_probability, found, given.values()) if isinstance(given, Mapping) else found))


def _with_probability(term: GivenTerm, probability: float) -> GivenTerm:
    if not (checks.is_number(probability) and 0.0 < probability <= 1.0):
        raise GraphError(
            f"the probability of the term {str(term)!r} must be above 0 and at most 1, got {probability!r}"
        )
    if term.factors[0].function == "curve":
        raise GraphError(f"{str(term)!r} is several columns, each in doubt, and has no probability; write it in a list")
    return replace(term, probability=float(probability))
