"""Labels that are not 0, 1, 2 and so on -> the numbers of their classes.

    one-hot rows, text, or any labels beside `classes` -> coded -> Coded

The core checks the numbers. It shows labels in errors as they were written.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from calipers import _core
from calipers._arrays import Array, Mask
from calipers._errors import coded_error

Classes: TypeAlias = Sequence[str | bool | int | float] | NDArray[Any] | None

# Words that tell which outcome is 1, in upper or lower case; all others need `pos_label`.
_OUTCOMES = (("no", "yes"), ("false", "true"), ("negative", "positive"), ("0", "1"))
# The same labels, as bools and as numbers.
_ALIASES = {"True": "1", "False": "0", "1": "True", "0": "False"}
# How many labels an error lists, and how many values of a one-hot row.
_LISTED = 10


class Coded(NamedTuple):
    """Labels by number: of their class, or beyond the last class where they are none."""

    labels: NDArray[np.int32]
    missing: Mask | None
    # What a label must be, and how each number was written.
    rule: str
    texts: list[str]
    names: list[str] | None


def coded(
    labels: Array | list[str], missing: Mask | None, scores: Array, classes: Classes, pos_label: object, *, whole: bool
) -> Coded | None:
    """The labels as classes; None where they are numbers that the core reads as they are.

    `whole` is whether these are all rows, and not one batch of several.
    """
    n_columns = scores.shape[1] if scores.ndim == 2 else 1
    names = None if classes is None else _names(classes, n_columns)
    if not isinstance(labels, list) and labels.ndim == 2 and labels.shape[1] > 1:
        _check_alone(pos_label, "for one-hot labels")
        return _one_hot(labels, missing, scores, n_columns, names)
    if names is not None:
        _check_alone(pos_label, "beside classes, of which the second is outcome 1")
    elif pos_label is not None or not isinstance(labels, list):
        return None
    values, places, missing = _distinct(labels, missing)
    if names is None and n_columns <= 2:
        names = _outcomes(values)
    if names is None and n_columns > 1:
        names = _sorted(values, n_columns, whole)
    if names is None:
        # The core has the error for labels that do not tell, and for no labels at all.
        return None
    numbers = {_text(name): number for number, name in enumerate(names)}
    texts = [_text(value) for value in values]
    found = [numbers.get(text, numbers.get(_ALIASES.get(text, text))) for text in texts]
    unknown = [value for value, number in zip(values, found, strict=True) if number is None]
    beyond = iter(range(len(names), len(names) + len(unknown)))
    codes = np.array([next(beyond) if number is None else number for number in found], dtype=np.int32)
    rows = codes[places] if len(codes) else np.zeros(len(places), np.int32)
    written = [_quoted(value) for value in (*names, *unknown)]
    return Coded(rows, missing, _listed(written[: len(names)]), written, [_text(name) for name in names])


def class_number(multiclass: object, names: Sequence[str] | None) -> object:
    """The class that is asked for by its name, as a number; anything else as it is."""
    if isinstance(multiclass, str) and multiclass not in ("top_class", "classwise") and names is not None:
        return names.index(multiclass) if multiclass in names else multiclass
    return multiclass


def _check_alone(pos_label: object, where: str) -> None:
    if pos_label is not None:
        raise coded_error("invalid_setting", f"pos_label must be left out {where}, got {_quoted(pos_label)}")


def _names(classes: Any, n_columns: int) -> list[Any]:
    """The classes that were given, one for each column; two for a single column."""
    if isinstance(classes, (str, bytes, Mapping)) or not isinstance(classes, Iterable):
        raise TypeError(f"classes must be a sequence of labels, got {type(classes).__name__}")
    names = classes.tolist() if hasattr(classes, "tolist") else list(classes)
    for name in names:
        if not isinstance(name, (str, bool, int, float, np.generic)):
            raise TypeError(f"classes must be text or numbers, got {type(name).__name__}")
    expected = max(n_columns, 2)
    written = [_quoted(name) for name in names]
    if len(names) != expected:
        columns = f"the {n_columns} columns of probabilities" if n_columns > 1 else "the two outcomes"
        raise coded_error(
            "invalid_setting", f"classes must be as many as {columns}, got {len(names)}: {_listed(written, 'and')}"
        )
    texts = [_text(name) for name in names]
    for place, text in enumerate(texts):
        if text in texts[:place]:
            raise coded_error("invalid_setting", f"classes must differ from each other, got {written[place]} twice")
    return names


def _one_hot(rows: Array, missing: Mask | None, scores: Array, n_columns: int, names: list[Any] | None) -> Coded:
    width = rows.shape[1]
    if rows.dtype.kind == "f" and (rows != np.trunc(rows)).any() and (scores == np.trunc(scores)).all():
        raise _core.input_error("swapped", "labels", "")
    if width != max(n_columns, 2):
        raise _core.input_error("shape", "labels", f"{rows.shape} beside probabilities of shape {scores.shape}")
    ones = rows == 1
    valid = ((ones | (rows == 0)).all(axis=1)) & (ones.sum(axis=1) == 1)
    labels = np.where(valid, ones.argmax(axis=1), width).astype(np.int32)
    if rows.dtype.kind == "f":
        nulls: Mask = np.asarray(np.isnan(rows).any(axis=1))
        missing = nulls if missing is None else missing | nulls
    wrong = ~valid if missing is None else ~valid & ~missing
    texts = [_quoted(name) for name in names or range(width)]
    if wrong.any():
        # The first is the one that an error shows.
        texts.append(_shown_row(rows[int(wrong.argmax())]))
    given = None if names is None else [_text(name) for name in names]
    return Coded(labels, missing, "one-hot, a single 1 among zeros", texts, given)


def _shown_row(row: Array) -> str:
    if len(row) <= _LISTED:
        return f"[{', '.join(_text(value) for value in row.tolist())}]"
    return f"{int((row == 1).sum())} ones and {int((row == 0).sum())} zeros in {len(row)} columns"


def _distinct(labels: Array | list[str], missing: Mask | None) -> tuple[list[Any], NDArray[np.intp], Mask | None]:
    """The distinct labels, the place of each row's among them, and which are missing."""
    if isinstance(labels, list):
        nulls = [False] * len(labels) if missing is None else missing.tolist()
        present = dict.fromkeys(label for label, null in zip(labels, nulls, strict=True) if not null)
        places = {label: place for place, label in enumerate(present)}
        return list(places), np.fromiter((places.get(label, 0) for label in labels), np.intp, len(labels)), missing
    labels = labels.ravel()
    if labels.dtype.kind == "f":
        nulls = np.isnan(labels)
        missing = nulls if missing is None else missing | nulls
    values = np.unique(labels if missing is None else labels[~missing])
    last = max(len(values) - 1, 0)
    return values.tolist(), np.searchsorted(values, labels).clip(0, last), missing


