"""Sketches of partitions -> one for each group: on the driver where they are small together, else in Spark."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from pyspark.sql import DataFrame, types
from pyspark.sql import functions as sql

from calipers import _core
from calipers.spark._columns import HAS_POSITIVE, N_LEFT_OUT, SKETCH, N, column
from calipers.spark._failures import clearly
from calipers.spark._merge import Merging

# Sketches that are merged on the driver: no more than so many, of no more than so many bytes together.
FEW = 10_000
FEW_BYTES = 64 << 20

# Parts into which sketches of one group are merged in Spark, before the driver merges those.
N_PARTS = 16


@dataclass(frozen=True)
class Facts:
    """What is known of all sketches together."""

    n: int
    n_left_out: int
    has_positive: bool
    n_groups: int


@dataclass(frozen=True)
class Gathered:
    """A row for each group, kept by Spark or made from what the driver has: keys and sketch."""

    rows: DataFrame
    keys: tuple[types.StructField, ...]
    facts: Facts


def schema_of(keys: Sequence[types.StructField]) -> types.StructType:
    """Keys, and what belongs to each sketch."""
    return types.StructType(
        [
            *(types.StructField(key.name, key.dataType, True) for key in keys),
            types.StructField(SKETCH, types.BinaryType(), False),
            types.StructField(N, types.LongType(), False),
            types.StructField(N_LEFT_OUT, types.LongType(), False),
            types.StructField(HAS_POSITIVE, types.BooleanType(), False),
        ]
    )


def gathered(partials: DataFrame, keys: tuple[types.StructField, ...]) -> Gathered:
    """Runs the job, and merges what it gives."""
    kept = partials.persist()
    try:
        with clearly():
            total = kept.agg(sql.count("*"), sql.sum(sql.length(SKETCH))).first()
        n_sketches, n_bytes = (0, 0) if total is None else (total[0], total[1] or 0)
        if n_sketches <= FEW and n_bytes <= FEW_BYTES:
            return _on_the_driver(kept, keys)
        return _in_spark(kept, keys)
    finally:
        kept.unpersist()


def _on_the_driver(partials: DataFrame, keys: tuple[types.StructField, ...]) -> Gathered:
    with clearly():
        rows = partials.select(*(column(key.name) for key in keys), SKETCH).collect()
    parts: dict[tuple[object, ...], list[bytes]] = {}
    for row in rows:
        *key, part = row
        parts.setdefault(tuple(bytes(each) if isinstance(each, bytearray) else each for each in key), []).append(
            bytes(part)
        )
    starts = np.cumsum([0, *map(len, parts.values())])
    sketches = _core.merge_runs([part for own in parts.values() for part in own], starts)
    packed, n, n_left_out, has_positive = _core.pack(sketches)
    facts = Facts(sum(n), sum(n_left_out), any(has_positive), len(parts))
    schema = types.StructType(schema_of(keys).fields[: len(keys) + 1])
    data = [(*key, bytearray(own)) for key, own in zip(parts, packed, strict=True)]
    return Gathered(partials.sparkSession.createDataFrame(data, schema), keys, facts)


def _in_spark(partials: DataFrame, keys: tuple[types.StructField, ...]) -> Gathered:
    merged = merged_in_spark(partials, keys)
    if not keys:
        return _on_the_driver(merged, keys)
    kept = merged.persist()
    with clearly():
        # Partials are still kept, so that the rows are not read again.
        found = kept.agg(sql.sum(N), sql.sum(N_LEFT_OUT), sql.max(HAS_POSITIVE), sql.count("*")).first()
    n, n_left_out, has_positive, n_groups = found if found is not None else (0, 0, False, 0)
    facts = Facts(n or 0, n_left_out or 0, bool(has_positive), n_groups)
    return Gathered(kept.select(*(column(key.name) for key in keys), SKETCH), keys, facts)


def merged_in_spark(partials: DataFrame, keys: Sequence[types.StructField]) -> DataFrame:
    """A row for each group; without keys some rows, each of some partitions. Not started."""
    columns = [column(key.name) for key in keys]
    together = (
        partials.repartition(*columns).sortWithinPartitions(*columns) if columns else partials.repartition(N_PARTS)
    )
    merging = Merging(tuple(key.name for key in keys))
    return together.mapInArrow(merging.stage(), schema_of(keys))
