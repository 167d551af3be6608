"""The first stage, on executors: the rows of a partition -> a sketch for each group in it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import pyarrow as pa

from calipers import _core
from calipers._predictions import Rows
from calipers._sketch import Sketch
from calipers._threads import threads
from calipers.spark._columns import LABEL, SCORE, WEIGHT
from calipers.spark._errors import with_place
from calipers.spark._groups import Groups, Key, groups_of
from calipers.spark._outgoing import Outgoing

Batches: TypeAlias = Iterator[pa.RecordBatch]

# Batches of Spark are of ten thousand rows, as a rule: they wait until a pass over them pays, or
# takes so much memory.
_ROWS_OF_A_PASS = 1 << 18
_BYTES_OF_A_PASS = 32 << 20

# What the first rows of a sketch take, and Python's own things of it.
_BYTES_OF_FIRST_ROWS = 1 << 10


@dataclass(frozen=True)
class Filling:
    """How rows are read, and what sketches they go into; it travels to the executors."""

    shape: dict[str, Any]
    reading: dict[str, Any]
    names: tuple[str, ...]
    most_bytes: int
    room: int

    def stage(self) -> Callable[[Batches], Batches]:
        """The function for `mapInArrow`."""

        def fill(batches: Batches) -> Batches:
            # A task has one core.
            with threads(1):
                yield from _Partition(self).run(batches)

        return fill


class _Partition:
    """The sketches of one partition while it is read."""

    def __init__(self, filling: Filling) -> None:
        self._filling = filling
        self._empty = Sketch(**filling.shape)._held
        self._bytes_of_a_sketch = self._empty.memory() + _BYTES_OF_FIRST_ROWS
        # Half for what is held, half for what a block of groups adds before that is looked at.
        self._half = filling.most_bytes // 2
        self._sketches: dict[Key, _core.Sketch] = {}
        self._kinds: list[pa.DataType] = []
        self._bytes_of_cells = 0
        self._outgoing = Outgoing(filling.names, filling.room)

    def run(self, batches: Batches) -> Batches:
        """Rows of sketches.

        One for each group, or several where they would not fit into memory together.
        """
        for batch in passes(batches):
            keys = batch.columns[: len(self._filling.names)]
            self._kinds = [key.type for key in keys]
            groups = groups_of(keys, batch.num_rows)
            rows = batch.select([name for name in (LABEL, SCORE, WEIGHT) if name in batch.schema.names])
            if groups.order is not None:
                rows = rows.take(pa.array(groups.order))
            for block in self._blocks(groups):
                self._add(rows, block)
                if self._size() > self._half:
                    yield from self._emptied()
        yield from self._emptied()

    def _blocks(self, groups: Groups) -> Iterator[Groups]:
        """So many groups at once as may be held: a pass can have as many as it has rows."""
        most = max(1, self._half // self._bytes_of_a_sketch)
        for first in range(0, len(groups.keys), most):
            keys = groups.keys[first : first + most]
            yield Groups(None, groups.starts[first : first + len(keys) + 1], keys)

    def _add(self, rows: pa.RecordBatch, groups: Groups) -> None:
        first, end = int(groups.starts[0]), int(groups.starts[-1])
        rows = rows.slice(first, end - first)
        weights = rows.column(WEIGHT) if WEIGHT in rows.schema.names else None
        sketches = [self._sketch(key) for key in groups.keys]
        try:
            read = Rows(rows.column(LABEL), rows.column(SCORE), {**self._filling.reading, "sample_weight": weights})
            self._bytes_of_cells += _core.update_runs(sketches, groups.starts - first, read.columns, read.options)
        except _core.CalipersError as error:
            run = getattr(error, "run", None)
            raise with_place(error, self._place(None if run is None else groups.keys[run])) from None

    def _sketch(self, key: Key) -> _core.Sketch:
        found = self._sketches.get(key)
        if found is None:
            found = self._sketches[key] = self._empty.empty_like()
        return found

    def _size(self) -> int:
        return len(self._sketches) * self._bytes_of_a_sketch + self._bytes_of_cells

    def _emptied(self) -> Batches:
        # One group has one sketch, however large: it would be no smaller in parts.
        yield from self._outgoing.rows(list(self._sketches.items()), self._kinds)
        self._sketches, self._bytes_of_cells = {}, 0

    def _place(self, key: Key | None) -> str:
        from pyspark import TaskContext

        context = TaskContext.get()
        partition = "" if context is None else f" of partition {context.partitionId()}"
        names = self._filling.names
        if key is None or not names:
            return f"rows{partition}"
        shown = [shown_key(value, kind) for value, kind in zip(key, self._kinds, strict=True)]
        return (
            f"group {', '.join(f'{name}={value}' for name, value in zip(names, shown, strict=True))}, rows{partition}"
        )


def shown_key(value: Any, kind: pa.DataType) -> str:
    """A key as its column shows it."""
    if value is None or not pa.types.is_temporal(kind):
        return "null" if value is None else repr(value)
    return str(
        pa.array([value], pa.int32() if pa.types.is_date32(kind) else pa.int64()).cast(kind).cast(pa.string())[0]
    )


def passes(batches: Batches) -> Batches:
    """Batches put together until there is enough for a pass."""
    waiting: list[pa.RecordBatch] = []
    n_rows = n_bytes = 0
    for batch in batches:
        if batch.num_rows == 0:
            continue
        waiting.append(batch)
        n_rows, n_bytes = n_rows + batch.num_rows, n_bytes + batch.nbytes
        if n_rows >= _ROWS_OF_A_PASS or n_bytes >= _BYTES_OF_A_PASS:
            yield _joined(waiting)
            waiting, n_rows, n_bytes = [], 0, 0
    if waiting:
        yield _joined(waiting)


def _joined(batches: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
    if len(batches) == 1:
        return batches[0]
    table = pa.Table.from_batches(batches)
    return pa.RecordBatch.from_arrays(
        [pa.concat_arrays(column.chunks) for column in table.columns], schema=table.schema
    )
