"""Charts in the manner of scikit-learn's displays: data is computed first, and drawn by `plot`.

matplotlib is imported when something is drawn, and not before.
"""

from calipers._displays._cumulative import CumulativeDisplay
from calipers._displays._models import ModelsDisplay
from calipers._displays._reliability import ReliabilityDisplay
from calipers._displays._sweep import SweepDisplay

__all__ = ["CumulativeDisplay", "ModelsDisplay", "ReliabilityDisplay", "SweepDisplay"]
