"""Calibration error by smoothing.

LS-ECE on the logits, smooth ECE and kernels on the probabilities.
"""

from __future__ import annotations

from typing import Literal

from calipers import _core
from calipers._documented import documented
from calipers._estimate import Estimate
from calipers._inputs import Link, MeanNorm, Noise
from calipers._predictions import Outcomes, Probabilities, answer, measured
from calipers._row_options import ClassOptions, RowOptions, Unpack


@documented
def ls_ece(
    y_true: Outcomes,
    y_prob: Probabilities = None,
    *,
    sigma: float | Literal["auto"] = "auto",
    noise: Noise = "gaussian",
    link: Link = "logistic",
    tolerance: float = 1e-6,
    clip: float = 1e-6,
    **rows: Unpack[RowOptions],
) -> Estimate:
    r"""LS-ECE, the logit-smoothed calibration error, exact to a stated tolerance.

    Use it as the first measure of calibration: it needs no bins, changes little when predictions
    change little, and goes to the true ECE as sigma goes to 0. `assess` tells whether a value is
    more than chance.

    ECE after adding noise to the logits, as an integral and not a simulation:

        LS-ECE = E |E[Y | T] - T|,  T = ρ(h + ξ)
               = ∫ |G(u)| du,       G(u) = Σ_i s_i (y_i - ρ(u)) p_ξ(u - h_i)

    with h_i the logits, y_i the outcomes, s_i the shares of the weight, ρ the link and p_ξ the
    density of the noise at scale sigma. It is continuous in the predictions, which ECE is not.

    References
    ----------
    Chidambaram, Lee, McSwiggen, Rezchikov, "How Flawed Is ECE? An Analysis via Logit Smoothing",
    2024.

    Examples
    --------
    One row with probability 1/2 and outcome 1. The gap is 1 - T, which has mean 1/2:

    >>> import calipers as cal
    >>> cal.ls_ece([1], [0.5], sigma=1.0)
    Estimate(0.5, numerical_bound=..., n=1, sigma=1, noise='gaussian', link='logistic')

    Raw scores of three classes; the top class was right in two rows of three:

    >>> scores = [[4.0, 1.0, 0.0], [0.5, 3.0, 0.0], [0.0, 2.0, 1.0]]
    >>> estimate = cal.ls_ece([0, 1, 2], scores, sigma=0.5, from_logits=True)
    >>> estimate.settings["multiclass"], round(estimate, 4)
    ('top_class', 0.2354)
    """
    return measured(ls_ece, locals())


@documented
def residual_ls_ece(
    y_true: Outcomes,
    y_prob: Probabilities = None,
    *,
    sigma: float | Literal["auto"] = "auto",
    noise: Noise = "gaussian",
    link: Link = "logistic",
    tolerance: float = 1e-6,
    clip: float = 1e-6,
    **rows: Unpack[RowOptions],
) -> Estimate:
    r"""The residual form of LS-ECE: residuals are smoothed, and predictions stay as they are.

    Use it to decide whether a model is calibrated. In the population it is 0 for a calibrated model
    at any sigma, while noise on the logits alone makes LS-ECE larger than 0. `assess`, `compare`
    and the command decide by this form.

        residual LS-ECE = ∫ |R(u)| du,  R(u) = Σ_i s_i (y_i - p_i) p_ξ(u - h_i)

    with p_i the probabilities, h_i their logits, y_i the outcomes, s_i the shares of the weight and
    p_ξ the density of the noise at scale sigma. `ls_ece` has ρ(u) in place of p_i.

    This form is not part of the paper. Where the noise is Gaussian, it is 0 in the population only
    for a calibrated model. It is never above the true ECE, and goes to it as sigma goes to 0.

    Notes
    -----
    Assumes independent rows, or clusters of rows that `assess` is told of. Of a sample it is above
    0 for a calibrated model, too, as every measure of miscalibration is: `assess` has the noise
    floor.

    Cost: that of `ls_ece`. Accuracy: ``numerical_bound`` is proven, and at most ``tolerance``.

    References
    ----------
    docs/theory.md of this package has the proofs. Chidambaram, Lee, McSwiggen, Rezchikov, "How
    Flawed Is ECE? An Analysis via Logit Smoothing", 2024 (LS-ECE, whose noise and link these are).

    Examples
    --------
    Ten rows with probability 0.9, of which eight came true. All are at one place, so that smoothing
    takes nothing:

    >>> import calipers as cal
    >>> round(cal.residual_ls_ece([1] * 8 + [0] * 2, [0.9] * 10, sigma=1.0), 6)
    0.1

    Nine came true. Noise on the logits makes LS-ECE larger than 0, and leaves the residual form as
    it is:

    >>> y_true, y_prob = [1] * 9 + [0], [0.9] * 10
    >>> round(cal.ls_ece(y_true, y_prob, sigma=1.0), 3)
    0.08
    >>> round(cal.residual_ls_ece(y_true, y_prob, sigma=1.0), 6)
    0.0
    """
    return measured(residual_ls_ece, locals())


