"""Arrays of any library -> contiguous columns that the compiled half borrows in place.

    _arrays.py -> array, missing -> floats | labels | clusters -> Columns
                                    labels -> _classes.py -> numbers of classes

Shapes and types are checked here. Values are checked once, in the core.
"""

import json
import math
from collections.abc import Hashable, Sequence
from typing import Any, Literal, NamedTuple, SupportsFloat, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from calipers import _core
from calipers._arrays import Array, ArrayLike, Mask, read_array
from calipers._classes import Coded

Options: TypeAlias = dict[str, object]

# The words that options take; the core has the last word on all of them. Each is a union of words,
# since stubtest takes an alias of one Literal with several for no union at all.
Noise: TypeAlias = (
    Literal["gaussian"] | Literal["uniform"] | Literal["laplace"] | Literal["logistic"] | Literal["epanechnikov"]
)
Link: TypeAlias = Literal["logistic"] | Literal["probit"] | Literal["cloglog"]
# "top_class", "classwise", "all_classes", or the name of a class.
Multiclass: TypeAlias = str | int | None
OneView: TypeAlias = str | int | None
Ties: TypeAlias = Literal["first"] | Literal["any"]
Invalid: TypeAlias = Literal["reject"] | Literal["count"]
NBins: TypeAlias = int | Literal["auto"]
Strategy: TypeAlias = Literal["uniform"] | Literal["quantile"]
Norm: TypeAlias = Literal["l1"] | Literal["l2"] | Literal["max"]
MeanNorm: TypeAlias = Literal["l1"] | Literal["l2"]
Compat: TypeAlias = Literal["sklearn", "netcal", "torchmetrics", "relplot", "uncertainty-calibration"] | None
RunOut: TypeAlias = Literal["natural"] | Literal["parabolic"] | Literal["cubic"]
Profile: TypeAlias = Literal["exact"] | Literal["monitoring"]
NullDistribution: TypeAlias = Literal["auto"] | Literal["asymptotic"] | Literal["resampled"]
Dialect: TypeAlias = Literal["ansi"] | Literal["spark"]
Between: TypeAlias = Literal["line"] | Literal["step"]
PosLabel: TypeAlias = str | bool | int | float | None
# The group of each row.
GroupsOfRows: TypeAlias = ArrayLike | Sequence[str | int | float | None] | None


class Columns(NamedTuple):
    """The arrays of one call: in C order, aligned, of types that the core reads."""

    labels: Array | list[str]
    # What labels must be and how each was written, where they are numbers that stand for others.
    label_rule: str | None
    label_texts: list[str] | None
    scores: Array
    weights: Array | None
    missing_labels: Mask | None
    missing_scores: Mask | None
    missing_weights: Mask | None


def columns(y_true: ArrayLike, y_prob: ArrayLike, sample_weight: ArrayLike | None, from_logits: bool) -> Columns:
    """The columns of a call, with an error for a wrong shape or type."""
    labels, missing_labels = label_column(y_true, max_ndim=2)
    scores, missing_scores = score_column(y_prob, from_logits)
    weights, missing_weights = None, None
    if sample_weight is not None:
        weights, missing_weights = float_column(sample_weight, "weights")
    return Columns(labels, None, None, scores, weights, missing_labels, missing_scores, missing_weights)


def with_classes(columns: Columns, found: Coded) -> Columns:
    """The columns with labels that are numbers of classes."""
    return columns._replace(
        labels=np.ascontiguousarray(found.labels),
        label_rule=found.rule,
        label_texts=found.texts,
        missing_labels=_by_row(found.missing),
    )


def score_column(values: ArrayLike, from_logits: bool) -> tuple[Array, Mask | None]:
    """Probabilities or logits, of one outcome or of each class."""
    return float_column(values, "logits" if from_logits else "probabilities", max_ndim=2)


def float_column(values: ArrayLike, what: str, max_ndim: int = 1) -> tuple[Array, Mask | None]:
    """float32 and float64 as they are, float16 as float32; every other number as float64."""
    array, missing = _array(values, what, max_ndim)
    if array.dtype.kind in "OUST":
        array, nulls = _numbers_of(array, what)
        missing = _either(missing, nulls)
    if array.dtype.kind not in "fiub":
        raise _core.input_error("wrong_type", what, str(array.dtype))
    single = array.dtype.kind == "f" and array.dtype.itemsize <= 4
    return _in_place(array, np.float32 if single else np.float64), _by_row(missing)


