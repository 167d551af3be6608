"""The results of a run, for the checks and the report."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from bench.parquet import ParquetRace
from bench.recalibration import Race
from bench.sketches import Line
from bench.timing import Timing


@dataclass
class Row:
    """One contender at one size."""

    n: int
    key: str
    package: str
    call: str
    quantity: str
    seconds: float
    runs: int
    value: float
    # None where the quantity has no truth but its own.
    truth: float | None
    truth_by: str
    extra_mib: float | None = None

    @property
    def distance(self) -> float | None:
        return None if self.truth is None else abs(self.value - self.truth)


@dataclass
class Results:
    """Everything, with the facts of the machine."""

    quick: bool
    machine: dict[str, str]
    population_ece: float
    rows: list[Row] = field(default_factory=list)
    # Extra MiB of calipers alone, by (n, sigma).
    calipers_memory: list[tuple[int, float, float]] = field(default_factory=list)
    # Seconds of calipers at two sizes, measured in turn.
    growth: dict[int, Timing] = field(default_factory=dict)
    # Bytes a second that the machine reads from memory.
    bandwidths: dict[str, float] = field(default_factory=dict)
    top_class: dict[str, Timing] = field(default_factory=dict)
    top_class_shape: tuple[int, int] = (0, 0)
    # Every measure of one column, by name, at `measures_n` rows.
    measures: dict[str, Timing] = field(default_factory=dict)
    measures_n: int = 0
    recalibration: list[Race] = field(default_factory=list)
    parquet: ParquetRace | str = "not run"
    # Largest resident MiB of `calipers sketch --by`, by the number of groups.
    groups: dict[int, float] = field(default_factory=dict)
    sketches: list[Line] = field(default_factory=list)
    sizes: list[Line] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    seconds: float = 0.0

    def row(self, key: str, n: int) -> Row | None:
        return next((row for row in self.rows if (row.key, row.n) == (key, n)), None)

    def to_dict(self) -> dict[str, Any]:
        out = asdict(self)
        for row, fields in zip(self.rows, out["rows"], strict=True):
            fields["distance"] = row.distance
        return out
