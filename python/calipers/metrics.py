"""Measures of calibration: functions of outcomes and probabilities."""

from calipers._binned import (
    adaptive_calibration_error,
    debiased_ece,
    expected_calibration_error,
    maximum_calibration_error,
    root_mean_squared_calibration_error,
    sweep_ece,
    tcal_squared_error,
    top_label_calibration_error,
)
from calipers._clinical import (
    CalibrationIndices,
    CoxCalibration,
    calibration_indices,
    cox_calibration,
    observed_expected,
)
from calipers._cumulative import ecce_mad, ecce_r, spline_calibration_error
from calipers._distance import (
    kernel_calibration_error,
    lower_distance_to_calibration,
    mmce,
    smooth_calibration_error,
    surrogate_interval_calibration_error,
)
from calipers._estimate import Estimate
from calipers._measures import Measure, measures
from calipers._scores import CorpDecomposition, brier_score, corp, log_loss
from calipers._smoothed import (
    beta_kde_ece,
    canonical_kde_ece,
    kde_ece,
    ls_ece,
    ls_ece_sampled,
    residual_ls_ece,
    smooth_ece,
)

__all__ = [
    "CalibrationIndices",
    "CorpDecomposition",
    "CoxCalibration",
    "Estimate",
    "Measure",
    "adaptive_calibration_error",
    "beta_kde_ece",
    "brier_score",
    "calibration_indices",
    "canonical_kde_ece",
    "corp",
    "cox_calibration",
    "debiased_ece",
    "ecce_mad",
    "ecce_r",
    "expected_calibration_error",
    "kde_ece",
    "kernel_calibration_error",
    "log_loss",
    "lower_distance_to_calibration",
    "ls_ece",
    "ls_ece_sampled",
    "maximum_calibration_error",
    "measures",
    "mmce",
    "observed_expected",
    "residual_ls_ece",
    "root_mean_squared_calibration_error",
    "smooth_calibration_error",
    "smooth_ece",
    "spline_calibration_error",
    "surrogate_interval_calibration_error",
    "sweep_ece",
    "tcal_squared_error",
    "top_label_calibration_error",
]
