"""Cumulative differences: no bins, no smoothing, only the order of the probabilities."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from calipers import _core
from calipers._documented import documented
from calipers._estimate import Estimate
from calipers._inputs import Link
from calipers._predictions import Outcomes, Probabilities, answer, measured
from calipers._result import Result
from calipers._row_options import OneViewOptions, RowOptions, Unpack


@dataclass(frozen=True, eq=False)
class CumulativeCurve(Result):
    """Cumulative differences in the order of the probabilities: the slope over a stretch is the mean of y - p there.

    Attributes
    ----------
    shares : array
        Share of the weight up to each distinct probability; the first point is 0.
    differences : array
        C_k = Σ s (y - p) up to there; the first point is 0.
    probabilities : array
        The probability that ends there; the smallest at the first point.
    """

    shares: NDArray[np.float64]
    differences: NDArray[np.float64]
    probabilities: NDArray[np.float64]


@documented
def ecce_r(
    y_true: Outcomes, y_prob: Probabilities = None, *, link: Link = "logistic", **rows: Unpack[RowOptions]
) -> Estimate:
    r"""ECCE-R: the range of the cumulated residuals in the order of the probabilities.

        C_k = Σ_(i: p_i <= p_(k)) s_i (y_i - p_i),  C_0 = 0
        ECCE-R = max_k C_k - min_k C_k

    with s_i the shares of the weight and p_(k) the k-th distinct probability. Equal probabilities are one step,
    so that the order of rows does not matter. `cumulative_curve` has all C_k.

    Notes
    -----
    Assumes independent rows; no bins, no bandwidth. Never above the ECE of the pooled rows; ECCE-R is at most twice
    ECCE-MAD, and never below it.

    Cost: O(n log n) for a sort and one pass. Accuracy: a compensated sum, a few units of rounding. Biased up,
    by about the standard deviation of the sum of residuals.

    References
    ----------
    Arrieta-Ibarra, Gujral, Tannen, Tygert, Xu, "Metrics of calibration for probabilistic predictions", JMLR 23, 2022;
    the statistic is that of Kuiper.

    Examples
    --------
    C = 0, -0.1, 0.1, -0.1: the range is 0.2.

    >>> import calipers as cal
    >>> round(cal.ecce_r([0, 1, 0], [0.3, 0.4, 0.6]), 12)
    0.2
    """
    return measured(ecce_r, locals())


@documented
def ecce_mad(
    y_true: Outcomes, y_prob: Probabilities = None, *, link: Link = "logistic", **rows: Unpack[RowOptions]
) -> Estimate:
    r"""ECCE-MAD: the largest size of the cumulated residuals, which is also the KS calibration error.

        C_k = Σ_(i: p_i <= p_(k)) s_i (y_i - p_i),  C_0 = 0
        ECCE-MAD = max_k |C_k|

    with s_i the shares of the weight and p_(k) the k-th distinct probability. Equal probabilities are one step,
    so that the order of rows does not matter. `cumulative_curve` has all C_k.

    Notes
    -----
    Assumes independent rows; no bins, no bandwidth. Never above the ECE of the pooled rows; ECCE-R is at most twice
    ECCE-MAD, and never below it.

    Cost: O(n log n) for a sort and one pass. Accuracy: a compensated sum, a few units of rounding. Biased up,
    by about the standard deviation of the sum of residuals.

    References
    ----------
    Arrieta-Ibarra, Gujral, Tannen, Tygert, Xu, "Metrics of calibration for probabilistic predictions", JMLR 23, 2022;
    KS: Gupta, Rahimi, Ajanthan, Mensink, Sminchisescu, Hartley, "Calibration of neural networks using
    splines", ICLR 2021.

    Examples
    --------
    C = 0, -0.1, 0.1, -0.1: the largest size is 0.1.

    >>> import calipers as cal
    >>> round(cal.ecce_mad([0, 1, 0], [0.3, 0.4, 0.6]), 12)
    0.1
    """
    return measured(ecce_mad, locals())


@documented
def cumulative_curve(
    y_true: Outcomes, y_prob: Probabilities = None, *, link: Link = "logistic", **rows: Unpack[OneViewOptions]
) -> CumulativeCurve:
    r"""The curve behind `ecce_r` and `ecce_mad`: residuals cumulated in the order of the probabilities.

        C_k = Σ_(i: p_i <= p_(k)) s_i (y_i - p_i),  C_0 = 0

    with s_i the shares of the weight and p_(k) the k-th distinct probability. Equal probabilities are one step,
    so that the order of rows does not matter. Where the curve falls, outcomes are less frequent than predicted.

    Returns
    -------
    CumulativeCurve
        Arrays with one point for each distinct probability, and (0, 0) before them.

    Notes
    -----
    Assumes independent rows.

    Cost: O(n log n) for a sort and one pass. Accuracy: a compensated sum, a few units of rounding.

    References
    ----------
    Tygert, "Plots of the cumulative differences between observed and expected values of ordered Bernoulli variates",
    2020; Arrieta-Ibarra, Gujral, Tannen, Tygert, Xu, JMLR 23, 2022.

    Examples
    --------
    >>> import calipers as cal
    >>> curve = cal.cumulative_curve([0, 1, 0], [0.3, 0.4, 0.6])
    >>> curve.differences.round(12).tolist()
    [0.0, -0.1, 0.1, -0.1]
    """
    return CumulativeCurve._of(answer(cumulative_curve, locals(), _core.cumulative_curve))
