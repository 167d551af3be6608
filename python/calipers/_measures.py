"""Every measure by name."""

from __future__ import annotations

from typing import NamedTuple

from calipers import _core


class Measure(NamedTuple):
    """A measure and what it is, in one line; p are probabilities, y outcomes, r = y - p."""

    name: str
    definition: str


def measures() -> list[Measure]:
    """Every measure of one outcome, with a line that says what it is.

    Most are functions of this package. "corp_miscalibration" is a part of `corp`, "ici", "e50", "e90" and "emax"
    are those of `calibration_indices`, and the three that begin with "calibration" are those of `cox_calibration`.

    Returns
    -------
    list of Measure
        Named tuples ``(name, definition)``, in the order of a table.

    Examples
    --------
    >>> import calipers as cal
    >>> for measure in cal.measures()[:2]:
    ...     print(f"{measure.name}: {measure.definition}")
    ls_ece: mean |E[y|t] - t| after Gaussian noise of scale sigma on the logits
    residual_ls_ece: total size of the residuals r after smoothing by Gaussian noise of scale sigma on the logits
    """
    return [Measure(name, definition) for name, definition in _core.measures()]
