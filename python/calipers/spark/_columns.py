"""Which columns of a DataFrame are read, and as what.

Checked against its schema, before any job starts.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame, types
from pyspark.sql import functions as sql

from calipers._core import CalipersError
from calipers._errors import coded_error
from calipers._inputs import PosLabel

# The columns that sketches travel with, which therefore cannot be keys.
SKETCH = "sketch"
N, N_LEFT_OUT, HAS_POSITIVE, ROOM = "calipers_n", "calipers_n_left_out", "calipers_has_positive", "calipers_room"
SIDE = "calipers_side"
RESERVED = (SKETCH, N, N_LEFT_OUT, HAS_POSITIVE, ROOM, SIDE)

# What the rows are called on their way to an executor.
LABEL, SCORE, WEIGHT = "label", "score", "weight"

_WHOLE = (types.ByteType, types.ShortType, types.IntegerType, types.LongType)
_NUMBERS = (*_WHOLE, types.FloatType, types.DoubleType, types.DecimalType)
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


# What makes groups: names of columns, or expressions of them.
By: TypeAlias = str | Column | Sequence[str | Column]


@dataclass(frozen=True)
class KeyColumn:
    """A column that tells groups apart: its name and type, and its values."""

    field: types.StructField
    values: Column


@dataclass(frozen=True)
class Chosen:
    """The rows as executors get them.

    Keys, label, score and weight, in this order and under those names.
    """

    rows: DataFrame
    keys: tuple[types.StructField, ...]
    is_array: bool
    # Labels of text are compared with it by Spark, and true and false from then on.
    pos_label: PosLabel


def choose(
    df: DataFrame,
    prob: str,
    label: str,
    weight: str | None,
    keys: Sequence[KeyColumn],
    *,
    from_logits: bool,
    pos_label: PosLabel,
) -> Chosen:
    """The columns of these names.

    An error where one is missing or has a type that it cannot have.
    """
    scores, is_array = _score(df, prob, "logits" if from_logits else "probabilities")
    labels, is_text = _label(df, label, pos_label)
    selected = [
        *(key.values.alias(f"key_{place}") for place, key in enumerate(keys)),
        labels.alias(LABEL),
        scores.alias(SCORE),
    ]
    if weight is not None:
        selected.append(_weight(df, weight).alias(WEIGHT))
    # True of two classes is the second; for more, as anywhere, there is no positive label.
    positive = (True if is_array else None) if is_text else pos_label
    return Chosen(df.select(*selected), tuple(key.field for key in keys), is_array, positive)


def check_dataframe(df: object) -> None:
    """Raises TypeError for what is not a DataFrame of Spark."""
    # Those of Spark Connect are of another class with the same methods.
    if not (hasattr(df, "mapInArrow") and hasattr(df, "schema")):
        module = type(df).__module__.split(".")[0]
        raise TypeError(f"df must be a DataFrame of Spark, got {type(df).__name__} of {module}")


def key_columns(df: DataFrame, by: By) -> tuple[KeyColumn, ...]:
    """What makes the groups; an error where it is not there, or cannot tell groups apart."""
    given: Sequence[Any] = (by,) if isinstance(by, str) or _is_expression(by) else tuple(cast("Sequence[Any]", by))
    keys = tuple(_of_expression(df, each) if _is_expression(each) else _of_name(df, each) for each in given)
    names = [key.field.name for key in keys]
    if len({name.lower() for name in names}) < len(keys):
        raise input_error("invalid_setting", f"by must name each column once, got {', '.join(map(repr, names))}")
    return keys


def _is_expression(given: object) -> bool:
    # Those of Spark Connect 3.5 are of another class with the same methods.
    return hasattr(given, "alias")


def _of_name(df: DataFrame, name: str) -> KeyColumn:
    return KeyColumn(key_field(df, name), column(name))


def _of_expression(df: DataFrame, values: Column) -> KeyColumn:
    try:
        (field,) = df.select(values).schema.fields
    except AnalysisException as error:
        said = str(error).partition("\n")[0]
        raise input_error("wrong_column", f"by must be made of columns of df, got {values}: {said}") from None
    except ValueError:
        raise input_error("wrong_column", f"by must have one value for each row, got {values}") from None
    _check_key(field)
    return KeyColumn(field, values)


def key_field(df: DataFrame, name: str) -> types.StructField:
    """The column of that name; an error where its type cannot tell groups apart."""
    field = _field(df, name, "by")
    _check_key(field)
    return field


def _check_key(field: types.StructField) -> None:
    name = field.name
    if not isinstance(field.dataType, _KEYS):
        kind = field.dataType.simpleString()
        how = {"float": ": round it to a decimal", "double": ": round it to a decimal"}
        hint = how.get(kind, ": name its fields" if isinstance(field.dataType, types.StructType) else "")
        raise input_error(
            "wrong_type",
            f"groups must be whole numbers, decimals, text, dates or true and false, got {kind}{hint}",
            name,
        )
    if isinstance(field.dataType, types.StringType) and not _is_by_bytes(field.dataType):
        kind = field.dataType.simpleString()
        raise input_error("wrong_type", f"groups of text must be told apart by their bytes, got {kind}: cast it", name)
    if name.lower() in RESERVED:
        raise input_error("invalid_setting", f"by must not be called {name!r}, as a column of sketches is")


def _is_by_bytes(text: types.StringType) -> bool:
    """Whether text is equal where its bytes are.

    Since Spark 4 there are collations for which 'a' is 'A'.
    """
    own = getattr(text, "isUTF8BinaryCollation", None)
    return own is None or bool(own())


def _field(df: DataFrame, name: str, what: str) -> types.StructField:
    if not isinstance(name, str):
        raise TypeError(f"{what} must name a column, got {type(name).__name__}")
    found = [field for field in df.schema.fields if field.name == name]
    if len(found) == 1:
        return found[0]
    if found:
        raise input_error("wrong_column", f"{what} must name one column, got {name!r}, which {len(found)} are called")
    near = difflib.get_close_matches(name, df.columns, n=1)
    hint = f" (did you mean {near[0]!r}?)" if near else ""
    shown = ", ".join(df.columns[:20]) + (", ..." if len(df.columns) > 20 else "")
    raise input_error("wrong_column", f"{what} must name a column, got {name!r}{hint}: there are {shown or 'none'}")


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
        raise input_error("wrong_type", f"{what} must be {expected}, got {kind.simpleString()}", name)
    return (values if isinstance(kind, (types.FloatType, types.DoubleType)) else values.cast("double")), False


def _label(df: DataFrame, name: str, pos_label: PosLabel) -> tuple[Column, bool]:
    """Labels, and whether they were text."""
    kind = _field(df, name, "label").dataType
    if isinstance(kind, types.StringType):
        if pos_label is None:
            raise input_error("wrong_type", "labels of text must come with pos_label, got none", name)
        return column(name) == sql.lit(str(pos_label)), True
    if not isinstance(kind, (*_NUMBERS, types.BooleanType)):
        expected = "numbers, true and false, or text"
        raise input_error("wrong_type", f"labels must be {expected}, got {kind.simpleString()}", name)
    return _number(name, kind), False


def _weight(df: DataFrame, name: str) -> Column:
    kind = _field(df, name, "weight").dataType
    if not isinstance(kind, _NUMBERS):
        raise input_error("wrong_type", f"weights must be numbers, got {kind.simpleString()}", name)
    return _number(name, kind)


def _number(name: str, kind: types.DataType) -> Column:
    return column(name).cast("double") if isinstance(kind, types.DecimalType) else column(name)


def column(name: str) -> Column:
    """The column of exactly that name, dots and all."""
    return sql.col("`" + name.replace("`", "``") + "`")


def input_error(code: str, text: str, name: str | None = None) -> CalipersError:
    """An error that the driver finds, about the column of that name if there is one."""
    return coded_error(code, text if name is None else f"column {name!r}: {text}")
