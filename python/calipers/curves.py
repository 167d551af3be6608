"""Curves and tables behind the measures: what the charts draw, as arrays."""

from calipers._cumulative import CumulativeCurve, SplineCurve, cumulative_curve, spline_curve
from calipers._curve import Band, Bin, IsotonicCurve, LsCurve, calibration_bins, corp_curve, ls_curve

__all__ = [
    "Band",
    "Bin",
    "CumulativeCurve",
    "IsotonicCurve",
    "LsCurve",
    "SplineCurve",
    "calibration_bins",
    "corp_curve",
    "cumulative_curve",
    "ls_curve",
    "spline_curve",
]