@documented
def ls_ece_sampled(
    y_true: Outcomes,
    y_prob: Probabilities = None,
    *,
    sigma: float | Literal["auto"] = 0.1,
    noise: Noise = "gaussian",
    link: Link = "logistic",
    n_samples: int = 10_000,
    random_state: int = 0,
    clip: float = 1e-6,
    **rows: Unpack[RowOptions],
) -> Estimate:
    r"""LS-ECE by sampling, as in the paper.

    Use it to reproduce the paper; `ls_ece` computes the same value exactly and faster.

        (1/m) Σ_j |r(u_j) - ρ(u_j)|,  u_j = h_I + ξ
        r(u) = Σ_i s_i y_i p_ξ(u - h_i) / Σ_i s_i p_ξ(u - h_i)

    with I drawn by weight. It is unbiased for `ls_ece`.

    Parameters
    ----------
    n_samples : int
        How many samples m, from 2 to 10^9.

    Returns
    -------
    Estimate
        With ``standard_error``, that of the sampling.

    References
    ----------
    Section 5 of the paper of LS-ECE: see `ls_ece`.

    Examples
    --------
    >>> import calipers as cal
    >>> y_true, y_prob = [1, 0, 0], [0.9, 0.6, 0.2]
    >>> sampled = cal.ls_ece_sampled(y_true, y_prob, sigma=0.5)
    >>> abs(sampled - cal.ls_ece(y_true, y_prob, sigma=0.5)) < 4 * sampled.standard_error
    True
    """
    return Estimate._of(answer(ls_ece_sampled, locals(), _core.ls_ece_sampled))


@documented
def smooth_ece(
    y_true: Outcomes,
    y_prob: Probabilities = None,
    *,
    sigma: float | Literal["auto"] = "auto",
    smoothing: Literal["residuals", "predictions"] = "residuals",
    compat: Literal["relplot"] | None = None,
    tolerance: float = 1e-9,
    link: Link = "logistic",
    **rows: Unpack[RowOptions],
) -> Estimate:
    r"""Smooth ECE: the size of the residuals after smoothing them along the probabilities.

    Use it for a calibration error without bins whose bandwidth is chosen automatically. `ls_ece`
    smooths along the logits instead.

        smECE_σ = ∫_0^1 |Σ_i s_i (y_i - p_i) K_σ(t, p_i)| dt,  smECE = the σ with smECE_σ = σ
        K_σ(t, p) = Σ_k φ_σ(t - p + 2k) + φ_σ(t + p + 2k),     k over all integers

    with s_i the shares of the weight and φ_σ the normal density, reflected at 0 and 1. smECE_σ does
    not grow with σ, so that there is one fixed point.

    Parameters
    ----------
    sigma : float or "auto"
        Width of the kernel; "auto" is the fixed point.
    smoothing : {"residuals", "predictions"}
        "predictions" is the calibration error of the predictor that reports p + σ ξ, reflected into
        [0, 1]: ∫ |Σ_i s_i (y_i - t) K_σ(t, p_i)| dt. Its σ is that of smECE unless given.
    compat : {"relplot"}, optional
        The numbers of relplot 1.0.3: grids of about a thousand points, and a fixed point that is
        known to 1/1024. Rows at exactly 0 or 1 count half there, so that with many of them the
        value is far from smECE.
    tolerance : float
        Largest numerical error that is accepted, absolute.

    Returns
    -------
    Estimate
        A float; ``settings["sigma"]`` is the width that was used.

    Notes
    -----
    Makes no assumptions: it is continuous in the predictions for any data.

    Cost: O(n), one pass and about ten transforms of a grid for the fixed point. Accuracy: the
    numerical bound is proven and at most the tolerance; with ``compat="relplot"`` it is that of
    rounding in relplot's own sums. Biased up at small n even when calibrated.

    References
    ----------
    Błasiok, Nakkiran, "Smooth ECE: Principled Reliability Diagrams via Kernel Smoothing", ICLR
    2024.

    Examples
    --------
    All residuals are 0.3, and smoothing moves them without loss:

    >>> import calipers as cal
    >>> error = cal.smooth_ece([1, 1], [0.7, 0.7])
    >>> round(error, 6), error.numerical_bound <= 1e-9
    (0.3, True)
    """
    return measured(smooth_ece, locals())


