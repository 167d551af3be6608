"""Binned calibration error, with every choice named, and its debiased forms."""

from __future__ import annotations

from calipers import _core
from calipers._documented import documented
from calipers._estimate import Estimate
from calipers._inputs import Compat, Link, MeanNorm, NBins, Norm, Strategy
from calipers._predictions import Outcomes, Probabilities, answer, measured
from calipers._row_options import ClassOptions, RowOptions, Unpack


@documented
def expected_calibration_error(
    y_true: Outcomes,
    y_prob: Probabilities = None,
    *,
    n_bins: NBins = 15,
    strategy: Strategy = "uniform",
    norm: Norm = "l1",
    compat: Compat = None,
    link: Link = "logistic",
    **rows: Unpack[RowOptions],
) -> Estimate:
    r"""Binned calibration error (ECE): the gaps between outcome rate and probability, bin by bin.

    Use it to compare with published values, most of which are binned ECEs. The value depends on the
    bins: `sweep` shows by how much, and `ls_ece` needs none. `calibration_bins` has the table of
    bins.

        ECE_B = Σ_b (W_b / W) |ȳ_b - p̄_b|

    with W_b the weight of bin b, ȳ_b and p̄_b its weighted means; empty bins add 0.
    ``settings["edges"]`` describes where bins begin and end.

    References
    ----------
    Naeini, Cooper, Hauskrecht, "Obtaining well calibrated probabilities using Bayesian binning",
    AAAI 2015. Equal mass: Nixon et al., "Measuring calibration in deep learning", CVPR workshops
    2019.

    Examples
    --------
    Two bins: 0.2 with outcomes 0 and 1 has a gap of 0.3, 0.9 with outcome 1 one of 0.1.

    >>> import calipers as cal
    >>> round(cal.expected_calibration_error([0, 1, 1], [0.2, 0.2, 0.9], n_bins=2), 3)
    0.233
    >>> round(cal.expected_calibration_error([0, 1, 1], [0.2, 0.2, 0.9], n_bins=2, norm="max"), 3)
    0.3
    """
    return measured(expected_calibration_error, locals())


@documented
def adaptive_calibration_error(
    y_true: Outcomes,
    y_prob: Probabilities = None,
    *,
    n_bins: NBins = 15,
    link: Link = "logistic",
    **rows: Unpack[RowOptions],
) -> Estimate:
    r"""Adaptive calibration error: binned calibration error with bins of equal mass.

    Use it where most probabilities are close to 0 or 1, so that bins of equal width would be nearly
    empty. It is `expected_calibration_error` with ``strategy="quantile"``.

        ACE = Σ_b (W_b / W) |ȳ_b - p̄_b|,  bins end at the weighted quantiles b/B

    with W_b the weight of bin b, ȳ_b and p̄_b its weighted means. Equal probabilities share a bin.

    Notes
    -----
    Assumes independent rows; gaps that cancel inside a bin are not detected. Nixon et al. take the
    mean over all classes: that is ``multiclass="classwise"``.

    Cost: a sort. Accuracy: compensated sums, a few units of rounding; biased up at small n even
    when calibrated.

    References
    ----------
    Nixon, Dusenberry, Zhang, Jerfel, Tran, "Measuring calibration in deep learning", CVPR workshops
    2019.

    Examples
    --------
    Two bins with two rows each, whose gaps are 0.35 and 0.25:

    >>> import calipers as cal
    >>> round(cal.adaptive_calibration_error([0, 1, 1, 1], [0.1, 0.2, 0.7, 0.8], n_bins=2), 12)
    0.3
    """
    return measured(adaptive_calibration_error, locals())


@documented
def root_mean_squared_calibration_error(
    y_true: Outcomes,
    y_prob: Probabilities = None,
    *,
    n_bins: NBins = 15,
    strategy: Strategy = "uniform",
    link: Link = "logistic",
    **rows: Unpack[RowOptions],
) -> Estimate:
    r"""Root mean squared calibration error: binned calibration error in the L2 norm.

    Use it where large gaps shall count more than small ones. It is `expected_calibration_error`
    with ``norm="l2"``; `debiased_ece` subtracts what chance adds to it.

        RMSCE = √(Σ_b (W_b / W) (ȳ_b - p̄_b)²)

    with W_b the weight of bin b, ȳ_b and p̄_b its weighted means.

    Notes
    -----
    Assumes independent rows; gaps that cancel inside a bin are not detected.

    Cost: O(n), and a sort for equal mass. Accuracy: exact or compensated sums, a few units of
    rounding; biased up at small n even when calibrated.

    References
    ----------
    Kumar, Liang, Ma, "Verified Uncertainty Calibration", NeurIPS 2019.

    Examples
    --------
    Two bins: 0.2 with outcomes 0 and 1 has a gap of 0.3, 0.9 with outcome 1 one of 0.1.

    >>> import calipers as cal
    >>> round(cal.root_mean_squared_calibration_error([0, 1, 1], [0.2, 0.2, 0.9], n_bins=2), 3)
    0.252
    """
    return measured(root_mean_squared_calibration_error, locals())


