"""How far a classifier's probabilities are from the truth, and how much of that figure can be trusted.

    import calipers as cal

    cal.ls_ece(y_true, y_prob)                      # LS-ECE, exact to a stated tolerance
    cal.expected_calibration_error(y_true, y_prob)  # binned ECE, every choice named

Each measure returns an `Estimate`: a float that also carries its numerical bound, the number of
rows and the settings that made it. Input that breaks a rule is refused with a `CalipersError`.
"""

from calipers._core import CalipersError, __version__
from calipers._curve import Bin, LsCurve, calibration_bins, ls_curve
from calipers._estimate import Estimate
from calipers._measures import expected_calibration_error, ls_ece, ls_ece_sampled

__all__ = [
    "Bin",
    "CalipersError",
    "Estimate",
    "LsCurve",
    "__version__",
    "calibration_bins",
    "expected_calibration_error",
    "ls_curve",
    "ls_ece",
    "ls_ece_sampled",
]