@documented
def kde_ece(
    y_true: Outcomes,
    y_prob: Probabilities = None,
    *,
    kernel: Literal["triweight", "gaussian"] = "triweight",
    bandwidth: float | Literal["auto"] = "auto",
    tolerance: float = 1e-9,
    link: Link = "logistic",
    **rows: Unpack[RowOptions],
) -> Estimate:
    r"""KDE-ECE: the calibration error of a density estimate of probabilities and outcomes.

    Use it where probabilities have a density and are spread over [0, 1].

        ∫_0^1 |ŷ(t) - t| f(t) dt = ∫_0^1 |Σ_i s_i (y_i - t) K_h(t, p_i)| dt
        f(t) = Σ_i s_i K_h(t, p_i),  ŷ(t) = Σ_i s_i y_i K_h(t, p_i) / f(t)

    with s_i the shares of the weight and K_h the kernel of standard deviation h, reflected at 0 and
    1.

    Parameters
    ----------
    kernel : {"triweight", "gaussian"}
        35/32 (1 - u²)³, or the normal density.
    bandwidth : float or "auto"
        The standard deviation h; "auto" is s (2n)^(-1/5) with s that of the probabilities of
        outcome 1.
    tolerance : float
        Largest numerical error that is accepted, absolute.

    Returns
    -------
    Estimate
        A float; ``settings["bandwidth"]`` is the one that was used.

    Notes
    -----
    Assumes independent rows whose probabilities have a density. With the Gaussian kernel it is
    `smooth_ece` with smoothed predictions.

    Cost: O(n), one pass, and one for the rule. Accuracy: the numerical bound is proven and at most
    the tolerance; the authors' code sums over a grid and differs by about 1e-4 of the value. Biased
    up at small n h.

    References
    ----------
    Zhang, Kailkhura, Han, "Mix-n-Match: Ensemble and Compositional Methods for Uncertainty
    Calibration", ICML 2020; before it, Bröcker, "Some remarks on the reliability of categorical
    probability forecasts", Monthly Weather Review 136, 2008.

    Examples
    --------
    One row at 1/2 with outcome 1: the gap is 1 - t, whose mean under any density around 1/2 is 1/2.

    >>> import calipers as cal
    >>> error = cal.kde_ece([1], [0.5], bandwidth=0.1)
    >>> round(error, 6), error.numerical_bound <= 1e-9
    (0.5, True)
    """
    return measured(kde_ece, locals())