def label_column(values: ArrayLike, max_ndim: int = 1) -> tuple[Array | list[str], Mask | None]:
    """Numbers and bools as they are, text as a list of strings."""
    array, missing = _array(values, "labels", max_ndim)
    if array.dtype.kind in "OUST":
        labels, nulls = _labels_of(array)
        if isinstance(labels, list) and len(labels) > len(array):
            raise _core.input_error("shape", "labels", f"text of shape {array.shape}")
        return labels, _by_row(_either(missing, nulls))
    if array.dtype.kind == "b":
        # A bool made by reinterpreting bytes may hold a byte that is neither 0 nor 1; others are
        # read in place.
        as_bytes = array.view(np.uint8)
        if as_bytes.max(initial=0) > 1:
            array = as_bytes != 0
    elif array.dtype.kind == "f" and array.dtype.itemsize not in (4, 8):
        array = array.astype(np.float64)
    elif array.dtype.kind not in "iuf":
        raise _core.input_error("wrong_type", "labels", str(array.dtype))
    return _in_place(array, array.dtype.newbyteorder("=")), _by_row(missing)


class NumberedGroups(NamedTuple):
    """Names of groups, and for each row the place of its own."""

    names: list[str]
    numbers: NDArray[np.uint32]


def cluster_column(values: ArrayLike | Sequence[Hashable] | None) -> NDArray[np.uint32] | None:
    """Clusters as numbers, with an error for a row that has none."""
    if values is None:
        return None
    if isinstance(values, (list, tuple)):
        # One by one: to numpy a list of tuples has columns, and None beside text is text.
        array: Array = np.empty(len(values), dtype=object)
        for row, value in enumerate(values):
            array[row] = value
        missing = None
    else:
        array, missing = _array(values, "clusters", 1)
        array = array.ravel()
    nulls = _nulls_and_nan(array) if missing is None else _nulls_and_nan(array) | missing.ravel()
    if nulls.any():
        raise _core.no_cluster(int(nulls.argmax()))
    if array.dtype.kind != "O":
        return np.unique(array, return_inverse=True)[1].astype(np.uint32)
    numbers: dict[Hashable, int] = {}
    try:
        return np.array([numbers.setdefault(value, len(numbers)) for value in array], dtype=np.uint32)
    except TypeError:
        names = {type(value).__name__ for value in array if not isinstance(value, Hashable)}
        raise _core.input_error("wrong_type", "clusters", " and ".join(sorted(names))) from None


def group_column(values: GroupsOfRows) -> NumberedGroups | None:
    """The names of groups, each once, and for each row the number of its own."""
    if values is None:
        return None
    array, missing = _array(values, "groups", 1)
    array = array.ravel()
    nulls = _nulls_and_nan(array) if missing is None else _nulls_and_nan(array) | missing.ravel()
    names: dict[str, int] = {}
    numbers = [
        names.setdefault("" if null else group_name(value), len(names))
        for value, null in zip(array.tolist(), nulls.tolist(), strict=True)
    ]
    return NumberedGroups(list(names), np.array(numbers, dtype=np.uint32))


def group_name(value: object) -> str:
    """The name of a group, as the command has it: a whole number has no point."""
    is_whole = isinstance(value, float) and value.is_integer() and abs(value) < 2**53
    return str(int(cast("float", value))) if is_whole else str(value)


def _nulls_and_nan(array: Array) -> Mask:
    """Nulls, NaN and NaT: values that are not even like themselves."""
    if array.dtype.kind != "O":
        unlike_itself: Mask = array != array
        return unlike_itself
    not_a_number = [isinstance(value, (float, np.floating)) and math.isnan(value) for value in array]
    return np.array(not_a_number, dtype=bool) | _nulls(array)


def positive_label(pos_label: PosLabel, labels: Array | list[str]) -> str | None:
    """The positive label as the core takes it: text, which numbers are compared with by value."""
    if isinstance(pos_label, (bool, np.bool_)) and not isinstance(labels, list):
        return str(int(pos_label))
    return str(pos_label) if isinstance(pos_label, (str, int, float, np.generic)) else pos_label


def _array(values: object, what: str, max_ndim: int) -> tuple[Array, Mask | None]:
    """The values without a copy, and which are missing; (n, 1) is a column too."""
    array, missing = read_array(values, what)
    if max_ndim == 2:
        array, missing = _rows_of_lists(array, missing, what)
    width = array.shape[1] if array.ndim == 2 else 1
    if array.ndim not in (1, 2) or width == 0 or (width > 1 and max_ndim == 1):
        raise _core.input_error("shape", what, str(array.shape))
    return array, missing


