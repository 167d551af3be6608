"""How far a classifier's probabilities are from the truth, and how much of that figure can be trusted.

    import calipers as cal

    cal.ls_ece(y_true, y_prob)                      # LS-ECE, exact to a stated tolerance
    cal.expected_calibration_error(y_true, y_prob)  # binned ECE, every choice named
    cal.Sketch().update(y_true, y_prob).ls_ece()    # batch by batch, and merged: rows need not stay in memory

Each measure returns an `Estimate`: a float that also carries its numerical bound, the number of
rows and the settings that made it. Input that breaks a rule is refused with a `CalipersError`.
"""

from calipers._core import CalipersError, __version__
from calipers._curve import Bin, LsCurve, calibration_bins, ls_curve
from calipers._estimate import Estimate
from calipers._measures import brier_score, expected_calibration_error, log_loss, ls_ece, ls_ece_sampled
from calipers._sketch import Sketch

__all__ = [
    "Bin",
    "CalipersError",
    "Estimate",
    "LsCurve",
    "Sketch",
    "__version__",
    "brier_score",
    "calibration_bins",
    "expected_calibration_error",
    "log_loss",
    "ls_curve",
    "ls_ece",
    "ls_ece_sampled",
]
