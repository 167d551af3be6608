"""Many groups in Spark: few tasks, little shuffle, expressions as keys, adjusted p-values, and drift by group."""

from __future__ import annotations

import doctest
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import calipers
import numpy as np
import pytest

pytest.importorskip("pyspark", reason="pyspark not installed")

import pyarrow as pa
from calipers import CalipersError, spark
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sql
from spark_rows import N_GROUPS, QUIET, Watched, generated, sketched

N = 40_000


@pytest.fixture(scope="module")
def session() -> Iterator[SparkSession]:
    made = spark.session(
        "local[2]",
        **QUIET,
        spark__driver__memory="1g",
        spark__sql__session__timeZone="UTC",
        # Spark's own number, said because a JVM keeps the settings of the session that started it.
        spark__sql__shuffle__partitions="200",
    )
    yield made
    made.stop()


@pytest.fixture(scope="module")
def columns() -> dict[str, np.ndarray]:
    found = generated(N, seed=11)
    found["h"] = (np.arange(N) % 5).astype(np.int32)
    return found


@pytest.fixture(scope="module")
def df(session: SparkSession, columns: dict[str, np.ndarray]) -> DataFrame:
    return session.createDataFrame(pa.table(columns)).repartition(6).cache()


# Tasks and shuffles


def test_what_fits_the_driver_is_one_job_and_asked_in_one_task(session: SparkSession, df: DataFrame) -> None:
    df.count()
    with Watched(session) as watched:
        found = spark.sketch(df, prob="p", label="y", by=["g", "h"])
    # Spark makes two of what is kept: one that reads, and one that brings what it has kept.
    assert watched.n_jobs <= 2 and watched.n_tasks <= 12 and watched.n_shuffled == 0, watched
    with Watched(session) as watched:
        fewer = found.merged_by("g")
        assert fewer.n_groups == N_GROUPS and fewer.n == N
    assert watched.n_jobs == 0, "the driver has merged them"
    with Watched(session) as watched:
        assert len(found.measure("brier_score").collect()) == 5 * N_GROUPS
    assert watched.n_tasks == 1
    with Watched(session) as watched:
        assert found.where("g < 2 and h = 1").n_groups == 2
        assert found.where(sql.col("g") == 3).n_groups == 5
    assert watched.n_tasks == 2


def test_beyond_the_driver_tasks_follow_bytes(
    session: SparkSession, df: DataFrame, columns: dict[str, np.ndarray], monkeypatch: pytest.MonkeyPatch
) -> None:
    from calipers.spark import _gather

    monkeypatch.setattr(_gather, "ROOM_OF_DRIVER", 0)
    df.count()
    with Watched(session) as watched:
        found = spark.sketch(df, prob="p", label="y", weight="w", by=["g", "h"])
    # Six that read, one that merges, and few that count: not 200 for each stage.
    assert watched.n_tasks <= 30 and watched.n_shuffled < 10_000, watched
    assert found._found.kept is not None and found._found.n_parts == 1
    with Watched(session) as watched:
        by_g = found.merged_by("g").collect()
        assert len(found.measure("brier_score").collect()) == 5 * N_GROUPS
    assert watched.n_tasks <= 10, watched
    for key in (0, 7):
        assert by_g[key].to_bytes() == sketched(columns, columns["g"] == key, weighted=True)
    # Several tasks, each with the sketches of its keys.
    monkeypatch.setattr(_gather, "_BYTES_OF_A_TASK", 1 << 15)
    several = spark.sketch(df, prob="p", label="y", weight="w", by=["g", "h"])
    assert several._found.n_parts > 1
    assert {row.g for row in several.measure("brier_score").collect()} == set(range(N_GROUPS))
    assert several.collect() == found.collect()
    found.unpersist()
    several.unpersist()


def test_without_groups_nothing_is_shuffled(
    session: SparkSession, df: DataFrame, columns: dict[str, np.ndarray], monkeypatch: pytest.MonkeyPatch
) -> None:
    from calipers.spark import _gather

    monkeypatch.setattr(_gather, "ROOM_OF_DRIVER", 0)
    monkeypatch.setattr(_gather, "_BYTES_OF_A_TASK", 1 << 18)
    df.count()
    with Watched(session) as watched:
        merged = spark.sketch(df, prob="p", label="y").merged()
    assert merged.to_bytes() == sketched(columns)
    assert watched.n_shuffled < 10_000, "sketches are not shuffled; sums of their sizes are"


def test_settings_of_the_session_come_back(session: SparkSession, df: DataFrame) -> None:
    rows, size = (f"spark.sql.execution.arrow.max{what}PerBatch" for what in ("Records", "Bytes"))
    before = session.conf.get(size, None)
    session.conf.set(rows, "777")
    try:
        spark.sketch(df, prob="p", label="y", by="g")
        with pytest.raises(CalipersError):
            spark.sketch(df.withColumn("p", sql.lit(2.0)), prob="p", label="y")
        assert session.conf.get(rows) == "777" and session.conf.get(size, None) == before
    finally:
        session.conf.unset(rows)


