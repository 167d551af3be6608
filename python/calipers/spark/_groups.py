"""Columns of keys -> the groups of a batch.

Where each one's rows are, and its key as Python has it.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

Key: TypeAlias = tuple[Hashable, ...]
Indices: TypeAlias = NDArray[np.int64]

# A product of numbers of values that is below this stays exact in 64 bits.
_ROOM = 1 << 62


class Groups(NamedTuple):
    """The rows of a batch by group.

    `order` puts each group's rows together, from its start to the next one's.

    Without an order they stand together as they are.
    """

    order: Indices | None
    starts: Indices
    keys: list[Key]


def groups_of(columns: Sequence[pa.Array], n_rows: int) -> Groups:
    """The groups of a batch that has at least one row; rows keep their order within a group."""
    if not columns:
        return Groups(None, np.array([0, n_rows]), [()])
    codes = _codes(columns)
    narrow = codes.astype(np.uint16) if codes.max() < 1 << 16 else codes
    order = np.argsort(narrow, kind="stable")
    starts = _starts(codes[order])
    return Groups(order, starts, list(keys_of(columns, order[starts[:-1]])))


def runs_of(columns: Sequence[pa.Array], n_rows: int) -> tuple[Indices, list[Key]]:
    """The runs of equal keys in a batch that is sorted by them: where each starts, and its key."""
    if not columns:
        return np.array([0, n_rows]), [()]
    starts = _starts(_codes(columns))
    return starts, list(keys_of(columns, starts[:-1]))


def keys_of(columns: Sequence[pa.Array], rows: Indices) -> Iterable[Key]:
    """The keys of these rows.

    Times are the numbers that they are stored as: no zone is looked up for them.
    """
    places = pa.array(rows)
    return zip(*(_plain(column.take(places)).to_pylist() for column in columns), strict=True)


def key_column(values: Iterable[Any], kind: pa.DataType) -> pa.Array:
    """What `keys_of` made Python objects of."""
    if pa.types.is_temporal(kind):
        return pa.array(values, _stored(kind)).cast(kind)
    return pa.array(values, kind)


def _plain(column: pa.Array) -> pa.Array:
    return column.cast(_stored(column.type)) if pa.types.is_temporal(column.type) else column


def _stored(kind: pa.DataType) -> pa.DataType:
    return pa.int32() if pa.types.is_date32(kind) else pa.int64()


def _codes(columns: Sequence[pa.Array]) -> Indices:
    """A number for each row, the same for equal keys; null is a value like others."""
    codes, n_codes = np.zeros(len(columns[0]), dtype=np.int64), 1
    for column in columns:
        encoded = column.dictionary_encode()
        own = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64) + 1
        n_own = len(encoded.dictionary) + 1
        if n_codes * n_own >= _ROOM:
            # As many as there are rows, at most.
            codes = np.unique(codes, return_inverse=True)[1].astype(np.int64)
            n_codes = len(codes)
        codes, n_codes = codes * n_own + own, n_codes * n_own
    return codes


def _starts(codes: Indices) -> Indices:
    """Where runs of equal numbers start, and the end of the last."""
    return np.concatenate([[0], np.flatnonzero(codes[1:] != codes[:-1]) + 1, [len(codes)]])