def _outcomes(values: list[str]) -> list[str] | None:
    """Of words that tell which outcome is 1, those for 0 and 1."""
    found = {value.strip().lower(): value for value in values}
    for words in _OUTCOMES:
        if values and len(found) == len(values) and set(found) <= set(words):
            return [found.get(word, word) for word in words]
    return None


def _sorted(values: list[str], n_columns: int, whole: bool) -> list[str] | None:
    """The classes in their order, as scikit-learn has them."""
    if not values:
        return None
    if not whole:
        raise coded_error(
            "invalid_setting", "classes must be given for text labels in batches, which may lack a class, got None"
        )
    names = sorted(values)
    if len(names) != n_columns:
        listed = _listed([_quoted(name) for name in names], "and")
        raise coded_error(
            "invalid_setting",
            f"classes must be given, in the order of the {n_columns} columns of probabilities, where the labels do not "
            f"have as many, got {len(names)}: {listed}",
        )
    if all(name.isdecimal() for name in names) and names != sorted(names, key=int):
        raise coded_error(
            "invalid_setting",
            "classes must be given for numbers that are text, whose order as text is another, got "
            f"{_listed([_quoted(name) for name in names], 'and')}",
        )
    return names


def _text(value: Any) -> str:
    """A label as people write it; equal labels of different types have the same text."""
    if isinstance(value, np.generic):
        value = value.item()
    is_whole = isinstance(value, float) and value.is_integer()
    return str(int(value)) if is_whole else str(value)


def _quoted(value: object) -> str:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else _text(value)


def _listed(texts: list[str], last: str = "or") -> str:
    if len(texts) > _LISTED:
        return f"{', '.join(texts[: _LISTED // 2])}, ... {last} {texts[-1]}"
    return f"{', '.join(texts[:-1])} {last} {texts[-1]}" if len(texts) > 1 else "".join(texts)
