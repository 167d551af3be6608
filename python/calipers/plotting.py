"""Charts by matplotlib, in the manner of scikit-learn's displays."""

from calipers._displays import CumulativeDisplay, ReliabilityDisplay, SweepDisplay

__all__ = ["CumulativeDisplay", "ReliabilityDisplay", "SweepDisplay"]
