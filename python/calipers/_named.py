"""Measures that are asked for by name: each with the options of its own function, and their defaults."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import NamedTuple

from calipers import _binned, _clinical, _cumulative, _debiased, _distance, _kernel, _ls_ece, _scores, _spline
from calipers._inputs import Options

# Keywords of every function that say how rows are read: no options of a measure.
OF_ROWS = ("sample_weight", "from_logits", "multiclass", "ties", "pos_label", "sum_tolerance", "invalid")


class Named(NamedTuple):
    """What the core is asked for, and with which options."""

    measure: str
    options: Options


class _Listed(NamedTuple):
    """The function whose keywords are the options, the core's name, and what the function settles itself."""

    function: Callable[..., object]
    measure: str
    settled: Options


_SAME_NAME = (
    _ls_ece.ls_ece,
    _ls_ece.residual_ls_ece,
    _binned.expected_calibration_error,
    _debiased.debiased_ece,
    _debiased.sweep_ece,
    _debiased.tcal_squared_error,
    _kernel.smooth_ece,
    _kernel.kde_ece,
    _kernel.beta_kde_ece,
    _cumulative.ecce_r,
    _cumulative.ecce_mad,
    _spline.spline_calibration_error,
    _distance.smooth_calibration_error,
    _distance.lower_distance_to_calibration,
    _distance.surrogate_interval_calibration_error,
    _distance.kernel_calibration_error,
    _distance.mmce,
    _scores.brier_score,
    _scores.log_loss,
    _clinical.observed_expected,
)
_BINNED = "expected_calibration_error"
_LISTED: dict[str, _Listed] = {
    **{function.__name__: _Listed(function, function.__name__, {}) for function in _SAME_NAME},
    "adaptive_calibration_error": _Listed(
        _binned.adaptive_calibration_error, _BINNED, {"strategy": "quantile", "norm": "l1", "compat": None}
    ),
    "root_mean_squared_calibration_error": _Listed(
        _binned.root_mean_squared_calibration_error, _BINNED, {"norm": "l2", "compat": None}
    ),
    "maximum_calibration_error": _Listed(_binned.maximum_calibration_error, _BINNED, {"norm": "max"}),
    "corp_miscalibration": _Listed(_scores.corp, "corp_miscalibration", {}),
    # The curve has bounds, not a tolerance.
    **{
        name: _Listed(_clinical.calibration_indices, name, {"tolerance": 1e-6})
        for name in ("ici", "e50", "e90", "emax")
    },
    **{
        name: _Listed(_clinical.cox_calibration, name, {})
        for name in ("calibration_in_the_large", "calibration_slope", "calibration_intercept")
    },
}


def named(measure: str, options: Options) -> Named:
    """The measure of that name with these options, the others as its function has them.

    A name that is not listed goes to the core as it is, which refuses it with the names that are.
    """
    if not isinstance(measure, str):
        raise TypeError(f"measure must be text, got {type(measure).__name__}")
    listed = _LISTED.get(measure)
    if listed is None:
        return Named(measure, options)
    keywords = inspect.signature(listed.function).parameters.values()
    defaults = {
        each.name: each.default for each in keywords if each.kind is each.KEYWORD_ONLY and each.name not in OF_ROWS
    }
    for name in options:
        if name not in defaults:
            raise TypeError(f"{measure} has no option {name!r}, only {', '.join(defaults)}")
    return Named(listed.measure, {**listed.settled, **defaults, **options})
