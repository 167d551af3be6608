"""Recalibration maps as SQL expressions of Spark: no Python runs on the executors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from calipers._recalibrator import Recalibrator
from calipers.spark._columns import check_dataframe


def recalibrated(
    df: DataFrame,
    recalibrator: Recalibrator | Mapping[Any, Recalibrator],
    *,
    prob: str,
    by: str | Sequence[str] = (),
    into: str | None = None,
) -> DataFrame:
    """The DataFrame with a column of recalibrated probabilities of outcome 1.

    Maps are SQL expressions (`calipers.Recalibrator.to_sql`), which Spark compiles: no Python runs
    on the executors. Null stays null.

    Parameters
    ----------
    df : pyspark.sql.DataFrame
        The predictions.
    recalibrator : calipers.Recalibrator, or dict of them
        Fitted to a binary outcome. Whether it has `from_logits` decides what the column has. A dict
        has one for each group, as `Sketches.recalibrators` gives them; rows of other groups get
        null. One that was fitted by group has a map for each group and the pooled one for others.
    prob : str
        The column of probabilities of outcome 1, or of logits.
    by : str or sequence of str
        The columns of the keys of a dict; or the column of groups of a recalibrator that was fitted
        by group, if its file does not name it.
    into : str, optional
        The new column; the name of the old one with ``_recalibrated`` unless given.

    Returns
    -------
    pyspark.sql.DataFrame
        With one column more.
    """
    check_dataframe(df)
    names = [by] if isinstance(by, str) else list(by)
    has_groups = isinstance(recalibrator, Recalibrator) and recalibrator.groups is not None
    if has_groups and len(names) > 1:
        raise ValueError(f"by must be the one column of groups of the recalibrator, got {len(names)} columns")
    if not has_groups and isinstance(recalibrator, Mapping) != bool(names):
        raise ValueError("by must be given for a dict of recalibrators or one by group, and for nothing else")
    if isinstance(recalibrator, Mapping):
        column = F.lit(None).cast("double")
        for key, each in recalibrator.items():
            column = F.when(_is_of(names, key), _mapped(each, prob)).otherwise(column)
    else:
        column = _mapped(recalibrator, prob, next(iter(names), None))
    return df.withColumn(f"{prob}_recalibrated" if into is None else into, column)


def _mapped(recalibrator: Recalibrator, prob: str, by: str | None = None) -> Column:
    return F.expr(recalibrator.to_sql(prob, by=by, dialect="spark"))


def _is_of(names: list[str], key: Any) -> Column:
    """Whether a row is of the group with that key: a value, or a tuple of several."""
    values = (key,) if len(names) == 1 else key
    same = [F.col(f"`{name}`").eqNullSafe(F.lit(value)) for name, value in zip(names, values, strict=True)]
    return reduce(Column.__and__, same)
