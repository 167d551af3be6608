"""Every measure of one column at one size, beside scikit-learn's isotonic fit and numpy's argsort of the same rows."""

from __future__ import annotations

from collections.abc import Callable

import calipers
import numpy as np
from sklearn.isotonic import IsotonicRegression

from bench.data import Sample
from bench.timing import Timing, race

# Those that need no sort: they should take less than one.
WITHOUT_SORT = (
    "expected_calibration_error",
    "maximum_calibration_error",
    "smooth_ece, sigma 0.05",
    "brier_score",
    "log_loss",
    "tcal_squared_error",
)
ISOTONIC = "scikit-learn: isotonic fit"
ARGSORT = "numpy: argsort"


def race_measures(rows: Sample, *, turns: int, budget: float) -> dict[str, Timing]:
    """The measures by name, and the two that they are compared with."""
    y, p = rows.y, rows.p
    calls: dict[str, Callable[[], float]] = {
        ISOTONIC: lambda: float(IsotonicRegression(out_of_bounds="clip").fit(p, y).y_min or 0.0),
        ARGSORT: lambda: float(np.argsort(p)[0]),
        "ls_ece": lambda: calipers.ls_ece(y, p),
        "expected_calibration_error": lambda: calipers.expected_calibration_error(y, p),
        "adaptive_calibration_error": lambda: calipers.adaptive_calibration_error(y, p),
        "maximum_calibration_error": lambda: calipers.maximum_calibration_error(y, p),
        "debiased_ece": lambda: calipers.debiased_ece(y, p),
        "sweep_ece": lambda: calipers.sweep_ece(y, p),
        "smooth_ece": lambda: calipers.smooth_ece(y, p),
        "smooth_ece, sigma 0.05": lambda: calipers.smooth_ece(y, p, sigma=0.05),
        "kde_ece": lambda: calipers.kde_ece(y, p),
        "beta_kde_ece": lambda: calipers.beta_kde_ece(y, p),
        "ecce_r": lambda: calipers.ecce_r(y, p),
        "ecce_mad": lambda: calipers.ecce_mad(y, p),
        "spline_calibration_error": lambda: calipers.spline_calibration_error(y, p),
        "smooth_calibration_error": lambda: calipers.smooth_calibration_error(y, p),
        "lower_distance_to_calibration": lambda: calipers.lower_distance_to_calibration(y, p),
        "surrogate_interval_calibration_error": lambda: calipers.surrogate_interval_calibration_error(y, p),
        "kernel_calibration_error": lambda: calipers.kernel_calibration_error(y, p),
        "mmce": lambda: calipers.mmce(y, p),
        "tcal_squared_error": lambda: calipers.tcal_squared_error(y, p),
        "corp": lambda: calipers.corp(y, p).miscalibration,
        "brier_score": lambda: calipers.brier_score(y, p),
        "log_loss": lambda: calipers.log_loss(y, p),
        "observed_expected": lambda: calipers.observed_expected(y, p),
        "calibration_indices": lambda: calipers.calibration_indices(y, p).ici,
        "cox_calibration": lambda: calipers.cox_calibration(y, p).slope,
    }
    return race(calls, turns=turns, budget=budget)
