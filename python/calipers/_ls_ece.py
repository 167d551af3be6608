"""LS-ECE: as an integral, in its residual form, and by sampling as in its paper."""

from __future__ import annotations

from typing import Literal

from calipers._arrays import ArrayLike
from calipers._estimate import Estimate
from calipers._inputs import Invalid, Link, Multiclass, Noise, PosLabel, Ties
from calipers._predictions import Rows


def ls_ece(
    y_true: ArrayLike,
    y_prob: ArrayLike,
    *,
    sigma: float | Literal["auto"] = "auto",
    noise: Noise = "gaussian",
    link: Link = "logistic",
    tolerance: float = 1e-6,
    clip: float = 1e-6,
    sample_weight: ArrayLike | None = None,
    from_logits: bool = False,
    multiclass: Multiclass = None,
    ties: Ties = "first",
    pos_label: PosLabel = None,
    sum_tolerance: float = 1e-3,
    invalid: Invalid = "refuse",
) -> Estimate:
    r"""Logit-smoothed calibration error, exact to a stated tolerance.

    ECE after adding noise to the logits, as an integral and not a simulation:

        LS-ECE = E |E[Y | T] - T|,  T = ρ(h + ξ)
               = ∫ |G(u)| du,       G(u) = Σ_i s_i (y_i - ρ(u)) p_ξ(u - h_i)

    with h_i the logits, y_i the outcomes, s_i the shares of the weight, ρ the link and p_ξ the
    density of the noise at scale sigma. It is continuous in the predictions, which ECE is not.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Outcomes 0 and 1 (or see `pos_label`), or class labels from 0 to k - 1.
    y_prob : array-like of shape (n,), (n, 2) or (n, k)
        Probabilities of outcome 1, or of each class. float32 and float64 in C order are read in place.
    sigma : float or "auto"
        Scale of the noise: standard deviation (gaussian), full width (uniform), scale (laplace,
        logistic), half-width (epanechnikov). "auto" is 1.25 n^(-1/3) sqrt(s² + 0.1²), s the standard
        deviation of the logits in which each row counts with p (1 - p) times its weight.
    noise : {"gaussian", "uniform", "laplace", "logistic", "epanechnikov"}
        Distribution of the noise.
    link : {"logistic", "probit", "cloglog"}
        The map from logits to probabilities.
    tolerance : float
        Largest numerical error that is accepted, absolute. The result has a bound that is no larger;
        where none can be proven, the call is refused.
    clip : float
        Probabilities are clipped to [clip, 1 - clip], since 0 and 1 have no finite logit.
    sample_weight : array-like of shape (n,), optional
        One weight for each row; at a given sigma, weight 2 is the same as the row twice.
    from_logits : bool
        Whether `y_prob` has raw scores: logits of outcome 1, or the input of a softmax (so
        log-probabilities too). It is never guessed. Nothing saturates and nothing is clipped.
    multiclass : {None, "top_class", "classwise"} or int
        The question that is asked of (n, k). None: P(y = 1) for two classes, "top_class" for more.
        "top_class": the largest probability, and whether that class was right. "classwise": the mean
        over classes, each against the rest. An int: that class against the rest.
    ties : {"first", "any"}
        If several classes share the largest probability, the first is the prediction, as argmax
        takes it, or any of them counts as right.
    pos_label : str, int, float or bool, optional
        The label that is outcome 1, where labels are not 0 and 1.
    sum_tolerance : float
        How far the sum of a row of class probabilities may be from 1.
    invalid : {"refuse", "count"}
        Rows that break a rule refuse the call, or are left out and counted in the result.

    Returns
    -------
    Estimate
        A float with ``numerical_bound``, ``n``, ``settings`` and the counts of what was clipped,
        tied, rounded or left out.

    Raises
    ------
    CalipersError
        A ValueError whose text has the rule, the value and the row (from 0), and whose `code` names the rule.
    TypeError
        For an option of a wrong type.

    References
    ----------
    Chidambaram, Lee, McSwiggen, Rezchikov, "How Flawed Is ECE? An Analysis via Logit Smoothing", 2024.

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
    rows = Rows(y_true, y_prob, sample_weight, from_logits, multiclass, ties, pos_label, sum_tolerance, invalid)
    return rows.estimate("ls_ece", sigma=sigma, noise=noise, link=link, tolerance=tolerance, clip=clip)


def residual_ls_ece(
    y_true: ArrayLike,
    y_prob: ArrayLike,
    *,
    sigma: float | Literal["auto"] = "auto",
    noise: Noise = "gaussian",
    link: Link = "logistic",
    tolerance: float = 1e-6,
    clip: float = 1e-6,
    sample_weight: ArrayLike | None = None,
    from_logits: bool = False,
    multiclass: Multiclass = None,
    ties: Ties = "first",
    pos_label: PosLabel = None,
    sum_tolerance: float = 1e-3,
    invalid: Invalid = "refuse",
) -> Estimate:
    r"""The residual form of LS-ECE: residuals are smoothed, and predictions stay as they are.

        residual LS-ECE = ∫ |R(u)| du,  R(u) = Σ_i s_i (y_i - p_i) p_ξ(u - h_i)

    with p_i the probabilities, h_i their logits, y_i the outcomes, s_i the shares of the weight and p_ξ the density of
    the noise at scale sigma. `ls_ece` has ρ(u) in place of p_i.

    The form is ours and not the paper's. In the population it is 0 for a calibrated model at any sigma, and only
    then, where the noise is Gaussian. LS-ECE is not: noise on the logits moves the predictions, which makes LS-ECE of
    a calibrated model larger than 0. So `assess`, `compare` and the command decide by this form whether a model is
    miscalibrated. It is never above the true ECE, and goes to it as sigma goes to 0.

    Parameters
    ----------
    y_true, y_prob
        As for `ls_ece`, and so are all options.

    Returns
    -------
    Estimate
        A float with ``numerical_bound``, ``n``, ``settings`` and the counts of what was clipped,
        tied, rounded or left out.

    Raises
    ------
    CalipersError
        As for `ls_ece`.

    Notes
    -----
    Assumes independent rows, or clusters of rows that `assess` is told of. Of a sample it is above 0 for a calibrated
    model, too, as every measure of miscalibration is: `assess` has the noise floor.

    Cost: that of `ls_ece`. Accuracy: ``numerical_bound`` is proven, and at most ``tolerance``.

    References
    ----------
    docs/theory.md of this package has the proofs. Chidambaram, Lee, McSwiggen, Rezchikov, "How Flawed Is ECE? An
    Analysis via Logit Smoothing", 2024 (LS-ECE, whose noise and link these are).

    Examples
    --------
    Ten rows with probability 0.9, of which eight came true. All are at one place, so that smoothing takes nothing:

    >>> import calipers as cal
    >>> round(cal.residual_ls_ece([1] * 8 + [0] * 2, [0.9] * 10, sigma=1.0), 6)
    0.1

    Nine came true. Noise on the logits makes LS-ECE larger than 0, and leaves the residual form as it is:

    >>> y_true, y_prob = [1] * 9 + [0], [0.9] * 10
    >>> round(cal.ls_ece(y_true, y_prob, sigma=1.0), 3), round(cal.residual_ls_ece(y_true, y_prob, sigma=1.0), 6)
    (0.08, 0.0)
    """
    rows = Rows(y_true, y_prob, sample_weight, from_logits, multiclass, ties, pos_label, sum_tolerance, invalid)
    return rows.estimate("residual_ls_ece", sigma=sigma, noise=noise, link=link, tolerance=tolerance, clip=clip)


def ls_ece_sampled(
    y_true: ArrayLike,
    y_prob: ArrayLike,
    *,
    sigma: float | Literal["auto"] = 0.1,
    noise: Noise = "gaussian",
    link: Link = "logistic",
    n_samples: int = 10_000,
    random_state: int = 0,
    clip: float = 1e-6,
    sample_weight: ArrayLike | None = None,
    from_logits: bool = False,
    multiclass: Multiclass = None,
    ties: Ties = "first",
    pos_label: PosLabel = None,
    sum_tolerance: float = 1e-3,
    invalid: Invalid = "refuse",
) -> Estimate:
    r"""LS-ECE by sampling, as in the paper: for those who want to reproduce it.

        (1/m) Σ_j |r(u_j) - ρ(u_j)|,  u_j = h_I + ξ,  r(u) = Σ_i s_i y_i p_ξ(u - h_i) / Σ_i s_i p_ξ(u - h_i)

    with I drawn by weight. Unbiased for `ls_ece`, which is exact to its tolerance and faster.

    Parameters
    ----------
    y_true, y_prob
        As for `ls_ece`, and so are the options that are not named here.
    n_samples : int
        How many samples m, at least 2.
    random_state : int
        The seed: the same figure on every machine and with any number of threads.

    Returns
    -------
    Estimate
        With ``standard_error``, that of the sampling.

    References
    ----------
    Chidambaram, Lee, McSwiggen, Rezchikov, "How Flawed Is ECE? An Analysis via Logit Smoothing", 2024,
    section 5.

    Examples
    --------
    >>> import calipers as cal
    >>> y_true, y_prob = [1, 0, 0], [0.9, 0.6, 0.2]
    >>> sampled = cal.ls_ece_sampled(y_true, y_prob, sigma=0.5)
    >>> abs(sampled - cal.ls_ece(y_true, y_prob, sigma=0.5)) < 4 * sampled.standard_error
    True
    """
    rows = Rows(y_true, y_prob, sample_weight, from_logits, multiclass, ties, pos_label, sum_tolerance, invalid)
    return rows.estimate(
        "ls_ece_sampled",
        sigma=sigma,
        noise=noise,
        link=link,
        n_samples=n_samples,
        random_state=random_state,
        clip=clip,
    )
