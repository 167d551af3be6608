"""Cumulative differences: no bins, no smoothing, only the order of the probabilities."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from calipers import _core
from calipers._arrays import ArrayLike
from calipers._estimate import Estimate
from calipers._inputs import Invalid, Link, Multiclass, OneView, PosLabel, Ties
from calipers._predictions import Rows
from calipers._result import Result


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


def ecce_r(
    y_true: ArrayLike,
    y_prob: ArrayLike,
    *,
    link: Link = "logistic",
    sample_weight: ArrayLike | None = None,
    from_logits: bool = False,
    multiclass: Multiclass = None,
    ties: Ties = "first",
    pos_label: PosLabel = None,
    sum_tolerance: float = 1e-3,
    invalid: Invalid = "refuse",
) -> Estimate:
    r"""ECCE-R: the range of the cumulated residuals in the order of the probabilities.

        C_k = Σ_(i: p_i <= p_(k)) s_i (y_i - p_i),  C_0 = 0
        ECCE-R = max_k C_k - min_k C_k

    with s_i the shares of the weight and p_(k) the k-th distinct probability. Equal probabilities are one step,
    so that the order of rows does not matter. `cumulative_curve` has all C_k.

    Parameters
    ----------
    y_true, y_prob
        As for `ls_ece`, and so are the options that are not named here.
    link : {"logistic", "probit", "cloglog"}
        What turns raw binary scores into probabilities.

    Returns
    -------
    Estimate
        A float from 0 to 1.

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
    rows = Rows(y_true, y_prob, sample_weight, from_logits, multiclass, ties, pos_label, sum_tolerance, invalid)
    return rows.estimate("ecce_r", link=link)


def ecce_mad(
    y_true: ArrayLike,
    y_prob: ArrayLike,
    *,
    link: Link = "logistic",
    sample_weight: ArrayLike | None = None,
    from_logits: bool = False,
    multiclass: Multiclass = None,
    ties: Ties = "first",
    pos_label: PosLabel = None,
    sum_tolerance: float = 1e-3,
    invalid: Invalid = "refuse",
) -> Estimate:
    r"""ECCE-MAD: the largest size of the cumulated residuals, which is also the KS calibration error.

        C_k = Σ_(i: p_i <= p_(k)) s_i (y_i - p_i),  C_0 = 0
        ECCE-MAD = max_k |C_k|

    with s_i the shares of the weight and p_(k) the k-th distinct probability. Equal probabilities are one step,
    so that the order of rows does not matter. `cumulative_curve` has all C_k.

    Parameters
    ----------
    y_true, y_prob
        As for `ls_ece`, and so are the options that are not named here.
    link : {"logistic", "probit", "cloglog"}
        What turns raw binary scores into probabilities.

    Returns
    -------
    Estimate
        A float from 0 to 1.

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
    rows = Rows(y_true, y_prob, sample_weight, from_logits, multiclass, ties, pos_label, sum_tolerance, invalid)
    return rows.estimate("ecce_mad", link=link)


def cumulative_curve(
    y_true: ArrayLike,
    y_prob: ArrayLike,
    *,
    link: Link = "logistic",
    sample_weight: ArrayLike | None = None,
    from_logits: bool = False,
    multiclass: OneView = None,
    ties: Ties = "first",
    pos_label: PosLabel = None,
    sum_tolerance: float = 1e-3,
    invalid: Invalid = "refuse",
) -> CumulativeCurve:
    r"""The curve behind `ecce_r` and `ecce_mad`: residuals cumulated in the order of the probabilities.

        C_k = Σ_(i: p_i <= p_(k)) s_i (y_i - p_i),  C_0 = 0

    with s_i the shares of the weight and p_(k) the k-th distinct probability. Equal probabilities are one step,
    so that the order of rows does not matter. Where the curve falls, outcomes are less frequent than predicted.

    Parameters
    ----------
    y_true, y_prob
        As for `ls_ece`, and so are the options that are not named here.
    link : {"logistic", "probit", "cloglog"}
        What turns raw binary scores into probabilities.
    multiclass : {None, "top_class"} or int
        As for `ls_ece`, but for "classwise", which has no one curve.

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
    rows = Rows(y_true, y_prob, sample_weight, from_logits, multiclass, ties, pos_label, sum_tolerance, invalid)
    return CumulativeCurve(**rows.ask(_core.cumulative_curve, link=link))
