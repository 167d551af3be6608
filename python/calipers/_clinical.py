"""Measures that are customary for clinical prediction models."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from calipers import _core
from calipers._documented import documented
from calipers._estimate import Estimate
from calipers._inputs import Link, Noise
from calipers._predictions import Outcomes, Probabilities, answer, measured
from calipers._result import Result
from calipers._row_options import OneViewOptions, RowOptions, Unpack


@documented
@dataclass(frozen=True)
class CalibrationIndices(Result):
    """Gaps between a smoothed curve and the diagonal, at the rows.

    Attributes
    ----------
    ici, e50, e90, emax : float
        Mean, median, 90th percentile and largest gap.
    ici_bound : float
        Bound on the numerical error of the mean.
    largest_bound : float
        Bound on the numerical error of the others.
    smoother : str
        What made the curve: "ls_ece" or "loess".
    sigma : float or None
        The scale of the smoother's noise; None for LOESS.
    """

    ici: float
    e50: float
    e90: float
    emax: float
    ici_bound: float
    largest_bound: float
    smoother: str
    sigma: float | None
    n: int
    n_clipped: int
    left_out: dict[str, int]


@documented
@dataclass(frozen=True)
class CoxCalibration(Result):
    """The regressions of outcomes on logits.

    Calibrated predictions have intercept 0, slope 1 and 0 in the large.

    Attributes
    ----------
    intercept, slope : float
        Of the regression on the logits; a slope below 1 means that predictions are too extreme.
    in_the_large : float
        The intercept where the slope is held at 1; above 0 if outcomes are more frequent than
        predicted.
    intercept_standard_error, slope_standard_error, in_the_large_standard_error : float
        Statistical standard errors, from the information matrix.
    covariance : float
        Of intercept and slope.
    intercept_bound, slope_bound, in_the_large_bound : float
        Bounds on the numerical errors.
    """

    intercept: float
    slope: float
    in_the_large: float
    intercept_standard_error: float
    slope_standard_error: float
    in_the_large_standard_error: float
    covariance: float
    intercept_bound: float
    slope_bound: float
    in_the_large_bound: float
    n: int
    n_clipped: int
    left_out: dict[str, int]


@documented
def observed_expected(
    y_true: Outcomes, y_prob: Probabilities = None, *, link: Link = "logistic", **rows: Unpack[RowOptions]
) -> Estimate:
    r"""Observed / expected ratio: outcomes that occurred for each that was predicted.

    Use it as a first check of a clinical or risk model: 1 is calibrated on average, above 1 means
    that too little was predicted.

        O/E = Σ_i w_i y_i / Σ_i w_i p_i

    Notes
    -----
    Makes no assumptions.

    Cost: O(n), one pass. Accuracy: compensated sums, a few units of rounding of the ratio;
    consistent, the expected count is taken as known.

    References
    ----------
    Miller, Hui, Tierney, "Validation techniques for logistic regression models", Statistics in
    Medicine 10, 1991.

    Examples
    --------
    >>> import calipers as cal
    >>> float(cal.observed_expected([1, 1, 0], [0.5, 0.25, 0.25]))
    2.0
    """
    return measured(observed_expected, locals())


@documented
def calibration_indices(
    y_true: Outcomes,
    y_prob: Probabilities = None,
    *,
    smoother: Literal["ls_ece", "loess"] = "ls_ece",
    span: float = 0.75,
    degree: int = 2,
    sigma: float | Literal["auto"] = "auto",
    noise: Noise = "gaussian",
    clip: float = 1e-6,
    link: Link = "logistic",
    **rows: Unpack[OneViewOptions],
) -> CalibrationIndices:
    r"""ICI, E50, E90 and Emax: the gaps between a smoothed curve and the diagonal, at the rows.

    Use it for clinical prediction models, whose guidelines ask for these values.

        gap_i = |E[Y | T = p_i] - p_i|,  T = ρ(h + ξ)
        ICI = Σ_i s_i gap_i;  E50, E90 = quantiles by weight;  Emax = the largest

    with s_i the shares of the weight. The curve is that of LS-ECE at each row's own probability: a
    local mean on the logit axis, which needs no knots or spans and takes weights as they are. The
    published indices use LOESS, local polynomials on the axis of probabilities:
    ``smoother="loess"`` is R's `loess` with ``surface = "direct"``.

    Parameters
    ----------
    smoother : {"ls_ece", "loess"}
        What makes the curve.
    span : float
        The share of the rows in a window of LOESS, above 0 and at most 1; with weights, the share
        of the weight.
    degree : int
        The degree of the polynomials of LOESS: 0, 1 or 2.
    sigma : float or "auto"
        Scale of the smoother's noise; "auto" is that of `ls_ece`.
    noise : {"gaussian", "uniform", "laplace", "logistic", "epanechnikov"}
        Its distribution.

    Returns
    -------
    CalibrationIndices
        All four, with their bounds.

    Notes
    -----
    Assumes independent rows. Each row pulls the curve towards its own outcome.

    Cost: O(n) by a grid for Gaussian noise, and a sort for the quantiles; for other noise all rows
    within reach of each row. LOESS compares all distinct probabilities, of which there may be
    100,000. Accuracy: the bounds are proven. Biased up at small n sigma, even when calibrated.

    References
    ----------
    Austin, Steyerberg, "The Integrated Calibration Index (ICI) and related metrics", Statistics in
    Medicine 38, 2019; Harrell, "Regression Modeling Strategies", 2001.

    Examples
    --------
    Three rows at 0.5, two of which occurred: the curve is at 2/3 there, and every gap is 1/6.

    >>> import calipers as cal
    >>> indices = cal.calibration_indices([1, 1, 0], [0.5, 0.5, 0.5], sigma=0.3)
    >>> round(indices.ici, 3), round(indices.emax, 3)
    (0.167, 0.167)
    """
    # The curve has bounds, not a tolerance.
    given = {**locals(), "tolerance": 1e-6}
    return CalibrationIndices._of(answer(calibration_indices, given, _core.calibration_indices))


@documented
def cox_calibration(
    y_true: Outcomes, y_prob: Probabilities = None, *, clip: float = 1e-6, **rows: Unpack[OneViewOptions]
) -> CoxCalibration:
    r"""Cox's calibration regression: intercept, slope and calibration in the large.

    Use it to learn whether predictions are too extreme (a slope below 1) or too high on average (an
    intercept below 0); `cox_test` has the p-value and intervals.

        logit P(Y = 1) = a + b h,  h = logit of the probability, by maximum (weighted) likelihood
        logit P(Y = 1) = c + h,    calibration in the large

    Raw scores are logits as they are. Calibrated predictions have a = 0, b = 1 and c = 0.

    Parameters
    ----------
    clip : float
        Probabilities are clipped to [clip, 1 - clip], since 0 and 1 have no finite logit; then the
        clip matters.

    Returns
    -------
    CoxCalibration
        Coefficients, standard errors and numerical bounds.

    Notes
    -----
    Assumes independent rows, and a calibration that is wrong, if at all, by a straight line in
    logits. Weights count as numbers of rows. Where the likelihood has no maximum, the call raises
    an error.

    Cost: O(n) for each Newton step, mostly 5 to 8. Accuracy: steps until none changes a coefficient
    by more than 1e-11 of 1 + its size.

    References
    ----------
    Cox, "Two further applications of a model for binary regression", Biometrika 45, 1958.

    Examples
    --------
    Predictions are 3/4 and 1/4 (logits ±ln 3), outcome rates 2/3 and 1/3: a slope of ln 2 / ln 3.

    >>> import calipers as cal
    >>> fit = cal.cox_calibration([1, 1, 0, 1, 0, 0], [0.75, 0.75, 0.75, 0.25, 0.25, 0.25])
    >>> round(fit.slope, 3), abs(fit.in_the_large) < 1e-9
    (0.631, True)
    """
    return CoxCalibration._of(answer(cox_calibration, locals(), _core.cox_calibration))
