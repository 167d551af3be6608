"""Outcomes and probabilities with the options of how they are read."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from copy import copy
from functools import partial
from typing import Any, TypeAlias, TypeVar, cast

import numpy as np

from calipers import _core
from calipers._arrays import Array, ArrayLike
from calipers._classes import class_number, coded
from calipers._documented import documented
from calipers._estimate import Estimate
from calipers._inputs import Columns, Options, columns, positive_label, score_column, with_classes
from calipers._row_options import ROW_DEFAULTS, RowOptions, Unpack

T = TypeVar("T")


class Rows:
    """Columns with the options of how they are read.

    Values are checked by the core, in each call. `whole` is whether these are all rows, and not one
    batch of several.
    """

    def __init__(
        self, y_true: ArrayLike, y_prob: ArrayLike, options: Mapping[str, object], *, whole: bool = True
    ) -> None:
        given = cast("RowOptions", {**ROW_DEFAULTS, **options})
        read = columns(y_true, y_prob, given["sample_weight"], given["from_logits"])
        found = coded(read.labels, read.missing_labels, read.scores, given["classes"], given["pos_label"], whole=whole)
        self.columns = read if found is None else with_classes(read, found)
        names = None if found is None else found.names
        self.options: Options = {name: value for name, value in given.items() if name != "sample_weight"}
        self.options["pos_label"] = positive_label(given["pos_label"], self.columns.labels)
        self.options["classes"] = names
        self.options["multiclass"] = class_number(given["multiclass"], names)

    def with_scores(self, y_prob: ArrayLike) -> Rows:
        """The same rows with the probabilities of another model."""
        scores, missing = score_column(y_prob, bool(self.options["from_logits"]))
        if self.columns.label_rule is not None and _n_classes(scores) != _n_classes(self.columns.scores):
            beside = f"{scores.shape} beside {self.columns.scores.shape} of the first model"
            raise _core.input_error("shape", "probabilities", beside)
        return self._with(columns=self.columns._replace(scores=scores, missing_scores=missing))

    def with_weights(self, weights: np.typing.NDArray[np.float64]) -> Rows:
        """The same rows with other weights."""
        return self._with(columns=self.columns._replace(weights=weights))

    def of_classes(self) -> Rows:
        """The same rows for a function of all classes together, which has no binary view."""
        return self.without_question()._with_options(pos_label=None)

    def without_question(self) -> Rows:
        """The same rows for a function of a binary outcome or of all classes, as the rows are."""
        return self._with_options(multiclass=None, ties="first")

    def _with_options(self, **options: object) -> Rows:
        return self._with(options={**self.options, **options})

    def _with(self, **changes: object) -> Rows:
        other = copy(self)
        vars(other).update(changes)
        return other

    def estimate(self, measure: str, **options: object) -> Estimate:
        """The value of the measure of that name."""
        return Estimate._of(self.ask(partial(_core.estimate, measure), **options))

    def ask(self, question: Callable[[Columns, Options], T], **options: object) -> T:
        """The answer of a function of the core."""
        return question(self.columns, {**options, **self.options})


@documented
class Predictions:
    """Outcomes and probabilities, read and checked once, for any number of calls.

    Every function that takes `y_true` and `y_prob` takes `Predictions` in place of both and of the
    options of rows. `compare` and `report` take a dict of them by the names of models.

    Parameters
    ----------
    y_true : array-like of shape (n,), or one-hot of shape (n, k)
        Outcomes 0 and 1 (or see `pos_label`), or class labels from 0 to k - 1 (or see `classes`).
    y_prob : array-like of shape (n,), (n, 2) or (n, k)
        Probabilities of outcome 1, or of each class. float32 and float64 in C order are read in
        place.

    Attributes
    ----------
    n : int
        Valid rows.
    left_out : dict
        Rows that ``invalid="count"`` left out, by kind.
    classes : list of str, optional
        The names of the classes, in the order of the columns; None where labels are numbers.

    Examples
    --------
    >>> import calipers as cal
    >>> predictions = cal.Predictions(["no", "yes", "yes"], [0.2, 0.4, 0.9], pos_label="yes")
    >>> predictions
    Predictions(n=3)
    >>> round(cal.brier_score(predictions), 3)
    0.137
    >>> round(cal.expected_calibration_error(predictions, n_bins=2), 3)
    0.167
    """

    n: int
    left_out: dict[str, int]
    classes: list[str] | None

    def __init__(self, y_true: ArrayLike, y_prob: ArrayLike, **rows: Unpack[RowOptions]) -> None:
        check_keywords(Predictions, rows)
        self._rows = Rows(y_true, y_prob, rows)
        # The cheapest measure that every valid row has.
        checked = self._rows.estimate("brier_score", link="logistic")
        self.n, self.left_out, self.classes = checked.n, checked.left_out, checked.settings["classes"]

    def __repr__(self) -> str:
        return f"Predictions(n={self.n}{f', left_out={self.left_out}' if self.left_out else ''})"


Outcomes: TypeAlias = ArrayLike | Predictions
Probabilities: TypeAlias = ArrayLike | None


def read(
    function: Callable[..., Any],
    y_true: Outcomes,
    y_prob: Probabilities,
    options: Mapping[str, object],
    *,
    whole: bool = True,
) -> Rows:
    """The rows that a function was called with, as arrays or as `Predictions`."""
    check_keywords(function, options)
    if isinstance(y_true, Predictions):
        if y_prob is not None or options:
            beside = "y_prob" if y_prob is not None else next(iter(options))
            raise TypeError(f"{function.__qualname__}() got {beside} beside Predictions, which already have it")
        return y_true._rows
    # None is an error of the probabilities, as every other value that is no array is.
    return Rows(y_true, cast("ArrayLike", y_prob), options, whole=whole)


def call_of(function: Callable[..., Any], given: dict[str, Any]) -> tuple[Rows, Options]:
    """The rows of a call and all other options.

    `given` is ``locals()`` where the function begins.
    """
    of_rows, others = split(function, given["rows"])
    others |= {name: value for name, value in given.items() if name not in ("y_true", "y_prob", "rows")}
    return read(function, given["y_true"], given["y_prob"], of_rows), others


def measured(function: Callable[..., Any], given: dict[str, Any]) -> Estimate:
    """The value of the measure that a function is named after, as it was called."""
    found = _core.estimate_quickly(function.__name__, given, ROW_DEFAULTS)
    if found is not None:
        return Estimate._quickly(found)
    rows, options = call_of(function, given)
    return rows.estimate(function.__name__, **options)


def answer(function: Callable[..., Any], given: dict[str, Any], question: Callable[[Columns, Options], T]) -> T:
    """The answer of a function of the core to a call of a function of this package."""
    rows, options = call_of(function, given)
    if "multiclass" not in inspect.signature(function).parameters:
        rows = rows.of_classes()
    return rows.ask(question, **options)


def read_models(
    function: Callable[..., Any], y_true: object, y_prob: object, options: Mapping[str, object]
) -> dict[str, Rows]:
    """The rows of each model by its name.

    A dict of `Predictions`, or outcomes and a dict of probabilities.
    """
    given = y_true if isinstance(y_true, Mapping) and y_prob is None else y_prob
    if not isinstance(given, Mapping):
        return {"model": read(function, cast("Outcomes", y_true), cast("Probabilities", y_prob), options)}
    models: dict[str, Rows] = {}
    for name, each in given.items():
        if not isinstance(name, str):
            raise TypeError(f"the name of a model must be text, got {type(name).__name__}")
        first = next(iter(models.values()), None)
        if given is y_true:
            if not isinstance(each, Predictions):
                raise TypeError(
                    f"{function.__qualname__}() must get Predictions of {name!r}, got {type(each).__name__}"
                )
            models[name] = read(function, each, None, options)
            if first is not None:
                _check_same_rows(name, models[name], first)
        else:
            # Labels and weights are read once: a stream has no second time.
            models[name] = (
                read(function, cast("ArrayLike", y_true), each, options) if first is None else first.with_scores(each)
            )
    return models


def models_of(given: object) -> Mapping[str, Any] | None:
    """Probabilities by the names of models: a dict, or the columns of a data frame; else None."""
    if isinstance(given, Mapping):
        return given
    # pyarrow, then pandas, polars and DuckDB, then structured arrays of numpy.
    own = getattr(given, "column_names", getattr(given, "columns", None))
    names = getattr(getattr(given, "dtype", None), "names", None) if own is None else own
    if names is None or not hasattr(given, "__getitem__"):
        return None
    found = {name: given[name] for name in names}
    if len(found) < len(names):
        raise TypeError("the columns of y_prob must have different names, which are those of the models")
    return found


def split(function: Callable[..., Any], options: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The options of rows, and all others."""
    check_keywords(function, options)
    of_rows = {name: value for name, value in options.items() if name in ROW_DEFAULTS}
    return of_rows, {name: value for name, value in options.items() if name not in ROW_DEFAULTS}


