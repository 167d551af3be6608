"""What has changed in each group between two collections of sketches."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, types
from pyspark.sql import functions as sql

from calipers._core import CalipersError
from calipers._documented import documented
from calipers._drift import Change
from calipers._drift import drift as drift_of_two
from calipers._sketch import Sketch
from calipers._threads import threads
from calipers.spark._adjust import Adjust, Adjusting, check_adjust
from calipers.spark._columns import SIDE, SKETCH, input_error
from calipers.spark._fill_sketches import Batches
from calipers.spark._groups import Key, key_column, keys_of
from calipers.spark._measure_sketches import ARROW, KINDS, Row, check_free, schema
from calipers.spark._sketches import Sketches
from calipers.spark._tasks import together

BEFORE, AFTER = range(2)

_COLUMNS = schema(
    "measure string, significant boolean, curve_p_value double, curve_p_adjusted double, log_odds double, "
    "log_odds_lower double, log_odds_upper double, difference double, lower double, upper double, "
    "standard_error double, p_value double, from_predictions double, from_outcomes double, "
    "value_before double, value_after double, n_before bigint, n_after bigint, sentence string, error string"
)

# So many groups take about a second, and their sketches some megabytes.
_GROUPS_OF_A_TASK = 16
_ROWS_AT_ONCE = 100

# Resamples unless their number is given: at least, and at most for many groups.
_LEAST_RESAMPLES, _MOST_RESAMPLES = 1_000, 20_000


@documented
def drift(
    before: Sketches,
    after: Sketches,
    *,
    measure: str = "ls_ece",
    level: float = 0.95,
    n_resamples: int | None = None,
    adjust: Adjust = "holm",
    random_state: int = 0,
    **options: Any,
) -> DataFrame:
    """What has changed in each group: `calipers.drift` of its two sketches.

    Use it to compare the groups of this week with those of last week. The first question is whether
    outcomes at equal predictions have changed, which another distribution of predictions does not
    move.

    Parameters
    ----------
    before, after : Sketches
        By the same columns. A group that only one of them has is a row with an error.
    measure : str
        Any measure that `Sketches.assess` takes. Each group has the sigma of its rows before
        unless one is given for all.
    n_resamples : int, optional
        Resamples for each p-value. Unless given, 1000, or as many more as a p-value needs to be
        significant after adjustment for the number of groups, at most 20,000.
    adjust : {"holm", "bh", "by"} or None
        How the p-values of the curve are adjusted for the number of groups.
    **options
        Those of the function of that name but for ``clip``.

    Returns
    -------
    pyspark.sql.DataFrame
        A row for each group: keys; ``significant``, ``curve_p_value``, ``curve_p_adjusted``,
        ``log_odds`` with ``log_odds_lower`` and ``log_odds_upper`` for outcomes at equal
        predictions; ``difference``, ``lower``, ``upper``, ``standard_error`` and ``p_value`` for
        the value of the measure, and ``from_predictions`` and ``from_outcomes``, the parts of its
        change; ``value_before``, ``value_after``, ``n_before``, ``n_after``, ``sentence`` and
        ``error``. ``significant`` is that of a group by itself; for many groups, compare
        ``curve_p_adjusted`` with 1 - level.

    Examples
    --------
    >>> from calipers import spark
    >>> session = spark.session("local[1]", spark__ui__enabled="false")
    >>> rows = session.range(2000).selectExpr("0.9D as p", "id % 20 as id", "id % 2 = 1 as odd")
    >>> wrong = ["id in (0, 1)", "id in (0, 1, 3, 5)"]
    >>> weeks = [rows.selectExpr("p", "odd", f"not {which} as y") for which in wrong]
    >>> before, after = [spark.sketch(week, prob="p", label="y", by="odd") for week in weeks]
    >>> for row in spark.drift(before, after, sigma=0.1).orderBy("odd").collect():
    ...     print(row.odd, row.significant, round(row.value_before, 1), round(row.value_after, 1))
    False False 0.0 0.0
    True True 0.0 0.2
    """
    for sketches in (before, after):
        if not isinstance(sketches, Sketches):
            raise TypeError(f"drift() must get Sketches, got {type(sketches).__name__}")
    of_before, of_after = ([(key.name, key.dataType) for key in found._keys] for found in (before, after))
    if of_before != of_after:
        shown = " and ".join(", ".join(name for name, _ in keys) or "none" for keys in (of_before, of_after))
        raise input_error(
            "wrong_column", f"before and after must be by the same columns of the same types, got {shown}"
        )
    check_free(before.by, _COLUMNS, "rename it before sketching")
    check_adjust(adjust)
    n_groups = max(before.n_groups, after.n_groups)
    asked: dict[str, Any] = {"measure": measure, "level": level, "random_state": random_state}
    asked["n_resamples"] = _n_resamples(n_groups, level, adjust) if n_resamples is None else n_resamples
    _try({**asked, **options})
    comparing = Comparing({**asked, **options}, tuple(before.by))
    n_parts = -(-n_groups // _GROUPS_OF_A_TASK)
    sides = [found.dataframe.withColumn(SIDE, sql.lit(side)) for side, found in enumerate((before, after))]
    pairs = together(sides[BEFORE].union(sides[AFTER]), before.by, n_parts, then=[SIDE])
    values = [types.StructField(name, KINDS[kind]) for name, kind in _COLUMNS.items()]
    answers = pairs.mapInArrow(comparing.stage(), types.StructType([*before._keys, *values]))
    if adjust is None:
        return answers
    return Adjusting(adjust, "curve_p_value", "curve_p_adjusted").applied(answers, n_parts)


def _n_resamples(n_groups: int, level: float, adjust: Adjust) -> int:
    if adjust is None or not 0 < level < 1:
        return _LEAST_RESAMPLES
    return min(max(_LEAST_RESAMPLES, math.ceil(n_groups / (1 - level))), _MOST_RESAMPLES)


def _try(options: Mapping[str, Any]) -> None:
    """Raises on the driver what every executor would raise."""
    try:
        drift_of_two(Sketch(), Sketch(), **options)
    except CalipersError as error:
        if error.code not in ("no_rows", "no_valid_rows"):
            raise


@dataclass(frozen=True)
class Comparing:
    """A comparison with its options; it travels to the executors."""

    options: Mapping[str, Any]
    names: tuple[str, ...]

    def stage(self) -> Callable[[Batches], Batches]:
        """The function for `mapInArrow`: neighbours of one group become a row of values."""

        def compare(batches: Batches) -> Batches:
            with threads(1):
                kinds: list[pa.DataType] = []
                rows: list[tuple[Key, Row]] = []
                for key, sides, kinds in _pairs(batches, self.names):
                    rows.append((key, self._compared(sides)))
                    if len(rows) >= _ROWS_AT_ONCE:
                        yield self._batch(rows, kinds)
                        rows = []
                if rows:
                    yield self._batch(rows, kinds)

        return compare

    def _compared(self, sides: Mapping[int, bytes]) -> Row:
        before, after = (Sketch.from_bytes(sides[side]) if side in sides else None for side in (BEFORE, AFTER))
        always = {
            "measure": self.options["measure"],
            "n_before": 0 if before is None else before.n,
            "n_after": 0 if after is None else after.n,
        }
        if before is None or after is None:
            return {**always, "error": f"the group has no rows {'before' if before is None else 'after'}"}
        try:
            return {**always, **_flat(drift_of_two(before, after, **self.options))}
        except CalipersError as error:
            # One group without a value is no reason to have none for the others.
            return {**always, "error": str(error)}

    def _batch(self, rows: list[tuple[Key, Row]], kinds: list[pa.DataType]) -> pa.RecordBatch:
        keys = [key_column([key[place] for key, _ in rows], kind) for place, kind in enumerate(kinds)]
        values = [pa.array([row.get(name) for _, row in rows], ARROW[kind]) for name, kind in _COLUMNS.items()]
        return pa.RecordBatch.from_arrays([*keys, *values], [*self.names, *_COLUMNS])


def _flat(found: Change) -> Row:
    origin = found.origin
    return {
        "significant": found.significant,
        "curve_p_value": found.curve.p_value,
        "log_odds": found.curve.log_odds,
        "log_odds_lower": found.curve.interval.lower,
        "log_odds_upper": found.curve.interval.upper,
        "difference": found.difference,
        "lower": found.interval.lower,
        "upper": found.interval.upper,
        "standard_error": found.standard_error,
        "p_value": found.p_value,
        "from_predictions": None if origin is None else origin.predictions,
        "from_outcomes": None if origin is None else origin.outcomes,
        "value_before": found.before.value,
        "value_after": found.after.value,
        "sentence": found.sentence,
    }


def _pairs(batches: Batches, names: tuple[str, ...]) -> Iterator[tuple[Key, dict[int, bytes], list[pa.DataType]]]:
    """Each key with its sketches by side, of rows that are sorted by key, and the types of keys."""
    waiting: tuple[Key, dict[int, bytes], list[pa.DataType]] | None = None
    for batch in batches:
        kinds = [batch.column(name).type for name in names]
        for start in range(0, batch.num_rows, _ROWS_AT_ONCE):
            rows = batch.slice(start, _ROWS_AT_ONCE)
            places = np.arange(rows.num_rows)
            keys = list(keys_of([rows.column(name) for name in names], places)) if names else [()] * rows.num_rows
            for key, side, sketch in zip(
                keys, rows.column(SIDE).to_pylist(), rows.column(SKETCH).to_pylist(), strict=True
            ):
                if waiting is not None and waiting[0] != key:
                    yield waiting
                    waiting = None
                if waiting is None:
                    waiting = key, {}, kinds
                waiting[1][side] = sketch
    if waiting is not None:
        yield waiting
