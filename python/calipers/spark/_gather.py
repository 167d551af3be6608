"""Sketches of partitions -> one for each group.

On the driver where they are small together, else in Spark.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
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
from calipers.spark._tasks import together

# Bytes of sketches that are merged on the driver; beyond, Spark merges.
ROOM_OF_DRIVER = 64 << 20

# What a task of Spark merges, in some seconds: bytes of sketches, and how many of them.
_BYTES_OF_A_TASK = 128 << 20
_SKETCHES_OF_A_TASK = 1 << 15

# As many tasks are not worth a shuffle: one does their work.
_TASKS_IN_ONE = 4

# The least number of sketches that become one where all are of one group: so there is an end to
# such stages.
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
    """A sketch for each group: bytes that the driver has `held`, or rows that Spark has `kept`.

    Those that Spark keeps are in `n_parts` partitions.
    """

    session: SparkSession
    keys: tuple[types.StructField, ...]
    facts: Facts
    held: dict[Key, bytes] | None = None
    kept: DataFrame | None = None
    n_parts: int = 0


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


def gathered(
    partials: DataFrame,
    keys: tuple[types.StructField, ...],
    reading: AbstractContextManager[None] | None = None,
) -> Gathered:
    """Runs the job, in the context of `reading`, and merges what it gives."""
    kept = partials.persist()
    try:
        with reading or nullcontext():
            parts = _sent(kept, keys)
        if parts is not None:
            return held_by_the_driver(kept.sparkSession, parts, keys)
        with clearly():
            total = kept.agg(sql.count("*"), sql.sum(sql.length(SKETCH))).first()
        n_sketches, n_bytes = (0, 0) if total is None else (total[0], total[1])
        n_parts = _n_parts(n_sketches, n_bytes)
        if keys:
            return _merged_by_key(kept, keys, n_parts)
        n_parts = min(n_parts, n_sketches // _LEAST_MERGED)
        if n_parts > 0:
            # In stages, until they are few. Neighbours are merged, so that nothing is shuffled.
            return gathered(kept.coalesce(n_parts).mapInArrow(merging(keys).stage(), schema_of(keys)), keys)
        return held_by_the_driver(kept.sparkSession, {(): [part for _, part in collected(kept, keys)]}, keys)
    finally:
        kept.unpersist()


def _sent(kept: DataFrame, keys: Sequence[types.StructField]) -> dict[Key, list[bytes]] | None:
    """Runs the job: the sketches of each key, or None where the driver has no room for all.

    One job where they are small together: it brings what the driver has room for, and says if
    there is more.
    """
    fits = sql.when(sql.col(ROOM) == FITS, sql.col(SKETCH)).alias(SKETCH)
    sent = kept.where(sql.col(ROOM) < BEYOND).select(*(column(key.name) for key in keys), fits)
    parts: dict[Key, list[bytes]] = {}
    for key, part in collected(sent, keys):
        if not part:
            return None
        parts.setdefault(key, []).append(part)
    return parts


def held_by_the_driver(
    session: SparkSession, parts: Mapping[Key, Sequence[bytes]], keys: tuple[types.StructField, ...]
) -> Gathered:
    """The sketches of each key, merged here."""
    starts = np.cumsum([0, *map(len, parts.values())])
    sketches = _core.merge_runs([part for own in parts.values() for part in own], starts)
    packed, n, n_left_out, has_positive = _core.pack(sketches)
    facts = Facts(sum(n), sum(n_left_out), any(has_positive), len(parts))
    return Gathered(session, keys, facts, held=dict(zip(parts, packed, strict=True)))


def _merged_by_key(partials: DataFrame, keys: tuple[types.StructField, ...], n_parts: int) -> Gathered:
    """Merges in Spark; the driver holds the result where it has room for it."""
    names = [key.name for key in keys]
    merged = together(partials, names, n_parts).mapInArrow(merging(keys).stage(), schema_of(keys))
    # Partials are still kept, so that the rows are not read again.
    kept = merged.persist()
    try:
        parts = _sent(kept, keys)
        if parts is None:
            with clearly():
                found = kept.agg(sql.sum(N), sql.sum(N_LEFT_OUT), sql.max(HAS_POSITIVE), sql.count("*")).first()
            n, n_left_out, has_positive, n_groups = found if found is not None else (0, 0, False, 0)
            facts = Facts(n or 0, n_left_out or 0, bool(has_positive), n_groups)
            return Gathered(kept.sparkSession, keys, facts, kept=kept, n_parts=max(1, n_parts))
        held = held_by_the_driver(kept.sparkSession, parts, keys)
    except BaseException:
        kept.unpersist()
        raise
    kept.unpersist()
    return held


def _n_parts(n_sketches: int, n_bytes: int) -> int:
    """Tasks by which so many sketches of so many bytes are merged."""
    n_parts = max(-(-n_bytes // _BYTES_OF_A_TASK), -(-n_sketches // _SKETCHES_OF_A_TASK))
    return 1 if n_parts <= _TASKS_IN_ONE else n_parts


def merging(keys: Iterable[types.StructField]) -> Merging:
    """The stage that merges neighbours of one group."""
    return Merging(tuple(key.name for key in keys), ROOM_OF_DRIVER)
