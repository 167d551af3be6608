"""Binned calibration error less what chance adds to it, and with as many bins as leave outcome rates in order."""

from __future__ import annotations

from calipers._documented import documented
from calipers._estimate import Estimate
from calipers._inputs import Compat, Link, MeanNorm, NBins, Strategy
from calipers._predictions import Outcomes, Probabilities, measured
from calipers._row_options import RowOptions, Unpack


@documented
def debiased_ece(
    y_true: Outcomes,
    y_prob: Probabilities = None,
    *,
    n_bins: NBins = 15,
    strategy: Strategy = "quantile",
    norm: MeanNorm = "l2",
    compat: Compat = None,
    link: Link = "logistic",
    **rows: Unpack[RowOptions],
) -> Estimate:
    r"""Debiased calibration error: the gaps of the bins without the part that chance alone would make.

        L2:  √max(0, Σ_b share_b (g_b² - v_b)),                      v_b  = ȳ_b (1 - ȳ_b) / (n_b - 1)
        L1:  2 Σ_b share_b |g_b| - Σ_b share_b E|N(g_b, s_b²)|,      s_b² = ȳ_b (1 - ȳ_b) / n_b

    with share_b = W_b / W, g_b = ȳ_b - p̄_b and n_b = (Σw)² / Σw² the rows that a bin is worth; bins with
    n_b < 2 add 0 in L2. The expectation, which others sample, is in closed form. L1 can be below 0.

    Parameters
    ----------
    norm : {"l1", "l2"}
        Mean gap, or root of the mean squared gap.
    compat : {"sklearn", "netcal", "torchmetrics", "relplot", "uncertainty-calibration"}, optional
        The bins of another tool. Figures of uncertainty-calibration are those of "uncertainty-calibration".

    Notes
    -----
    Assumes independent rows, and bins that do not depend on the outcomes; gaps that cancel inside a bin are
    not seen. Weights count by the rows that they are worth, so that a weight of 2 is not two rows.

    Cost: O(n), and a sort for equal mass. Accuracy: compensated sums, a few units of rounding under the root. The
    square of L2 is unbiased for its bins where it is not cut at 0; L1 is less biased than binned ECE.

    References
    ----------
    Kumar, Liang, Ma, "Verified Uncertainty Calibration", NeurIPS 2019; the idea also in Bröcker, "Estimating
    reliability and resolution of probability forecasts through decomposition of the empirical score", Climate
    Dynamics 39, 2012.

    Examples
    --------
    One bin with outcomes 1, 1, 0, 0 and probability 0.9. Chance accounts for 0.25 / 3 of the squared gap 0.16:

    >>> import math
    >>> import calipers as cal
    >>> error = cal.debiased_ece([1, 1, 0, 0], [0.9] * 4, n_bins=1)
    >>> math.isclose(error, math.sqrt(0.16 - 0.25 / 3))
    True
    """
    return measured(debiased_ece, locals())


@documented
def sweep_ece(
    y_true: Outcomes,
    y_prob: Probabilities = None,
    *,
    strategy: Strategy = "quantile",
    norm: MeanNorm = "l2",
    max_bins: int | None = None,
    link: Link = "logistic",
    **rows: Unpack[RowOptions],
) -> Estimate:
    r"""ECE-sweep: binned calibration error with the most bins for which outcome rates still rise.

        ECE_B = (Σ_b share_b |ȳ_b - p̄_b|^q)^(1/q)

    For B = 2, 3, ... the sweep stops at the first B whose outcome rates fall from one bin to the next, empty ones
    left out, and the result is that of B - 1 bins; q is 1 or 2.

    Parameters
    ----------
    strategy : {"uniform", "quantile"}
        Bins of equal width or of equal mass, with equal probabilities in one bin.
    norm : {"l1", "l2"}
        q = 1, or q = 2 as the authors' code has it.
    max_bins : int, optional
        The sweep ends here at the latest; at n - 1 unless set.

    Returns
    -------
    Estimate
        A float; ``settings["n_bins"]`` is the number of bins that was found.

    Notes
    -----
    Assumes independent rows, and a true outcome rate that rises with the probability.

    Cost: a sort, then O(log n) for each bin of each B; a sweep of more than 2^31 bins is refused. Accuracy:
    compensated sums; rates of weighted rows are compared up to 1e-12. Less biased than a fixed number of bins where
    the rate rises.

    References
    ----------
    Roelofs, Cain, Shlens, Mozer, "Mitigating Bias in Calibration Error Estimation", AISTATS 2022.

    Examples
    --------
    Two bins have rates 1/3 and 2/3, three have 0, 1 and 1/2. So two bins, whose residuals sum to 0.4 and 0.1:

    >>> import calipers as cal
    >>> error = cal.sweep_ece([0, 0, 1, 1, 0, 1], [0.1, 0.2, 0.3, 0.6, 0.7, 0.8], norm="l1")
    >>> error.settings["n_bins"], round(error, 12) == round(0.5 / 6, 12)
    (2, True)
    """
    return measured(sweep_ece, locals())


@documented
def tcal_squared_error(
    y_true: Outcomes,
    y_prob: Probabilities = None,
    *,
    n_bins: int = 15,
    link: Link = "logistic",
    **rows: Unpack[RowOptions],
) -> Estimate:
    r"""T-Cal's debiased plug-in estimate of the squared calibration error. It may be negative.

        DPE = Σ_b ((Σ_{i in b} s_i r_i)² - Σ_{i in b} s_i² r_i²) / S_b,  r_i = y_i - p_i,  S_b = Σ_{i in b} s_i

    with s_i the shares of the weight, over bins [(b-1)/m, b/m), the last closed: products of the residuals of
    different rows of a bin. It is about 0 in the mean where rows are calibrated, and it is not cut at 0, which
    would bring the bias back. It estimates a square, and no root is taken.

    Parameters
    ----------
    n_bins : int
        The number m of bins of equal width.

    Notes
    -----
    Assumes independent rows. The pairs of a row with itself are left out, so that a weight of 2 is not two rows.

    Cost: O(n) time, O(m) memory, one pass. Accuracy: compensated sums; unbiased for Σ_b S_b (mean residual of b)²,
    up to 1/n_b.

    References
    ----------
    Lee, Huang, Hassani, Dobriban, "T-Cal: an optimal test for the calibration of predictive models", JMLR 24, 2023.

    Examples
    --------
    One bin, residuals 0.5, 0.5 and -0.5:

    >>> import calipers as cal
    >>> error = cal.tcal_squared_error([1, 1, 0], [0.5] * 3, n_bins=1)
    >>> round(error, 12) == round((0.5**2 - 0.75) / 3**2, 12)
    True
    """
    return measured(tcal_squared_error, locals())
