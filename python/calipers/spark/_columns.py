"""Which columns of a DataFrame are read, and as what: checked against its schema, before any job starts."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame, types
from pyspark.sql import functions as sql

from calipers import _core

# The columns that sketches travel with, which therefore cannot be keys.
SKETCH = "sketch"
N, N_LEFT_OUT, HAS_POSITIVE = "calipers_n", "calipers_n_left_out", "calipers_has_positive"
RESERVED = (SKETCH, N, N_LEFT_OUT, HAS_POSITIVE)

# What the rows are called on their way to an executor.
LABEL, SCORE, WEIGHT = "label", "score", "weight"

_WHOLE = (types.ByteType, types.ShortType, types.IntegerType, types.LongType)
_NUMBERS = (*_WHOLE, types.FloatType, types.DoubleType, types.DecimalType)
_LABELS = (*_NUMBERS, types.BooleanType, types.StringType)
_KEYS = (
    *_WHOLE,
    types.BooleanType,
    types.StringType,
    types.DateType,
    types.TimestampType,
    types.TimestampNTZType,
    types.DecimalType,
    types.BinaryType,
)


@dataclass(frozen=True)
class Chosen:
    """The rows as executors get them: keys, label, score and weight, in this order and under those names."""

    rows: DataFrame
    keys: tuple[types.StructField, ...]
    is_array: bool
    is_weighted: bool


def choose(df: DataFrame, prob: str, label: str, weight: str | None, by: Sequence[str], from_logits: bool) -> Chosen:
    """The columns of these names, refused where one is not there or cannot be what it is said to be."""
    check_dataframe(df)
    keys = tuple(key_field(df, name) for name in by)
    if len(set(by)) < len(keys):
        raise refusal("invalid_setting", f"by must name each column once, got {', '.join(map(repr, by))}")
    scores, is_array = _score(df, prob, "logits" if from_logits else "probabilities")
    selected = [
        *(column(name).alias(f"key_{place}") for place, name in enumerate(by)),
        _number_or(df, label, "labels", _LABELS).alias(LABEL),
        scores.alias(SCORE),
    ]
    if weight is not None:
        selected.append(_number_or(df, weight, "weights", _NUMBERS).alias(WEIGHT))
    return Chosen(df.select(*selected), keys, is_array, weight is not None)


def check_dataframe(df: object) -> None:
    """Refuses what is no DataFrame of Spark."""
    # Those of Spark Connect are of another class with the same methods.
    if not (hasattr(df, "mapInArrow") and hasattr(df, "schema")):
        module = type(df).__module__.split(".")[0]
        raise TypeError(f"df must be a DataFrame of Spark, got {type(df).__name__} of {module}")


def key_field(df: DataFrame, name: str) -> types.StructField:
    """The column of that name, refused where it cannot tell groups apart."""
    field = _field(df, name, "by")
    if not isinstance(field.dataType, _KEYS):
        kind = field.dataType.simpleString()
        how = {"float": ": round it to a decimal", "double": ": round it to a decimal"}
        hint = how.get(kind, ": name its fields" if isinstance(field.dataType, types.StructType) else "")
        raise refusal(
            "wrong_type",
            f"groups must be whole numbers, decimals, text, dates or true and false, got {kind}{hint}",
            name,
        )
    if name in RESERVED:
        raise refusal("invalid_setting", f"by must not be called {name!r}, as the column of sketches is")
    return field


def _field(df: DataFrame, name: str, what: str) -> types.StructField:
    if not isinstance(name, str):
        raise TypeError(f"{what} must name a column, got {type(name).__name__}")
    found = [field for field in df.schema.fields if field.name == name]
    if len(found) == 1:
        return found[0]
    if found:
        raise refusal("wrong_column", f"{what} must name one column, got {name!r}, which {len(found)} are called")
    near = difflib.get_close_matches(name, df.columns, n=1)
    hint = f" (did you mean {near[0]!r}?)" if near else ""
    shown = ", ".join(df.columns[:20]) + (", ..." if len(df.columns) > 20 else "")
    raise refusal("wrong_column", f"{what} must name a column, got {name!r}{hint}: there are {shown or 'none'}")


def _score(df: DataFrame, name: str, what: str) -> tuple[Column, bool]:
    """Scores, and whether there is one for each class."""
    kind = _field(df, name, "prob").dataType
    values = column(name)
    if type(kind).__name__ == "VectorUDT":
        from pyspark.ml.functions import vector_to_array

        return vector_to_array(values), True
    if isinstance(kind, types.ArrayType) and isinstance(kind.elementType, _NUMBERS):
        plain = isinstance(kind.elementType, (types.FloatType, types.DoubleType))
        return (values if plain else values.cast("array<double>")), True
    if not isinstance(kind, _NUMBERS):
        expected = "numbers, arrays of numbers or vectors"
        raise refusal("wrong_type", f"{what} must be {expected}, got {kind.simpleString()}", name)
    return (values if isinstance(kind, (types.FloatType, types.DoubleType)) else values.cast("double")), False


def _number_or(df: DataFrame, name: str, what: str, allowed: tuple[type[types.DataType], ...]) -> Column:
    kind = _field(df, name, {"labels": "label", "weights": "weight"}[what]).dataType
    if not isinstance(kind, allowed):
        expected = "numbers, true and false, or text" if what == "labels" else "numbers"
        raise refusal("wrong_type", f"{what} must be {expected}, got {kind.simpleString()}", name)
    return column(name).cast("double") if isinstance(kind, types.DecimalType) else column(name)


def column(name: str) -> Column:
    """The column of exactly that name, dots and all."""
    return sql.col("`" + name.replace("`", "``") + "`")


def refusal(code: str, text: str, name: str | None = None) -> _core.CalipersError:
    """A refusal of the driver's own, of the column of that name if any."""
    found = _core.CalipersError(text if name is None else f"column {name!r}: {text}")
    found.code = code
    return found