# Keys


def test_groups_are_made_by_expressions(session: SparkSession, df: DataFrame, columns: dict[str, np.ndarray]) -> None:
    found = spark.sketch(df, prob="p", label="y", by=[sql.pmod("g", sql.lit(3)).alias("third"), "h"])
    assert found.by == ["third", "h"] and found.n_groups == 15
    own = (columns["g"] % 3 == 2) & (columns["h"] == 4)
    assert found.collect()[2, 4].to_bytes() == sketched(columns, own)
    assert spark.sketch(df, prob="p", label="y", by=sql.col("g") > 10).n_groups == 2
    # Called as a column of df is, it is not taken for that.
    assert spark.sketch(df, prob="p", label="y", by=(sql.col("g") % 2).alias("g")).n_groups == 2
    for by, text in [
        (sql.col("none") + 1, "by must be made of columns of df"),
        (sql.col("p") * 2, "groups must be whole numbers"),
        ([sql.col("g"), "g"], "by must name each column once"),
        (sql.col("g").alias("sketch"), "by must not be called 'sketch'"),
        (sql.col("g").alias("value"), "by must not be called 'value'"),
    ]:
        with pytest.raises(CalipersError, match=text):
            spark.sketch(df, prob="p", label="y", by=by)
    assert session.conf.get("spark.sql.shuffle.partitions") == "200"


def test_profiles_are_those_of_sketches(df: DataFrame, columns: dict[str, np.ndarray]) -> None:
    found = spark.sketch(df, prob="p", label="y", by="g", profile="monitoring")
    own = found.collect()
    assert own[5].to_bytes() == sketched(columns, columns["g"] == 5, profile="monitoring")
    assert found.merged().profile == "monitoring"


# P-values


def test_p_values_are_adjusted_for_the_number_of_groups(df: DataFrame) -> None:
    found = spark.sketch(df, prob="p", label="y", by="g")
    asked: dict[str, Any] = {"sigma": 0.3, "n_resamples": 100, "random_state": 1}
    rows = {row.g: row for row in found.assess(**asked).collect()}
    alone = {row.g: row for row in found.assess(**asked, adjust=None).collect()}
    order = sorted(rows, key=lambda g: rows[g].p_value)
    largest = 0.0
    for place, g in enumerate(order):
        largest = min(1.0, max(largest, (len(order) - place) * rows[g].p_value))
        assert rows[g].p_adjusted == pytest.approx(largest)
        assert alone[g].p_adjusted is None
        # More draws, where few of the first reached the value.
        assert rows[g].p_value == pytest.approx(alone[g].p_value, abs=0.05)
        assert (rows[g].value, rows[g].floor) == (alone[g].value, alone[g].floor)
    # With 100 draws alone it would be at least 23 / 101.
    assert min(row.p_adjusted for row in rows.values()) <= 0.05
    with pytest.raises(CalipersError, match="adjust must be"):
        found.assess(adjust="most")


def test_many_groups_are_assessed_in_several_tasks(session: SparkSession, df: DataFrame) -> None:
    found = spark.sketch(df, prob="p", label="y", by=["g", "h"])
    with Watched(session) as watched:
        rows = found.assess(measure="expected_calibration_error", n_resamples=20).collect()
    assert len(rows) == 5 * N_GROUPS and all(row.p_adjusted >= row.p_value for row in rows)
    assert 3 <= watched.n_tasks <= 20


# Drift


