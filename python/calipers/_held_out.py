"""What a fitted map gains on rows that it was not fitted to."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from calipers import _core
from calipers._assess import Clusters
from calipers._documented import documented
from calipers._gains import GainInterval, Left, Sentence, Verdict
from calipers._inputs import GroupsOfRows, cluster_column
from calipers._predictions import Outcomes, Probabilities
from calipers._recalibrator import Recalibrator
from calipers._row_options import FitOptions, Unpack


@dataclass(frozen=True, eq=False, repr=False)
class HeldOutGain(Sentence):
    """What a fitted map gains on rows that it was not fitted to; it prints as a sentence.

    Attributes
    ----------
    sentence : str
        The verdict in words, with the numbers that it rests on.
    verdict : {"helps", "hurts", "no difference seen"}
        "helps" and "hurts": the interval of the gain is above or below 0.
    gain : float
        Mean log-loss before less that after: positive where the map helps.
    interval : GainInterval
        Where the expected gain is.
    standard_error : float
        That of the gain.
    log_loss_before, log_loss_after : float
        Mean log-loss of the predictions as they are, and of the recalibrated ones.
    left : Left or None
        LS-ECE before and after; None unless it was asked for.
    top_class_changed : float
        The share of rows whose top class changes: for a binary outcome, whose probability crosses
        1/2.
    n : int
        Rows.
    n_clusters : int or None
        Clusters of rows, where they were given.
    """

    verdict: Verdict
    gain: float
    interval: GainInterval
    standard_error: float
    log_loss_before: float
    log_loss_after: float
    left: Left | None
    top_class_changed: float
    n: int
    n_clusters: int | None


@documented
def improvement_on(
    y_true: Outcomes,
    y_prob: Probabilities = None,
    recalibrator: Recalibrator | None = None,
    *,
    level: float = 0.95,
    n_resamples: int = 499,
    left: bool = False,
    cluster: Clusters = None,
    groups: GroupsOfRows = None,
    random_state: int = 0,
    **rows: Unpack[FitOptions],
) -> HeldOutGain:
    """What a fitted map gains on held-out rows: those that it was not fitted to.

    Use it to check a map on a test file, or on newer rows. The map is fixed, so the interval is
    plain: the mean of paired differences plus or minus z standard errors. For the rows that a map
    is fitted to, use `improvement`.

    Parameters
    ----------
    recalibrator : Recalibrator
        Fitted to other rows. It decides whether `y_prob` has raw scores.
    level : float
        Level of the interval.
    n_resamples : int
        Draws for the noise floors of LS-ECE, where `left` asks for it.
    left : bool
        Whether to measure LS-ECE before and after, with noise floors.
    groups : array-like of shape (n,), optional
        The group of each row, for a recalibrator that was fitted by group.

    Returns
    -------
    HeldOutGain
        It prints as a sentence.

    Notes
    -----
    Assumes independent rows, or independent clusters, that neither the map nor the model was fitted
    to. With a few dozen rows the interval is too narrow.

    References
    ----------
    Diebold, Mariano, "Comparing predictive accuracy", Journal of Business & Economic Statistics 13,
    1995 (the paired interval).

    Examples
    --------
    >>> import calipers as cal
    >>> y = ([1] * 7 + [0] * 3) * 40 + ([1] * 3 + [0] * 7) * 40
    >>> p = [0.9] * 400 + [0.1] * 400
    >>> recalibrator = cal.recalibrate(y[::2], p[::2], method="temperature")
    >>> cal.improvement_on(y[1::2], p[1::2], recalibrator).verdict
    'helps'
    """
    if not isinstance(recalibrator, Recalibrator):
        raise TypeError(f"recalibrator must be a Recalibrator, got {type(recalibrator).__name__}")
    held = recalibrator._map()
    read_rows = recalibrator._rows(improvement_on, y_true, y_prob, rows)
    choices = {"level": level, "n_resamples": n_resamples, "left": left, "random_state": random_state}
    question = partial(_core.improvement_on, held)
    of_rows = {"cluster": cluster_column(cluster), "groups": recalibrator._groups_of(groups)}
    return HeldOutGain._of(read_rows.ask(question, **choices, **of_rows))
