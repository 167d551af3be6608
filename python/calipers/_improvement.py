"""Does recalibration help? The gain on new rows, its interval, and a verdict."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, TypeAlias

from calipers import _core
from calipers._assess import Clusters
from calipers._assessment import Assessment, Interval, p_value_text
from calipers._documented import documented
from calipers._inputs import cluster_column
from calipers._predictions import Outcomes, Probabilities
from calipers._progress import shown
from calipers._recalibrator import Recalibrator, prepared
from calipers._result import Result, html_table, html_text
from calipers._row_options import FitOptions, RecalibrateOptions, Unpack

Verdict: TypeAlias = Literal["helps"] | Literal["hurts"] | Literal["no difference seen"] | Literal["nothing to fix"]


@dataclass(frozen=True)
class GainInterval(Result):
    """An interval for the gain of a map on new rows, in nats.

    ``low, high = interval`` unpacks it.

    Attributes
    ----------
    lower, upper : float
        Its ends.
    level : float
        The share of samples whose interval holds the gain.
    """

    lower: float
    upper: float
    level: float

    def __iter__(self) -> Iterator[float]:
        """``low, high = interval``."""
        return iter((self.lower, self.upper))

    def __str__(self) -> str:
        return f"[{self.lower:.6f}, {self.upper:.6f}]"


@dataclass(frozen=True)
class GainFloor(Result):
    """The gain that recalibration seems to have where there is nothing to fix.

    Outcomes are drawn from the predictions, and the map is fitted again, many times.

    Attributes
    ----------
    value : float
        The gain on the fitted rows themselves.
    mean, deviation : float
        Mean and standard deviation of the gain of the draws.
    p_value : float
        (1 + draws that are at least the value) / (1 + draws).
    n_resamples : int
        Draws.
    n_failed : int
        Draws that have no fit; they count as if they were larger than the value.
    """

    value: float
    mean: float
    deviation: float
    p_value: float
    n_resamples: int
    n_failed: int


@dataclass(frozen=True)
class Candidate(Result):
    """A method that "auto" has tried.

    Attributes
    ----------
    name : str
        Its name.
    loss : float or None
        Mean log-loss out of fold; None without a fit, as are the next two.
    difference : float or None
        By how much that is above the loss of the best candidate.
    standard_error : float or None
        That of the difference.
    reason : str or None
        Why it has no fit.
    """

    name: str
    loss: float | None
    difference: float | None
    standard_error: float | None
    reason: str | None


@dataclass(frozen=True, eq=False, repr=False)
class Left(Result):
    """What is left of the miscalibration: LS-ECE before and after, on the same rows.

    For rows of three and more classes it is that of the confidence in the top class.

    Attributes
    ----------
    sentence : str
        The result in words.
    before : Assessment
        Of the predictions as they are.
    after : Assessment
        Of the recalibrated ones, each row by a fit to other rows.
    change : float
        After less before, of the residual form of LS-ECE: below 0 where less is left than there
        was.
    interval : Interval
        Where the population's change is.
    standard_error : float
        That of the change.
    p_value : float
        Two-sided, for no change in the population.
    """

    sentence: str
    before: Assessment
    after: Assessment
    change: float
    interval: Interval
    standard_error: float
    p_value: float

    def __str__(self) -> str:
        return self.sentence

    def __repr__(self) -> str:
        return self.sentence


@dataclass(frozen=True, eq=False, repr=False)
class Improvement(Result):
    """Whether recalibration helps, by how much, and what it changes; it prints as a sentence.

    Attributes
    ----------
    sentence : str
        The verdict in words, with the numbers that it rests on.
    verdict : {"helps", "hurts", "no difference seen", "nothing to fix"}
        "helps" and "hurts": the interval of the gain is above or below 0. "nothing to fix": the
        rows are what calibrated predictions would give, too. "no difference seen": the predictions
        are miscalibrated, but whether the map gains on new rows is not certain.
    method : str
        The family of the map: the one that was requested, or that "auto" has chosen.
    gain : float
        Mean log-loss before less that after, out of fold: positive where recalibration helps.
    interval : GainInterval
        Where the gain of the map on new rows is.
    floor : GainFloor or None
        The test of whether there is anything to fix; None where it was left out.
    log_loss_before : float
        Mean log-loss of the predictions as they are.
    log_loss_after : float
        Mean log-loss out of fold: each row mapped by a fit to other rows.
    left : Left or None
        LS-ECE before and after; None unless it was asked for.
    n_scores : tuple of int or None
        Different probabilities of a binary outcome, before and after: fewer where a map joins some.
    top_class_changed : float
        The share of rows whose top class changes: for a binary outcome, whose probability crosses
        1/2.
    candidates : tuple of Candidate or None
        The methods that "auto" has tried, from the simplest on; None for a method by name.
    n : int
        Rows.
    n_folds : int
        Folds that were held out in turn.
    n_clusters : int or None
        Clusters of rows, where they were given.
    left_out : dict
        Rows that ``invalid="count"`` left out, by kind.
    recalibrator : Recalibrator
        The map of all rows: the one to use, and the one that the interval is for.
    settings : dict
        Every option that was used, with its value.
    """

    sentence: str
    verdict: Verdict
    method: str
    gain: float
    interval: GainInterval
    floor: GainFloor | None
    log_loss_before: float
    log_loss_after: float
    left: Left | None
    n_scores: tuple[int, int] | None
    top_class_changed: float
    candidates: tuple[Candidate, ...] | None
    n: int
    n_folds: int
    n_clusters: int | None
    left_out: dict[str, int]
    recalibrator: Recalibrator
    settings: dict[str, Any]

    @property
    def p_value(self) -> float | None:
        """How often calibrated predictions would seem to gain at least as much.

        None without a floor.
        """
        return None if self.floor is None else self.floor.p_value

    @property
    def is_advised(self) -> bool:
        """Whether to apply the map: it helps."""
        return self.verdict == "helps"

    def _lines(self) -> list[tuple[str, str]]:
        """What stands under the sentence."""
        lines = [
            ("log-loss", f"{self.log_loss_before:.6f} before, {self.log_loss_after:.6f} after (out of fold)"),
            ("gain", f"{self.gain:.6f}"),
            (f"{100 * self.interval.level:g} % interval", str(self.interval)),
        ]
        if self.floor is not None:
            floor = self.floor
            lines += [
                ("p-value", f"{p_value_text(floor.p_value, 6, 'below ')} ({floor.n_resamples:,} resamples)"),
                ("gain in sample", f"{floor.value:.6f}; of calibrated rows {floor.mean:.6f} ± {floor.deviation:.6f}"),
            ]
        if self.n_scores is not None:
            before, after = self.n_scores
            lines.append(("different values", f"{before:,} before, {after:,} after"))
        rows = f"{self.n:,}" + ("" if self.n_clusters is None else f" in {self.n_clusters:,} clusters")
        if self.left_out:
            rows += f", {sum(self.left_out.values()):,} left out"
        lines += [
            ("top class changed", f"{100 * self.top_class_changed:.2f} % of rows"),
            ("rows", f"{rows}; {self.n_folds} folds"),
        ]
        for each in self.candidates or ():
            found = f"no fit: {each.reason}" if each.loss is None else f"log-loss {each.loss:.6f}"
            if each.difference:
                found += f", {each.difference:.6f} ± {each.standard_error:.6f} above the best"
            lines.append((each.name, found))
        return lines

    def __str__(self) -> str:
        return self.sentence

    def __repr__(self) -> str:
        return "\n".join([self.sentence, *(f"  {name:<17} {text}" for name, text in self._lines())])

    def _repr_html_(self) -> str:
        return html_text(self.sentence) + html_table((), self._lines())


def _improvement(found: Mapping[str, Any], recalibrator: Recalibrator, settings: dict[str, Any]) -> Improvement:
    """What the core has found."""
    others = {name: value for name, value in found.items() if name not in ("recalibration", "remarks")}
    tried = found["candidates"]
    others["candidates"] = None if tried is None else tuple(map(Candidate._of, tried))
    return Improvement._of({**others, "recalibrator": recalibrator, "settings": settings})


@documented
def improvement(
    y_true: Outcomes,
    y_prob: Probabilities = None,
    *,
    method: str = "auto",
    n_folds: int | None = None,
    level: float = 0.95,
    n_resamples: int = 499,
    left: bool = False,
    cluster: Clusters = None,
    random_state: int = 0,
    progress: bool = False,
    **options: Unpack[RecalibrateOptions],
) -> Improvement:
    """Whether recalibration helps on new rows, by how much, and whether anything is wrong at all.

    Use it before a recalibrated model is used. The best methods make predictions worse in a quarter
    to a third of cases, and the fitted rows do not show that.

        gain      mean log-loss before less that after, each row mapped by a fit to the other folds
        interval  for the gain of the map that is fitted to all rows, on new rows
        p-value   (1 + #{g(y*) >= g}) / (1 + R),  g the gain on the fitted rows, y* ~ Bernoulli(p)

    The interval takes the error of the fitted map into account, which held-out rows alone do not
    show. Folds come from a hash of the rows: the same rows in any order have the same.

    Parameters
    ----------
    level : float
        Level of the interval; the test is at 1 - level.
    n_resamples : int
        Draws for the test of whether there is anything to fix; 0 leaves it out.
    left : bool
        Whether to measure LS-ECE before and after, out of fold, with noise floors.
    cluster : array-like of shape (n,), optional
        Rows with equal values depend on each other, as the questions of one user do: numbers, text
        or anything with a hash. Whole clusters are held out then, and the interval is that of
        clusters.

    Returns
    -------
    Improvement
        It prints as a sentence and a table, and has the fitted map as ``recalibrator``.

    Notes
    -----
    Assumes independent rows, or independent clusters, that the model was not trained on. Cost: one
    fit for each fold and for each resample.

    References
    ----------
    Bayle, Bayle, Janson, Mackey, "Cross-validation confidence intervals for test error", NeurIPS
    2020 (the limit for many rows, to which the interval adds the error of the map).

    Examples
    --------
    Forecasts of 0.9 and 0.1 that come true in 0.7 and 0.3 of cases:

    >>> import calipers as cal
    >>> y = ([1] * 7 + [0] * 3) * 40 + ([1] * 3 + [0] * 7) * 40
    >>> p = [0.9] * 400 + [0.1] * 400
    >>> found = cal.improvement(y, p, method="temperature")
    >>> found.verdict, found.is_advised, found.interval.lower > 0
    ('helps', True, True)
    >>> found.recalibrator.predict_proba([0.9, 0.1]).round(3).tolist()
    [0.7, 0.3]
    """
    recalibrator, rows = prepared(improvement, locals())
    drawn = {"n_folds": n_folds, "level": level, "n_resamples": n_resamples, "random_state": random_state, "left": left}
    with shown(progress, "improvement") as show:
        asked = {**recalibrator._options(), **drawn, "cluster": cluster_column(cluster), "progress": show}
        found = rows.ask(_core.improvement, **asked)
    recalibrator._fitted(found["recalibration"], found["remarks"])
    settings = {**recalibrator._options(), "from_logits": recalibrator.from_logits, **drawn}
    return _improvement(found, recalibrator, settings)


@dataclass(frozen=True, eq=False, repr=False)
class HeldOutGain(Result):
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

    sentence: str
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

    def __str__(self) -> str:
        return self.sentence

    def __repr__(self) -> str:
        return self.sentence

    def _repr_html_(self) -> str:
        return html_text(self.sentence)


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
    return HeldOutGain._of(read_rows.ask(question, **choices, cluster=cluster_column(cluster)))


@dataclass(frozen=True, eq=False, repr=False)
class LossDecomposition(Result):
    """The two parts of a proper score; it prints as a sentence.

    Attributes
    ----------
    sentence : str
        Both parts in words.
    method : str
        The method whose maps were fitted.
    value : float
        The mean loss of the predictions as they are.
    calibration : float
        What recalibration would gain: `value` less `refinement`. Not positive where none is seen.
    refinement : float
        The mean loss of the recalibrated predictions, out of fold.
    interval : GainInterval
        Where the calibration part is.
    n : int
        Rows.
    n_clusters : int or None
        Clusters of rows, where they were given.
    """

    sentence: str
    method: str
    value: float
    calibration: float
    refinement: float
    interval: GainInterval
    n: int
    n_clusters: int | None

    def __str__(self) -> str:
        return self.sentence

    def __repr__(self) -> str:
        return self.sentence

    def _repr_html_(self) -> str:
        return html_text(self.sentence)


@documented
def decompose(
    y_true: Outcomes,
    y_prob: Probabilities = None,
    *,
    loss: Literal["log", "brier"] = "log",
    method: str = "auto",
    level: float = 0.95,
    cluster: Clusters = None,
    **options: Unpack[RecalibrateOptions],
) -> LossDecomposition:
    """A proper score taken apart: what recalibration would gain, and what it would not.

    Use it to see whether a model needs recalibration or better features.

        loss        = calibration + refinement
        refinement  the mean loss of the recalibrated predictions, out of fold
        calibration the loss less that, with the interval of `improvement`

    `corp` takes the best rising map of the same rows in place of cross-fitting, so its
    miscalibration is never negative, and above 0 for a calibrated model.

    Parameters
    ----------
    loss : {"log", "brier"}
        Log-loss, or the Brier score.
    method : str
        The family of maps; "auto" chooses one. A small family misses part of the miscalibration,
        and counts it as refinement.
    level : float
        Level of the interval.

    Returns
    -------
    LossDecomposition
        It prints as a sentence.

    References
    ----------
    Bröcker, "Reliability, sufficiency, and the decomposition of proper scores", QJRMS 135, 2009;
    Berta, Holzmüller, Jordan, Bach, "Rethinking early stopping: refine, then calibrate", 2025.

    Examples
    --------
    >>> import calipers as cal
    >>> y = ([1] * 7 + [0] * 3) * 40 + ([1] * 3 + [0] * 7) * 40
    >>> p = [0.9] * 400 + [0.1] * 400
    >>> found = cal.decompose(y, p, method="platt")
    >>> found.interval.lower > 0, abs(found.calibration + found.refinement - found.value) < 1e-12
    (True, True)
    """
    recalibrator, rows = prepared(decompose, locals())
    choices = {"loss": loss, "level": level, "cluster": cluster_column(cluster)}
    return LossDecomposition._of(rows.ask(_core.decompose, **recalibrator._options(), **choices))
