"""Binned calibration error, with every choice that makes its figures differ named."""

from __future__ import annotations

from calipers import _core
from calipers._documented import documented
from calipers._estimate import Estimate
from calipers._inputs import Compat, Link, NBins, Norm, Strategy
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
    r"""Binned calibration error: the gap between outcome rate and mean probability, bin by bin.

        ECE_B = Σ_b (W_b / W) |ȳ_b - p̄_b|

    with W_b the weight of bin b, ȳ_b and p̄_b its weighted means; empty bins add 0.
    `calibration_bins` has the table behind the figure.

    References
    ----------
    Naeini, Cooper, Hauskrecht, "Obtaining well calibrated probabilities using Bayesian binning",
    AAAI 2015. Equal mass: Nixon et al., "Measuring calibration in deep learning", CVPR workshops 2019.

    Examples
    --------
    Two bins: 0.2 with outcomes 0 and 1 has a gap of 0.3, 0.9 with outcome 1 one of 0.1.

    >>> import calipers as cal
    >>> ece = cal.expected_calibration_error([0, 1, 1], [0.2, 0.2, 0.9], n_bins=2)
    >>> round(ece, 12) == round((2 * 0.3 + 0.1) / 3, 12)
    True
    >>> round(cal.expected_calibration_error([0, 1, 1], [0.2, 0.2, 0.9], n_bins=2, norm="max"), 12)
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

        ACE = Σ_b (W_b / W) |ȳ_b - p̄_b|,  bins end at the weighted quantiles b/B of the probabilities

    with W_b the weight of bin b, ȳ_b and p̄_b its weighted means. Equal probabilities share a bin. This is
    `expected_calibration_error` with ``strategy="quantile"``, under the name that it is looked for by.

    Notes
    -----
    Assumes independent rows; gaps that cancel inside a bin are not seen. Nixon et al. take the mean over
    all classes: that is ``multiclass="classwise"``.

    Cost: a sort. Accuracy: compensated sums, a few units of rounding; biased up at small n even when calibrated.

    References
    ----------
    Nixon, Dusenberry, Zhang, Jerfel, Tran, "Measuring calibration in deep learning", CVPR workshops 2019.

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

        RMSCE = √(Σ_b (W_b / W) (ȳ_b - p̄_b)²)

    with W_b the weight of bin b, ȳ_b and p̄_b its weighted means. This is `expected_calibration_error` with
    ``norm="l2"``; `debiased_ece` takes away what chance adds to it.

    Notes
    -----
    Assumes independent rows; gaps that cancel inside a bin are not seen.

    Cost: O(n), and a sort for equal mass. Accuracy: exact or compensated sums, a few units of rounding;
    biased up at small n even when calibrated.

    References
    ----------
    Kumar, Liang, Ma, "Verified Uncertainty Calibration", NeurIPS 2019.

    Examples
    --------
    Two bins: 0.2 with outcomes 0 and 1 has a gap of 0.3, 0.9 with outcome 1 one of 0.1.

    >>> import math
    >>> import calipers as cal
    >>> error = cal.root_mean_squared_calibration_error([0, 1, 1], [0.2, 0.2, 0.9], n_bins=2)
    >>> math.isclose(error, math.sqrt((2 * 0.3**2 + 0.1**2) / 3))
    True
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

        MCE = max_b |ȳ_b - p̄_b|

    over the bins that have weight. This is `expected_calibration_error` with ``norm="max"``.

    Notes
    -----
    Assumes independent rows. One row alone in its bin can make the figure, so that it says more of the
    number of bins than of the model: `calibration_indices` has the largest gap of a smoothed curve.

    Cost: O(n), and a sort for equal mass. Accuracy: exact or compensated sums, a few units of rounding; strongly
    biased up where a bin has few rows.

    References
    ----------
    Naeini, Cooper, Hauskrecht, "Obtaining well calibrated probabilities using Bayesian binning", AAAI 2015.

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
    r"""Top-label calibration error: binned calibration error of the rows that are predicted as a class, class by class.

        Σ_c share_c · ECE(confidence and correctness of the rows whose top class is c)

    with share_c the share of the weight, and the first of several top classes. ``multiclass="top_class"`` of other
    functions asks less: there a class that is too sure makes up for one that is not sure enough.

    Parameters
    ----------
    y_true : array-like of shape (n,), or Predictions
        Class labels from 0 to k - 1. `Predictions` stand for `y_true`, `y_prob` and the options of rows; their
        `multiclass`, `ties` and `pos_label` do not matter here.
    y_prob : array-like of shape (n, k), optional
        Probabilities of each class, or raw scores with `from_logits`; left out beside `Predictions`.
    n_bins : int or "auto"
        How many bins for each class; "auto" is the cube root of its rows, rounded down.
    norm : {"l1", "l2", "max"}
        Mean gap, root of the mean squared gap or largest gap; of classes the mean is taken.

    Returns
    -------
    Estimate
        A float; ``per_class`` has one estimate for each class that is predicted at all, with ``class`` and
        ``share`` among its settings.

    Notes
    -----
    Assumes independent rows; gaps that cancel inside a bin are not seen.

    Cost: one pass over all scores, and a sort for equal mass. Accuracy: a few units of rounding; biased up by
    more than the same measure of all rows, because bins have fewer.

    References
    ----------
    Gupta, Ramdas, "Top-label calibration and multiclass-to-binary reductions", ICLR 2022.

    Examples
    --------
    Two rows are predicted as class 0 with 0.8, one of them rightly (0.3); one as class 1 with 0.6, rightly (0.4):

    >>> import calipers as cal
    >>> error = cal.top_label_calibration_error([0, 1, 1], [[0.8, 0.2], [0.8, 0.2], [0.4, 0.6]])
    >>> round(error, 12) == round((2 * 0.3 + 0.4) / 3, 12), len(error.per_class)
    (True, 2)
    """
    # Scores of classes become probabilities by the softmax, whose log-odds have the logistic link.
    given = {**locals(), "compat": None, "link": "logistic"}
    return Estimate._of(answer(top_label_calibration_error, given, _core.top_label_calibration_error))
