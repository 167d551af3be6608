"""Summaries of predictions that are updated batch by batch, merged, and written to Parquet."""

from calipers._parquet import read_sketches, write_sketches
from calipers._sketch import Sketch
from calipers._sweep import SketchSweep

__all__ = ["Sketch", "SketchSweep", "read_sketches", "write_sketches"]
