"""Calibration as expressions of Polars: ``import calipers.polars`` adds the namespace `calipers`.

    pl.col("p").calipers.ls_ece("y")     a value of the rows, in select, group_by and over
    pl.col("p").calipers.sketch("y")     their sketch, a binary value
    pl.col("sketch").calipers.merge()    the sketch of all rows of sketches
    pl.col("sketch").calipers.ls_ece()   a value of each sketch

There is no arithmetic here: rows go to the compiled core, those of all groups in one call. Needs
Polars 1.30 or later, which ``import calipers`` does not.
"""

from __future__ import annotations

try:
    import polars as pl
except ImportError as error:
    raise ImportError(
        "calipers.polars needs polars, which is not installed: pip install 'calipers[polars]'", name="polars"
    ) from error

from calipers.polars._namespace import CalipersNamespace

__all__ = ["CalipersNamespace"]

pl.api.register_expr_namespace("calipers")(CalipersNamespace)
