"""The third stage, on executors: a sketch for each group -> a row of values for each group."""

from __future__ import annotations

import json
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import pyarrow as pa
from pyspark.sql import types

from calipers._core import CalipersError
from calipers._sketch import Sketch
from calipers._threads import threads
from calipers.spark._columns import SKETCH, input_error
from calipers.spark._fill_sketches import Batches

Row: TypeAlias = dict[str, Any]

# Sketches that are asked at once.
_MOST_ROWS = 1000


@dataclass(frozen=True)
class Question:
    """A question to a sketch, and the columns of the answer with their types."""

    columns: Mapping[str, str]
    answer: Callable[[Sketch, Mapping[str, Any]], list[Row]]
    # So many take about a second.
    groups_of_a_task: int


def _measured(sketch: Sketch, options: Mapping[str, Any]) -> list[Row]:
    measure, asked = options["measure"], {name: value for name, value in options.items() if name != "measure"}
    estimate = sketch.estimate(measure, **asked)
    return [
        {
            "measure": measure,
            "value": float(estimate),
            "numerical_bound": estimate.numerical_bound,
            "settings": json.dumps(estimate.settings, sort_keys=True),
        }
    ]


def _assessed(sketch: Sketch, options: Mapping[str, Any]) -> list[Row]:
    choices = {name: value for name, value in options.items() if name in _CHOICES}
    of_measure = {name: value for name, value in options.items() if name not in ("measure", *_CHOICES)}
    found = sketch._assessed(options["measure"], of_measure, choices)
    own = found.to_dict()
    return [
        {
            **{name: own.get(name) for name in QUESTIONS["assess"].columns},
            **{name: own["interval"][name] for name in ("lower", "upper", "is_upper_limit")},
            "floor": None if found.floor is None else found.floor.mean,
            "settings": json.dumps(found.settings, sort_keys=True),
        }
    ]


def _swept(sketch: Sketch, options: Mapping[str, Any]) -> list[Row]:
    found = sketch.sweep(**options)
    names = ("ece_uniform", "ece_quantile", "ls_ece")
    return [
        {
            "n_bins": int(n_bins),
            **{name: float(getattr(found, name)[place]) for name in names},
            **{f"{name}_bound": float(getattr(found, f"{name}_bounds")[place]) for name in names},
            "verdict": found.verdict,
            "sentence": found.sentence,
        }
        for place, n_bins in enumerate(found.bins)
    ]


def schema(text: str) -> dict[str, str]:
    """Names and types of columns, from text as Spark writes a schema."""
    return dict(column.split() for column in text.split(","))


# The options of an assessment, beside those of the measure.
_CHOICES = ("level", "n_resamples", "method", "debias", "random_state", "n_tests")

_OF_MEASURE = "measure string, value double, numerical_bound double"
_OF_INTERVAL = "lower double, upper double, is_upper_limit boolean, debiased double, standard_error double"
_OF_SWEEP = ", ".join(f"{name} double, {name}_bound double" for name in ("ece_uniform", "ece_quantile", "ls_ece"))
QUESTIONS = {
    "measure": Question(schema(f"{_OF_MEASURE}, settings string"), _measured, 1024),
    "assess": Question(
        schema(
            f"{_OF_MEASURE}, floor double, p_value double, p_adjusted double, significant boolean, {_OF_INTERVAL}, "
            "sentence string, settings string"
        ),
        _assessed,
        16,
    ),
    "sweep": Question(schema(f"n_bins bigint, {_OF_SWEEP}, verdict string, sentence string"), _swept, 16),
}

# Beside the values: counts of the sketch, and why there is no value.
ALWAYS = {"n": "bigint", "n_left_out": "bigint", "error": "string"}
ARROW = {"string": pa.string(), "double": pa.float64(), "boolean": pa.bool_(), "bigint": pa.int64()}


# The same types as Spark has them.
KINDS = {
    "string": types.StringType(),
    "double": types.DoubleType(),
    "boolean": types.BooleanType(),
    "bigint": types.LongType(),
}


def check_names(by: Sequence[str], questions: Sequence[str] = tuple(QUESTIONS)) -> None:
    """Raises an error for a key with the name of a column of the result."""
    results = {name for question in questions for name in (*QUESTIONS[question].columns, *ALWAYS)}
    check_free(by, results, "rename it by withColumnRenamed")


def check_free(by: Sequence[str], results: Container[str], hint: str) -> None:
    """Raises an error for a key that is called as a result is; to Spark `N` is `n`."""
    taken = [name for name in by if name.lower() in results]
    if taken:
        raise input_error(
            "invalid_setting", f"by must not be called {taken[0]!r}, as a column of the result is: {hint}"
        )


@dataclass(frozen=True)
class Asking:
    """A question with its options; it travels to the executors."""

    question: str
    options: Mapping[str, Any]
    names: tuple[str, ...]

    def columns(self) -> dict[str, str]:
        """The columns of the result, each with its type in Spark."""
        return {**QUESTIONS[self.question].columns, **ALWAYS}

    def try_on(self, sketch: Sketch) -> None:
        """Asks one sketch, and raises what that raises."""
        QUESTIONS[self.question].answer(sketch, self.options)

    def stage(self) -> Callable[[Batches], Batches]:
        """The function for `mapInArrow`."""

        def ask(batches: Batches) -> Batches:
            with threads(1):
                for batch in batches:
                    for start in range(0, batch.num_rows, _MOST_ROWS):
                        yield self._asked(batch.slice(start, _MOST_ROWS))

        return ask

    def _asked(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        rows: list[Row] = []
        places: list[int] = []
        for place, part in enumerate(batch.column(SKETCH).to_pylist()):
            answers = self._answers(Sketch.from_bytes(part))
            rows += answers
            places += [place] * len(answers)
        taken = pa.array(places, pa.int64())
        columns = {name: batch.column(name).take(taken) for name in self.names}
        values = {name: pa.array([row.get(name) for row in rows], ARROW[kind]) for name, kind in self.columns().items()}
        return pa.RecordBatch.from_arrays([*columns.values(), *values.values()], [*columns, *values])

    def _answers(self, sketch: Sketch) -> list[Row]:
        always = {"n": sketch.n, "n_left_out": sum(sketch.left_out.values())}
        try:
            return [{**row, **always} for row in QUESTIONS[self.question].answer(sketch, self.options)]
        except CalipersError as error:
            # One group without a value is no reason to have none for the others.
            return [{**always, "measure": self.options.get("measure"), "error": str(error)}]
