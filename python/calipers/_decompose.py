"""A proper score taken apart: calibration and refinement."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from calipers import _core
from calipers._assess import Clusters
from calipers._documented import documented
from calipers._gains import GainInterval, Sentence
from calipers._inputs import cluster_column
from calipers._predictions import Outcomes, Probabilities
from calipers._recalibrate import prepared
from calipers._row_options import RecalibrateOptions, Unpack


@dataclass(frozen=True, eq=False, repr=False)
class LossDecomposition(Sentence):
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

    method: str
    value: float
    calibration: float
    refinement: float
    interval: GainInterval
    n: int
    n_clusters: int | None


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