@documented
def maximum_calibration_error(
    y_true: Outcomes,
    y_prob: Probabilities = None,
    *,
    n_bins: NBins = 15,
    strategy: Strategy = "uniform",
    compat: Compat = None,
    link: Link = "logistic",
    **rows: Unpack[RowOptions],
) -> Estimate:
    r"""Maximum calibration error: the largest gap of all bins.

    Use it where the worst bin matters and every bin has many rows. It is
    `expected_calibration_error` with ``norm="max"``; `calibration_indices` has the largest gap of a
    smoothed curve, which depends less on single rows.

        MCE = max_b |ȳ_b - p̄_b|

    over the bins that have weight.

    Notes
    -----
    Assumes independent rows. One row alone in its bin can decide the value.

    Cost: O(n), and a sort for equal mass. Accuracy: exact or compensated sums, a few units of
    rounding; strongly biased up where a bin has few rows.

    References
    ----------
    Naeini, Cooper, Hauskrecht, "Obtaining well calibrated probabilities using Bayesian binning",
    AAAI 2015.

    Examples
    --------
    Two bins: 0.2 with outcomes 0 and 1 has a gap of 0.3, 0.9 with outcome 1 one of 0.1.

    >>> import calipers as cal
    >>> round(cal.maximum_calibration_error([0, 1, 1], [0.2, 0.2, 0.9], n_bins=2), 12)
    0.3
    """
    return measured(maximum_calibration_error, locals())


