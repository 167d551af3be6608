"""How good measures, intervals and tests are on data whose true calibration error is known."""

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

__all__ = [
    "Accuracy",
    "CoverageResult",
    "EstimatorResult",
    "Family",
    "MonteCarlo",
    "RejectionResult",
    "Simulation",
    "families",
    "simulate",
]
