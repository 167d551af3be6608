"""How far a classifier's probabilities are from the truth, and how much of that figure can be trusted.

    import calipers as cal

    cal.ls_ece(y_true, y_prob)                      # LS-ECE, exact to a stated tolerance
    cal.residual_ls_ece(y_true, y_prob)             # its residual form, which decides: 0 where the model is calibrated
    cal.expected_calibration_error(y_true, y_prob)  # binned ECE, every choice named
    cal.smooth_ece(y_true, y_prob)                  # and many more: cal.measures() lists them
    cal.calibration_tests(y_true, y_prob)           # p-values: is what is seen more than chance?
    cal.assess(y_true, y_prob)                      # noise floor, p-value, interval, debiased value of any measure
    cal.compare(y_true, {"a": p_a, "b": p_b})       # models on the same rows: differences with intervals and p-values
    cal.sweep(y_true, y_prob)                       # ECE over bins, LS-ECE over sigma: how brittle is the figure?
    cal.ReliabilityDisplay.from_predictions(y_true, y_prob)  # charts, in the manner of scikit-learn; by matplotlib
    cal.report(y_true, y_prob).save("report.html")  # all of it on one page
    cal.simulate("overconfident", 1000)             # bias, error, coverage and size where the truth is known
    cal.Sketch().update(y_true, y_prob).ls_ece()    # batch by batch, and merged: rows need not stay in memory

Each measure returns an `Estimate`: a float that also carries its numerical bound, the number of
rows and the settings that made it. Input that breaks a rule is refused with a `CalipersError`.
"""

from calipers._assess import Assessment, Interval, NoiseFloor, Part, Parts, assess
from calipers._binned import (
    adaptive_calibration_error,
    expected_calibration_error,
    maximum_calibration_error,
    root_mean_squared_calibration_error,
    top_label_calibration_error,
)
from calipers._calibration_tests import (
    CalibrationTest,
    CalibrationTests,
    CoefficientInterval,
    CoxTest,
    calibration_tests,
    cox_test,
    ecce_mad_test,
    ecce_r_test,
    hosmer_lemeshow_test,
    spiegelhalter_test,
    tcal_test,
)
from calipers._clinical import (
    CalibrationIndices,
    CoxCalibration,
    calibration_indices,
    cox_calibration,
    observed_expected,
)
from calipers._compare import ComparedBy, Comparison, Pair, compare
from calipers._core import CalipersError, __version__
from calipers._cumulative import CumulativeCurve, cumulative_curve, ecce_mad, ecce_r
from calipers._curve import Band, Bin, IsotonicCurve, LsCurve, calibration_bins, corp_curve, ls_curve
from calipers._debiased import debiased_ece, sweep_ece, tcal_squared_error
from calipers._displays import CumulativeDisplay, ReliabilityDisplay, SweepDisplay
from calipers._distance import (
    kernel_calibration_error,
    lower_distance_to_calibration,
    mmce,
    smooth_calibration_error,
    surrogate_interval_calibration_error,
)
from calipers._estimate import Estimate
from calipers._kernel import beta_kde_ece, canonical_kde_ece, kde_ece, smooth_ece
from calipers._ls_ece import ls_ece, ls_ece_sampled, residual_ls_ece
from calipers._measures import Measure, measures
from calipers._parquet import read_sketches, write_sketches
from calipers._report import ReportPage, report
from calipers._scores import CorpDecomposition, brier_score, corp, log_loss
from calipers._simulate import (
    Accuracy,
    CoverageResult,
    EstimatorResult,
    Family,
    MonteCarlo,
    RejectionResult,
    Simulation,
    families,
    simulate,
)
from calipers._sketch import Sketch
from calipers._spline import SplineCurve, spline_calibration_error, spline_curve
from calipers._sweep import SketchSweep, SweepResult, sweep
from calipers._threads import set_threads, threads

__all__ = [
    "Accuracy",
    "Assessment",
    "Band",
    "Bin",
    "CalibrationIndices",
    "CalibrationTest",
    "CalibrationTests",
    "CalipersError",
    "CoefficientInterval",
    "ComparedBy",
    "Comparison",
    "CorpDecomposition",
    "CoverageResult",
    "CoxCalibration",
    "CoxTest",
    "CumulativeCurve",
    "CumulativeDisplay",
    "Estimate",
    "EstimatorResult",
    "Family",
    "Interval",
    "IsotonicCurve",
    "LsCurve",
    "Measure",
    "MonteCarlo",
    "NoiseFloor",
    "Pair",
    "Part",
    "Parts",
    "RejectionResult",
    "ReliabilityDisplay",
    "ReportPage",
    "Simulation",
    "Sketch",
    "SketchSweep",
    "SplineCurve",
    "SweepDisplay",
    "SweepResult",
    "__version__",
    "adaptive_calibration_error",
    "assess",
    "beta_kde_ece",
    "brier_score",
    "calibration_bins",
    "calibration_indices",
    "calibration_tests",
    "canonical_kde_ece",
    "compare",
    "corp",
    "corp_curve",
    "cox_calibration",
    "cox_test",
    "cumulative_curve",
    "debiased_ece",
    "ecce_mad",
    "ecce_mad_test",
    "ecce_r",
    "ecce_r_test",
    "expected_calibration_error",
    "families",
    "hosmer_lemeshow_test",
    "kde_ece",
    "kernel_calibration_error",
    "log_loss",
    "lower_distance_to_calibration",
    "ls_curve",
    "ls_ece",
    "ls_ece_sampled",
    "maximum_calibration_error",
    "measures",
    "mmce",
    "observed_expected",
    "read_sketches",
    "report",
    "residual_ls_ece",
    "root_mean_squared_calibration_error",
    "set_threads",
    "simulate",
    "smooth_calibration_error",
    "smooth_ece",
    "spiegelhalter_test",
    "spline_calibration_error",
    "spline_curve",
    "surrogate_interval_calibration_error",
    "sweep",
    "sweep_ece",
    "tcal_squared_error",
    "tcal_test",
    "threads",
    "top_label_calibration_error",
    "write_sketches",
]
