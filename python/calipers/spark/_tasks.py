"""Into how many tasks rows of sketches go: by their bytes and what is asked, not by a setting.

A stage of Python costs a tenth of a second for each task that has nothing to do.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame

from calipers.spark._columns import column


def together(rows: DataFrame, keys: Sequence[str], n_parts: int, *, then: Sequence[str] = ()) -> DataFrame:
    """Rows with equal keys as neighbours of one of the partitions, sorted by further columns.

    One task reads all rows from where they are, without a shuffle: so they must not be the result
    of a stage that is still to run, unless that may run in one task, too.
    """
    columns = [column(name) for name in keys]
    spread = rows.coalesce(1) if n_parts <= 1 else rows.repartition(n_parts, *columns)
    order = [*columns, *map(column, then)]
    return spread.sortWithinPartitions(*order) if order else spread


def spread_over(rows: DataFrame, n_parts: int, n_wanted: int) -> DataFrame:
    """Rows in as many partitions as are wanted; they are in `n_parts` of them, 0 if unknown."""
    n_wanted = max(1, n_wanted)
    if n_wanted == n_parts:
        return rows
    is_fewer = n_wanted == 1 or n_wanted < n_parts
    return rows.coalesce(n_wanted) if is_fewer else rows.repartition(n_wanted)
