"""The second stage, on executors: sketches sorted by their keys -> one for each group."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from calipers import _core
from calipers._errors import coded_error
from calipers._threads import threads
from calipers.spark._columns import SKETCH
from calipers.spark._errors import with_place
from calipers.spark._fill_sketches import Batches
from calipers.spark._groups import Key, runs_of
from calipers.spark._outgoing import Outgoing

# Sketches that are unfolded at once, by their bytes; small ones take more in memory than their
# bytes.
_BYTES_OF_A_SLICE = 8 << 20
_LEAST_BYTES = 1 << 10


@dataclass(frozen=True)
class Merging:
    """Which columns are keys, and the driver's room for sketches; it travels to the executors."""

    names: tuple[str, ...]
    room: int

    def stage(self) -> Callable[[Batches], Batches]:
        """The function for `mapInArrow`: neighbours of one group become one row.

        In a partition that is sorted by its keys that is one row for each group. A group is whole
        when the next one begins: so what is held is one sketch that waits and a slice of those that
        come, however many there are.
        """

        def merge(batches: Batches) -> Batches:
            outgoing = Outgoing(self.names, self.room)
            with threads(1):
                waiting: tuple[Key, _core.Sketch] | None = None
                kinds: list[pa.DataType] = []
                for batch in batches:
                    if batch.num_rows == 0:
                        continue
                    kinds = [batch.column(name).type for name in self.names]
                    for rows in _slices(batch):
                        done, waiting = self._merged(rows, waiting)
                        yield from outgoing.rows(done, kinds)
                if waiting is not None:
                    yield from outgoing.rows([waiting], kinds)

        return merge

    def _merged(
        self, batch: pa.RecordBatch, waiting: tuple[Key, _core.Sketch] | None
    ) -> tuple[list[tuple[Key, _core.Sketch]], tuple[Key, _core.Sketch]]:
        """The runs that end in the batch, and the one that may go on.

        Unsorted, a key may have several.
        """
        starts, keys = runs_of([batch.column(name) for name in self.names], batch.num_rows)
        sketches = merge_runs(batch.column(SKETCH), starts)
        done: list[tuple[Key, _core.Sketch]] = []
        if waiting is not None:
            key, sketch = waiting
            if key == keys[0]:
                sketch.merge(sketches[0])
                sketches[0] = sketch
            else:
                done.append((key, sketch))
        done += zip(keys[:-1], sketches[:-1], strict=True)
        return done, (keys[-1], sketches[-1])


def _slices(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """Rows of some megabytes each.

    A batch of Spark has ten thousand sketches, whatever their size.
    """
    parts = batch.column(SKETCH)
    if parts.null_count:
        raise with_place(coded_error("wrong_column", "sketches must not be missing"), "sketches")
    ends = np.cumsum(np.maximum(pc.binary_length(parts).to_numpy(zero_copy_only=False), _LEAST_BYTES))
    start = 0
    while start < len(ends):
        before = ends[start - 1] if start else 0
        end = max(start + 1, int(np.searchsorted(ends, before + _BYTES_OF_A_SLICE)))
        yield batch.slice(start, end - start)
        start = end


def merge_runs(parts: pa.Array, starts: np.ndarray) -> list[_core.Sketch]:
    """A sketch for each run."""
    try:
        return _core.merge_runs(parts.to_pylist(), starts)
    except _core.CalipersError as error:
        raise with_place(error, "sketches") from None
