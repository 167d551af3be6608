"""Temperature scaling of classes on Spark: a sketch where the rows are, then merged exactly."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, types

from calipers import _core
from calipers._temperature_sketch import TemperatureSketch
from calipers._threads import threads
from calipers.spark._collect import collected, shown
from calipers.spark._columns import LABEL, SCORE, SKETCH, WEIGHT, choose, column, input_error, key_columns
from calipers.spark._errors import with_place
from calipers.spark._fill_sketches import Batches, passes
from calipers.spark._groups import Key, groups_of, key_column, keys_of

# Tasks that merge the sketches of all partitions where there are no groups.
_N_MERGING = 16


def temperature_sketch(
    df: DataFrame,
    *,
    prob: str,
    label: str,
    weight: str | None = None,
    from_logits: bool = False,
    invalid: str = "reject",
    sum_tolerance: float = 0.02,
) -> TemperatureSketch:
    """The sketch of all rows of a DataFrame, from which temperature scaling is fitted.

    Executors read the named columns once and keep 12 kB and 8 bytes for each class. The bytes are
    those of `calipers.TemperatureSketch` for the same rows on one machine.

    Parameters
    ----------
    df : pyspark.sql.DataFrame
        The predictions.
    prob : str
        The column of probabilities of all classes, or of raw scores: arrays or vectors.
    label : str
        The column of class labels from 0 to k - 1.
    weight : str, optional
        The column of weights.
    from_logits : bool
        Whether the column has raw scores.
    invalid : {"reject", "count"}
        What happens to invalid rows: an error, or they are left out and counted.
    sum_tolerance : float
        How far the probabilities of a row may be from a sum of 1.

    Returns
    -------
    calipers.TemperatureSketch
        ``.fit()`` has the recalibrator.

    Raises
    ------
    CalipersError
        Before any job, where a column is not there or has no such type; by the job, with the rule
        and the value, where a row is invalid.
    """
    options = {"from_logits": from_logits, "invalid": invalid, "sum_tolerance": sum_tolerance}
    found = list(_sketches(df, prob, label, weight, (), options).values())
    if not found:
        # The error of a sketch without rows.
        TemperatureSketch(2).fit()
    return found[0]


def temperature_sketches(
    df: DataFrame,
    *,
    prob: str,
    label: str,
    by: str | Sequence[str],
    weight: str | None = None,
    from_logits: bool = False,
    invalid: str = "reject",
    sum_tolerance: float = 0.02,
) -> dict[Any, TemperatureSketch]:
    """The sketch of each group of rows, from which its temperature is fitted.

    Parameters
    ----------
    df : pyspark.sql.DataFrame
        The predictions.
    prob : str
        The column of probabilities of all classes, or of raw scores: arrays or vectors.
    label : str
        The column of class labels from 0 to k - 1.
    by : str or sequence of str
        Columns whose values make the groups.
    weight : str, optional
        The column of weights.
    from_logits : bool
        Whether the column has raw scores.
    invalid : {"reject", "count"}
        What happens to invalid rows: an error, or they are left out and counted.
    sum_tolerance : float
        How far the probabilities of a row may be from a sum of 1.

    Returns
    -------
    dict of calipers.TemperatureSketch
        By the key of the group: a value, or a tuple where `by` has several columns.
    """
    names = (by,) if isinstance(by, str) else tuple(by)
    options = {"from_logits": from_logits, "invalid": invalid, "sum_tolerance": sum_tolerance}
    return _sketches(df, prob, label, weight, names, options)


def _sketches(
    df: DataFrame, prob: str, label: str, weight: str | None, names: tuple[str, ...], reading: dict[str, Any]
) -> dict[Any, TemperatureSketch]:
    """The sketch of each group, by its key; without names, of all rows."""
    keys_of_rows = key_columns(df, names)
    chosen = choose(df, prob, label, weight, keys_of_rows, from_logits=bool(reading["from_logits"]), pos_label=0)
    if not chosen.is_array:
        raise input_error("wrong_type", "scores must be arrays or vectors with one of each class, got numbers", prob)
    if isinstance(df.schema[label].dataType, types.StringType):
        raise input_error("wrong_type", "labels must be numbers of classes, from 0 to k - 1, got text", label)
    _try_options(reading)
    keys = [types.StructField(key.name, key.dataType, True) for key in chosen.keys]
    schema = types.StructType([*keys, types.StructField(SKETCH, types.BinaryType(), False)])
    parts = chosen.rows.mapInArrow(_Filling(names, reading).stage(), schema)
    columns = [column(name) for name in names]
    spread = parts.repartition(*columns).sortWithinPartitions(*columns) if names else parts.repartition(_N_MERGING)
    found: dict[Any, TemperatureSketch] = {}
    for key, data in collected(spread.mapInArrow(_merging(names), schema), chosen.keys):
        values = shown(key, chosen.keys)
        name = values[0] if len(values) == 1 else values
        sketch = TemperatureSketch.from_bytes(data)
        found[name] = found[name].merge(sketch) if name in found else sketch
    return found


def _try_options(reading: dict[str, Any]) -> None:
    """Raises on the driver what every executor would raise."""
    TemperatureSketch(2).update([0], [[0.5, 0.5]], **reading)


@dataclass(frozen=True)
class _Filling:
    """How rows are read; it travels to the executors."""

    names: tuple[str, ...]
    reading: dict[str, Any]

    def stage(self) -> Callable[[Batches], Batches]:
        """The function for `mapInArrow`: the rows of a partition become a sketch for each group."""

        def fill(batches: Batches) -> Batches:
            sketches: dict[Key, TemperatureSketch] = {}
            kinds: list[pa.DataType] = []
            # A task has one core.
            with threads(1):
                for batch in passes(batches):
                    keys = batch.columns[: len(self.names)]
                    kinds = [key.type for key in keys]
                    groups = groups_of(keys, batch.num_rows)
                    rows = batch if groups.order is None else batch.take(pa.array(groups.order))
                    bounds = zip(groups.keys, groups.starts[:-1].tolist(), groups.starts[1:].tolist(), strict=True)
                    for key, start, end in bounds:
                        self._add(sketches, key, rows.slice(start, end - start))
            if sketches:
                yield _rows(list(sketches.items()), self.names, kinds)

        return fill

    def _add(self, sketches: dict[Key, TemperatureSketch], key: Key, rows: pa.RecordBatch) -> None:
        scores = rows.column(SCORE)
        weights = rows.column(WEIGHT) if WEIGHT in rows.schema.names else None
        try:
            if key not in sketches:
                sketches[key] = TemperatureSketch(pc.max(pc.list_value_length(scores)).as_py() or 2)
            sketches[key].update(rows.column(LABEL), scores, sample_weight=weights, **self.reading)
        except _core.CalipersError as error:
            place = ", ".join(f"{name}={value!r}" for name, value in zip(self.names, key, strict=True))
            raise with_place(error, f"group {place}, rows" if place else "rows") from None


def _merging(names: tuple[str, ...]) -> Callable[[Batches], Batches]:
    """The function for `mapInArrow`: neighbours of one group become one row."""

    def merge(batches: Batches) -> Batches:
        waiting: tuple[Key, TemperatureSketch] | None = None
        kinds: list[pa.DataType] = []
        for batch in batches:
            keys = [batch.column(name) for name in names]
            kinds = [key.type for key in keys]
            every = keys_of(keys, np.arange(batch.num_rows)) if names else [()] * batch.num_rows
            for key, data in zip(every, batch.column(SKETCH).to_pylist(), strict=True):
                sketch = TemperatureSketch.from_bytes(data)
                if waiting is not None and waiting[0] != key:
                    yield _rows([waiting], names, kinds)
                    waiting = None
                waiting = (key, sketch if waiting is None else _merged(waiting[1], sketch))
        if waiting is not None:
            yield _rows([waiting], names, kinds)

    return merge


def _merged(one: TemperatureSketch, other: TemperatureSketch) -> TemperatureSketch:
    try:
        return one.merge(other)
    except _core.CalipersError as error:
        raise with_place(error, "sketches of partitions") from None


def _rows(
    sketches: list[tuple[Key, TemperatureSketch]], names: Sequence[str], kinds: Sequence[pa.DataType]
) -> pa.RecordBatch:
    columns = [key_column([key[place] for key, _ in sketches], kind) for place, kind in enumerate(kinds)]
    columns.append(pa.array([sketch.to_bytes() for _, sketch in sketches], pa.binary()))
    return pa.RecordBatch.from_arrays(columns, [*names, SKETCH])
