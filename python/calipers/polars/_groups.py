"""A column of lists, one for each group -> the rows of all groups, as the core reads them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from calipers._core import CalipersError
from calipers._errors import coded_error
from calipers._predictions import Rows


@dataclass(frozen=True)
class Groups:
    """The rows of groups one after the other, and where each one's start.

    Groups without rows have none here: `places` are those of the others among all `n`.
    """

    rows: Rows
    starts: NDArray[np.int64]
    places: NDArray[np.int64]
    n: int

    def spread(self, values: pl.Series) -> pl.Series:
        """A value for each group, null for those without rows."""
        if len(values) == self.n:
            return values
        taken = np.full(self.n, len(values), dtype=np.int64)
        taken[self.places] = np.arange(len(values))
        return values.extend_constant(None, 1).gather(taken)


def groups_of(lists: pl.Series, options: Mapping[str, Any]) -> Groups | None:
    """The groups of a column of lists of structs: score, label and weight. None without any row."""
    lengths = lists.list.len().fill_null(0).cast(pl.Int64).to_numpy()
    places = np.flatnonzero(lengths)
    if len(places) == 0:
        return None
    filled = lists if len(places) == len(lengths) else lists.gather(places)
    score, label, *weight = filled.explode().struct.unnest().get_columns()
    rows = Rows(label, score, {**options, "sample_weight": weight[0] if weight else None})
    starts = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(lengths[places])])
    return Groups(rows, starts, places, len(lengths))


def of_group(error: CalipersError) -> CalipersError:
    """The error of a row, whose number is that within its group."""
    if not hasattr(error, "run"):
        return error
    return coded_error(error.code, f"{error} (rows are counted from the first of their group)")
