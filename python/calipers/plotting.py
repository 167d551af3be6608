"""Charts by matplotlib, in the manner of scikit-learn's displays."""

from calipers._displays import CumulativeDisplay, ModelsDisplay, ReliabilityDisplay, SweepDisplay

__all__ = ["CumulativeDisplay", "ModelsDisplay", "ReliabilityDisplay", "SweepDisplay"]
