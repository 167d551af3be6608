"""The rows of a call and how they are read: what every function has in common."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import copy
from typing import TYPE_CHECKING, TypeVar

from calipers import _core
from calipers._arrays import ArrayLike
from calipers._estimate import Estimate, from_dict
from calipers._inputs import (
    Columns,
    Invalid,
    Multiclass,
    Options,
    PosLabel,
    Ties,
    columns,
    positive_label,
    score_column,
)

if TYPE_CHECKING:
    from calipers._core import _Assessed, _Compared, _Page

T = TypeVar("T")


class Rows:
    """Columns with the options that say what they mean; the core is asked about them."""

    def __init__(
        self,
        y_true: ArrayLike,
        y_prob: ArrayLike,
        sample_weight: ArrayLike | None,
        from_logits: bool,
        multiclass: Multiclass,
        ties: Ties,
        pos_label: PosLabel,
        sum_tolerance: float,
        invalid: Invalid,
    ) -> None:
        self._columns = columns(y_true, y_prob, sample_weight, from_logits)
        self._options: Options = {
            "from_logits": from_logits,
            "multiclass": multiclass,
            "ties": ties,
            "pos_label": positive_label(pos_label, self._columns.labels),
            "sum_tolerance": sum_tolerance,
            "invalid": invalid,
        }

    def with_scores(self, y_prob: ArrayLike) -> Rows:
        """The same rows with the probabilities of another model."""
        other = copy(self)
        scores, missing = score_column(y_prob, bool(self._options["from_logits"]))
        other._columns = self._columns._replace(scores=scores, missing_scores=missing)
        return other

    def estimate(self, measure: str, **options: object) -> Estimate:
        """What the measure of that name says."""
        return from_dict(_core.estimate(measure, self._columns, {**options, **self._options}))

    def assess(self, measure: str, **options: object) -> _Assessed:
        """How much of what it says can be trusted."""
        return _core.assess(measure, self._columns, {**options, **self._options})

    @staticmethod
    def compare(models: Mapping[str, Rows], measure: str, **options: object) -> _Compared:
        """How models differ, all read with the options of the first."""
        columns = [(name, rows._columns) for name, rows in models.items()]
        of_rows = next((rows._options for rows in models.values()), {})
        return _core.compare(measure, columns, {**options, **of_rows})

    @staticmethod
    def report(models: Mapping[str, Rows], **options: object) -> _Page:
        """A page about models, all read with the options of the first."""
        columns = [(name, rows._columns) for name, rows in models.items()]
        of_rows = next((rows._options for rows in models.values()), {})
        return _core.report(columns, {**options, **of_rows})

    def ask(self, question: Callable[[Columns, Options], T], **options: object) -> T:
        """What a function of the core says."""
        return question(self._columns, {**options, **self._options})
