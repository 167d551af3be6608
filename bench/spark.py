"""Sketches by group in Spark, against the cost of SQL queries over the same rows.

python -m bench.spark [--rows N] [--files N] [--turns N] [--short] needs pyspark and pandas beside calipers, and
Java 17. It prints CPU seconds of all processes (driver, Java, Python workers), bytes that were shuffled, and tasks,
as Markdown.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from calipers import spark
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sql

COUNTRIES, MODELS, N_BINS = 30, 5, 15
# What is asked of sketches by group: times the CPU of the SQL ECE, and megabytes of shuffle.
MOST_CPU, MOST_SHUFFLE = 2.5, 40
ALL = "groupBy.agg(count, avg)"
ECE = f"SQL: ECE with {N_BINS} bins by group"
GROUPED = "spark.sketch by group"


@dataclass
class Cost:
    """What a job has taken."""

    cpu: float
    shuffled: int
    tasks: int


class Session:
    """A Spark session on this machine, and what it has used."""

    def __init__(self) -> None:
        self._cpu = Cpu()
        self.spark: SparkSession = spark.session(
            "local[2]",
            spark__driver__memory="2g",
            spark__ui__enabled="false",
            spark__ui__showConsoleProgress="false",
            spark__log__level="ERROR",
        )

    def cost(self, job: Callable[[], Any]) -> Cost:
        """Runs the job."""
        before, cpu = self._stages(), self._cpu.seconds()
        job()
        cpu = self._cpu.seconds() - cpu
        new = [stage for number, stage in self._stages().items() if number not in before]
        # A stage that another job has run already is listed as skipped, without tasks.
        return Cost(
            cpu,
            sum(stage.shuffleWriteBytes() for stage in new),
            sum(stage.numCompleteTasks() for stage in new),
        )

    def _stages(self) -> dict[int, Any]:
        context = self.spark.sparkContext
        context._jsc.sc().listenerBus().waitUntilEmpty()
        doubles = context._gateway.new_array(context._jvm.double, 0)
        found = context._jsc.sc().statusStore().stageList(None, False, False, doubles, None)
        return {found.apply(place).stageId(): found.apply(place) for place in range(found.size())}


class Cpu:
    """CPU seconds of this process and all that it has started, also of those that have ended since.

    PySpark ends workers that wait for a minute, and nobody waits for them: so they are looked at every second.
    """

    def __init__(self) -> None:
        self._ticks: dict[tuple[int, str], int] = {}
        threading.Thread(target=self._watch, daemon=True).start()

    def seconds(self) -> float:
        self._look()
        return sum(list(self._ticks.values())) / os.sysconf("SC_CLK_TCK")

    def _watch(self) -> None:
        while True:
            self._look()
            time.sleep(1)

    def _look(self) -> None:
        children: dict[int, list[int]] = {}
        found: dict[int, tuple[str, int]] = {}
        for path in Path("/proc").glob("[0-9]*/stat"):
            try:
                fields = path.read_text().rpartition(")")[2].split()
            except OSError:
                continue
            number = int(path.parent.name)
            children.setdefault(int(fields[1]), []).append(number)
            # When it was started, and its own time.
            found[number] = fields[19], int(fields[11]) + int(fields[12])
        waiting = [os.getpid()]
        while waiting:
            number = waiting.pop()
            if number in found:
                start, ticks = found[number]
                self._ticks[number, start] = ticks
            waiting += children.get(number, [])


def write(folder: Path, n: int, n_files: int) -> None:
    """Predictions of five models in thirty countries, in any order."""
    random = np.random.default_rng(2026)
    countries = pa.array([f"{chr(65 + k // 26)}{chr(65 + k % 26)}" for k in range(COUNTRIES)])
    models = pa.array([f"model-{k}" for k in range(MODELS)])
    for part in range(n_files):
        rows = n * (part + 1) // n_files - n * part // n_files
        logits = random.normal(0, 2, rows)
        columns = {
            "p": 1 / (1 + np.exp(-logits)),
            "y": (random.random(rows) < 1 / (1 + np.exp(-0.8 * logits))).astype(np.int32),
            "country": countries.take(pa.array(random.integers(0, COUNTRIES, rows))),
            "model": models.take(pa.array(random.integers(0, MODELS, rows))),
        }
        pq.write_table(pa.table(columns), folder / f"part-{part:03}.parquet")


def jobs(df: DataFrame) -> dict[str, Callable[[], Any]]:
    """What is compared, in the order in which it runs; the later ones ask the sketches of the earlier."""
    keys = ["country", "model"]
    columns = df.select(*keys, "y", "p")
    held: dict[str, spark.Sketches] = {}

    def counted(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        n = sum(batch.num_rows for batch in batches)
        yield pa.RecordBatch.from_arrays([pa.array([n])], ["n"])

    def ece() -> Any:
        bins = sql.least(sql.floor(sql.col("p") * N_BINS), sql.lit(N_BINS - 1)).alias("bin")
        sums = df.groupBy(*keys, bins).agg(sql.count("*").alias("n"), sql.sum("p").alias("p"), sql.sum("y").alias("y"))
        return sums.groupBy(*keys).agg(sql.sum(sql.abs(sql.col("y") - sql.col("p"))) / sql.sum("n")).collect()

    def sketch(name: str, **options: Any) -> None:
        if name in held:
            held[name].unpersist()
        held[name] = spark.sketch(df, prob="p", label="y", **options)

    return {
        ALL: lambda: df.groupBy(*keys).agg(sql.count("*"), sql.avg("p")).collect(),
        ECE: ece,
        "mapInArrow that counts the same columns": lambda: (
            columns.mapInArrow(counted, "n bigint").agg(sql.sum("n")).collect()
        ),
        "spark.sketch": lambda: sketch("all"),
        GROUPED: lambda: sketch("exact", by=keys),
        '- then .merged_by("country").collect()': lambda: held["exact"].merged_by("country").collect(),
        "- then .measure().collect()": lambda: held["exact"].measure().collect(),
        f'{GROUPED}, profile="monitoring"': lambda: sketch("small", by=keys, profile="monitoring"),
        '- then .merged_by("country").collect() ': lambda: held["small"].merged_by("country").collect(),
        "- then .measure().collect() ": lambda: held["small"].measure(tolerance=1e-2).collect(),
    }


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.spark", description="sketches by group in Spark")
    parser.add_argument("--rows", type=int, default=50_000_000)
    parser.add_argument("--files", type=int, default=200)
    parser.add_argument("--turns", type=int, default=3, help="how often each job runs, in turn, after one warm-up")
    parser.add_argument(
        "--folder", type=Path, help="where the rows are kept from run to run; a temporary one if left out"
    )
    parser.add_argument("--short", action="store_true", help="only the two jobs that the limits compare")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="calipers-bench-") as name:
        folder = arguments.folder or Path(name)
        if not any(folder.glob("*.parquet")):
            folder.mkdir(exist_ok=True)
            write(folder, arguments.rows, arguments.files)
        run(folder, arguments.turns, short=arguments.short)


def run(folder: Path, turns: int, *, short: bool) -> None:
    """Runs the jobs in turn, and prints the median of each."""
    session = Session()
    todo = jobs(session.spark.read.parquet(str(folder)))
    if short:
        todo = {name: todo[name] for name in (ECE, GROUPED)}
    costs: dict[str, list[Cost]] = {name: [] for name in todo}
    for turn in range(turns + 1):
        for name, job in todo.items():
            cost = session.cost(job)
            if turn > 0:
                costs[name].append(cost)
    session.spark.stop()
    cpu = {name: statistics.median(cost.cpu for cost in found) for name, found in costs.items()}
    print("| job | CPU s | times the SQL ECE | shuffle, MB | tasks |\n|---|---|---|---|---|")
    for name, found in costs.items():
        ratio = statistics.median(own.cpu / base.cpu for own, base in zip(found, costs[ECE], strict=True))
        last = found[-1]
        print(f"| {name.strip()} | {cpu[name]:.1f} | {ratio:.2f} | {last.shuffled / 1e6:.1f} | {last.tasks} |")
    ratio = statistics.median(own.cpu / base.cpu for own, base in zip(costs[GROUPED], costs[ECE], strict=True))
    shuffled = max(cost.shuffled for cost in costs[GROUPED]) / 1e6
    holds = ratio <= MOST_CPU and shuffled <= MOST_SHUFFLE
    print(
        f"\n{'holds' if holds else 'FAILS'}: sketches by group take at most {MOST_CPU} times the CPU of the SQL ECE, "
        f"{ratio:.2f}, and shuffle at most {MOST_SHUFFLE} MB, {shuffled:.1f}"
    )


if __name__ == "__main__":
    main()
