"""Two samples that share no rows: this week against last week, one group against another."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from calipers import _core
from calipers._arrays import ArrayLike
from calipers._assess import Clusters
from calipers._assessment import Assessment, Interval
from calipers._documented import documented
from calipers._inputs import Columns, cluster_column
from calipers._measures import named
from calipers._predictions import Predictions
from calipers._progress import shown
from calipers._result import Result
from calipers._sketch import Sketch

DriftSample: TypeAlias = Predictions | Sketch | tuple[ArrayLike, ArrayLike]

Side: TypeAlias = _core.Sketch | tuple[Columns, dict[str, object]]


@dataclass(frozen=True)
class CurveChange(Result):
    """How outcomes at equal predictions have changed.

    Attributes
    ----------
    p_value : float
        Of "outcomes at equal predictions are as frequent after as before", by resamples.
    log_odds : float
        Logarithm of the odds of outcome 1 after over those before, at equal predictions: one number
        for all predictions.
    standard_error : float
        That of ``log_odds``.
    interval : Interval
        Where ``log_odds`` of the populations is.
    """

    p_value: float
    log_odds: float
    standard_error: float
    interval: Interval

    @property
    def odds_ratio(self) -> float:
        """The odds of outcome 1 after over those before, at equal predictions."""
        return math.exp(self.log_odds)


@dataclass(frozen=True)
class Origin(Result):
    """Where the change of a value comes from; both parts sum to the change as measured.

    Attributes
    ----------
    predictions : float
        From another distribution of predictions.
    outcomes : float
        From other outcomes at equal predictions.
    """

    predictions: float
    outcomes: float


@dataclass(frozen=True, repr=False)
class Change(Result):
    """What has changed between two samples; it prints as sentences.

    Attributes
    ----------
    sentence : str
        The result in words.
    significant : bool
        Whether outcomes at equal predictions have changed: the p-value of ``curve`` is at most
        1 - level.
    curve : CurveChange
        The test of that, and the size of the change.
    difference : float
        The value after less that before, each without what chance adds, of the measure that
        decides.
    interval : Interval
        Where the difference of the populations is.
    standard_error : float
        That of the difference.
    p_value : float
        Two-sided, for no difference of the values.
    origin : Origin or None
        How much of the change of the value comes from predictions and how much from outcomes; None
        where the predictions of the samples hardly overlap, or the measure takes no weights.
    n_shared_clusters : int or None
        Clusters with rows in both samples; None without clusters.
    before, after : Assessment
        Each sample by itself, at the same settings.
    """

    sentence: str
    significant: bool
    curve: CurveChange
    difference: float
    interval: Interval
    standard_error: float
    p_value: float
    origin: Origin | None
    n_shared_clusters: int | None
    before: Assessment
    after: Assessment

    def __repr__(self) -> str:
        return self.sentence


@documented
def drift(
    before: DriftSample,
    after: DriftSample,
    *,
    measure: str = "ls_ece",
    level: float = 0.95,
    n_resamples: int = 1000,
    cluster: tuple[Clusters, Clusters] | None = None,
    random_state: int = 0,
    progress: bool = False,
    **options: Any,
) -> Change:
    r"""What has changed between two samples that share no rows.

    Use it to compare this week with last week, a canary with production, or one group with another.
    A larger calibration error after does not show that the model has become worse: noise, and
    another distribution of predictions, change the value, too. So the first question is whether
    outcomes at equal predictions have changed.

        curve       is E[y | p] the same function before and after?
        difference  v(after) - v(before), each without what chance adds
        origin      how much of it comes from predictions, and how much from outcomes

    The test of the curve fits one smooth curve of E[y | p] to both samples, and asks whether the
    second departs from it by a shift, a slope or finer shapes. If only the distribution of
    predictions differs, the test does not react.

    Parameters
    ----------
    before, after : Predictions, Sketch, or tuple of y_true and y_prob
        The samples. Either may be a sketch.
    measure : str
        Any name of `measures` of which a larger value is worse. Settings that are chosen from the
        data, such as sigma, are those of the sample before.
    cluster : pair of array-like, optional
        The cluster of each row before, and of each row after: rows of one cluster, such as those of
        one person, depend on each other. A cluster that both samples have is one cluster.
    **options
        Those of the function of that name: ``sigma``, ``noise``, ``link``, ``tolerance`` and
        ``clip`` for `ls_ece`, ``n_bins`` and so on for others.

    Returns
    -------
    Change
        It prints as sentences. ``significant`` is whether outcomes at equal predictions have
        changed, ``curve`` has the p-value and the odds ratio, ``difference`` and ``interval`` are
        those of the measure, and ``origin`` has the parts of its change.

    Notes
    -----
    Assumes independent rows, in each sample and between them; or independent clusters of rows, if
    `cluster` names them. With clusters the p-value of the curve is by changes of the signs of whole
    clusters, and a sketch, which does not have the rows, is an error.

    Cost: an assessment of each sample, and some milliseconds for each hundred resamples. Accuracy:
    that of `assess`.

    References
    ----------
    Neyman, "Smooth test for goodness of fit", Skandinavisk Aktuarietidskrift 20, 1937; Rao, "Large
    sample tests of statistical hypotheses", Proceedings of the Cambridge Philosophical Society 44,
    1948.

    Examples
    --------
    Last week nine of ten forecasts of 0.9 came true, this week four of five:

    >>> import calipers as cal
    >>> last_week = cal.Predictions(([1] * 9 + [0]) * 50, [0.9] * 500)
    >>> this_week = cal.Predictions([1, 1, 1, 1, 0] * 100, [0.9] * 500)
    >>> found = cal.drift(last_week, this_week, sigma=0.1)
    >>> found.significant, round(found.curve.odds_ratio, 2), round(found.difference, 2)
    (True, 0.44, 0.1)

    Sketches of windows are samples, too:

    >>> sketches = [cal.Sketch().update(week) for week in (last_week, this_week)]
    >>> cal.drift(*sketches, sigma=0.1).significant
    True
    """
    asked = named(measure, options)
    sketch = next((side for side in (before, after) if isinstance(side, Sketch)), None)
    if sketch is not None:
        if "clip" in options:
            raise TypeError("clip is that of the sketch, and no option of what is asked of it")
        asked.options["clip"] = sketch.clip
    drawn = {"level": level, "n_resamples": n_resamples, "random_state": random_state, "cluster": _numbered(cluster)}
    with shown(progress, f"drift {measure}") as show:
        choices = {**asked.options, **drawn, "progress": show}
        found = _core.drift(asked.measure, side(before), side(after), choices)
    return Change._of(found)


def _numbered(cluster: tuple[Clusters, Clusters] | None) -> tuple[NDArray[np.uint32], NDArray[np.uint32]] | None:
    """Clusters as numbers, the same for a cluster of both samples."""
    if cluster is None:
        return None
    if not isinstance(cluster, tuple) or len(cluster) != 2 or any(column is None for column in cluster):
        raise TypeError("cluster must be a pair: the clusters of the rows before, and of those after")
    # One by one first, so that an error names the row of its own sample.
    before, after = (cluster_column(column) for column in cluster)
    both = cluster_column([value for column in cluster for value in cast("Iterable[Hashable]", column)])
    assert before is not None and after is not None and both is not None
    return both[: len(before)].copy(), both[len(before) :].copy()


def side(given: DriftSample, rule: str = "a sample must be") -> Side:
    """A sample as the core takes it."""
    if isinstance(given, Sketch):
        return given._held
    if isinstance(given, tuple):
        given = Predictions(*given)
    if not isinstance(given, Predictions):
        raise TypeError(f"{rule} Predictions, a Sketch, or a tuple of y_true and y_prob, got {type(given).__name__}")
    return given._rows.columns, given._rows.options
