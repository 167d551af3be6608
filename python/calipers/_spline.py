"""Spline calibration error: the slope of a smooth curve through the cumulative differences."""

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


@documented
@dataclass(frozen=True, eq=False)
class SplineCurve(Result):
    """The gap between outcome rate and probability, and the recalibrated probability, for each distinct probability.

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
        """Any probabilities, recalibrated: in a line between neighbours, constant beyond the first and the last.

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
    r"""Spline calibration error: mean size of the gap that a cubic spline through the cumulative differences shows.

        S_k = Σ_(i: p_i <= p_(k)) s_i,  C(S_k) = Σ_(i: p_i <= p_(k)) s_i (y_i - p_i),  C(0) = 0,  C linear between
        γ = the cubic spline with the least ∫_0^1 (γ(s) - C(s))² ds, its knots equally spaced in s
        gap_k = (γ(S_k) - γ(S_(k-1))) / (S_k - S_(k-1))
        value = Σ_k (S_k - S_(k-1)) |gap_k|

    with s_i the shares of the weight and p_(k) the k-th distinct probability. The slope of C is the mean of y - p, so
    that of γ is the calibration gap; `spline_curve` has all gaps and the recalibration map.

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
    r"""The gaps behind `spline_calibration_error`, and the recalibration map that they make.

        recalibrated_k = p_(k) + gap_k, cut to [0, 1]

    with the gaps of `spline_calibration_error`.

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
    return SplineCurve._of(answer(spline_curve, locals(), _core.spline_curve))
