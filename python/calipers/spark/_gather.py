"""Sketches of partitions -> one for each group.

On the driver where they are small together, else in Spark.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from pyspark.sql import DataFrame, SparkSession, types
from pyspark.sql import functions as sql

from calipers import _core
from calipers.spark._collect import collected
from calipers.spark._columns import HAS_POSITIVE, N_LEFT_OUT, ROOM, SKETCH, N, column
from calipers.spark._errors import clearly
from calipers.spark._groups import Key
from calipers.spark._merge_sketches import Merging
from calipers.spark._outgoing import BEYOND, FITS

# Bytes of sketches that are merged on the driver; beyond, Spark merges.
ROOM_OF_DRIVER = 64 << 20

# Bytes of sketches that a task of Spark merges, and the least number of them that become one where
# all are of one group: so there is an end to such stages.
_BYTES_OF_A_TASK = 64 << 20
_LEAST_MERGED = 4


@dataclass(frozen=True)
class Facts:
    """What is known of all sketches together."""

    n: int
    n_left_out: int
    has_positive: bool
    n_groups: int


@dataclass(frozen=True)
class Gathered:
    """A sketch for each group: bytes that the driver has `held`, or rows that Spark has `kept`."""

    session: SparkSession
    keys: tuple[types.StructField, ...]
    facts: Facts
    held: dict[Key, bytes] | None = None
    kept: DataFrame | None = None


def schema_of(keys: Sequence[types.StructField]) -> types.StructType:
    """Keys, and what belongs to each sketch."""
    return types.StructType(
        [
            *(types.StructField(key.name, key.dataType, True) for key in keys),
            types.StructField(SKETCH, types.BinaryType(), False),
            types.StructField(N, types.LongType(), False),
            types.StructField(N_LEFT_OUT, types.LongType(), False),
            types.StructField(HAS_POSITIVE, types.BooleanType(), False),
            types.StructField(ROOM, types.ByteType(), False),
        ]
    )


def gathered(partials: DataFrame, keys: tuple[types.StructField, ...]) -> Gathered:
    """Runs the job, and merges what it gives."""
    kept = partials.persist()
    try:
        # One job where they are small together: it brings what the driver has room for, and says if
        # there is more.
        fits = sql.when(sql.col(ROOM) == FITS, sql.col(SKETCH)).alias(SKETCH)
        sent = kept.where(sql.col(ROOM) < BEYOND).select(*(column(key.name) for key in keys), fits)
        parts = _by_key(collected(sent, keys))
        if parts is not None:
            return _on_the_driver(kept.sparkSession, parts, keys)
        with clearly():
            total = kept.agg(sql.count("*"), sql.sum(sql.length(SKETCH))).first()
        n_sketches, n_bytes = (0, 0) if total is None else (total[0], total[1])
        if keys:
            return _in_spark(kept, keys, n_bytes)
        n_parts = min(_n_parts(n_bytes), n_sketches // _LEAST_MERGED)
        if n_parts > 0:
            # In stages, until they are few: a task merges some megabytes, however many there are in
            # all.
            return gathered(merged_in_spark(kept, keys, n_parts), keys)
        return _on_the_driver(kept.sparkSession, {(): [part for _, part in collected(kept, keys)]}, keys)
    finally:
        kept.unpersist()


def _by_key(sent: Iterable[tuple[Key, bytes]]) -> dict[Key, list[bytes]] | None:
    """The sketches of each key; None where some did not fit."""
    parts: dict[Key, list[bytes]] = {}
    for key, part in sent:
        if not part:
            return None
        parts.setdefault(key, []).append(part)
    return parts


def _on_the_driver(
    session: SparkSession, parts: dict[Key, list[bytes]], keys: tuple[types.StructField, ...]
) -> Gathered:
    starts = np.cumsum([0, *map(len, parts.values())])
    sketches = _core.merge_runs([part for own in parts.values() for part in own], starts)
    packed, n, n_left_out, has_positive = _core.pack(sketches)
    facts = Facts(sum(n), sum(n_left_out), any(has_positive), len(parts))
    return Gathered(session, keys, facts, held=dict(zip(parts, packed, strict=True)))


def _in_spark(partials: DataFrame, keys: tuple[types.StructField, ...], n_bytes: int) -> Gathered:
    kept = merged_in_spark(partials, keys, _n_parts(n_bytes)).persist()
    try:
        with clearly():
            # Partials are still kept, so that the rows are not read again.
            found = kept.agg(sql.sum(N), sql.sum(N_LEFT_OUT), sql.max(HAS_POSITIVE), sql.count("*")).first()
    except BaseException:
        kept.unpersist()
        raise
    n, n_left_out, has_positive, n_groups = found if found is not None else (0, 0, False, 0)
    facts = Facts(n or 0, n_left_out or 0, bool(has_positive), n_groups)
    return Gathered(kept.sparkSession, keys, facts, kept=kept)


def _n_parts(n_bytes: int) -> int:
    """Tasks that sketches of so many bytes are merged by."""
    return -(-n_bytes // _BYTES_OF_A_TASK)


def merging(keys: Sequence[types.StructField]) -> Merging:
    """The stage that merges neighbours of one group."""
    return Merging(tuple(key.name for key in keys), ROOM_OF_DRIVER)


def merged_in_spark(partials: DataFrame, keys: Sequence[types.StructField], n_parts: int = 1) -> DataFrame:
    """A row for each group; without keys a row for each of the parts. Not started."""
    columns = [column(key.name) for key in keys]
    if columns:
        usual = str(partials.sparkSession.conf.get("spark.sql.shuffle.partitions"))
        # Without a number, Spark may take fewer where they are small; where the setting is none, it
        # finds out itself.
        is_too_few = usual.isdigit() and n_parts > int(usual)
        spread = partials.repartition(n_parts, *columns) if is_too_few else partials.repartition(*columns)
        together = spread.sortWithinPartitions(*columns)
    else:
        together = partials.repartition(n_parts)
    return together.mapInArrow(merging(keys).stage(), schema_of(keys))
