"""What is known about a fitted map: its bound, its curve, and its groups."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from calipers._result import Result


@dataclass(frozen=True)
class FitBound(Result):
    """How far a fit is from the optimum of its objective at most: numerical, not statistical.

    Attributes
    ----------
    standard_errors : float
        Distance of the parameters from the optimum, in their own standard errors.
    nats : float
        By how much the objective, a mean log-loss, is above its minimum.
    """

    standard_errors: float
    nats: float


@dataclass(frozen=True, eq=False)
class RecalibrationCurve(Result):
    """A recalibration map as a curve, with a band.

    Attributes
    ----------
    probabilities : array
        Where the map was evaluated.
    values : array
        The recalibrated probabilities there.
    lower, upper : array or None
        The band: pointwise intervals for the values that infinitely many rows would give. None for
        a map that is a table, whose uncertainty is not normal.
    level : float
        Level of the band.
    """

    probabilities: NDArray[np.float64]
    values: NDArray[np.float64]
    lower: NDArray[np.float64] | None
    upper: NDArray[np.float64] | None
    level: float


@dataclass(frozen=True, eq=False)
class ProbabilityIntervals(Result):
    """Recalibrated probabilities of outcome 1 with intervals.

    ``lower, upper = intervals`` unpacks them.

    Attributes
    ----------
    values : array
        The probabilities, as `Recalibrator.predict_proba` has them.
    lower, upper : array
        The ends of the intervals.
    """

    values: NDArray[np.float64]
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]

    def __iter__(self) -> Iterator[NDArray[np.float64]]:
        """``lower, upper = intervals``."""
        return iter((self.lower, self.upper))


@dataclass(frozen=True)
class GroupMap(Result):
    """The map of one group of rows, with what is known about it.

    Attributes
    ----------
    name : str
        The group.
    parameters : dict
        The parameters of its map by their names.
    standard_errors : dict
        Their standard errors; None where a constraint holds the parameter, or where it is not
        known.
    own_share : float or None
        The share of the map that the group's own rows decide: 0 where it is the pooled one, 1 where
        the other groups count for nothing. None for a file without a fit.
    n : int or None
        Its rows.
    """

    name: str
    parameters: dict[str, float]
    standard_errors: dict[str, float | None]
    own_share: float | None
    n: int | None
