"""What is known about a gain: its interval, its floor, and what else was tried."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

from calipers._assessment import Assessment, Interval
from calipers._result import Result, html_text

Verdict: TypeAlias = Literal["helps"] | Literal["hurts"] | Literal["no difference seen"] | Literal["nothing to fix"]


@dataclass(frozen=True)
class GainInterval(Result):
    """An interval for the gain of a map on new rows, in nats.

    ``low, high = interval`` unpacks it.

    Attributes
    ----------
    lower, upper : float
        Its ends.
    level : float
        The share of samples whose interval holds the gain.
    """

    lower: float
    upper: float
    level: float

    def __iter__(self) -> Iterator[float]:
        """``low, high = interval``."""
        return iter((self.lower, self.upper))

    def __str__(self) -> str:
        return f"[{self.lower:.6f}, {self.upper:.6f}]"


@dataclass(frozen=True)
class GainFloor(Result):
    """The gain that recalibration seems to have where there is nothing to fix.

    Outcomes are drawn from the predictions, and the map is fitted again, many times.

    Attributes
    ----------
    value : float
        The gain on the fitted rows themselves.
    mean, deviation : float
        Mean and standard deviation of the gain of the draws.
    p_value : float
        (1 + draws that are at least the value) / (1 + draws).
    n_resamples : int
        Draws.
    n_failed : int
        Draws that have no fit; they count as if they were larger than the value.
    """

    value: float
    mean: float
    deviation: float
    p_value: float
    n_resamples: int
    n_failed: int


@dataclass(frozen=True)
class Candidate(Result):
    """A method that "auto" has tried.

    Attributes
    ----------
    name : str
        Its name.
    loss : float or None
        Mean log-loss out of fold; None without a fit, as are the next two.
    difference : float or None
        By how much that is above the loss of the best candidate.
    standard_error : float or None
        That of the difference.
    reason : str or None
        Why it has no fit.
    """

    name: str
    loss: float | None
    difference: float | None
    standard_error: float | None
    reason: str | None


@dataclass(frozen=True)
class PoolingLoss(Result):
    """The log-loss out of fold of one way to use groups of rows.

    Attributes
    ----------
    pooling : {"unchanged", "one map", "partially pooled", "one map a group"}
        The way: probabilities as they are, one map for all rows, a map for each group that is drawn
        to the pooled one as far as the rows say, or a map from each group's rows alone.
    log_loss : float
        Mean log-loss out of fold.
    difference : float
        By how much that is above the log-loss of partially pooled maps.
    standard_error : float
        That of the difference.
    """

    pooling: Literal["unchanged", "one map", "partially pooled", "one map a group"]
    log_loss: float
    difference: float
    standard_error: float


@dataclass(frozen=True, eq=False, repr=False)
class Sentence(Result):
    """A result that prints as a sentence."""

    sentence: str

    def __str__(self) -> str:
        return self.sentence

    def __repr__(self) -> str:
        return self.sentence

    def _repr_html_(self) -> str:
        return html_text(self.sentence)


@dataclass(frozen=True, eq=False, repr=False)
class Left(Sentence):
    """What is left of the miscalibration: LS-ECE before and after, on the same rows.

    For rows of three and more classes it is that of the confidence in the top class.

    Attributes
    ----------
    sentence : str
        The result in words.
    before : Assessment
        Of the predictions as they are.
    after : Assessment
        Of the recalibrated ones, each row by a fit to other rows.
    change : float
        After less before, of the residual form of LS-ECE: below 0 where less is left than there
        was.
    interval : Interval
        Where the population's change is.
    standard_error : float
        That of the change.
    p_value : float
        Two-sided, for no change in the population.
    """

    before: Assessment
    after: Assessment
    change: float
    interval: Interval
    standard_error: float
    p_value: float