def ask_models(
    question: Callable[[list[tuple[str, Columns]], Options], T], models: Mapping[str, Rows], **options: object
) -> T:
    """The answer of the core about several models, all read with the options of the first."""
    of_rows = next((rows.options for rows in models.values()), {})
    return question([(name, rows.columns) for name, rows in models.items()], {**options, **of_rows})


def _n_classes(scores: Array) -> int:
    """How many classes there are; two for a column of probabilities, too."""
    return max(2, scores.shape[1]) if scores.ndim == 2 else 2


def _check_same_rows(name: str, rows: Rows, first: Rows) -> None:
    if rows.options != first.options:
        raise ValueError(f"predictions of {name!r} must have the options of the first model's")
    for what in ("labels", "weights"):
        if not np.array_equal(getattr(rows.columns, what), getattr(first.columns, what)):
            raise ValueError(f"predictions of {name!r} must have the {what} of the first model's")


def check_keywords(function: Callable[..., Any], options: Mapping[str, object]) -> None:
    """What Python itself would check if the options were named in the signature."""
    parameters = inspect.signature(function).parameters.values() if options else ()
    takes = [each.name for each in parameters if each.kind is each.KEYWORD_ONLY]
    for name in options:
        # A function that also takes the options of a measure leaves those to the measure.
        if name not in takes and not any(each.kind is each.VAR_KEYWORD for each in parameters):
            raise TypeError(
                f"{function.__qualname__}() got an unexpected keyword argument {name!r}; it takes {', '.join(takes)}"
            )
