"""What was found of each group, as one table."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from calipers import _core
from calipers._assessment import adjusted_heading, p_value_text
from calipers._result import Result, html_table, html_text

# A table that is printed has so many lines at most.
_MOST_SHOWN = 20

# Columns that are printed, with their headings.
_SHOWN = {
    "n": "n",
    "mean_probability": "mean p",
    "outcome_rate": "rate",
    "auc": "AUC",
    "value": "value",
    "floor": "floor",
    "p_value": "p",
    "p_adjusted": "p_adjusted",
    "sigma": "sigma",
    "direction": "direction",
}


@dataclass(frozen=True)
class WorstGroup(Result):
    """The group that is furthest above its noise floor: the multicalibration error.

    Attributes
    ----------
    name : str
        The group.
    statistic : float
        How many standard deviations its value is above the mean of its noise floor, by the measure
        that decides.
    p_value : float
        How often the worst of as many calibrated groups is as far above its floor.
    n_groups : int
        How many groups there are.
    n_resamples : int
        How often outcomes were drawn for all groups.
    """

    name: str
    statistic: float
    p_value: float
    n_groups: int
    n_resamples: int


@dataclass(frozen=True, eq=False, repr=False)
class GroupTable(Result):
    """A line for each group, those with the most evidence of miscalibration first.

    ``pandas.DataFrame``, ``polars.DataFrame``, ``pyarrow.table`` and DuckDB read it: it has an
    Arrow stream. ``table["p_adjusted"]`` is a column.

    Attributes
    ----------
    sentence : str
        The worst group, and which groups are miscalibrated after adjustment; empty for values
        alone.
    measure : str
        The name of the measure.
    by : tuple of str
        The columns that tell groups apart.
    columns : dict
        By name: the keys of the group, then ``n``, ``mean_probability``, ``outcome_rate``, ``auc``,
        ``value``, ``numerical_bound`` and ``sigma``; with an assessment also ``floor``,
        ``floor_deviation``, ``lower``, ``upper``, ``debiased``, ``p_value``, ``p_adjusted`` and
        ``direction``; and ``error`` where a group has no value. A number that there is not is NaN.
    worst : WorstGroup or None
        The group that is furthest above its noise floor, with a joint p-value.
    adjust : {"holm", "bh", "by"} or None
        How p-values were adjusted.
    level : float or None
        The level of intervals; an adjusted p-value of at most 1 - level is significant.
    left_out : dict
        Rows that ``invalid="count"`` left out, by kind.
    """

    sentence: str
    measure: str
    by: tuple[str, ...]
    columns: dict[str, Any]
    worst: WorstGroup | None
    adjust: str | None
    level: float | None
    left_out: dict[str, int]

    def __len__(self) -> int:
        return len(self.columns["n"])

    def __getitem__(self, name: str) -> Any:
        return self.columns[name]

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """The lines, each as a dict; what there is not is None."""
        columns = {name: _plain(column) for name, column in self.columns.items()}
        for line in range(len(self)):
            yield {name: column[line] for name, column in columns.items()}

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain Python objects, ready for JSON; `rows` has a dict for each group."""
        found = super().to_dict()
        del found["columns"]
        return {**found, "by": list(self.by), "rows": [_json(line) for line in self]}

    def to_pandas(self) -> Any:
        """A DataFrame with a row for each group; this needs pandas."""
        import pandas as pd

        return pd.DataFrame(self.columns)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The table as an Arrow stream of one batch, in which NaN is null."""
        return _core.arrow_stream([(name, _arrow(column)) for name, column in self.columns.items()])

    def _table(self) -> tuple[list[tuple[str, ...]], int]:
        """The table with its header first, and how many groups it leaves out."""
        shown = {name: heading for name, heading in _SHOWN.items() if name in self.columns and self._has(name)}
        if self.adjust is not None:
            shown["p_adjusted"] = adjusted_heading(self.adjust)
        keys = [name for name in self.columns if name in self.by or name in ("by", "group")]
        lines = [
            tuple([_text(name, line[name]) for name in (*keys, *shown)])
            for line, _ in zip(self, range(_MOST_SHOWN), strict=False)
        ]
        return [(*keys, *shown.values()), *lines], len(self) - len(lines)

    def _has(self, name: str) -> bool:
        """Whether any group has a value in this column."""
        return any(value is not None for value in _plain(self.columns[name]))

    def __repr__(self) -> str:
        table, n_others = self._table()
        n_keys = len(table[0]) - sum(name in _SHOWN and self._has(name) for name in self.columns)
        widths = [max(len(row[place]) for row in table) for place in range(len(table[0]))]
        is_words = [place < n_keys or heading == "direction" for place, heading in enumerate(table[0])]
        lines = [
            "  ".join(
                f"{text:<{width}}" if words else f"{text:>{width}}"
                for text, width, words in zip(row, widths, is_words, strict=True)
            ).rstrip()
            for row in table
        ]
        return "\n".join([*([self.sentence] if self.sentence else []), *lines, *_others(n_others)])

    def _repr_html_(self) -> str:
        (header, *rows), n_others = self._table()
        texts = [self.sentence, *_others(n_others)]
        before, after = (html_text(text) if text else "" for text in (texts[0], " ".join(texts[1:])))
        return before + html_table(header, rows) + after


def _others(n: int) -> list[str]:
    return [f"{n:,} groups with less evidence are not shown; to_pandas() has all."] if n else []


def _plain(column: Any) -> list[Any]:
    values = column.tolist() if isinstance(column, np.ndarray) else list(column)
    return [None if value != value else value for value in values]


def _json(line: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _of_time(value) for name, value in line.items()}


def _of_time(value: Any) -> Any:
    return value.isoformat() if isinstance(value, (dt.date, dt.datetime)) else value


def _arrow(column: Any) -> Any:
    """A column as the core makes an Arrow array of it."""
    if isinstance(column, np.ndarray):
        return column
    kinds = {type(value) for value in column if value is not None}
    if kinds == {bool} and None not in column:
        return np.array(column, dtype=np.bool_)
    if kinds <= {int} or kinds <= {int, float}:
        return list(column)
    return [None if value is None else str(_of_time(value)) for value in column]


def _text(name: str, value: Any) -> str:
    if value is None:
        return "-"
    if name == "n":
        return f"{value:,}"
    if name in ("p_value", "p_adjusted"):
        return p_value_text(value, 4, "<")
    if name in ("mean_probability", "outcome_rate", "auc"):
        return f"{value:.3f}"
    return f"{value:.4g}" if isinstance(value, float) else str(value)
