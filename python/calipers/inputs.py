"""What functions read, and the error that they raise for invalid input."""

from calipers._core import CalipersError
from calipers._predictions import Predictions
from calipers._row_options import RowOptions

__all__ = ["CalipersError", "Predictions", "RowOptions"]