def _rows_of_lists(array: Array, missing: Mask | None, what: str) -> tuple[Array, Mask | None]:
    """A column of lists or arrays, as pandas has it, as rows; anything else as it is."""
    if array.dtype.kind != "O" or not (array.ndim == 1 or array.shape[1:] == (1,)):
        return array, missing
    array, missing = array.ravel(), None if missing is None else missing.ravel()
    is_row = np.array([isinstance(value, (list, tuple, np.ndarray)) for value in array], dtype=bool)
    # pandas writes a missing list as NaN.
    nulls = _either(missing, _nulls_and_nan(array)) if is_row.any() else is_row
    if not is_row[~nulls][:1].any():
        return array, missing
    if not (is_row | nulls).all():
        row = int((is_row | nulls).argmin())
        raise _core.input_error("wrong_type", what, f"{type(array[row]).__name__} in row {row} of a column of lists")
    try:
        rows = np.array([list(value) for value in array[is_row]])
    except ValueError:
        raise _core.input_error("shape", what, "rows of different lengths") from None
    if rows.ndim == 2:
        _core.check_missing_lists(int(nulls.sum()), len(array), rows.shape[1], what)
    whole = np.zeros((len(array), *rows.shape[1:]), rows.dtype)
    whole[is_row] = rows
    return whole, nulls


def _in_place(array: Array, dtype: np.typing.DTypeLike) -> Array:
    """The array as it is where it has that type in C order, aligned, in native byte order."""
    return np.require(array, dtype, ["C_CONTIGUOUS", "ALIGNED"])


def _either(missing: Mask | None, nulls: Mask) -> Mask:
    """What either says is missing: of elements, or of rows."""
    if missing is None:
        return nulls
    return missing | nulls if missing.ndim == nulls.ndim else _rows(missing) | _rows(nulls)


def _rows(marks: Mask) -> Mask:
    return marks if marks.ndim == 1 else np.asarray(marks.any(axis=1))


def _by_row(missing: Mask | None) -> Mask | None:
    """One mark for each row, or none at all."""
    if missing is None or not missing.any():
        return None
    return np.ascontiguousarray(_rows(missing))


def _numbers_of(array: Array, what: str) -> tuple[NDArray[np.float64], Mask]:
    """Python objects as doubles, and which of them stand for nothing."""
    nulls = _nulls(array)
    numbers = np.zeros(array.shape)
    for place, value in np.ndenumerate(array):
        if not nulls[place]:
            numbers[place] = _number(value, what, row=place[0])
    return numbers, nulls


def _number(value: object, what: str, row: int) -> float:
    if isinstance(value, str):
        raise _core.input_error("wrong_type", what, f"text {json.dumps(value, ensure_ascii=False)} in row {row}")
    if isinstance(value, bytes) or not isinstance(value, SupportsFloat):
        raise _core.input_error("wrong_type", what, f"{type(value).__name__} in row {row}")
    try:
        return float(value)
    except OverflowError:
        return math.inf


def _labels_of(array: Array) -> tuple[Array | list[str], Mask]:
    """Text or Python objects as labels of one type, and which of them stand for nothing."""
    if array.dtype.kind == "U":
        return array.ravel().tolist(), np.zeros(array.shape, np.bool_)
    array = array.astype(object, copy=False)
    nulls = _nulls(array)
    if any(isinstance(value, str) for value in array.flat):
        # pandas writes a missing string as NaN.
        nulls |= np.array([isinstance(value, float) and math.isnan(value) for value in array.flat]).reshape(array.shape)
    values: list[Any] = array[~nulls].tolist()
    if all(isinstance(value, str) for value in values):
        return np.where(nulls, "", array).ravel().tolist(), nulls
    for dtype, types in _LABEL_TYPES:
        if all(isinstance(value, types) for value in values):
            try:
                return np.where(nulls, 0, array).astype(dtype), nulls
            except OverflowError:
                continue
    names = {type(value).__name__ for value in values}
    raise _core.input_error("wrong_type", "labels", " and ".join(sorted(names)))


# The type that holds labels that are all of these; the first that fits.
_LABEL_TYPES: list[tuple[type, tuple[type, ...]]] = [
    (np.bool_, (bool, np.bool_)),
    (np.int64, (int, np.integer, np.bool_)),
    (np.float64, (int, float, np.integer, np.floating, np.bool_)),
]


def _nulls(array: Array) -> Mask:
    """None, and the NA and NaT of pandas, which is not imported for that."""
    null_types = ("NoneType", "NAType", "NaTType")
    return np.array([type(value).__name__ in null_types for value in array.flat], dtype=bool).reshape(array.shape)
