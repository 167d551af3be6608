"""Sketches as rows of a partition: keys, bytes, and what is asked of all of them together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa

from calipers import _core
from calipers.spark._columns import HAS_POSITIVE, N_LEFT_OUT, SKETCH, N
from calipers.spark._keys import Key, key_column

# A batch that Java is handed: of so many sketches, or of a little more than so many bytes.
_MOST_ROWS = 10_000
_MANY_BYTES = 8 << 20


def partials(
    sketches: Sequence[tuple[Key, _core.Sketch]], names: Sequence[str], kinds: Sequence[pa.DataType]
) -> Iterator[pa.RecordBatch]:
    """Rows of all sketches, in batches of some megabytes; several may have the same key."""
    keys, held = [key for key, _ in sketches], [sketch for _, sketch in sketches]
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
        yield pa.RecordBatch.from_arrays(columns, [*names, SKETCH, N, N_LEFT_OUT, HAS_POSITIVE])
        start = end
