"""The last stage of a question to many groups: p-values that are adjusted for their number."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import pyarrow as pa
from pyspark.sql import DataFrame

from calipers import _core
from calipers._assess import Adjust as Method
from calipers.spark._fill_sketches import Batches

Adjust: TypeAlias = Method | None


@dataclass(frozen=True)
class Adjusting:
    """Which p-values are adjusted, and by which method; it travels to an executor."""

    method: str
    p_value: str
    p_adjusted: str

    def applied(self, answers: DataFrame, n_parts: int) -> DataFrame:
        """The answers, of `n_parts` tasks, with adjusted p-values.

        One task sees all of them, since each p-value counts for the others.
        """
        alone = answers.coalesce(1) if n_parts <= 1 else answers.repartition(1)
        return alone.mapInArrow(self.stage(), answers.schema)

    def stage(self) -> Callable[[Batches], Batches]:
        """The function for `mapInArrow`."""

        def adjust(batches: Batches) -> Batches:
            waiting = list(batches)
            p_values = [p for batch in waiting for p in batch.column(self.p_value).to_pylist()]
            # A group without a p-value is no test.
            adjusted = iter(_core.adjust([p for p in p_values if p is not None], self.method))
            every = iter([None if p is None else next(adjusted) for p in p_values])
            for batch in waiting:
                values = pa.array([next(every) for _ in range(batch.num_rows)], pa.float64())
                place = batch.schema.get_field_index(self.p_adjusted)
                yield batch.set_column(place, self.p_adjusted, values)

        return adjust


def check_adjust(adjust: Adjust) -> None:
    """Raises an error for a method that there is not."""
    if adjust is not None:
        _core.adjust([], adjust)