def test_drift_is_that_of_each_pair_of_sketches(
    session: SparkSession, df: DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    after_rows = df.where("h > 0 and g != 2").withColumn("y", sql.expr("case when g = 4 then 1 - y else y end"))
    before = spark.sketch(df.where("h = 0 and g != 1"), prob="p", label="y", by="g")
    after = spark.sketch(after_rows, prob="p", label="y", by="g")
    asked: dict[str, Any] = {"sigma": 0.3, "n_resamples": 60, "random_state": 3}
    rows = {row.g: row for row in spark.drift(before, after, **asked).collect()}
    assert sorted(rows) == list(range(N_GROUPS))
    assert rows[1].error == "the group has no rows before" and rows[2].error == "the group has no rows after"
    old, new = before.collect(), after.collect()
    for g in (0, 4, N_GROUPS - 1):
        one = calipers.drift(old[g], new[g], **asked)
        row = rows[g]
        assert (row.curve_p_value, row.log_odds, row.difference) == (
            one.curve.p_value,
            one.curve.log_odds,
            one.difference,
        )
        assert (row.lower, row.upper, row.sentence) == (one.interval.lower, one.interval.upper, one.sentence)
        assert (row.n_before, row.n_after, row.error) == (old[g].n, new[g].n, None)
        assert row.curve_p_adjusted >= row.curve_p_value
    # As many resamples as 23 groups need.
    assert rows[4].curve_p_adjusted == min(row.curve_p_adjusted for row in rows.values() if row.error is None)
    unknown = {row.g: row for row in spark.drift(before, after, sigma=0.3, adjust=None).collect()}
    assert all(row.curve_p_adjusted is None for row in unknown.values())
    with pytest.raises(CalipersError, match="before and after must be by the same columns"):
        spark.drift(before, spark.sketch(df, prob="p", label="y"))
    with pytest.raises(TypeError, match="must get Sketches, got DataFrame"):
        spark.drift(df, after)  # type: ignore[arg-type]
    whole = [found.merged_by() for found in (before, after)]
    (row,) = spark.drift(*whole, **asked).collect()
    assert row.difference == calipers.drift(before.merged(), after.merged(), **asked).difference

    # Kept by Spark, and by keys that can be null.
    from calipers.spark import _gather

    monkeypatch.setattr(_gather, "ROOM_OF_DRIVER", 0)
    key = sql.expr("if(g % 4 = 0, null, cast(g % 4 as string))").alias("k")
    kept = [spark.sketch(rows, prob="p", label="y", by=key) for rows in (df.where("h = 0"), after_rows)]
    pairs = {row.k: row for row in spark.drift(*kept, **asked).collect()}
    assert sorted(pairs, key=str) == ["1", "2", "3", None] and all(row.error is None for row in pairs.values())
    assert session.sparkContext is not None


# What is shown, written and said


def test_sketches_show_what_they_are(df: DataFrame) -> None:
    shown = spark.sketch(df, prob="p", label="y", by="g")._repr_html_()
    assert "40,000" in shown and "<table" in shown and "the driver" in shown and ">g<" in shown


def test_sketches_are_written_by_any_writer(session: SparkSession, df: DataFrame, tmp_path: Path) -> None:
    found = spark.sketch(df, prob="p", label="y", by="g")
    found.write(str(tmp_path / "orc"), format="orc", compression="none")
    assert list(tmp_path.glob("orc/*.orc")) and not list(tmp_path.glob("orc/*.snappy.orc"))
    assert spark.read(str(tmp_path / "orc"), format="orc").collect() == found.collect()
    assert spark.read(session.read.orc(str(tmp_path / "orc"))).n == N
    found.dataframe.write.saveAsTable("sketches_of_a_test", path=str(tmp_path / "table"))
    assert spark.read(session.table("sketches_of_a_test")).n_groups == N_GROUPS


def test_a_micro_batch_is_written_once_to_delta() -> None:
    from calipers.spark._stream import _save

    class Writer:
        """Remembers what it is told, as a writer of Spark would be."""

        def __init__(self) -> None:
            self.told: dict[str, Any] = {}

        def __getattr__(self, name: str) -> Any:
            def tell(*values: Any, **named: Any) -> Writer:
                self.told[name] = named or values[0]
                return self

            return tell

    delta, files = Writer(), Writer()
    _save(delta, "lake/t", "delta", "id", 7)  # type: ignore[arg-type]
    assert delta.told == {
        "format": "delta",
        "mode": "append",
        "options": {"txnAppId": "id", "txnVersion": "7"},
        "save": "lake/t",
    }
    _save(files, "lake/t/", "parquet", "id", 7)  # type: ignore[arg-type]
    assert files.told == {"format": "parquet", "mode": "overwrite", "save": "lake/t/query=id/batch=7"}


def test_another_python_on_executors_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    from calipers.spark._errors import clearly
    from pyspark.errors import PySparkException, PySparkRuntimeError

    monkeypatch.setenv("PYSPARK_PYTHON", "/opt/python3.9/bin/python3")
    raised = PySparkRuntimeError(
        errorClass="PYTHON_VERSION_MISMATCH", messageParameters={"worker_version": "3.9", "driver_version": "3.12"}
    )
    with pytest.raises(RuntimeError) as said, clearly():
        raise PySparkException(f"Job aborted.\nTraceback\npyspark.errors.PySparkRuntimeError: {raised}\nat java")
    assert not isinstance(said.value, PySparkException)
    text = str(said.value)
    assert "executors have Python 3.9 and the driver has 3.12" in text
    assert "PYSPARK_PYTHON is /opt/python3.9/bin/python3 here" in text
    with pytest.raises(ImportError, match="let PYSPARK_PYTHON or"), clearly():
        raise PySparkException("ModuleNotFoundError: No module named 'calipers'\n")


def test_docstrings_show_what_happens(session: SparkSession) -> None:
    from calipers.spark import _drift

    del session
    failed, tried = doctest.testmod(_drift, optionflags=doctest.NORMALIZE_WHITESPACE)
    assert tried > 4 and failed == 0


def test_python_of_the_workers_is_this_one() -> None:
    assert os.environ["PYSPARK_PYTHON"] == sys.executable
