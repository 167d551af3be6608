"""Maps that repair probabilities, and whether they do."""

from calipers._decompose import LossDecomposition, decompose
from calipers._fitted import FitBound, GroupMap, ProbabilityIntervals, RecalibrationCurve
from calipers._gains import Candidate, GainFloor, GainInterval, Left, PoolingLoss
from calipers._held_out import HeldOutGain, improvement_on
from calipers._improvement import Improvement, improvement
from calipers._recalibrate import RecalibrationMethod, recalibrate, recalibration_methods
from calipers._recalibrator import Recalibrator

__all__ = [
    "Candidate",
    "FitBound",
    "GainFloor",
    "GainInterval",
    "GroupMap",
    "HeldOutGain",
    "Improvement",
    "Left",
    "LossDecomposition",
    "PoolingLoss",
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
