"""Sketches as rows of a partition: keys, bytes, and what is asked of all of them together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from calipers import _core
from calipers.spark._columns import HAS_POSITIVE, N_LEFT_OUT, ROOM, SKETCH, N
from calipers.spark._groups import Key, key_column

# A batch that Java is handed: of so many sketches, or of a little more than so many bytes.
_MOST_ROWS = 10_000
_MANY_BYTES = 8 << 20

# What a small sketch counts as, so that those that the driver is sent are few.
_LEAST_BYTES = 8 << 10

# What `ROOM` says of a sketch: the driver has room for it; it is the partition's first without;
# another one without.
FITS, FIRST_BEYOND, BEYOND = range(3)


class Outgoing:
    """The sketches that leave one partition, several of which may have the same key.

    The driver has room for `room` bytes in all, and no task knows how many there are. So partition
    i takes room / (i + 1): where all send the same, it fits if it does so together, and else no
    more than `room` is sent. At worst, where each partition just fits, it is that times 1 +
    ln(number of partitions).
    """

    def __init__(self, names: Sequence[str], room: int) -> None:
        self._names = names
        self._left = room // (_partition() + 1)
        self._is_beyond = False

    def rows(
        self, sketches: Sequence[tuple[Key, _core.Sketch]], kinds: Sequence[pa.DataType]
    ) -> Iterator[pa.RecordBatch]:
        """Rows of these sketches, in batches of some megabytes."""
        keys, held = [key for key, _ in sketches], [sketch for _, sketch in sketches]
        if len(held) * _LEAST_BYTES > self._left:
            # Some will not fit, and then all that were sent would be in vain.
            self._left = 0
        start = 0
        while start < len(held):
            packed: list[bytes] = []
            facts: list[tuple[Sequence[int], Sequence[int], Sequence[bool]]] = []
            size, end = 0, start
            while end < len(held) and end - start < _MOST_ROWS and size < _MANY_BYTES:
                step = held[end : min(end + 100, len(held), start + _MOST_ROWS)]
                more, n, n_left_out, has_positive = _core.pack(step)
                packed += more
                facts.append((n, n_left_out, has_positive))
                size += sum(map(len, more))
                end += len(step)
            columns = [key_column([key[place] for key in keys[start:end]], kind) for place, kind in enumerate(kinds)]
            columns.append(pa.array(packed, pa.binary()))
            for place, kind in enumerate((pa.int64(), pa.int64(), pa.bool_())):
                columns.append(pa.array([fact for of_step in facts for fact in of_step[place]], kind))
            columns.append(pa.array(self._rooms(packed)))
            yield pa.RecordBatch.from_arrays(columns, [*self._names, SKETCH, N, N_LEFT_OUT, HAS_POSITIVE, ROOM])
            start = end

    def _rooms(self, packed: Sequence[bytes]) -> NDArray[np.int8]:
        ends = np.cumsum([max(len(part), _LEAST_BYTES) for part in packed])
        rooms = np.where(ends <= self._left, FITS, BEYOND).astype(np.int8)
        self._left -= int(ends[-1])
        if self._left < 0 and not self._is_beyond:
            rooms[np.argmax(rooms)] = FIRST_BEYOND
            self._is_beyond = True
        return rooms


def _partition() -> int:
    """Which one the task is of; the first outside of Spark."""
    from pyspark import TaskContext

    context = TaskContext.get()
    return 0 if context is None else int(context.partitionId())
