"""Maps that repair probabilities, and whether they do."""

from calipers._improvement import GainFloor, GainInterval, Improvement, improvement
from calipers._recalibrator import (
    FitBound,
    RecalibrationCurve,
    RecalibrationMethod,
    Recalibrator,
    recalibrate,
    recalibration_methods,
)

__all__ = [
    "FitBound",
    "GainFloor",
    "GainInterval",
    "Improvement",
    "RecalibrationCurve",
    "RecalibrationMethod",
    "Recalibrator",
    "improvement",
    "recalibrate",
    "recalibration_methods",
]