@documented
def top_label_calibration_error(
    y_true: Outcomes,
    y_prob: Probabilities = None,
    *,
    n_bins: NBins = 15,
    strategy: Strategy = "quantile",
    norm: Norm = "l1",
    **rows: Unpack[ClassOptions],
) -> Estimate:
    r"""Top-label calibration error: binned calibration error of each predicted class, averaged.

    Use it for several classes where each predicted class must be calibrated on its own. With
    ``multiclass="top_class"``, other functions let one overconfident class make up for an
    underconfident one.

        Σ_c share_c · ECE(confidence and correctness of the rows whose top class is c)

    with share_c the share of the weight, and the first of several top classes.

    Parameters
    ----------
    n_bins : int or "auto"
        How many bins for each class; "auto" is the cube root of its rows, rounded down.
    norm : {"l1", "l2", "max"}
        Mean gap, root of the mean squared gap or largest gap; of classes the mean is taken.

    Returns
    -------
    Estimate
        A float; ``per_class`` has one estimate for each class that is predicted at all, with
        ``class`` and ``share`` among its settings.

    Notes
    -----
    Assumes independent rows; gaps that cancel inside a bin are not detected.

    Cost: one pass over all scores, and a sort for equal mass. Accuracy: a few units of rounding;
    biased up by more than the same measure of all rows, because bins have fewer.

    References
    ----------
    Gupta, Ramdas, "Top-label calibration and multiclass-to-binary reductions", ICLR 2022.

    Examples
    --------
    Two rows are predicted as class 0 with 0.8, one of them rightly (0.3); one as class 1 with 0.6,
    rightly (0.4):

    >>> import calipers as cal
    >>> error = cal.top_label_calibration_error([0, 1, 1], [[0.8, 0.2], [0.8, 0.2], [0.4, 0.6]])
    >>> round(error, 3), len(error.per_class)
    (0.333, 2)
    """
    # Scores of classes become probabilities by the softmax, whose log-odds have the logistic link.
    given = {**locals(), "compat": None, "link": "logistic"}
    return Estimate._of(answer(top_label_calibration_error, given, _core.top_label_calibration_error))


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
    r"""Debiased calibration error: the gaps of the bins without the part that chance alone adds.

    Use it in place of binned ECE where rows are few or bins are many.

        L2:  √max(0, Σ_b share_b (g_b² - v_b)),                     v_b  = ȳ_b (1 - ȳ_b) / (n_b - 1)
        L1:  2 Σ_b share_b |g_b| - Σ_b share_b E|N(g_b, s_b²)|,     s_b² = ȳ_b (1 - ȳ_b) / n_b

    with share_b = W_b / W, g_b = ȳ_b - p̄_b and n_b = (Σw)² / Σw² the rows that a bin is worth;
    bins with n_b < 2 add 0 in L2. The expectation, which others sample, is in closed form. L1 can
    be below 0.

    Parameters
    ----------
    norm : {"l1", "l2"}
        Mean gap, or root of the mean squared gap.
    compat : {"sklearn", "netcal", "torchmetrics", "relplot", "uncertainty-calibration"}, optional
        The bins of another tool. To reproduce values of uncertainty-calibration, use
        "uncertainty-calibration".

    Notes
    -----
    Assumes independent rows, and bins that do not depend on the outcomes; gaps that cancel inside a
    bin are not seen. Weights count by the rows that they are worth, so that a weight of 2 is not
    two rows.

    Cost: O(n), and a sort for equal mass. Accuracy: compensated sums, a few units of rounding under
    the root. The square of L2 is unbiased for its bins where it is not cut at 0; L1 is less biased
    than binned ECE.

    References
    ----------
    Kumar, Liang, Ma, "Verified Uncertainty Calibration", NeurIPS 2019; the idea also in Bröcker,
    "Estimating reliability and resolution of probability forecasts through decomposition of the
    empirical score", Climate Dynamics 39, 2012.

    Examples
    --------
    One bin with outcomes 1, 1, 0, 0 and probability 0.9. Chance accounts for 0.25 / 3 of the
    squared gap 0.16:

    >>> import calipers as cal
    >>> round(cal.debiased_ece([1, 1, 0, 0], [0.9] * 4, n_bins=1), 3)
    0.277
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

    Use it to have the number of bins chosen automatically, where the outcome rate rises with the
    probability.

        ECE_B = (Σ_b share_b |ȳ_b - p̄_b|^q)^(1/q)

    For B = 2, 3, ... the sweep stops at the first B whose outcome rates fall from one bin to the
    next, empty ones left out, and the result is that of B - 1 bins; q is 1 or 2.

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

    Cost: a sort, then O(log n) for each bin of each B; a sweep of more than 2^31 bins is an error.
    Accuracy: compensated sums; rates of weighted rows are compared up to 1e-12. Less biased than a
    fixed number of bins where the rate rises.

    References
    ----------
    Roelofs, Cain, Shlens, Mozer, "Mitigating Bias in Calibration Error Estimation", AISTATS 2022.

    Examples
    --------
    Two bins have rates 1/3 and 2/3, three have 0, 1 and 1/2. So two bins, whose residuals sum to
    0.4 and 0.1:

    >>> import calipers as cal
    >>> error = cal.sweep_ece([0, 0, 1, 1, 0, 1], [0.1, 0.2, 0.3, 0.6, 0.7, 0.8], norm="l1")
    >>> error.settings["n_bins"], round(error, 3)
    (2, 0.083)
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
    r"""T-Cal's debiased estimate of the squared calibration error. It may be negative.

    Use it where an unbiased value is needed, for instance to average it over many models;
    `tcal_test` is the test that belongs to it.

        DPE = Σ_b ((Σ_{i in b} s_i r_i)² - Σ_{i in b} s_i² r_i²) / S_b
        r_i = y_i - p_i,  S_b = Σ_{i in b} s_i

    with s_i the shares of the weight, over bins [(b-1)/m, b/m), the last closed: products of the
    residuals of different rows of a bin. It is about 0 in the mean where rows are calibrated, and
    it is not cut at 0, which would bring the bias back. It estimates a square, and no root is
    taken.

    Parameters
    ----------
    n_bins : int
        The number m of bins of equal width.

    Notes
    -----
    Assumes independent rows. The pairs of a row with itself are left out, so that a weight of 2 is
    not two rows.

    Cost: O(n) time, O(m) memory, one pass. Accuracy: compensated sums; unbiased for Σ_b S_b (mean
    residual of b)², up to 1/n_b.

    References
    ----------
    Lee, Huang, Hassani, Dobriban, "T-Cal: an optimal test for the calibration of predictive
    models", JMLR 24, 2023.

    Examples
    --------
    One bin, residuals 0.5, 0.5 and -0.5:

    >>> import calipers as cal
    >>> round(cal.tcal_squared_error([1, 1, 0], [0.5] * 3, n_bins=1), 3)
    -0.056
    """
    return measured(tcal_squared_error, locals())
