"""What can be concluded from a value.

Noise floors, intervals, comparisons, tests, and how much the bins decide.
"""

from calipers._assess import assess
from calipers._assessment import Assessment, ClassAssessment, Interval, NoiseFloor, Part, Parts, PerClass
from calipers._by import GroupedPredictions, by
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
from calipers._compare import ComparedBy, Comparison, Pair, compare
from calipers._drift import Change, CurveChange, Origin, drift
from calipers._group_table import GroupTable, WorstGroup
from calipers._monitor import Look, Monitor, Onset, WindowValue, monitor
from calipers._sweep import SweepResult, sweep

__all__ = [
    "Assessment",
    "CalibrationTest",
    "CalibrationTests",
    "Change",
    "ClassAssessment",
    "CoefficientInterval",
    "ComparedBy",
    "Comparison",
    "CoxTest",
    "CurveChange",
    "GroupTable",
    "GroupedPredictions",
    "Interval",
    "Look",
    "Monitor",
    "NoiseFloor",
    "Onset",
    "Origin",
    "Pair",
    "Part",
    "Parts",
    "PerClass",
    "SweepResult",
    "WindowValue",
    "WorstGroup",
    "assess",
    "by",
    "calibration_tests",
    "compare",
    "cox_test",
    "drift",
    "ecce_mad_test",
    "ecce_r_test",
    "hosmer_lemeshow_test",
    "monitor",
    "spiegelhalter_test",
    "sweep",
    "tcal_test",
]
