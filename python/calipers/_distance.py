"""Distance from calibration, and the measures that are within a constant or a square of it."""

from __future__ import annotations

from calipers._documented import documented
from calipers._estimate import Estimate
from calipers._inputs import Link
from calipers._predictions import Outcomes, Probabilities, measured
from calipers._row_options import RowOptions, Unpack


@documented
def smooth_calibration_error(
    y_true: Outcomes, y_prob: Probabilities = None, *, link: Link = "logistic", **rows: Unpack[RowOptions]
) -> Estimate:
    r"""Smooth calibration error: the largest weighted residual over Lipschitz functions of p.

    Use it for a calibration error that changes little when predictions change little, with
    guarantees: it is within a factor of two of the `lower_distance_to_calibration`.

        smCE = max Σ_i s_i (y_i - p_i) w(p_i)  over w: [0, 1] -> [-1, 1],  |w(p) - w(q)| <= |p - q|

    with s_i the shares of the weight. The linear program is solved exactly, by dynamic programming.

    Notes
    -----
    Assumes independent rows. Between half and twice the `lower_distance_to_calibration`; never
    below |mean residual|.

    Cost: O(n log n). Accuracy: the numerical bound is the distance of a solution of the program and
    one of its dual, typically 1e-15, whatever the solver did. Biased up; of order n^(-1/2) where
    calibrated.

    References
    ----------
    Kakade, Foster, "Deterministic calibration and Nash equilibrium", 2008; Błasiok, Gopalan, Hu,
    Nakkiran, "A unifying theory of distance from calibration", STOC 2023; Hu, Jambulapati, Tian,
    Yang, "Testing calibration in nearly-linear time", NeurIPS 2024.

    Examples
    --------
    Residuals 0.6 and -0.6 at a distance of 0.2: w can differ by 0.2 between them, so 0.5 * 0.6 *
    0.2 is the best.

    >>> import calipers as cal
    >>> round(cal.smooth_calibration_error([1, 0], [0.4, 0.6]), 12)
    0.06
    """
    return measured(smooth_calibration_error, locals())


@documented
def lower_distance_to_calibration(
    y_true: Outcomes,
    y_prob: Probabilities = None,
    *,
    n_nodes: int = 16384,
    link: Link = "logistic",
    **rows: Unpack[RowOptions],
) -> Estimate:
    r"""Lower distance to calibration.

    How far probabilities must move, on average, to be calibrated.

    Use it as a reference: the distance from calibration itself, which other measures approximate.
    It takes longer than they do.

        min E|p - u|  over joint distributions of (p, u, y)

    in which (p, y) is distributed as the rows and E[y | u] = u.

    Rows of one probability and outcome may be moved to several places.

    Parameters
    ----------
    n_nodes : int
        Nodes on [0, 1], half of them even and half at probabilities of the rows; more make the
        bound smaller.

    Returns
    -------
    Estimate
        A float from 0 to 1: the middle of a lower and an upper bound, with half their distance as
        its numerical bound.

    Notes
    -----
    Assumes independent rows. Never below |mean residual|; between half and twice the
    `smooth_calibration_error`.

    Cost: O(n log n) for a sort, then about 30 steps of an interior-point method on the nodes.
    Accuracy: both bounds hold whatever the solver did; they are 1e-12 to 1e-8 apart where
    miscalibration is clear, up to 1e-5 where n is large and rows are nearly calibrated. Where the
    solver stops early on few rows, it is asked again on other nodes. Biased up; of order n^(-1/2)
    where calibrated.

    References
    ----------
    Błasiok, Gopalan, Hu, Nakkiran, "A unifying theory of distance from calibration", STOC 2023.

    Examples
    --------
    0.4 had outcome 1 and 0.6 had outcome 0: 0.5 for both is calibrated, at a distance of 0.1.

    >>> import calipers as cal
    >>> error = cal.lower_distance_to_calibration([1, 0], [0.4, 0.6])
    >>> round(error, 6), error.numerical_bound < 1e-7
    (0.1, True)
    """
    return measured(lower_distance_to_calibration, locals())