@documented
def beta_kde_ece(
    y_true: Outcomes,
    y_prob: Probabilities = None,
    *,
    bandwidth: float | Literal["auto"] = "auto",
    norm: MeanNorm = "l1",
    clip: float = 1e-6,
    link: Link = "logistic",
    **rows: Unpack[RowOptions],
) -> Estimate:
    r"""KDE-ECE with beta kernels: each row against the outcome rate that the other rows predict.

    Use it where many probabilities are close to 0 or 1, where beta kernels have no boundary bias.

        Σ_j s_j |ŷ_j - p_j|,  ŷ_j = Σ_{i≠j} w_i y_i K(p_j; p_i) / Σ_{i≠j} w_i K(p_j; p_i)

    with s_j the shares of the weight and K(z; x) the density at z of the beta distribution with
    parameters x/h + 1 and (1 - x)/h + 1.

    Parameters
    ----------
    bandwidth : float or "auto"
        The bandwidth h; "auto" maximises the likelihood of rows under the density that all others
        make, over 20 values from 1e-5 to 1.
    norm : {"l1", "l2"}
        Mean distance, or root of the mean squared distance.
    clip : float
        Probabilities are clipped to [clip, 1 - clip], where K is finite.

    Returns
    -------
    Estimate
        A float; ``settings["bandwidth"]`` is the one that was used.

    Notes
    -----
    Assumes independent rows whose probabilities have a density. A row leaves itself out with all
    its weight, so that a weight of 2 is not two rows. For a binary outcome the authors' code has
    twice this value: it adds up both classes.

    Cost: a sort, and near-linear time by moments of cells. Accuracy: kernel sums are good to 2e-9
    of themselves. Leaving out one's own row takes away most of the bias of small n h.

    References
    ----------
    Popordanoska, Sayer, Blaschko, "A Consistent and Differentiable Lp Canonical Calibration Error
    Estimator", NeurIPS 2022.

    Examples
    --------
    Two rows: each is compared with the outcome of the other, whatever the bandwidth.

    >>> import calipers as cal
    >>> round(cal.beta_kde_ece([0, 1], [0.2, 0.7], bandwidth=0.1), 6)
    0.75
    """
    return measured(beta_kde_ece, locals())


@documented
def canonical_kde_ece(
    y_true: Outcomes,
    y_prob: Probabilities = None,
    *,
    bandwidth: float,
    norm: MeanNorm = "l1",
    clip: float = 1e-6,
    limit: int = 20_000_000_000,
    **rows: Unpack[ClassOptions],
) -> Estimate:
    r"""Canonical calibration error: whole vectors of class probabilities against class rates.

    Use it to ask for calibration of all classes together, which no binary view does. It needs many
    rows for more than a few classes.

        Σ_j s_j Σ_c |ŷ_jc - p_jc|^q
        ŷ_jc = Σ_{i≠j} w_i 1[y_i = c] K(p_j; p_i) / Σ_{i≠j} w_i K(p_j; p_i)

    with s_j the shares of the weight, K(z; x) the density at z of the Dirichlet distribution with
    parameters x/h + 1, and q = 1, or q = 2 and the root of the whole.

    Parameters
    ----------
    bandwidth : float
        The bandwidth h.
    norm : {"l1", "l2"}
        q = 1 or q = 2.
    clip : float
        Probabilities are at least this in the kernels.
    limit : int
        Products that may be taken: n² (k + 8) are needed, and more than this is an error.

    Returns
    -------
    Estimate
        A float, up to 2 for "l1".

    Notes
    -----
    Assumes independent rows whose vectors have a density: with many classes, n must be very large.
    A row leaves itself out with all its weight, so that a weight of 2 is not two rows. For two
    classes and "l1" it is twice `beta_kde_ece`.

    Cost: every row against every other, about 10^9 products in a second on one core. Accuracy:
    plain sums on the scale of the largest kernel, exponents rounded by some units over h. Leaving
    out one's own row takes away most of the bias of small n h.

    References
    ----------
    The paper of `beta_kde_ece`.

    Examples
    --------
    Each row is compared with the class of the other: |(0, 1, 0) - (0.7, 0.2, 0.1)| = 1.6, and 1.8.

    >>> import calipers as cal
    >>> round(cal.canonical_kde_ece([0, 1], [[0.7, 0.2, 0.1], [0.1, 0.8, 0.1]], bandwidth=0.1), 12)
    1.7
    """
    return Estimate._of(answer(canonical_kde_ece, locals(), _core.canonical_kde_ece))
