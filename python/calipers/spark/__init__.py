"""Calibration of predictions on Apache Spark: the same bits as on one machine.

    DataFrame -> sketch -> Sketches -> measure | assess | sweep -> DataFrame, a row for each group
                                    -> merged | collect         -> Sketch
    stream    -> write_windows -> rows (window, group, sketch)   -> read_windows -> Sketches
    DataFrame -> temperature_sketch -> TemperatureSketch of rows of classes
    DataFrame -> recalibrated -> DataFrame with a column of recalibrated probabilities

There is no arithmetic here. Each partition puts its rows into sketches, one for each group
(`_fill_sketches`). Spark brings those of a group together, and they are merged (`_merge_sketches`):
sums of integers, whatever the partitions. Needs PySpark 3.5 or later, which ``import calipers``
does not, and calipers itself on the executors.
"""

from __future__ import annotations

from calipers.spark._requirements import check_pyspark

check_pyspark()

from calipers.spark._recalibrated import recalibrated  # noqa: E402
from calipers.spark._session import session  # noqa: E402 (after the one sentence that a missing PySpark gets)
from calipers.spark._sketch_dataframe import sketch  # noqa: E402
from calipers.spark._sketches import Sketches, read  # noqa: E402
from calipers.spark._stream import read_windows, write_windows  # noqa: E402
from calipers.spark._temperature import temperature_sketch, temperature_sketches  # noqa: E402

__all__ = [
    "Sketches",
    "read",
    "read_windows",
    "recalibrated",
    "session",
    "sketch",
    "temperature_sketch",
    "temperature_sketches",
    "write_windows",
]
