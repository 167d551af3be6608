"""Maps that repair probabilities, and whether they do."""

from calipers._improvement import (
    Candidate,
    GainFloor,
    GainInterval,
    HeldOutGain,
    Improvement,
    Left,
    LossDecomposition,
    decompose,
    improvement,
    improvement_on,
)
from calipers._recalibrator import (
    FitBound,
    ProbabilityIntervals,
    RecalibrationCurve,
    RecalibrationMethod,
    Recalibrator,
    recalibrate,
    recalibration_methods,
)

__all__ = [
    "Candidate",
    "FitBound",
    "GainFloor",
    "GainInterval",
    "HeldOutGain",
    "Improvement",
    "Left",
    "LossDecomposition",
    "ProbabilityIntervals",
    "RecalibrationCurve",
    "RecalibrationMethod",
    "Recalibrator",
    "decompose",
    "improvement",
    "improvement_on",
    "recalibrate",
    "recalibration_methods",
]
