"""The gain of recalibration from sketches, one for each fold."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from calipers import _core
from calipers._documented import documented
from calipers._gains import GainInterval, Sentence, Verdict
from calipers._recalibrator import Recalibrator
from calipers._row_options import MapOptions, Unpack
from calipers._sketch import Sketch


@dataclass(frozen=True, eq=False, repr=False)
class SketchImprovement(Sentence):
    """Whether recalibration helps, as far as sketches tell; it prints as a sentence.

    Attributes
    ----------
    sentence : str
        The verdict in words, with the numbers that it rests on.
    verdict : {"helps", "hurts", "no difference seen"}
        "helps" and "hurts": the interval of the gain is above or below 0. Whether there is anything
        to fix is not tested.
    method : str
        The family of the map.
    gain : float
        Mean log-loss before less that after, each fold by a map of the others.
    interval : GainInterval
        Where the gain of the map on new rows is.
    bound : float or None
        How far the gain is at most from that of the rows, as the cells of the sketches leave it
        open. None for tables and mixtures, whose rows count as rounded to their cells.
    log_loss_before, log_loss_after : float
        Mean log-loss of the predictions as they are, and out of fold.
    top_class_changed : float
        The share of rows whose probability crosses 1/2.
    n : int
        Rows.
    n_folds : int
        Sketches that were held out in turn.
    recalibrator : Recalibrator
        The map of all rows: the one to use, and the one that the interval is for.
    """

    verdict: Verdict
    method: str
    gain: float
    interval: GainInterval
    bound: float | None
    log_loss_before: float
    log_loss_after: float
    top_class_changed: float
    n: int
    n_folds: int
    recalibrator: Recalibrator


@documented
def improvement_from_sketches(
    sketches: Iterable[Sketch], *, method: str = "beta", level: float = 0.95, **options: Unpack[MapOptions]
) -> SketchImprovement:
    """Whether recalibration helps on new rows, from sketches that are the folds.

    Give each row to one of some sketches by a hash of its key, such as
    ``zlib.crc32(key.encode()) % 5``. A map is fitted to all sketches but one, merged, and measured
    on that one. The interval is that of `improvement`, with sums over cells in place of sums over
    rows, and it is wider by ``bound`` on both sides.

    Parameters
    ----------
    sketches : iterable of Sketch
        One for each fold: at least two.
    method : str
        A family of maps of a binary outcome, of those that `recalibration_methods` lists.
    level : float
        Level of the interval.

    Returns
    -------
    SketchImprovement
        It prints as a sentence, and has the map of all rows as ``recalibrator``.

    Notes
    -----
    Assumes independent rows, and folds that do not depend on scores or outcomes. Sketches have no
    clusters: where rows depend on each other, put each cluster into one fold; then the gain is
    right, and the interval is too narrow.

    References
    ----------
    Those of `improvement`.

    Examples
    --------
    >>> import calipers as cal
    >>> y = ([1] * 7 + [0] * 3) * 40 + ([1] * 3 + [0] * 7) * 40
    >>> p = [0.9] * 400 + [0.1] * 400
    >>> folds = [cal.Sketch().update(y[fold::5], p[fold::5]) for fold in range(5)]
    >>> found = cal.improvement_from_sketches(folds, method="temperature")
    >>> found.verdict, found.n_folds, found.bound < 1e-6
    ('helps', 5, True)
    """
    held = list(sketches)
    for each in held:
        if not isinstance(each, Sketch):
            raise TypeError(f"sketches must be of Sketch, got {type(each).__name__}")
    scores = {each._held.facts()["scores"] for each in held} - {None}
    recalibrator = Recalibrator(method, **options, from_logits=bool(scores) and scores != {"probabilities"})
    found = _core.improvement_from_sketches([each._held for each in held], {**recalibrator._options(), "level": level})
    recalibrator._fitted(found["recalibration"], found["remarks"])
    others = {name: value for name, value in found.items() if name not in ("recalibration", "remarks")}
    return SketchImprovement._of({**others, "recalibrator": recalibrator})
