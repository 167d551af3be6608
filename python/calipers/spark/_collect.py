"""Rows of keys and sketches, between Spark and the driver."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta, timezone
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession, types
from pyspark.sql import functions as sql
from pyspark.sql.pandas.types import to_arrow_type

from calipers.spark._columns import SKETCH, N, column
from calipers.spark._errors import clearly
from calipers.spark._groups import Key

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


def collected(rows: DataFrame, keys: Sequence[types.StructField]) -> Iterator[tuple[Key, bytes]]:
    """Keys and bytes of all rows, on the driver; without bytes where there is no sketch.

    Instants are microseconds: Python's own times of Spark have no zone, so that two hours are one
    where clocks go back.
    """
    wanted = rows.select(*map(_stored, keys), SKETCH)
    with clearly():
        # Since Spark 4; bytes come as they are, where rows are pickled.
        if hasattr(wanted, "toArrow"):
            columns = [values.to_pylist() for values in wanted.toArrow().columns]
            found: Iterable[Any] = zip(*columns, strict=True)
        else:
            found = wanted.collect()
    for row in found:
        *key, sketch = row
        own = tuple(bytes(value) if isinstance(value, bytearray) else value for value in key)
        yield own, bytes(sketch or b"")


def created(
    session: SparkSession, sketches: Iterable[tuple[Key, bytes]], keys: Sequence[types.StructField]
) -> DataFrame:
    """What `collected` has made, as rows again."""
    schema = types.StructType(
        [
            *(types.StructField(key.name, _stored_type(key), True) for key in keys),
            types.StructField(SKETCH, types.BinaryType(), False),
        ]
    )
    rows = [(*key, sketch) for key, sketch in sketches]
    return _made(session, rows, schema).select(*map(_restored, keys), SKETCH)


def keys_where(
    session: SparkSession, found: Sequence[Key], keys: Sequence[types.StructField], condition: Column | str
) -> list[int]:
    """The places of the keys that satisfy a condition."""
    place = types.StructField(N, types.LongType(), False)
    schema = types.StructType([*(types.StructField(key.name, _stored_type(key), True) for key in keys), place])
    rows = _made(session, [(*key, number) for number, key in enumerate(found)], schema)
    with clearly():
        satisfying = rows.select(*map(_restored, keys), N).where(condition).select(N).coalesce(1).collect()
    return sorted(row[0] for row in satisfying)


def _made(session: SparkSession, rows: Sequence[tuple[Any, ...]], schema: types.StructType) -> DataFrame:
    """Rows of Python as a DataFrame, through Arrow where Spark reads that, without pickling."""
    if not hasattr(DataFrame, "toArrow"):
        wrapped = [tuple(bytearray(value) if isinstance(value, bytes) else value for value in row) for row in rows]
        return session.createDataFrame(wrapped, schema)
    columns = [
        pa.array([row[place] for row in rows], to_arrow_type(field.dataType)) for place, field in enumerate(schema)
    ]
    return session.createDataFrame(pa.Table.from_arrays(columns, schema.names), schema)


def shown(key: Key, keys: Sequence[types.StructField]) -> tuple[Any, ...]:
    """A key that was collected, as people have it: instants in UTC."""
    return tuple(
        _EPOCH + timedelta(microseconds=int(str(value))) if value is not None and _is_instant(field) else value
        for value, field in zip(key, keys, strict=True)
    )


def _is_instant(key: types.StructField) -> bool:
    return isinstance(key.dataType, types.TimestampType)


def _stored(key: types.StructField) -> Column:
    own = column(key.name)
    return sql.unix_micros(own).alias(key.name) if _is_instant(key) else own


def _stored_type(key: types.StructField) -> types.DataType:
    return types.LongType() if _is_instant(key) else key.dataType


def _restored(key: types.StructField) -> Column:
    own = column(key.name)
    return sql.timestamp_micros(own).alias(key.name) if _is_instant(key) else own
