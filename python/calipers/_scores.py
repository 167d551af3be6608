"""Proper scores, which measure calibration and sharpness together, and their decomposition."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from calipers import _core
from calipers._documented import documented
from calipers._estimate import Estimate
from calipers._inputs import Link
from calipers._predictions import Outcomes, Probabilities, answer, measured
from calipers._result import Result
from calipers._row_options import OneViewOptions, RowOptions, Unpack


@documented
@dataclass(frozen=True)
class CorpDecomposition(Result):
    """A mean score and its parts: score = miscalibration - discrimination + uncertainty.

    Attributes
    ----------
    score : float
        Mean score of the probabilities.
    miscalibration : float
        By how much the isotonic fit scores better: never negative.
    discrimination : float
        By how much the isotonic fit scores better than the overall rate: never negative.
    uncertainty : float
        Mean score of the overall rate.
    numerical_bound : float
        Bound on the numerical error of each part.
    """

    score: float
    miscalibration: float
    discrimination: float
    uncertainty: float
    numerical_bound: float
    n: int
    left_out: dict[str, int]


@documented
def brier_score(
    y_true: Outcomes,
    y_prob: Probabilities = None,
    *,
    scale_by_half: bool | Literal["auto"] = "auto",
    link: Link = "logistic",
    **rows: Unpack[RowOptions],
) -> Estimate:
    r"""Brier score: mean squared distance between outcome and probability.

    Use it to compare models as a whole: it is a strictly proper score, which rewards calibration
    and sharpness together. `corp` splits it into both.

        Brier = Σ_i s_i (y_i - p_i)²                   of one outcome
        Brier = Σ_i s_i Σ_c (1[y_i = c] - p_ic)²       of k classes, the default for three or more

    with s_i the shares of the weight. Its mean is smallest at the true probabilities.

    Parameters
    ----------
    scale_by_half : bool or "auto"
        Whether the sum over classes is halved, so that the score is in [0, 1]. "auto" halves it
        for one outcome, whose two classes are missed by the same distance, and not for k classes,
        as scikit-learn does.

    Notes
    -----
    ``multiclass="top_class"`` or an int asks for the score of one outcome, and
    ``multiclass="classwise"`` for its mean over classes, which is the sum over classes divided by
    k.

    References
    ----------
    Brier, "Verification of forecasts expressed in terms of probability", Monthly Weather Review 78,
    1950.

    Examples
    --------
    >>> import calipers as cal
    >>> round(cal.brier_score([1, 0], [0.9, 0.4]), 6)
    0.085

    Of three classes, one row with 0.1² + 0.1² + 0.2² and one with 0.6² + 0.4² + 0.2²:

    >>> round(cal.brier_score([2, 1], [[0.1, 0.1, 0.8], [0.4, 0.4, 0.2]]), 6)
    0.31
    """
    return measured(brier_score, locals())


@documented
def log_loss(
    y_true: Outcomes,
    y_prob: Probabilities = None,
    *,
    clip: float = 1e-15,
    link: Link = "logistic",
    **rows: Unpack[RowOptions],
) -> Estimate:
    r"""Log loss: mean negative logarithm of the probability that the outcome was given.

    Use it to compare models where confident mistakes are costly: one of them can dominate the mean,
    and then `clip` decides the value.

        log loss = - Σ_i s_i (y_i ln p_i + (1 - y_i) ln(1 - p_i))       of one outcome
        log loss = - Σ_i s_i ln p_i,y_i                                 of k classes

    with s_i the shares of the weight. The second one, the cross-entropy, is the default for three
    classes or more. Raw scores need no clip: their logarithms are computed directly.

    Parameters
    ----------
    clip : float
        Probabilities are clipped to [clip, 1 - clip]; a `Sketch` has a clip of its own, 1e-6 unless
        set.

    Notes
    -----
    ``multiclass="top_class"``, ``"classwise"`` or an int asks for the loss of a binary question in
    place of the cross-entropy.

    References
    ----------
    Good, "Rational decisions", Journal of the Royal Statistical Society B 14, 1952.

    Examples
    --------
    >>> import calipers as cal
    >>> round(cal.log_loss([1, 0], [0.5, 0.25]), 3)
    0.49

    Of three classes, the mean of -ln 0.8 and -ln 0.4:

    >>> round(cal.log_loss([2, 1], [[0.1, 0.1, 0.8], [0.4, 0.4, 0.2]]), 3)
    0.57
    """
    return measured(log_loss, locals())


@documented
def corp(
    y_true: Outcomes,
    y_prob: Probabilities = None,
    *,
    score: Literal["brier", "log"] = "brier",
    link: Link = "logistic",
    **rows: Unpack[OneViewOptions],
) -> CorpDecomposition:
    r"""CORP: splits a proper score into miscalibration, discrimination and uncertainty.

    Use it to learn how much of a Brier score or log loss recalibration could save, and how much is
    the discrimination of the model.

        MCB = S(p) - S(PAV),  DSC = S(ȳ) - S(PAV),  UNC = S(ȳ),  so that S(p) = MCB - DSC + UNC

    with S the weighted mean of the score, ȳ the overall rate, and PAV the isotonic regression of
    the outcomes on the probabilities by pooling adjacent violators. Equal probabilities are pooled
    first.

    Parameters
    ----------
    score : {"brier", "log"}
        (y - p)², or -ln of the probability that the outcome was given, which is infinite where that
        is 0.

    Returns
    -------
    CorpDecomposition
        The score and its parts.

    Notes
    -----
    Assumes that the true rate does not fall as the probability rises.

    Cost: O(n log n) for a sort, then one pass. Accuracy: parts are sums of differences, so that a
    small miscalibration is not the difference of two large scores; some units of rounding.
    Miscalibration is biased up, by about n^(-2/3).

    References
    ----------
    Dimitriadis, Gneiting, Jordan, "Stable reliability diagrams for probabilistic classifiers", PNAS
    118, 2021.

    Examples
    --------
    0.2 and 0.4 had outcomes 1 and 0, so both get 1/2; 0.9 had outcome 1 and gets 1:

    >>> import calipers as cal
    >>> parts = cal.corp([1, 0, 1], [0.2, 0.4, 0.9])
    >>> round(parts.score, 3), round(parts.miscalibration, 3), round(parts.discrimination, 3)
    (0.27, 0.103, 0.056)
    """
    return CorpDecomposition._of(answer(corp, locals(), _core.corp))
