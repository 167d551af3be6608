"""A DataFrame of predictions -> a sketch for each group."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, NamedTuple

import numpy as np
from pyspark.sql import DataFrame, types

from calipers._documented import documented
from calipers._row_options import ROW_DEFAULTS, ColumnOptions, DataFrameOptions, Unpack
from calipers._sketch import Sketch
from calipers.spark import _gather
from calipers.spark._batches import batches_of_short_rows
from calipers.spark._columns import By, KeyColumn, check_dataframe, choose, input_error, key_columns
from calipers.spark._fill_sketches import Filling
from calipers.spark._gather import gathered, schema_of
from calipers.spark._measure_sketches import check_names
from calipers.spark._sketches import Sketches

# Of a partition's sketches in memory; beyond, they are handed on in parts.
MOST_BYTES = 128 << 20


class Partials(NamedTuple):
    """Sketches of the groups of each partition, not yet computed, and the keys."""

    rows: DataFrame
    keys: tuple[types.StructField, ...]
    is_array: bool

    def reading(self) -> AbstractContextManager[None]:
        """The settings for the job that reads the rows."""
        # Rows of arrays may be long: Spark's own limits are for those.
        return nullcontext() if self.is_array else batches_of_short_rows(self.rows.sparkSession)


@documented
def sketch(
    df: DataFrame,
    *,
    prob: str,
    label: str,
    weight: str | None = None,
    by: By = (),
    **options: Unpack[DataFrameOptions],
) -> Sketches:
    """Puts the rows of a DataFrame into sketches, one for each group, where the rows are.

    Executors read the named columns, partition by partition, and keep only sketches. Where those of
    all partitions are small together, the driver merges them; else Spark does, group by group. The
    bytes are those that `calipers.Sketch` gives for the same rows on one machine, whatever the
    partitions.

    Parameters
    ----------
    df : pyspark.sql.DataFrame
        The predictions.
    by : str, pyspark.sql.Column, or sequence of them
        What makes the groups: names of columns, or expressions such as ``F.to_date("at")``, of
        whole numbers, decimals, text, dates, times, true and false. Null is a group, too. Without
        any, all rows are one group. An expression is named as Spark names it, or by ``alias``.
    **options
        Those of `calipers.Sketch`: ``profile``, ``resolution``, or ``tolerance`` and
        ``smallest_sigma``, ``clip``, ``n_bins``. ``profile="monitoring"`` is for many groups: what
        partitions hand over is then a fifth as large, and LS-ECE is less exact, by a few hundredths
        of the noise floor.

    Returns
    -------
    Sketches

    Raises
    ------
    CalipersError
        Before any job, where a column is not there or has no such type, or an option cannot be. By
        the job, with the rule, the value and the group, where a row has a null, NaN or a value out
        of range, unless ``invalid="count"``: then such rows are left out, and counted in the sketch
        of their group.

    Notes
    -----
    Cost: one pass over the columns. Each partition hands over a sketch for each of its groups: some
    hundred bytes for a few rows, at most some megabytes. ``docs/scale.md`` has measurements. The
    result is held by the driver, or where it is large kept by Spark: what is asked of it does not
    read the rows again.

    Examples
    --------
    >>> from calipers import spark
    >>> session = spark.session("local[1]", spark__ui__enabled="false")
    >>> rows = [(0.9, 1, "de"), (0.2, 0, "de"), (0.6, 1, "fr"), (0.3, 0, "fr"), (0.8, 0, "fr")]
    >>> df = session.createDataFrame(rows, "p double, bought int, country string")
    >>> sketches = spark.sketch(df, prob="p", label="bought", by="country")
    >>> sketches
    Sketches(n=5, n_groups=2, by=['country'])
    >>> for row in sketches.measure("brier_score").orderBy("country").collect():
    ...     print(row.country, row.n, round(row.value, 4))
    de 2 0.025
    fr 3 0.2967
    >>> round(sketches.merged().brier_score(), 3)
    0.188
    """
    reading, shape = split_reading(options)
    check_dataframe(df)
    if df.isStreaming:
        raise input_error("invalid_setting", "df must be whole, got a stream: write_windows takes those")
    partials = filled(df, prob, label, weight, key_columns(df, by), reading, shape)
    found = gathered(partials.rows, partials.keys, partials.reading())
    sketches = Sketches(found, empty=Sketch(**shape))
    pos_label = reading["pos_label"]
    if pos_label is not None and found.facts.n > 0 and not found.facts.has_positive:
        sketches.unpersist()
        raise input_error(
            "positive_label_absent", f"the positive label must occur, got {pos_label!r}, which no row has"
        )
    return sketches


def split_reading(options: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """All options of how rows are read, and the options of sketches that were given."""
    names = [name for name in ROW_DEFAULTS if name in ColumnOptions.__annotations__]
    shape = {name: value for name, value in options.items() if name not in names}
    return {name: options.get(name, default) for name, default in ROW_DEFAULTS.items() if name in names}, shape


def filled(
    df: DataFrame,
    prob: str,
    label: str,
    weight: str | None,
    keys: Sequence[KeyColumn],
    reading: dict[str, Any],
    shape: dict[str, Any],
) -> Partials:
    """The first stage, checked but not started."""
    names = tuple(key.field.name for key in keys)
    check_names(names)
    chosen = choose(
        df, prob, label, weight, keys, from_logits=bool(reading["from_logits"]), pos_label=reading["pos_label"]
    )
    _try_options(shape, reading, chosen.is_array)
    filling = Filling(shape, {**reading, "pos_label": chosen.pos_label}, names, MOST_BYTES, _gather.ROOM_OF_DRIVER)
    rows = chosen.rows.mapInArrow(filling.stage(), schema_of(chosen.keys))
    return Partials(rows, chosen.keys, chosen.is_array)


def _try_options(shape: dict[str, Any], reading: dict[str, Any], is_array: bool) -> None:
    """Raises on the driver what every executor would raise.

    An empty batch has all the options of a full one.
    """
    multiclass = reading["multiclass"]
    n_classes = 2 if reading["pos_label"] is not None else 3
    if isinstance(multiclass, int):
        # How many classes there are is known by the rows alone.
        n_classes = max(n_classes, multiclass + 1)
    scores = np.empty((0, n_classes) if is_array else 0)
    Sketch(**shape).update(np.empty(0, dtype=np.int64), scores, **reading)
