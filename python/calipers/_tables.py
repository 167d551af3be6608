"""Columns of a table by name: a dict of arrays, a data frame, or anything with an Arrow export.

    Mapping, structured arrays, pandas      -> column by column
    __arrow_c_stream__, __arrow_c_array__   -> all columns in one pass (pyarrow, polars, DuckDB)

Nothing here knows a library, and none is imported. A stream can be read once, and the rows of a
query have no order of their own: so all columns of it are read together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from calipers import _core
from calipers._arrays import Array, Read, _joined, read_array


class Keys(NamedTuple):
    """The distinct values of a column in order, None for a missing one, and that of each row."""

    values: list[Any]
    codes: NDArray[np.uint32]


class TableColumns(NamedTuple):
    """The columns of values, and those by whose values rows are grouped."""

    values: dict[str, Array]
    keys: dict[str, Keys]


def read_table(table: Any, values: Sequence[str], keys: Sequence[str]) -> TableColumns:
    """These columns of a table; a KeyError names the columns that it has."""
    by_arrow = any(hasattr(table, protocol) for protocol in ("__arrow_c_stream__", "__arrow_c_array__"))
    # Frames of pandas export their index, too, and need pyarrow for that.
    if by_arrow and not hasattr(table, "iloc") and not isinstance(table, Mapping):
        return _by_arrow(table, values, keys)
    names = _names(table)
    if names is None:
        raise TypeError(
            "table must be a dict of arrays, a data frame, or an object with __arrow_c_stream__, "
            f"got {type(table).__name__}"
        )
    for name in (*values, *keys):
        if name not in names:
            raise KeyError(f"the table has no column {name!r}; it has {', '.join(map(str, names))}")
    found = {name: _masked(read_array(table[name], name)) for name in values}
    return TableColumns(found, {name: _keys(table[name], name) for name in keys})


def _names(table: Any) -> list[Any] | None:
    """The columns that can be had one by one."""
    if isinstance(table, Mapping):
        return list(table)
    names = getattr(getattr(table, "dtype", None), "names", None) or getattr(table, "columns", None)
    return None if names is None or not hasattr(table, "__getitem__") else list(names)


def _by_arrow(table: Any, values: Sequence[str], keys: Sequence[str]) -> TableColumns:
    columns = _core.arrow_table(table, [*values, *keys], list(keys))
    of_values = {
        name: _masked(_joined(column["chunks"] or [], name))
        for name, column in zip(values, columns[: len(values)], strict=True)
    }
    of_keys = {}
    for name, column in zip(keys, columns[len(values) :], strict=True):
        if column["codes"] is None or column["texts"] is None:
            of_keys[name] = _of_array(_joined(column["chunks"] or [], name))
        else:
            of_keys[name] = _in_order(column["texts"], np.asarray(column["codes"]))
    return TableColumns(of_values, of_keys)


def _masked(column: Read) -> Array:
    """One array, which knows what is missing."""
    return column.array if column.missing is None else np.ma.MaskedArray(column.array, mask=column.missing)


def _keys(column: Any, name: str) -> Keys:
    if hasattr(column, "factorize"):
        # pandas, which marks missing values by -1.
        codes, values = column.factorize()
        codes = np.where(codes < 0, len(values), codes)
        return _in_order([*values.tolist(), None], codes)
    return _of_array(read_array(column, name))


def _of_array(column: Read) -> Keys:
    array = column.array.ravel() if column.array.ndim == 2 and column.array.shape[1] == 1 else column.array
    if array.ndim != 1:
        raise _core.input_error("shape", "groups", str(array.shape))
    codes: NDArray[Any]
    if array.dtype.kind == "O":
        values = array.tolist()
        places = {value: place for place, value in enumerate(dict.fromkeys(values))}
        codes = np.fromiter(map(places.__getitem__, values), np.uint32, len(values))
        found = [None if value is None or value != value else value for value in places]
    else:
        distinct, codes = np.unique(array, return_inverse=True)
        # NaN and NaT are not even like themselves.
        found = [None if value != value else value for value in distinct.tolist()]
    if column.missing is not None and column.missing.any():
        codes = np.where(column.missing.ravel(), len(found), codes)
        found.append(None)
    return _in_order(found, codes)


def _in_order(values: list[Any], codes: NDArray[Any]) -> Keys:
    """Only values that rows have, in ascending order, with all missing ones as one at the end."""
    present = np.bincount(codes, minlength=len(values)) > 0
    known = [place for place, value in enumerate(values) if present[place] and value is not None]
    try:
        known.sort(key=lambda place: values[place])
    except TypeError:
        known.sort(key=lambda place: str(values[place]))
    missing = [place for place, value in enumerate(values) if present[place] and value is None]
    numbers = np.zeros(len(values), np.uint32)
    numbers[known] = np.arange(len(known))
    numbers[missing] = len(known)
    found = [values[place] for place in known] + ([None] if missing else [])
    return Keys(found, numbers[codes])


def crossed(keys: Sequence[Keys]) -> tuple[list[tuple[Any, ...]], NDArray[np.uint32]]:
    """The combinations of keys that rows have, in order, and the number of each row's."""
    first, *others = keys
    groups: list[tuple[Any, ...]] = [(value,) for value in first.values]
    numbers: NDArray[Any] = first.codes
    for each in others:
        width = len(each.values)
        both, numbers = np.unique(numbers.astype(np.int64) * width + each.codes, return_inverse=True)
        groups = [(*groups[pair // width], each.values[pair % width]) for pair in both.tolist()]
    return groups, numbers.astype(np.uint32)
