"""The second stage, on executors: sketches sorted by their keys -> one for each group."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from calipers import _core
from calipers._threads import threads
from calipers.spark._columns import SKETCH
from calipers.spark._failures import refused
from calipers.spark._fill import Batches
from calipers.spark._keys import Key, runs_of
from calipers.spark._partials import partials


@dataclass(frozen=True)
class Merging:
    """Which columns are keys; it travels to the executors."""

    names: tuple[str, ...]

    def stage(self) -> Callable[[Batches], Batches]:
        """The function for `mapInArrow`: neighbours of one group become one row.

        In a partition that is sorted by its keys that is one row for each group. A group is whole when the next one
        begins: so one sketch waits, however many groups there are.
        """

        def merge(batches: Batches) -> Batches:
            with threads(1):
                waiting: tuple[Key, _core.Sketch] | None = None
                kinds: list[pa.DataType] = []
                for batch in batches:
                    if batch.num_rows == 0:
                        continue
                    kinds = [batch.column(name).type for name in self.names]
                    done, waiting = self._merged(batch, waiting)
                    yield from partials(done, self.names, kinds)
                if waiting is not None:
                    yield from partials([waiting], self.names, kinds)

        return merge

    def _merged(
        self, batch: pa.RecordBatch, waiting: tuple[Key, _core.Sketch] | None
    ) -> tuple[list[tuple[Key, _core.Sketch]], tuple[Key, _core.Sketch]]:
        """The runs that end in the batch, and the one that may go on; unsorted, a key may have several."""
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


def merge_runs(parts: pa.Array, starts: np.ndarray) -> list[_core.Sketch]:
    """A sketch for each run."""
    try:
        return _core.merge_runs(parts.to_pylist(), starts)
    except _core.CalipersError as error:
        raise refused(error, "sketches") from None
