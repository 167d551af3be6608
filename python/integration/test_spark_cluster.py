"""Spark on several executors: two of a local cluster, and two workers of a master, one of which is killed."""

from __future__ import annotations

import os
import re
import resource
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import calipers
import numpy as np
import pytest

pytest.importorskip("pyspark", reason="pyspark not installed")

import pyarrow as pa
import pyspark
from calipers import spark
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sql
from spark_rows import QUIET, generated, sketched, written

HOME = Path(pyspark.__file__).parent
MEBIBYTE = 1 << 20
N_GROUPS = 100_000
# Tasks of the job in the middle of which a worker is killed.
N_SLOW = 30


@contextmanager
def on(master: str, **settings: str) -> Iterator[SparkSession]:
    """A session there, for as long as a block."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["SPARK_HOME"] = str(HOME)
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    session = spark.session(
        master,
        **QUIET,
        spark__executor__memory="1g",
        spark__executor__cores="1",
        spark__sql__shuffle__partitions="8",
        spark__driver__host="127.0.0.1",
        **settings,
    )
    try:
        yield session
    finally:
        session.stop()


# Two executors of a local cluster


def test_a_hundred_thousand_groups_and_a_skewed_one_fit_into_a_gibibyte(tmp_path: Path) -> None:
    n = 2_000_000
    columns = generated(n, seed=5)
    # Nine rows in ten are of one group, the others of a hundred thousand: two each, in different
    # files.
    place = np.arange(n)
    columns["g"] = np.where(place % 10 < 9, -1, place // 10 % N_GROUPS).astype(np.int32)
    folder = str(written(columns, tmp_path / "rows", n_files=8))
    with on("local-cluster[2,1,1024]", spark__sql__files__maxPartitionBytes="4m") as session:
        df = session.read.parquet(folder)
        found = spark.sketch(df, prob="p", label="y", by="g")
        assert (found.n, found.n_groups) == (n, N_GROUPS + 1)
        peak = peak_of_workers(session)
        wanted = [-1, 0, 1, 54_321, N_GROUPS - 1]
        sketches = {row.g: bytes(row.sketch) for row in found.dataframe.where(sql.col("g").isin(wanted)).collect()}
        for key in wanted:
            assert sketches[key] == sketched(columns, columns["g"] == key), key
        assert found.merged().to_bytes() == sketched(columns)
        measured = found.measure("brier_score")
        assert measured.where("value is not null").count() == N_GROUPS + 1
        print(f"\n{N_GROUPS + 1:,} groups: Python workers took {peak / MEBIBYTE:.0f} MiB at most")
        assert peak < 1024 * MEBIBYTE
        found.unpersist()


def peak_of_workers(session: SparkSession) -> int:
    """The most memory that any Python worker has had; workers are kept from job to job."""

    def peak(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for _ in batches:
            pass
        yield pa.RecordBatch.from_arrays([pa.array([resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024])], ["b"])

    found = session.range(0, 64, 1, 16).mapInArrow(peak, "b bigint").agg(sql.max("b")).first()
    assert found is not None
    return int(found[0])


# A master and two workers


class Cluster(NamedTuple):
    master: str
    workers: list[subprocess.Popen[bytes]]


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    """A standalone master with two workers of one core and a gibibyte each, on loopback."""
    started: list[subprocess.Popen[bytes]] = []

    def start(name: str, role: str, *arguments: object) -> Path:
        log = tmp_path / f"{name}.log"
        environment = {
            **os.environ,
            "SPARK_LOCAL_IP": "127.0.0.1",
            "SPARK_HOME": str(HOME),
            "SPARK_DAEMON_MEMORY": "256m",
        }
        with log.open("wb") as out:
            # A group of its own, so that it ends with all that it has started.
            started.append(
                subprocess.Popen(
                    [HOME / "bin" / "spark-class", f"org.apache.spark.deploy.{role}", *map(str, arguments)],
                    stdout=out,
                    stderr=out,
                    env=environment,
                    start_new_session=True,
                )
            )
        return log

    try:
        log = start("master", "master.Master", "--host", "127.0.0.1", "--port", 0, "--webui-port", 0)
        master = said(log, re.compile(r"Starting Spark master at (spark://\S+)"))
        for number in range(2):
            folder = tmp_path / f"worker{number}"
            log = start(
                f"worker{number}",
                "worker.Worker",
                "--host",
                "127.0.0.1",
                "--webui-port",
                0,
                "-c",
                1,
                "-m",
                "1g",
                "-d",
                folder,
                master,
            )
            said(log, re.compile(r"(Successfully registered) with master"))
        yield Cluster(master, started[1:])
    finally:
        for process in started:
            end(process)


def said(log: Path, what: re.Pattern[str]) -> str:
    """What a daemon has written, when it has."""
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        found = what.search(log.read_text(errors="replace"))
        if found:
            return found[1]
        time.sleep(0.2)
    raise AssertionError(log.read_text(errors="replace"))


def end(process: subprocess.Popen[bytes]) -> None:
    """Ends a daemon and what it has started, at once."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def test_a_worker_that_is_killed_changes_no_byte(cluster: Cluster, tmp_path: Path) -> None:
    columns = generated(200_000, seed=7)
    folder = str(written(columns, tmp_path / "rows", n_files=N_SLOW))
    began, hold = tmp_path / "began", tmp_path / "hold"
    began.mkdir()

    def slowly(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            # PySpark has a process for each executor, which starts those that work.
            (began / f"{os.getppid()}-{time.monotonic_ns()}").touch()
            time.sleep(0.2)
            while hold.exists():
                time.sleep(0.05)
            yield batch

    with on(
        cluster.master, spark__sql__files__maxPartitionBytes="64k", spark__sql__files__openCostInBytes="64k"
    ) as session:
        df = session.read.parquet(folder)
        rows: DataFrame = df.mapInArrow(slowly, df.schema)
        found: dict[str, Any] = {}

        def job() -> None:
            found["sketches"] = spark.sketch(rows, prob="p", label="y", weight="w", by="g")

        thread = threading.Thread(target=job)
        thread.start()

        def executors() -> set[str]:
            return {path.name.split("-")[0] for path in began.iterdir()}

        deadline = time.monotonic() + 120
        while (len(executors()) < 2 or len(list(began.iterdir())) < 8) and time.monotonic() < deadline:
            time.sleep(0.1)
        # Now each executor is in the middle of a task, which is lost with it.
        hold.touch()
        time.sleep(2)
        assert len(executors()) == 2 and len(list(began.iterdir())) < N_SLOW, "in the middle of the job, on both"
        end(cluster.workers[0])
        hold.unlink()
        thread.join(timeout=180)
        assert not thread.is_alive() and "sketches" in found
        assert len(list(began.iterdir())) > N_SLOW, "tasks of the killed worker have run again"
        sketches = found["sketches"].collect()
        for key, sketch in sketches.items():
            assert sketch.to_bytes() == sketched(columns, columns["g"] == key, weighted=True)
        total = calipers.Sketch()
        for sketch in sketches.values():
            total.merge(sketch)
        assert total.to_bytes() == sketched(columns, weighted=True)
