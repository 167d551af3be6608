"""A Parquet file with two columns: `calipers measure` against DuckDB's sums of them, each in its own process."""

from __future__ import annotations

import json
import shutil
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from bench.contenders import SIGMA
from bench.data import BLOCK, block
from bench.launching import launch

# What a row takes at most: a double that does not compress, and an outcome.
BYTES_A_ROW = 10

DUCKDB = """
import sys, time
import duckdb
# A progress bar would stand in the output where the machine is slow.
connection = duckdb.connect(config={"threads": 2})
connection.execute("set enable_progress_bar = false")
start = time.perf_counter()
connection.execute("select sum(p), sum(y) from read_parquet(?)", [sys.argv[1]]).fetchone()
print(time.perf_counter() - start)
"""


@dataclass
class ParquetRace:
    """Best times and largest peaks of both."""

    n: int
    file_mib: float
    runs: int
    calipers_seconds: float
    calipers_peak_mib: float
    calipers_value: float
    duckdb_query_seconds: float
    duckdb_process_seconds: float
    duckdb_peak_mib: float

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def race_parquet(n: int, command: Path, folder: Path, *, turns: int) -> ParquetRace | str:
    """The race, or the reason that it was not run."""
    free, needed = shutil.disk_usage(folder).free, n * BYTES_A_ROW
    if free < 2 * needed:
        return f"needs {2 * needed / 1e9:.1f} GB free in the temporary folder, which has {free / 1e9:.1f}"
    path = folder / f"predictions_{n}.parquet"
    try:
        _write(n, path)
        return _race(n, command, path, turns)
    finally:
        path.unlink(missing_ok=True)


def _write(n: int, path: Path) -> None:
    """As pyarrow and pandas write a file unless told otherwise; n is a multiple of a block, or less than one."""
    schema = pa.schema([("p", pa.float64()), ("y", pa.int64())])
    with pq.ParquetWriter(path, schema) as writer:
        for start in range(0, n, BLOCK):
            rows = block(start // BLOCK)
            stop = min(BLOCK, n - start)
            writer.write_table(pa.table({"p": rows.p[:stop], "y": rows.y[:stop]}, schema=schema))


def _race(n: int, command: Path, path: Path, turns: int) -> ParquetRace:
    measure = [str(command), "measure", str(path), "--prob", "p", "--label", "y", "--sigma", str(SIGMA), "--json"]
    duckdb = [sys.executable, "-c", DUCKDB, str(path)]
    # One run of each that does not count: the file is in memory for all that follow.
    calipers_runs, duckdb_runs = [launch(measure)], [launch(duckdb)]
    for _ in range(turns):
        calipers_runs.append(launch(measure))
        duckdb_runs.append(launch(duckdb))
    calipers_runs, duckdb_runs = calipers_runs[1:], duckdb_runs[1:]
    return ParquetRace(
        n=n,
        file_mib=path.stat().st_size / 2**20,
        runs=turns,
        calipers_seconds=min(usage["seconds"] for usage, _ in calipers_runs),
        calipers_peak_mib=max(usage["peak_kib"] for usage, _ in calipers_runs) / 1024,
        calipers_value=_ls_ece_of(calipers_runs[0][1]),
        duckdb_query_seconds=min(float(output) for _, output in duckdb_runs),
        duckdb_process_seconds=min(usage["seconds"] for usage, _ in duckdb_runs),
        duckdb_peak_mib=max(usage["peak_kib"] for usage, _ in duckdb_runs) / 1024,
    )


def _ls_ece_of(output: str) -> float:
    """The value in the JSON of `calipers measure`."""
    return float(json.loads(output)["results"][0]["measures"]["ls_ece"]["value"])
