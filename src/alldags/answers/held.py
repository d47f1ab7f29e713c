"""What is asked here of an effect that a user holds, and of its posterior."""

from __future__ import annotations

from typing import Protocol

from alldags.answers.base import Answer
from alldags.effects.clusters import Clusters
from alldags.effects.jackknife import Jackknife, Stretch
from alldags.effects.workings import EffectWorkings
from alldags.models.workings import Workings
from alldags.typing import FloatArray


class HeldPosterior(Protocol):
    """What is asked of a posterior; see `alldags.Posterior` for the meaning of each."""

    is_robust: bool
    clusters: Clusters | None
    jackknives: dict[str, Jackknife]
    workings: Workings

    @property
    def rows(self) -> float: ...


class HeldUncertainty(Protocol):
    """What is asked of the spread of an effect; see `Uncertainty`."""

    @property
    def stretch(self) -> Stretch | None: ...
    def widened(self, draws: FloatArray) -> FloatArray: ...
    def widened_level(self, draws: FloatArray) -> FloatArray: ...


class HeldEffect(Protocol):
    """What is asked of an effect; see `alldags.Effect` for the meaning of each."""

    @property
    def treatment(self) -> str: ...
    @property
    def outcome(self) -> str: ...
    @property
    def over(self) -> str: ...
    @property
    def posterior(self) -> HeldPosterior: ...
    @property
    def workings(self) -> EffectWorkings: ...
    @property
    def answer(self) -> Answer: ...
    @property
    def uncertainty(self) -> HeldUncertainty: ...
    @property
    def measure(self) -> str: ...
    @property
    def mean(self) -> float: ...
    @property
    def sd(self) -> float: ...
    def draws(self, size: int) -> FloatArray: ...
