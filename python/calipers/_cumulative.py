"""Cumulative differences: only the order of the probabilities, and splines through them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from calipers import _core
from calipers._arrays import ArrayLike, read_array
from calipers._documented import documented
from calipers._estimate import Estimate
from calipers._inputs import Link, RunOut
from calipers._predictions import Outcomes, Probabilities, answer, measured
from calipers._result import Result
from calipers._row_options import OneViewOptions, RowOptions, Unpack


@dataclass(frozen=True, eq=False)
class CumulativeCurve(Result):
    """Cumulative differences in the order of the probabilities.

    The slope over a stretch is the mean of y - p there.

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

    Use it where no bins and no bandwidth shall be chosen. It detects miscalibration of one sign
    over long ranges of probability best; `ecce_r_test` has its p-value and `cumulative_curve` the
    curve.

        C_k = Σ_(i: p_i <= p_(k)) s_i (y_i - p_i),  C_0 = 0
        ECCE-R = max_k C_k - min_k C_k

    with s_i the shares of the weight and p_(k) the k-th distinct probability. Equal probabilities
    are one step, so that the order of rows does not matter. `cumulative_curve` has all C_k.

    Notes
    -----
    Assumes independent rows; no bins, no bandwidth. Never above the ECE of the pooled rows; ECCE-R
    is at most twice ECCE-MAD, and never below it.

    Cost: O(n log n) for a sort and one pass. Accuracy: a compensated sum, a few units of rounding.
    Biased up, by about the standard deviation of the sum of residuals.

    References
    ----------
    Arrieta-Ibarra, Gujral, Tannen, Tygert, Xu, "Metrics of calibration for probabilistic
    predictions", JMLR 23, 2022; the statistic is that of Kuiper.

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
    r"""ECCE-MAD: the largest cumulated residual, also known as the KS calibration error.

    Use it as `ecce_r`, or to compare with values of the KS calibration error. `ecce_mad_test` has
    its p-value and `cumulative_curve` the curve.

        C_k = Σ_(i: p_i <= p_(k)) s_i (y_i - p_i),  C_0 = 0
        ECCE-MAD = max_k |C_k|

    with s_i the shares of the weight and p_(k) the k-th distinct probability. Equal probabilities
    are one step, so that the order of rows does not matter. `cumulative_curve` has all C_k.

    Notes
    -----
    Assumes independent rows; no bins, no bandwidth. Never above the ECE of the pooled rows; ECCE-R
    is at most twice ECCE-MAD, and never below it.

    Cost: O(n log n) for a sort and one pass. Accuracy: a compensated sum, a few units of rounding.
    Biased up, by about the standard deviation of the sum of residuals.

    References
    ----------
    Arrieta-Ibarra, Gujral, Tannen, Tygert, Xu, "Metrics of calibration for probabilistic
    predictions", JMLR 23, 2022; KS: Gupta, Rahimi, Ajanthan, Mensink, Sminchisescu, Hartley,
    "Calibration of neural networks using splines", ICLR 2021.

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
    r"""The curve of `ecce_r` and `ecce_mad`: residuals cumulated in the order of the probabilities.

    Use it to see where predictions are too high (the curve falls) or too low (it rises), without
    any bins. `CumulativeDisplay` draws it.

        C_k = Σ_(i: p_i <= p_(k)) s_i (y_i - p_i),  C_0 = 0

    with s_i the shares of the weight and p_(k) the k-th distinct probability. Equal probabilities
    are one step, so that the order of rows does not matter. Where the curve falls, outcomes are
    less frequent than predicted.

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
    Tygert, "Plots of the cumulative differences between observed and expected values of ordered
    Bernoulli variates", 2020; Arrieta-Ibarra, Gujral, Tannen, Tygert, Xu, JMLR 23, 2022.

    Examples
    --------
    >>> import calipers as cal
    >>> curve = cal.cumulative_curve([0, 1, 0], [0.3, 0.4, 0.6])
    >>> curve.differences.round(12).tolist()
    [0.0, -0.1, 0.1, -0.1]
    """
    return CumulativeCurve._of(answer(cumulative_curve, locals(), _core.cumulative_curve))


@documented
@dataclass(frozen=True, eq=False)
class SplineCurve(Result):
    """The gap and the recalibrated probability at each distinct probability.

    Attributes
    ----------
    percentiles : array
        Share of the weight up to there: where the stretch of each probability ends.
    gaps : array
        Mean slope of the spline over that stretch.
    recalibrated : array
        Probability plus gap, in [0, 1].
    """

    probabilities: NDArray[np.float64]
    percentiles: NDArray[np.float64]
    gaps: NDArray[np.float64]
    recalibrated: NDArray[np.float64]

    def recalibrate(self, y_prob: ArrayLike) -> NDArray[np.float64]:
        """Recalibrates probabilities: linear between neighbours, constant beyond the ends.

        Parameters
        ----------
        y_prob : array-like of shape (m,)
            Probabilities of outcome 1.
        """
        array, missing = read_array(y_prob, "probabilities")
        if array.ndim == 2 and array.shape[1] == 1:  # a table of one column is a column
            array, missing = array[:, 0], None if missing is None else missing.reshape(-1)
        asked = np.where(False if missing is None else missing, np.nan, np.asarray(array, dtype=np.float64))
        return np.asarray(np.interp(asked, self.probabilities, self.recalibrated))


@documented
def spline_calibration_error(
    y_true: Outcomes,
    y_prob: Probabilities = None,
    *,
    n_knots: int = 6,
    run_out: RunOut = "natural",
    link: Link = "logistic",
    **rows: Unpack[RowOptions],
) -> Estimate:
    r"""Spline calibration error: the mean gap of a cubic spline through the cumulative differences.

    Use it for a smooth calibration error that comes with a recalibration map, `spline_curve`.

        S_k = Σ_(i: p_i <= p_(k)) s_i
        C(S_k) = Σ_(i: p_i <= p_(k)) s_i (y_i - p_i),  C(0) = 0,  C linear between
        γ = the cubic spline with the least ∫_0^1 (γ(s) - C(s))² ds, its knots equally spaced in s
        gap_k = (γ(S_k) - γ(S_(k-1))) / (S_k - S_(k-1))
        value = Σ_k (S_k - S_(k-1)) |gap_k|

    with s_i the shares of the weight and p_(k) the k-th distinct probability. The slope of C is the
    mean of y - p, so that of γ is the calibration gap; `spline_curve` has all gaps and the
    recalibration map.

    Notes
    -----
    Assumes independent rows. Gaps that change sign within less than about 1 / n_knots of the rows
    are blurred.

    The paper sums (γ - C)² over rows in place of the integral, which differs by O(1 / n); the
    integral gives weights the meaning of repetition, and an answer with fewer distinct
    probabilities than knots. The paper's own measure is the KS error, `ecce_mad`.

    Cost: O(n log n) for a sort and two passes. Accuracy: the normal equations do not depend on the
    data and are well conditioned; the bound is some 1e-13. Biased up at small n, the more the more
    knots.

    References
    ----------
    Gupta, Rahimi, Ajanthan, Mensink, Sminchisescu, Hartley, "Calibration of neural networks using
    splines", ICLR 2021.

    Examples
    --------
    Outcomes are more frequent than said by 0.25 everywhere.

    >>> import calipers as cal
    >>> round(cal.spline_calibration_error([0, 1, 1, 1], [0.25, 0.25, 0.75, 0.75]), 12)
    0.25
    """
    return measured(spline_calibration_error, locals())


@documented
def spline_curve(
    y_true: Outcomes,
    y_prob: Probabilities = None,
    *,
    n_knots: int = 6,
    run_out: RunOut = "natural",
    link: Link = "logistic",
    **rows: Unpack[OneViewOptions],
) -> SplineCurve:
    r"""The gaps of `spline_calibration_error`, and the recalibration map that they make.

    Use it to see the gap at each probability, or to recalibrate probabilities of other rows.

        recalibrated_k = p_(k) + gap_k, cut to [0, 1]

    with the gaps of `spline_calibration_error`.

    Returns
    -------
    SplineCurve
        Arrays with one entry for each distinct probability; its `recalibrate` maps any
        probabilities.

    Notes
    -----
    Assumes independent rows. A map that was fitted to some rows should be judged by others.

    Cost: O(n log n) for a sort and two passes. Accuracy: some 1e-13.

    References
    ----------
    Gupta, Rahimi, Ajanthan, Mensink, Sminchisescu, Hartley, "Calibration of neural networks using
    splines", ICLR 2021.

    Examples
    --------
    >>> import calipers as cal
    >>> curve = cal.spline_curve([0, 1, 1, 1], [0.25, 0.25, 0.75, 0.75])
    >>> curve.recalibrate([0.25, 0.5, 0.75]).round(12).tolist()
    [0.5, 0.75, 1.0]
    """
    return SplineCurve._of(answer(spline_curve, locals(), _core.spline_curve))
