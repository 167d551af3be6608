"""LS-ECE: as an integral, in its residual form, and by sampling as in its paper."""

from __future__ import annotations

from typing import Literal

from calipers import _core
from calipers._documented import documented
from calipers._estimate import Estimate
from calipers._inputs import Link, Noise
from calipers._predictions import Outcomes, Probabilities, answer, measured
from calipers._row_options import RowOptions, Unpack


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
    r"""Logit-smoothed calibration error, exact to a stated tolerance.

    ECE after adding noise to the logits, as an integral and not a simulation:

        LS-ECE = E |E[Y | T] - T|,  T = ρ(h + ξ)
               = ∫ |G(u)| du,       G(u) = Σ_i s_i (y_i - ρ(u)) p_ξ(u - h_i)

    with h_i the logits, y_i the outcomes, s_i the shares of the weight, ρ the link and p_ξ the
    density of the noise at scale sigma. It is continuous in the predictions, which ECE is not.

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

        residual LS-ECE = ∫ |R(u)| du,  R(u) = Σ_i s_i (y_i - p_i) p_ξ(u - h_i)

    with p_i the probabilities, h_i their logits, y_i the outcomes, s_i the shares of the weight and p_ξ the density of
    the noise at scale sigma. `ls_ece` has ρ(u) in place of p_i.

    The form is ours and not the paper's. In the population it is 0 for a calibrated model at any sigma, and only
    then, where the noise is Gaussian. LS-ECE is not: noise on the logits moves the predictions, which makes LS-ECE of
    a calibrated model larger than 0. So `assess`, `compare` and the command decide by this form whether a model is
    miscalibrated. It is never above the true ECE, and goes to it as sigma goes to 0.

    Raises
    ------
    CalipersError
        A ValueError whose text has the rule, the value and the row (from 0), and whose `code` names the rule.

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
    r"""LS-ECE by sampling, as in the paper: for those who want to reproduce it.

        (1/m) Σ_j |r(u_j) - ρ(u_j)|,  u_j = h_I + ξ,  r(u) = Σ_i s_i y_i p_ξ(u - h_i) / Σ_i s_i p_ξ(u - h_i)

    with I drawn by weight. Unbiased for `ls_ece`, which is exact to its tolerance and faster.

    Parameters
    ----------
    n_samples : int
        How many samples m, at least 2.

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
    return Estimate._of(answer(ls_ece_sampled, locals(), _core.ls_ece_sampled))
