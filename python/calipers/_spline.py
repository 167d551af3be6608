"""Spline calibration error: the slope of a smooth curve through the cumulative differences."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from calipers import _core
from calipers._arrays import ArrayLike, read
from calipers._estimate import Estimate
from calipers._inputs import Invalid, Link, Multiclass, OneView, PosLabel, RunOut, Ties
from calipers._predictions import Rows
from calipers._result import Result


@dataclass(frozen=True, eq=False)
class SplineCurve(Result):
    """The gap between outcome rate and probability, and the recalibrated probability, for each distinct probability.

    Attributes
    ----------
    probabilities : array
        The distinct probabilities, ascending.
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
        """Any probabilities, recalibrated: in a line between neighbours, constant beyond the first and the last."""
        array, missing = read(y_prob, "probabilities")
        if array.ndim == 2 and array.shape[1] == 1:  # a table of one column is a column
            array, missing = array[:, 0], None if missing is None else missing.reshape(-1)
        asked = np.where(False if missing is None else missing, np.nan, np.asarray(array, dtype=np.float64))
        return np.asarray(np.interp(asked, self.probabilities, self.recalibrated))


def spline_calibration_error(
    y_true: ArrayLike,
    y_prob: ArrayLike,
    *,
    n_knots: int = 6,
    run_out: RunOut = "natural",
    link: Link = "logistic",
    sample_weight: ArrayLike | None = None,
    from_logits: bool = False,
    multiclass: Multiclass = None,
    ties: Ties = "first",
    pos_label: PosLabel = None,
    sum_tolerance: float = 1e-3,
    invalid: Invalid = "refuse",
) -> Estimate:
    r"""Spline calibration error: mean size of the gap that a cubic spline through the cumulative differences shows.

        S_k = Σ_(i: p_i <= p_(k)) s_i,  C(S_k) = Σ_(i: p_i <= p_(k)) s_i (y_i - p_i),  C(0) = 0,  C linear between
        γ = the cubic spline with the least ∫_0^1 (γ(s) - C(s))² ds, its knots equally spaced in s
        gap_k = (γ(S_k) - γ(S_(k-1))) / (S_k - S_(k-1))
        value = Σ_k (S_k - S_(k-1)) |gap_k|

    with s_i the shares of the weight and p_(k) the k-th distinct probability. The slope of C is the mean of y - p, so
    that of γ is the calibration gap; `spline_curve` has all gaps and the recalibration map.

    Parameters
    ----------
    y_true, y_prob
        As for `ls_ece`, and so are the options that are not named here.
    n_knots : int
        Knots, those at 0 and 1 included: 4 to 100.
    run_out : {"natural", "parabolic", "cubic"}
        What the spline does at its ends: no second derivative; a parabola between the last two knots; one cubic between
        the last three.
    link : {"logistic", "probit", "cloglog"}
        What turns raw binary scores into probabilities.

    Returns
    -------
    Estimate
        A float, not negative.

    Notes
    -----
    Assumes independent rows. Gaps that change sign within less than about 1 / n_knots of the rows are blurred.

    The paper sums (γ - C)² over rows in place of the integral, which differs by O(1 / n); the integral gives weights
    the meaning of repetition, and an answer with fewer distinct probabilities than knots. The paper's own figure is the
    KS error, `ecce_mad`.

    Cost: O(n log n) for a sort and two passes. Accuracy: the normal equations do not depend on the data and are well
    conditioned; the bound is some 1e-13. Biased up at small n, the more the more knots.

    References
    ----------
    Gupta, Rahimi, Ajanthan, Mensink, Sminchisescu, Hartley, "Calibration of neural networks using splines", ICLR 2021.

    Examples
    --------
    Outcomes are more frequent than said by 0.25 everywhere.

    >>> import calipers as cal
    >>> round(cal.spline_calibration_error([0, 1, 1, 1], [0.25, 0.25, 0.75, 0.75]), 12)
    0.25
    """
    rows = Rows(y_true, y_prob, sample_weight, from_logits, multiclass, ties, pos_label, sum_tolerance, invalid)
    return rows.estimate("spline_calibration_error", n_knots=n_knots, run_out=run_out, link=link)


def spline_curve(
    y_true: ArrayLike,
    y_prob: ArrayLike,
    *,
    n_knots: int = 6,
    run_out: RunOut = "natural",
    link: Link = "logistic",
    sample_weight: ArrayLike | None = None,
    from_logits: bool = False,
    multiclass: OneView = None,
    ties: Ties = "first",
    pos_label: PosLabel = None,
    sum_tolerance: float = 1e-3,
    invalid: Invalid = "refuse",
) -> SplineCurve:
    r"""The gaps behind `spline_calibration_error`, and the recalibration map that they make.

        recalibrated_k = p_(k) + gap_k, cut to [0, 1]

    with the gaps of `spline_calibration_error`.

    Parameters
    ----------
    y_true, y_prob
        As for `ls_ece`, and so are the options that are not named here.
    n_knots, run_out, link
        As for `spline_calibration_error`.
    multiclass : {None, "top_class"} or int
        As for `ls_ece`, but for "classwise", which has no one curve.

    Returns
    -------
    SplineCurve
        Arrays with one entry for each distinct probability; its `recalibrate` maps any probabilities.

    Notes
    -----
    Assumes independent rows. A map that was fitted to some rows should be judged by others.

    Cost: O(n log n) for a sort and two passes. Accuracy: some 1e-13.

    References
    ----------
    Gupta, Rahimi, Ajanthan, Mensink, Sminchisescu, Hartley, "Calibration of neural networks using splines", ICLR 2021.

    Examples
    --------
    >>> import calipers as cal
    >>> curve = cal.spline_curve([0, 1, 1, 1], [0.25, 0.25, 0.75, 0.75])
    >>> curve.recalibrate([0.25, 0.5, 0.75]).round(12).tolist()
    [0.5, 0.75, 1.0]
    """
    rows = Rows(y_true, y_prob, sample_weight, from_logits, multiclass, ties, pos_label, sum_tolerance, invalid)
    return SplineCurve(**rows.ask(_core.spline_curve, n_knots=n_knots, run_out=run_out, link=link))
