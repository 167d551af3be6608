"""Does recalibration help? The gain on new rows, its interval, and a verdict."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from calipers import _core
from calipers._assess import Clusters
from calipers._assessment import p_value_text
from calipers._documented import documented
from calipers._gains import Candidate, GainFloor, GainInterval, Left, PoolingLoss, Sentence, Verdict
from calipers._inputs import GroupsOfRows, cluster_column, group_column
from calipers._predictions import Outcomes, Probabilities
from calipers._progress import shown
from calipers._recalibrate import prepared
from calipers._recalibrator import Recalibrator
from calipers._result import html_table, html_text
from calipers._row_options import RecalibrateOptions, Unpack


@dataclass(frozen=True, eq=False, repr=False)
class Improvement(Sentence):
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
    pooling : tuple of PoolingLoss or None
        One map, partially pooled maps and one map a group; None without `groups`.
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
    pooling: tuple[PoolingLoss, ...] | None
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
        for way in self.pooling or ():
            found = f"log-loss {way.log_loss:.6f}"
            if way.difference:
                found += f", {way.difference:.6f} ± {way.standard_error:.6f} above partially pooled"
            lines.append((way.pooling, found))
        return lines

    def __repr__(self) -> str:
        return "\n".join([self.sentence, *(f"  {name:<17} {text}" for name, text in self._lines())])

    def _repr_html_(self) -> str:
        return html_text(self.sentence) + html_table((), self._lines())


def _improvement(found: Mapping[str, Any], recalibrator: Recalibrator, settings: dict[str, Any]) -> Improvement:
    """What the core has found."""
    others = {name: value for name, value in found.items() if name not in ("recalibration", "remarks")}
    tried = found["candidates"]
    others["candidates"] = None if tried is None else tuple(map(Candidate._of, tried))
    ways = found["pooling"]
    others["pooling"] = None if ways is None else tuple(map(PoolingLoss._of, ways))
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
    groups: GroupsOfRows = None,
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
    groups : array-like of shape (n,), optional
        The group of each row, as text or numbers. Then each group has a map of its own, drawn to
        the pooled one as far as the rows say (`Recalibrator.fit`), and ``pooling`` compares that
        with one map for all. The method is a formula; "auto" is "beta". Whether there is anything
        to fix is not tested.

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
        of_rows = {"cluster": cluster_column(cluster), "groups": group_column(groups)}
        asked = {**recalibrator._options(), **drawn, **of_rows, "progress": show}
        found = rows.ask(_core.improvement, **asked)
    recalibrator._fitted(found["recalibration"], found["remarks"])
    settings = {**recalibrator._options(), "from_logits": recalibrator.from_logits, **drawn}
    return _improvement(found, recalibrator, settings)
