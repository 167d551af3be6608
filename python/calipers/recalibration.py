"""Maps that repair probabilities, and whether they do."""

from calipers._decompose import LossDecomposition, decompose
from calipers._fitted import FitBound, GroupMap, ProbabilityIntervals, RecalibrationCurve
from calipers._gains import Candidate, GainFloor, GainInterval, Left, PoolingLoss
from calipers._held_out import HeldOutGain, improvement_on
from calipers._improvement import Improvement, improvement
from calipers._recalibrate import RecalibrationMethod, recalibrate, recalibration_methods
from calipers._recalibrator import Recalibrator
from calipers._sketch_improvement import SketchImprovement, improvement_from_sketches
from calipers._temperature_sketch import TemperatureSketch

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
    "SketchImprovement",
    "TemperatureSketch",
    "decompose",
    "improvement",
    "improvement_from_sketches",
    "improvement_on",
    "recalibrate",
    "recalibration_methods",
]
