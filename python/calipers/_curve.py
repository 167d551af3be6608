"""Curves that displays draw: smoothed for LS-ECE, isotonic for CORP, and the bins of ECE."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from calipers import _core
from calipers._arrays import ArrayLike
from calipers._documented import documented
from calipers._inputs import Compat, Link, NBins, Noise, Strategy, float_column
from calipers._predictions import Outcomes, Probabilities, answer
from calipers._result import Result
from calipers._row_options import OneViewOptions, Unpack

# A union of words, since stubtest takes an alias of one Literal with several for no union at all.
BandKind: TypeAlias = Literal["consistency"] | Literal["confidence"]


@dataclass(frozen=True, eq=False)
class Band(Result):
    """How far chance moves a curve, point by point.

    Attributes
    ----------
    kind : {"consistency", "confidence"}
        About the curve of a calibrated model, or about the curve itself.
    lower, upper : array
        Ends at each place of the curve; NaN where the curve is.
    level : float
        How often each place is inside; over a whole curve some are outside.
    n_resamples, random_state : int
        Number of resamples, and their seed.
    """

    kind: BandKind
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    level: float
    n_resamples: int
    random_state: int


@documented
@dataclass(frozen=True, eq=False)
class LsCurve(Result):
    """E[Y | T = t] and the density of T = ρ(h + ξ), point by point.

    LS-ECE is the mean of |outcome rate - t| under this density.

    Attributes
    ----------
    probabilities : array
        The smoothed probabilities t.
    outcome_rates : array
        E[Y | T = t]; NaN where the density is 0 within its bound, so that there is nothing to
        average.
    densities : array
        Density of T at t.
    outcome_rate_bounds, density_bounds : array
        Bounds on the numerical errors of both.
    sigma : float
        The scale of the noise.
    band : Band or None
        Where the curve of a calibrated model would lie, if that was requested.
    """

    probabilities: NDArray[np.float64]
    outcome_rates: NDArray[np.float64]
    densities: NDArray[np.float64]
    outcome_rate_bounds: NDArray[np.float64]
    density_bounds: NDArray[np.float64]
    sigma: float
    band: Band | None = None


@documented
@dataclass(frozen=True, eq=False)
class IsotonicCurve(Result):
    """The isotonic fit: the outcome rate that each distinct probability should have been.

    Attributes
    ----------
    shares : array
        Share of the weight at each.
    outcome_rates : array
        Fitted outcome rate at each, never descending.
    """

    probabilities: NDArray[np.float64]
    shares: NDArray[np.float64]
    outcome_rates: NDArray[np.float64]
    band: Band | None = None


class Bin(NamedTuple):
    """What a bin holds; the means are NaN if it has no weight."""

    lower: float
    upper: float
    n: int
    weight: float
    mean_probability: float
    outcome_rate: float


@documented
def ls_curve(
    y_true: Outcomes,
    y_prob: Probabilities = None,
    *,
    at: ArrayLike | None = None,
    sigma: float | Literal["auto"] = "auto",
    noise: Noise = "gaussian",
    link: Link = "logistic",
    clip: float = 1e-6,
    band: Literal["consistency"] | None = None,
    level: float = 0.95,
    n_resamples: int = 999,
    random_state: int = 0,
    **rows: Unpack[OneViewOptions],
) -> LsCurve:
    """The smoothed reliability curve whose mean gap is LS-ECE.

    Use it to see at which probabilities predictions are too high or too low; `ReliabilityDisplay`
    draws it.

        density(t) = f(u) / ρ'(u),  E[Y | T = t] = f_1(u) / f(u),  u = ρ^-1(t)
        f(u) = Σ_i s_i p_ξ(u - h_i),  f_1(u) = Σ_i s_i y_i p_ξ(u - h_i)

    Parameters
    ----------
    band : {None, "consistency"}
        "consistency": also where the curve of calibrated predictions would lie at each place, by
        outcomes that have the predicted probabilities. Its mean and variance are exact sums over
        the rows; where many rows contribute its quantiles are those of a normal number with that
        skewness, elsewhere outcomes are resampled. It is about the smoothed predictions, which are
        not t itself.
    level : float
        Of the band, at each place.

    Returns
    -------
    LsCurve
        Arrays of m values.

    References
    ----------
    Chidambaram, Lee, McSwiggen, Rezchikov, "How Flawed Is ECE? An Analysis via Logit Smoothing",
    2024, equations tndensity and tndensity2.

    Examples
    --------
    >>> import calipers as cal
    >>> curve = cal.ls_curve([1, 0], [0.5, 0.5], at=[0.4, 0.5, 0.6], sigma=0.3)
    >>> curve.outcome_rates.round(12).tolist()
    [0.5, 0.5, 0.5]
    >>> bool(curve.densities[1] > curve.densities[0])
    True

    One of two outcomes at 1/2 is what a calibrated model may show, and so are none and both:

    >>> band = cal.ls_curve([1, 0], [0.5, 0.5], at=[0.5], sigma=0.3, band="consistency").band
    >>> band.lower.round(12).tolist(), band.upper.round(12).tolist()
    ([0.0], [1.0])
    """
    # The curve has bounds, not a tolerance.
    given = {**locals(), "at": points(at), "tolerance": 1e-6}
    return LsCurve._of(answer(ls_curve, given, _core.ls_curve))


@documented
def corp_curve(
    y_true: Outcomes,
    y_prob: Probabilities = None,
    *,
    link: Link = "logistic",
    band: BandKind | None = None,
    level: float = 0.95,
    n_resamples: int = 999,
    random_state: int = 0,
    **rows: Unpack[OneViewOptions],
) -> IsotonicCurve:
    """The curve of `corp`: the isotonic regression of the outcomes on the probabilities.

    Use it for a reliability diagram without bins and bandwidth; `ReliabilityDisplay` draws it.

        rate(p_(k)) = max_(i <= k) min_(j >= k) ȳ_ij

    with p_(k) the k-th distinct probability and ȳ_ij the outcome rate of the rows from p_(i) to
    p_(j), by pooling adjacent violators. Equal probabilities are pooled first. No bins, no
    bandwidth; the curve is the same for every proper score.

    Parameters
    ----------
    band : {None, "consistency", "confidence"}
        "consistency": also where the fit would lie if predictions were calibrated, by outcomes
        drawn from the predictions and fitted again. "confidence": where the true rates may lie, by
        outcomes drawn from the fitted rates.
    level : float
        Of the band, at each distinct probability.

    Returns
    -------
    IsotonicCurve
        Arrays with one value for each distinct probability.

    Notes
    -----
    Assumes that the true rate does not fall as the probability rises.

    A calibrated model's fit is inside the consistency band at each probability with its level, for
    any number of rows. The confidence band held the true rate in 96 to 98 % of samples of 200 and
    1,000 rows where that rises smoothly, and in 86 % of 200 rows where it is flat but for a jump.

    Cost: O(n log n) for a sort, then one pass; a band takes one for each resample, over at most
    about 8,000 probabilities. Accuracy: compensated sums, a few units of rounding.

    References
    ----------
    The paper of `corp`.

    Examples
    --------
    0.2 and 0.4 had outcomes 1 and 0, so both get 1/2; 0.9 had outcome 1 and gets 1:

    >>> import calipers as cal
    >>> curve = cal.corp_curve([1, 0, 1], [0.2, 0.4, 0.9])
    >>> curve.probabilities.tolist(), curve.outcome_rates.tolist()
    ([0.2, 0.4, 0.9], [0.5, 0.5, 1.0])

    One prediction of 1/2 can have either outcome:

    >>> band = cal.corp_curve([1], [0.5], band="consistency").band
    >>> band.lower.tolist(), band.upper.tolist()
    ([0.0], [1.0])
    """
    return IsotonicCurve._of(answer(corp_curve, locals(), _core.corp_curve))


@documented
def calibration_bins(
    y_true: Outcomes,
    y_prob: Probabilities = None,
    *,
    n_bins: NBins = 15,
    strategy: Strategy = "uniform",
    compat: Compat = None,
    link: Link = "logistic",
    **rows: Unpack[OneViewOptions],
) -> list[Bin]:
    """The table of `expected_calibration_error`: one `Bin` for each bin, empty ones included.

    Use it to draw a binned reliability diagram, or to see which bins make the value.

    Returns
    -------
    list of Bin
        Named tuples ``(lower, upper, n, weight, mean_probability, outcome_rate)``.

    References
    ----------
    Naeini, Cooper, Hauskrecht, "Obtaining well calibrated probabilities using Bayesian binning",
    AAAI 2015.

    Examples
    --------
    >>> import calipers as cal
    >>> for bin in cal.calibration_bins([0, 1, 1], [0.25, 0.25, 1.0], n_bins=2):
    ...     print(bin)
    Bin(lower=0.0, upper=0.5, n=2, weight=2.0, mean_probability=0.25, outcome_rate=0.5)
    Bin(lower=0.5, upper=1.0, n=1, weight=1.0, mean_probability=1.0, outcome_rate=1.0)
    """
    # "l1" is how gaps are put together, which a table leaves to its reader.
    bins = answer(calibration_bins, {**locals(), "norm": "l1"}, _core.calibration_bins)
    return [Bin(*row) for row in bins]


def points(at: ArrayLike | None) -> NDArray[np.float64]:
    """Where a curve is evaluated: as asked, or at 201 equally spaced points."""
    if at is None:
        return np.linspace(0.0, 1.0, 203)[1:-1]
    points, missing = float_column(at, "at")
    # The core has the error for a missing point, which NaN stands for.
    return np.where(False if missing is None else missing, np.nan, points.astype(np.float64).ravel())
