"""Sketches: small batches, bytes, merges and groups.

python -m bench.sketches [--command PATH-OF-CALIPERS] [--extension PATH] runs these lines alone.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import calipers
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from bench import data
from bench.launching import launch
from bench.timing import race

# Calls in one timing, and rows of a sketch that is merged.
N_CALLS = 1000
ROWS_OF_A_SKETCH = 10_000
BATCH = 256

# Files of a folder, and groups in them.
N_FILES = 20
COUNTRIES = [f"country {k:02}" for k in range(30)]
MODELS = [f"model {k}" for k in range(5)]

# CPU seconds of the query alone, in a process of its own.
DUCKDB = """
import resource, sys
import duckdb
query, rows, extension = sys.argv[1:]
connection = duckdb.connect(config={"threads": 2, "allow_unsigned_extensions": "true"})
# A progress bar would stand in the output where the machine is slow.
connection.execute("set enable_progress_bar = false")
if extension:
    connection.execute(f"load '{extension}'")
def cpu():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime
start = cpu()
connection.execute(query, [rows]).fetchall()
print(cpu() - start)
"""

# ECE with 15 bins by group, and sketches by group.
ECE = """
select {by}, sum(abs(sy - sp)) / sum(n) from (
    select {by}, least(floor(p * 15), 14) bin, count(*) n, sum(p) sp, sum(y) sy
    from read_parquet(?) group by all
) group by {by}"""
SKETCHES = "select {by}, calipers_sketch(p, y) from read_parquet(?) group by {by}"


@dataclass
class Line:
    """A value, and the limit that is claimed for it."""

    claim: str
    value: float
    limit: float
    # Whether the value must not be below its limit, rather than above.
    at_least: bool = False

    @property
    def holds(self) -> bool:
        return self.value >= self.limit if self.at_least else self.value <= self.limit


def lines(command: Path | None, extension: Path | None, folder: Path, *, quick: bool) -> list[Line]:
    """All of them; those of the command and of the DuckDB extension if there are such."""
    turns = 3 if quick else 7
    found = [*_updates(turns), *_torch(turns), *_sizes(), *_merges(turns)]
    return found + _groups(10**6 if quick else 10**7, command, extension, folder, turns)


def _updates(turns: int) -> list[Line]:
    rows = data.sample(100 * N_CALLS)
    singles = [(rows.y[k : k + 1], rows.p[k : k + 1]) for k in range(N_CALLS)]
    hundreds = [(rows.y[k : k + 100], rows.p[k : k + 100]) for k in range(0, 100 * N_CALLS, 100)]
    weights = np.ones(100)
    logits = [(y, np.log(p / (1 - p))) for y, p in hundreds]

    def updated(batches: list[tuple[np.ndarray, np.ndarray]], **options: object) -> float:
        sketch = calipers.Sketch()
        for y, p in batches:
            sketch.update(y, p, **options)
        return float(sketch.n)

    timings = race(
        {
            "one": lambda: updated(singles),
            "hundred": lambda: updated(hundreds),
            "weighted": lambda: updated(hundreds, sample_weight=weights),
            "logits": lambda: updated(logits, from_logits=True),
        },
        turns=turns,
        budget=10,
    )
    speed = {key: timing.value / timing.seconds for key, timing in timings.items()}
    return [
        Line("updates of one row: thousands a second", speed["one"] / 1e3, 200, at_least=True),
        Line("updates of 100 rows: million rows a second", speed["hundred"] / 1e6, 8, at_least=True),
        Line("the same with weights", speed["weighted"] / 1e6, 3, at_least=True),
        Line("the same of raw scores", speed["logits"] / 1e6, 3, at_least=True),
    ]


def _torch(turns: int) -> list[Line]:
    import torch
    from calipers.torch import LogitSmoothedECE
    from torchmetrics.classification import BinaryCalibrationError

    rows = data.sample(100 * BATCH)
    p, y = torch.from_numpy(rows.p).float(), torch.from_numpy(rows.y).long()
    batches = list(zip(p.split(BATCH), y.split(BATCH), strict=True))

    def updated(metric: object) -> float:
        for batch in batches:
            metric.update(*batch)
        return 0.0

    ours, theirs = LogitSmoothedECE(), BinaryCalibrationError(n_bins=15)
    calls = {"calipers": lambda: updated(ours), "torchmetrics": lambda: updated(theirs)}
    timings = race(calls, turns=turns, budget=10)
    ratio = timings["calipers"].seconds / timings["torchmetrics"].seconds
    return [Line(f"torch updates of {BATCH} rows, times those of torchmetrics' ECE", ratio, 1.5)]


def _sketch(n: int, seed: int, **options: object) -> calipers.Sketch:
    random = np.random.default_rng([data.SEED, n, seed])
    p = 1 / (1 + np.exp(-random.normal(0, 2, n)))
    return calipers.Sketch(**options).update((random.random(n) < p).astype(np.int64), p)


def _sizes() -> list[Line]:
    n = ROWS_OF_A_SKETCH
    exact, small = (len(_sketch(n, 0, profile=profile).to_bytes()) for profile in ("exact", "monitoring"))
    return [
        Line(f"bytes of {n:,} rows, over those of doubles and bits", exact / (n * 65 / 8), 0.5),
        Line(f"bytes of {n:,} rows, profile monitoring", small, 10_000),
        Line("bytes of 16 rows, over those of doubles and bytes", len(_sketch(16, 0).to_bytes()) / (16 * 9), 1),
    ]


def _merges(turns: int) -> list[Line]:
    sketches = [_sketch(ROWS_OF_A_SKETCH, seed) for seed in range(N_CALLS)]

    def merged(parts: list[bytes]) -> float:
        whole = calipers.Sketch()
        for part in parts:
            whole.merge(calipers.Sketch.from_bytes(part))
        return float(whole.n)

    parts = {version: [each.to_bytes(version=version) for each in sketches] for version in (3, 4)}
    calls = {str(version): lambda each=each: merged(each) for version, each in parts.items()}
    timings = race(calls, turns=turns, budget=10)
    seconds = {version: timing.seconds for version, timing in timings.items()}
    return [
        Line(f"{N_CALLS:,} sketches of {ROWS_OF_A_SKETCH:,} rows read and merged, s", seconds["4"], 0.25),
        Line("the same, times version 3 of the format", seconds["4"] / seconds["3"], 1.1),
    ]


def _groups(n: int, command: Path | None, extension: Path | None, folder: Path, turns: int) -> list[Line]:
    rows = folder / "rows"
    rows.mkdir()
    for number in range(N_FILES):
        _write_groups(n // N_FILES, number, rows / f"part-{number:03}.parquet")
    columns = (["country"], ["country", "model"])
    found = [_of_command(n, by, command, rows, turns) for by in columns if command]
    found += [_of_extension(n, by, extension, rows, turns) for by in columns if extension]
    shutil.rmtree(rows)
    return found


def _write_groups(n: int, number: int, path: Path) -> None:
    """Countries of very different sizes, and models of one size."""
    random = np.random.default_rng([data.SEED, n, number])
    p = 1 / (1 + np.exp(-random.normal(0, 2, n)))
    country = np.minimum((random.pareto(1.2, n) * 3).astype(int), len(COUNTRIES) - 1)
    model = random.integers(0, len(MODELS), n)
    names = {"country": (country, COUNTRIES), "model": (model, MODELS)}
    keys = {key: pa.DictionaryArray.from_arrays(*column).cast(pa.string()) for key, column in names.items()}
    pq.write_table(pa.table({"p": p, "y": (random.random(n) < p).astype(np.int64), **keys}), path)


def _of_command(n: int, by: list[str], command: Path, rows: Path, turns: int) -> Line:
    out = str(rows.parent / "sketches.parquet")
    sketch = [str(command), "sketch", str(rows), "--prob", "p", "--label", "y", "-o", out]
    for name in by:
        sketch += ["--by", name]
    claim = f"`sketch {' '.join(f'--by {name}' for name in by)}`, {n:,} rows in {N_FILES} files"
    return _against_ece(claim, by, rows, turns, lambda: launch(sketch)[0]["cpu_seconds"], 3)


def _of_extension(n: int, by: list[str], extension: Path, rows: Path, turns: int) -> Line:
    claim = f"DuckDB extension, `calipers_sketch` by {' and '.join(by)}, {n:,} rows"
    return _against_ece(claim, by, rows, turns, lambda: _query(SKETCHES, by, rows, extension), 4)


def _against_ece(claim: str, by: list[str], rows: Path, turns: int, ours: Callable[[], float], limit: float) -> Line:
    """CPU seconds in turn with those of DuckDB's ECE over the same rows."""
    times = [(ours(), _query(ECE, by, rows)) for _ in range(turns)]
    ratio = min(our for our, _ in times) / min(their for _, their in times)
    return Line(f"{claim}: CPU over that of DuckDB's ECE by group", ratio, limit)


def _query(query: str, by: list[str], rows: Path, extension: Path | str = "") -> float:
    query = query.format(by=", ".join(by))
    return float(launch([sys.executable, "-c", DUCKDB, query, str(rows / "*.parquet"), str(extension)])[1])


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.sketches")
    parser.add_argument("--command", type=Path, help="the calipers command, as released")
    parser.add_argument("--extension", type=Path, help="the DuckDB extension, as released")
    parser.add_argument("--quick", action="store_true", help="smaller sizes and fewer repetitions")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="calipers-bench-") as name:
        for line in lines(arguments.command, arguments.extension, Path(name), quick=arguments.quick):
            sign = "at least" if line.at_least else "at most"
            print(f"{'ok ' if line.holds else 'NOT'} {line.value:10.3f}  {sign} {line.limit:g}  {line.claim}")


if __name__ == "__main__":
    main()