@documented
def surrogate_interval_calibration_error(
    y_true: Outcomes, y_prob: Probabilities = None, *, link: Link = "logistic", **rows: Unpack[RowOptions]
) -> Estimate:
    r"""Surrogate interval calibration error: binned error over all shifts and widths of the bins.

    Use it for a binned error that does not depend on where bins begin, with a penalty for wide
    bins.

        SintCE    = inf over k = 0, 1, 2, ... of RintCE(2^-k) + 2^-k
        RintCE(e) = mean over r in [0, e) of Σ_j |Σ_{i in bin j} s_i (y_i - p_i)|
        bin j     = the rows with p_i in [r + j e, r + (j+1) e)

    with s_i the shares of the weight. The mean over shifts is an integral in closed form, and not
    sampled.

    Returns
    -------
    Estimate
        A float; ``settings["width"]`` is the best width of the bins.

    Notes
    -----
    Assumes independent rows. Never below the `lower_distance_to_calibration`.

    Cost: O(n log n) for a sort, then about log2(1 / SintCE) passes. Accuracy: some units of
    rounding, and 2^-52 where the infimum is approached by ever narrower bins. Biased up.

    References
    ----------
    Błasiok, Gopalan, Hu, Nakkiran, "A unifying theory of distance from calibration", STOC 2023.

    Examples
    --------
    One row with a residual of 1/4. No shift cuts it, so that the price of the width is all there is
    to save:

    >>> import calipers as cal
    >>> round(cal.surrogate_interval_calibration_error([1], [0.75]), 12)
    0.25
    """
    return measured(surrogate_interval_calibration_error, locals())


@documented
def kernel_calibration_error(
    y_true: Outcomes,
    y_prob: Probabilities = None,
    *,
    length_scale: float = 1.0,
    link: Link = "logistic",
    **rows: Unpack[RowOptions],
) -> Estimate:
    r"""Kernel calibration error with the Laplace kernel, in O(n log n).

    Use it for a calibration error without bins that is fast on many rows. `mmce` is the same with a
    length scale of 0.4.

        kCE = √(Σ_ij s_i s_j (y_i - p_i) (y_j - p_j) exp(-|p_i - p_j| / l))

    with s_i the shares of the weight. Pairs i = j are part of the sum.

    Parameters
    ----------
    length_scale : float
        The distance l of probabilities over which the kernel falls to 1 / e.

    Notes
    -----
    Assumes independent rows. With l = 1 it lies between `smooth_calibration_error` / √2 and the ECE
    of the pooled rows.

    Cost: O(n log n) for a sort and one pass, where others take all pairs. Accuracy: proven, some
    units of rounding that do not grow with n. Biased up, by about √(Σ s_i² p_i (1 - p_i)) where
    calibrated.

    References
    ----------
    Błasiok, Gopalan, Hu, Nakkiran, "A unifying theory of distance from calibration", STOC 2023.

    Examples
    --------
    Residuals 0.75 and -0.75 of half the weight each, at a distance of 0.5:

    >>> import calipers as cal
    >>> round(cal.kernel_calibration_error([1, 0], [0.25, 0.75]), 3)
    0.333
    """
    return measured(kernel_calibration_error, locals())


@documented
def mmce(
    y_true: Outcomes, y_prob: Probabilities = None, *, link: Link = "logistic", **rows: Unpack[RowOptions]
) -> Estimate:
    r"""Maximum mean calibration error: the kernel calibration error with a length scale of 0.4.

    Use it to compare with values of MMCE, which are mostly of the confidence in the top class;
    `kernel_calibration_error` has other length scales.

        MMCE = √(Σ_ij s_i s_j (y_i - p_i) (y_j - p_j) exp(-|p_i - p_j| / 0.4))

    with s_i the shares of the weight.

    Notes
    -----
    Assumes independent rows. Pairs i = j are part of the sum.

    Cost: O(n log n) for a sort and one pass, where others take all pairs. Accuracy: proven, some
    units of rounding that do not grow with n. Biased up, by about √(Σ s_i² p_i (1 - p_i)) where
    calibrated.

    References
    ----------
    Kumar, Sarawagi, Jain, "Trainable calibration measures for neural networks from kernel mean
    embeddings", ICML 2018.

    Examples
    --------
    Residuals 0.75 and -0.75 of half the weight each, at a distance of 0.5:

    >>> import calipers as cal
    >>> round(cal.mmce([1, 0], [0.25, 0.75]), 3)
    0.448
    """
    return measured(mmce, locals())
