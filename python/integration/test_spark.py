"""Spark on this machine, local[2]: the bytes of one core, errors in a sentence, windows that replay, at little cost."""

from __future__ import annotations

import doctest
import json
import os
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, NamedTuple

import calipers
import numpy as np
import pytest

pytest.importorskip("pyspark", reason="pyspark not installed")

import pyarrow as pa
import pyarrow.parquet as parquet
from calipers import CalipersError, spark
from pyspark.errors import StreamingQueryException
from pyspark.ml.functions import array_to_vector
from pyspark.sql import SparkSession, types
from pyspark.sql import functions as sql
from spark_rows import N_GROUPS, QUIET, ROOT, Watched, command, generated, sketched, written

# Fewer for those who try something out.
N = int(os.environ.get("CALIPERS_SPARK_ROWS", "10_000_000"))
DATA = os.environ.get("CALIPERS_DATA")


@pytest.fixture(scope="module")
def session() -> Iterator[SparkSession]:
    made = spark.session(
        "local[2]",
        **QUIET,
        spark__driver__memory="1g",
        spark__sql__shuffle__partitions="4",
        spark__sql__session__timeZone="UTC",
        # A file of the large tests is a partition.
        spark__sql__files__maxPartitionBytes="4m",
    )
    yield made
    made.stop()


@pytest.fixture(scope="module")
def many() -> dict[str, np.ndarray]:
    return generated(N)


@pytest.fixture(scope="module")
def files(many: dict[str, np.ndarray], tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(many, tmp_path_factory.mktemp("spark") / "rows")


# Of groups: cells that are as wide as LS-ECE allows from this sigma on.
COARSE = {"tolerance": 1e-6, "smallest_sigma": 0.1}


class OneCore(NamedTuple):
    """The sketches that one core makes of all rows, and coarse ones of three of the groups with weights."""

    all: bytes
    by_group: dict[int, bytes]


@pytest.fixture(scope="module")
def one_core(many: dict[str, np.ndarray]) -> OneCore:
    groups = {key: sketched(many, many["g"] == key, weighted=True, **COARSE) for key in (0, 11, N_GROUPS - 1)}
    return OneCore(sketched(many), groups)


@pytest.fixture
def few(session: SparkSession) -> Any:
    rows = [(0.9, 1, "de"), (0.2, 0, "de"), (0.6, 1, "fr"), (0.3, 0, "fr"), (0.8, 0, None)]
    return session.createDataFrame(rows, "p double, y int, country string")


# The same bytes


@pytest.mark.parametrize("n_partitions", [1, 7, 64])
def test_any_partitions_have_the_bytes_of_one_core(
    session: SparkSession, files: Path, one_core: OneCore, n_partitions: int
) -> None:
    df = session.read.parquet(str(files)).coalesce(n_partitions)
    assert df.rdd.getNumPartitions() == n_partitions
    found = spark.sketch(df, prob="p", label="y")
    assert (found.n, found.n_groups, found.by) == (N, 1, [])
    assert found.merged().to_bytes() == one_core.all

    by_group = spark.sketch(df, prob="p", label="y", weight="w", by="g", **COARSE).collect()
    assert sorted(by_group) == list(range(N_GROUPS))
    assert {key: by_group[key].to_bytes() for key in one_core.by_group} == one_core.by_group


def test_the_command_has_the_same_bytes(files: Path, one_core: OneCore, tmp_path: Path) -> None:
    of_rows = ["sketch", files / "*.parquet", "--prob", "p", "--label", "y"]
    coarse = ["--tolerance", COARSE["tolerance"], "--smallest-sigma", COARSE["smallest_sigma"]]
    command(*of_rows, "--weight", "w", "--by", "g", *coarse, "-o", tmp_path / "g.parquet")
    command(*of_rows, "-o", tmp_path / "all.calipers")
    by_group = calipers.read_sketches(tmp_path / "g.parquet")
    assert len(by_group) == N_GROUPS
    assert {key: by_group[str(key)].to_bytes() for key in one_core.by_group} == one_core.by_group
    assert (tmp_path / "all.calipers").read_bytes() == one_core.all


@pytest.mark.skipif(DATA is None, reason="shared data not found")
@pytest.mark.parametrize(
    "name", ["538_nba_games.csv", "cifar10_resnet20_akamaster.npz", "llm_stated_confidence.parquet"]
)
def test_real_files_have_the_same_bytes(session: SparkSession, name: str, tmp_path: Path) -> None:
    path = Path(str(DATA), name)
    reading: dict[str, Any] = {}
    if name.endswith(".npz"):
        arrays = np.load(path)
        scores, labels = arrays["logits"].astype(np.float64), arrays["labels"].astype(np.int64)
        reading = {"from_logits": True}
        lists = pa.FixedSizeListArray.from_arrays(scores.ravel(), scores.shape[1])
        table = pa.table({"p": lists.cast(pa.list_(pa.float64())), "y": labels})
    else:
        frame = (
            session.read.csv(str(path), header=True, inferSchema=True)
            if name.endswith("csv")
            else session.read.parquet(str(path))
        )
        rows = frame.select(sql.col("prob").cast("double"), sql.col("label").cast("int")).collect()
        scores, labels = np.array([row[0] for row in rows]), np.array([row[1] for row in rows])
        table = pa.table({"p": scores, "y": labels})
    weights, groups = np.random.default_rng(0).exponential(size=len(labels)), np.arange(len(labels)) % 3
    source = tmp_path / "rows.parquet"
    parquet.write_table(table.append_column("w", pa.array(weights)).append_column("g", pa.array(groups)), source)

    alone = calipers.Sketch().update(labels, scores, **reading).to_bytes()
    by_group = {
        key: calipers.Sketch().update(labels[own], scores[own], sample_weight=weights[own], **reading)
        for key in range(3)
        for own in [groups == key]
    }
    how = ["--prob", "p", "--label", "y", *(["--from-logits"] if reading else [])]
    command("sketch", source, *how, "-o", tmp_path / "all.calipers")
    assert (tmp_path / "all.calipers").read_bytes() == alone
    command("sketch", source, *how, "--weight", "w", "--by", "g", "-o", tmp_path / "groups.parquet")
    by_command = calipers.read_sketches(tmp_path / "groups.parquet")
    assert {int(key): sketch for key, sketch in by_command.items()} == by_group

    df = session.read.parquet(str(source))
    for n_partitions in (1, 7, 64):
        spread = df.repartition(n_partitions)
        assert spark.sketch(spread, prob="p", label="y", **reading).merged().to_bytes() == alone
    assert spark.sketch(df.repartition(7), prob="p", label="y", weight="w", by="g", **reading).collect() == by_group


def test_groups_are_merged_in_spark_where_they_are_many(session: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    from calipers.spark import _gather

    monkeypatch.setattr(_gather, "ROOM_OF_DRIVER", 0)
    columns = generated(50_000, seed=1)
    df = session.createDataFrame(pa.table(columns).to_pandas()).repartition(5)
    by_group = spark.sketch(df, prob="p", label="y", weight="w", by="g")
    assert by_group.n_groups == N_GROUPS and by_group.n == 50_000
    for key, sketch in by_group.collect().items():
        assert sketch.to_bytes() == sketched(columns, columns["g"] == key, weighted=True)
    assert by_group.merged().to_bytes() == sketched(columns, weighted=True)
    assert by_group.where("g < 2").n == np.count_nonzero(columns["g"] < 2)
    kept = set(session.sparkContext._jsc.getPersistentRDDs())
    by_group.unpersist()
    assert len(session.sparkContext._jsc.getPersistentRDDs()) == len(kept) - 1

    kept = set(session.sparkContext._jsc.getPersistentRDDs())
    # One group: in stages, until they are few.
    monkeypatch.setattr(_gather, "_BYTES_OF_A_TASK", 1 << 16)
    alone = spark.sketch(df, prob="p", label="y")
    assert alone.merged().to_bytes() == sketched(columns)
    assert set(session.sparkContext._jsc.getPersistentRDDs()) <= kept, "Spark keeps nothing of what the driver has"


def test_a_pass_with_more_groups_than_fit_is_handed_on_in_blocks() -> None:
    from calipers.spark._fill_sketches import Filling
    from calipers.spark._outgoing import BEYOND, FIRST_BEYOND, FITS

    n = 5_000
    columns = generated(n, seed=8)
    batch = pa.record_batch(
        [pa.array(np.arange(n) // 2), pa.array(columns["y"]), pa.array(columns["p"])], ["key_0", "label", "score"]
    )
    reading: dict[str, Any] = {
        "multiclass": None,
        "pos_label": None,
        "from_logits": False,
        "ties": "first",
        "sum_tolerance": 0.02,
        "invalid": "reject",
    }
    filling = Filling({}, reading, ("k",), most_bytes=1 << 20, room=1 << 20)
    rows = pa.Table.from_batches(filling.stage()(iter([batch])))
    assert rows["k"].to_pylist() == list(range(n // 2))
    n_at_once = len(rows["sketch"].chunks[0])
    assert 100 < n_at_once < 250, "as many as fit into half of it"
    # Those that come first would fit without the others.
    assert rows["calipers_room"].to_pylist() == [FIRST_BEYOND] + [BEYOND] * (n // 2 - 1)
    large = pa.Table.from_batches(Filling({}, reading, ("k",), 1 << 30, room=1 << 30).stage()(iter([batch])))
    assert set(large["calipers_room"].to_pylist()) == {FITS}
    for key in (0, 99, 100, 2_499):
        own = slice(2 * key, 2 * key + 2)
        assert rows["sketch"][key].as_py() == sketched(columns, own)


# How rows are read


def test_arrays_vectors_and_logits_are_read_as_by_python(session: SparkSession) -> None:
    rng = np.random.default_rng(2)
    logits = 3 * rng.standard_normal((2_000, 4))
    labels = rng.integers(0, 4, 2_000).astype(np.int32)
    rows = [(row.tolist(), int(label)) for row, label in zip(logits, labels, strict=True)]
    df = session.createDataFrame(rows, "z array<double>, y int")
    alone = calipers.Sketch().update(labels, logits, from_logits=True).to_bytes()
    assert spark.sketch(df.repartition(3), prob="z", label="y", from_logits=True).merged().to_bytes() == alone
    vectors = df.select(array_to_vector("z").alias("z"), "y")
    assert spark.sketch(vectors, prob="z", label="y", from_logits=True).merged().to_bytes() == alone
    last = calipers.Sketch().update(labels, logits, from_logits=True, multiclass=3).to_bytes()
    assert spark.sketch(df, prob="z", label="y", from_logits=True, multiclass=3).merged().to_bytes() == last


def test_labels_of_text_have_a_positive_one_that_occurs(session: SparkSession) -> None:
    df = session.createDataFrame([(0.9, "spam"), (0.2, "ham")], "p double, y string")
    alone = calipers.Sketch().update(["spam", "ham"], [0.9, 0.2], pos_label="spam").to_bytes()
    assert spark.sketch(df.repartition(2), prob="p", label="y", pos_label="spam").merged().to_bytes() == alone
    with pytest.raises(CalipersError, match="'Spam', which no row has") as refused:
        spark.sketch(df, prob="p", label="y", pos_label="Spam")
    assert refused.value.code == "positive_label_absent"
    of_classes = session.createDataFrame([([0.1, 0.9], "spam"), ([0.8, 0.2], "ham")], "p array<double>, y string")
    assert spark.sketch(of_classes, prob="p", label="y", pos_label="spam").merged().to_bytes() == alone
    three = session.createDataFrame([([0.1, 0.2, 0.7], "spam")], "p array<double>, y string")
    with pytest.raises(CalipersError, match="pos_label must be left out for more than two classes"):
        spark.sketch(three, prob="p", label="y", pos_label="spam")
    nulls = session.createDataFrame([(0.9, "spam"), (0.2, None)], "p double, y string")
    assert spark.sketch(nulls, prob="p", label="y", pos_label="spam", invalid="count").n_left_out == 1


def test_what_has_no_rows_has_the_options_that_were_asked_for(session: SparkSession) -> None:
    df = session.createDataFrame([], "p double, y int, g int")
    for by in ((), "g"):
        found = spark.sketch(df, prob="p", label="y", by=by, resolution=9)
        assert (found.n, found.n_groups, found.collect()) == (0, 0, {})
        assert found.merged() == calipers.Sketch(resolution=9)


def test_two_hours_with_one_name_stay_two(session: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    # Before and after the clocks of Berlin go back, which is the zone of this process.
    instants = [1_792_886_400_000_000, 1_792_890_000_000_000]
    monkeypatch.setenv("TZ", "Europe/Berlin")
    time.tzset()
    try:
        df = session.createDataFrame([(0.5, 1, instant) for instant in instants], "p double, y int, t long")
        found = spark.sketch(df.withColumn("t", sql.timestamp_micros("t")), prob="p", label="y", by="t")
        assert found.n_groups == 2
        keys = sorted(found.collect())
        assert [round(key.timestamp() * 1e6) for key in keys] == instants
        rows = found.dataframe.select(sql.unix_micros("t").alias("t")).collect()
        assert sorted(row.t for row in rows) == instants
    finally:
        monkeypatch.undo()
        time.tzset()


def test_keys_of_every_type_come_back(session: SparkSession) -> None:
    df = session.sql(
        "select 0.3D p, 1 y, cast(id as byte) k1, id % 2 = 0 k2, date '2026-01-30' k3,"
        " timestamp '2026-01-30 12:00:00.5' k4, cast(1.5 as decimal(5, 2)) k5, cast('x' as binary) k6,"
        " if(id = 3, null, 'a,\"b') k7 from range(4)"
    )
    keys = [f"k{number}" for number in range(1, 8)]
    found = spark.sketch(df, prob="p", label="y", by=keys)
    assert found.n_groups == 4
    expected = sorted(df.select(*keys).collect(), key=lambda row: row.k1)
    rows = sorted(found.dataframe.select(*keys).collect(), key=lambda row: row.k1)
    assert rows == expected
    assert found.dataframe.schema[:-1] == types.StructType(
        [types.StructField(f.name, f.dataType) for f in df.schema[2:]]
    )


# Errors


BAD = {
    "null": ((None, 1), "got null"),
    "nan": ((float("nan"), 1), "got NaN"),
    "above": ((1.5, 1), "got 1.5"),
    "label": ((0.5, 7), "got 7"),
    "no label": ((0.5, None), "missing"),
    # In a partition of its own it looks as percentages do.
    "percent": ((15.0, 1), "got 15"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_row_fails_the_job_with_rule_value_and_group(session: SparkSession, name: str) -> None:
    row, text = BAD[name]
    df = session.createDataFrame([(0.5, 1, "fr"), (*row, "de"), (0.5, 1, "fr")], "p double, y int, country string")
    with pytest.raises(CalipersError) as refused:
        spark.sketch(df, prob="p", label="y", by="country")
    said = str(refused.value)
    assert "country='de'" in said and refused.value.code and "Traceback" not in said and "\n" not in said, said
    assert text in said or "missing" in said or "must be present" in said, said


def test_bad_rows_are_counted_in_their_group_where_that_is_asked(session: SparkSession) -> None:
    rows = [(*row, name) for name, (row, _) in BAD.items()]
    df = session.createDataFrame([*rows, (0.5, 1, "good")], "p double, y int, g string").repartition(7, "p")
    found = spark.sketch(df, prob="p", label="y", by="g", invalid="count")
    assert (found.n, found.n_left_out) == (1, len(BAD))
    for row in found.measure("brier_score").collect():
        bad = row.g in BAD
        assert (row.n, row.n_left_out) == ((0, 1) if bad else (1, 0))
        assert (row.value is None and row.error) if bad else row.error is None
    assert sum(found.merged().left_out.values()) == len(BAD)


def test_rows_that_are_not_quite_right_are_counted_as_by_python(session: SparkSession) -> None:
    table = json.loads((ROOT / "fixtures" / "inexact.json").read_text(encoding="utf-8"))
    for case in table:
        y, p = case["y_true"], case["y_prob"]
        schema = f"p {'array<double>' if isinstance(p[0], list) else 'double'}, y int"
        df = session.createDataFrame(list(zip(p, y, strict=True)), schema)
        found = spark.sketch(df, prob="p", label="y", **case["options"]).merged()
        assert found.to_bytes() == calipers.Sketch().update(y, p, **case["options"]).to_bytes(), case["name"]
        assert found.ls_ece().n_inexact_sums == case["n_inexact_sums"]


def test_arrays_of_other_lengths_are_refused_in_a_sentence(session: SparkSession) -> None:
    df = session.createDataFrame([([0.2, 0.8], 1), ([0.1, 0.2, 0.7], 2)], "p array<double>, y int").coalesce(1)
    with pytest.raises(CalipersError) as refused:
        spark.sketch(df, prob="p", label="y")
    assert "Traceback" not in str(refused.value)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"prob": "q"}, "prob must name a column, got 'q'"),
        ({"prob": "countr"}, "did you mean 'country'?"),
        (
            {"prob": "country"},
            "column 'country': probabilities must be numbers, arrays of numbers or vectors, got string",
        ),
        ({"label": "when"}, "column 'when': labels must be numbers, true and false, or text, got timestamp"),
        ({"label": "country"}, "column 'country': labels of text must come with pos_label, got none"),
        ({"weight": "country"}, "column 'country': weights must be numbers, got string"),
        ({"by": ["p"]}, "column 'p': groups must be whole numbers"),
        ({"by": ["country", "country"]}, "by must name each column once"),
        ({"by": ["none"]}, "by must name a column, got 'none'"),
        ({"by": ["N"]}, "by must not be called 'N', as a column of the result is: rename it by withColumnRenamed"),
        ({"by": ["Sketch"]}, "by must not be called 'Sketch', as a column of sketches is"),
        ({"ties": "most"}, "ties must be"),
        ({"resolution": 3}, "resolution must be from 6 to 20"),
    ],
)
def test_what_cannot_be_is_said_before_any_job(session: SparkSession, options: dict[str, Any], text: str) -> None:
    df = session.range(3).select(
        sql.lit(0.5).alias("p"),
        sql.lit(1).alias("y"),
        sql.lit("de").alias("country"),
        sql.current_timestamp().alias("when"),
        sql.lit(1).alias("N"),
        sql.lit(1).alias("Sketch"),
    )
    before = len(session.sparkContext.statusTracker().getJobIdsForGroup(None))
    with pytest.raises(CalipersError) as refused:
        spark.sketch(df, **{"prob": "p", "label": "y", **options})
    assert text in str(refused.value)
    assert len(session.sparkContext.statusTracker().getJobIdsForGroup(None)) == before


def test_a_frame_of_others_is_refused(few: Any) -> None:
    with pytest.raises(TypeError, match="df must be a DataFrame of Spark, got DataFrame of pandas"):
        spark.sketch(few.toPandas(), prob="p", label="y")
    stream = few.sparkSession.readStream.format("rate").load().selectExpr("0.5D p", "1 y")
    with pytest.raises(CalipersError, match="df must be whole, got a stream: write_windows takes those"):
        spark.sketch(stream, prob="p", label="y")
    with pytest.raises(TypeError, match="weigth"):
        spark.sketch(few, prob="p", label="y", weigth="w")


def of_python(code: str, **environment: str) -> str:
    found = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ, **environment}, check=False
    )
    return found.stderr.strip().splitlines()[-1]


def test_without_pyspark_or_java_a_sentence_says_so(tmp_path: Path) -> None:
    said = of_python("import sys; sys.modules['pyspark'] = None; import calipers.spark")
    assert said == "ImportError: calipers.spark needs pyspark, which is not installed: pip install 'calipers[spark]'"
    said = of_python("from calipers import spark; spark.session('local[1]')", JAVA_HOME=str(tmp_path))
    assert said == f"RuntimeError: Spark needs Java 17: JAVA_HOME, which is {tmp_path}, has no bin/java"


# What is asked of sketches


def test_figures_are_those_of_each_sketch(session: SparkSession) -> None:
    columns = generated(20_000, seed=3)
    found = spark.sketch(session.createDataFrame(pa.table(columns).to_pandas()), prob="p", label="y", by="g")
    sketches = found.collect()
    measured = {row.g: row for row in found.measure().collect()}
    assert len(measured) == N_GROUPS
    for key, sketch in sketches.items():
        estimate = sketch.ls_ece()
        assert measured[key].value == float(estimate)
        assert measured[key].numerical_bound == estimate.numerical_bound
        assert json.loads(measured[key].settings)["sigma"] == estimate.settings["sigma"]
    for row in found.measure("expected_calibration_error", n_bins=10).collect():
        assert row.value == sketches[row.g].expected_calibration_error(n_bins=10)
    for row in found.where("g < 3").assess(sigma=0.3, n_resamples=50, adjust=None).collect():
        one = sketches[row.g].assess(sigma=0.3, n_resamples=50)
        assert (row.value, row.p_value, row.sentence) == (one.value, one.p_value, one.sentence)
    for row in found.where("g = 3").sweep(bins=[10, 15, 20]).collect():
        one = sketches[3].sweep(bins=[10, 15, 20])
        place = one.bins.tolist().index(row.n_bins)
        assert (row.ece_uniform, row.ls_ece, row.verdict) == (one.ece_uniform[place], one.ls_ece[place], one.verdict)
    with pytest.raises(CalipersError, match="measure must be one of ls_ece"):
        found.measure("smooth_ece")
    with pytest.raises(TypeError, match="sigm"):
        found.measure(sigm=0.1)


def test_rows_of_sketches_are_read_by_spark_python_and_the_command(
    session: SparkSession, few: Any, tmp_path: Path
) -> None:
    found = spark.sketch(few, prob="p", label="y", by="country")
    path = str(tmp_path / "sketches")
    found.write(path)
    found.write(path, mode="append")
    twice = spark.read(path, session=session)
    assert (twice.n, twice.n_groups, twice.by) == (10, 3, ["country"])
    own = calipers.read_sketches(path)
    assert own == twice.collect() and own["de"].n == 4
    assert own == calipers.read_sketches(parquet.read_table(path))
    # The command takes a folder as Spark does.
    folder = json.loads(command("measure", path, "--sigma", "0.5", "--json"))
    assert [result["n"] for result in folder["results"]] == [10, 2, 4, 4]
    calipers.write_sketches(own, tmp_path / "own.parquet", by="country")
    assert spark.read(str(tmp_path / "own.parquet")).collect() == own
    out = command("measure", tmp_path / "own.parquet", "--sigma", "0.5", "--json")
    by_command = json.loads(out)
    assert sum(result["n"] for result in by_command["results"]) >= 10
    assert twice.merged_by().merged().n == 10
    # Rows of one key need not stand together.
    mixed = pa.concat_tables([parquet.read_table(tmp_path / "own.parquet")] * 3)
    parquet.write_table(mixed, tmp_path / "mixed.parquet")
    assert spark.read(str(tmp_path / "mixed.parquet")).n == 30
    parquet.write_table(pa.table({"sketch": pa.array([None], pa.binary())}), tmp_path / "null.parquet")
    with pytest.raises(CalipersError, match="sketches must not be missing"):
        spark.read(str(tmp_path / "null.parquet"))


# Windows


def test_windows_survive_replay_and_merge_over_any_range(session: SparkSession, tmp_path: Path) -> None:
    columns = generated(6_000, seed=4)
    hours = np.repeat(np.arange(6), 1_000)
    start = np.datetime64("2026-01-30T00:00:00", "us")
    when = start + hours * np.timedelta64(3_600_000_000, "us") + np.arange(6_000) * np.timedelta64(1_000, "us")
    table = pa.table({**columns, "at": pa.array(when, pa.timestamp("us", tz="UTC"))})
    source, out, checkpoint = tmp_path / "in", str(tmp_path / "out"), str(tmp_path / "checkpoint")
    source.mkdir()
    named = {"time": "at", "window": "1 hour", "checkpoint": checkpoint, "prob": "p", "label": "y"}

    def run() -> None:
        df = session.readStream.schema("p double, y int, w double, g int, at timestamp").parquet(str(source))
        query = spark.write_windows(df, out, **named, weight="w", by="g", trigger={"availableNow": True})
        query.awaitTermination()

    def state() -> dict[Any, bytes]:
        found = spark.read_windows(out, by=["window_start", "g"], session=session).collect()
        return {key: sketch.to_bytes() for key, sketch in found.items()}

    late = np.zeros(6_000, dtype=bool)
    late[500:700] = True
    parquet.write_table(table.filter(pa.array(~late & (hours < 4))), source / "a.parquet")
    run()
    parquet.write_table(table.filter(pa.array(late | (hours >= 4))), source / "b.parquet")
    run()
    whole = state()
    assert len(whole) == 6 * N_GROUPS
    # The last micro-batch was written, but Spark does not know: it comes again.
    commits = Path(checkpoint, "commits")
    (commits / "1").unlink()
    (commits / ".1.crc").unlink(missing_ok=True)
    run()
    assert state() == whole

    some = (hours >= 1) & (hours < 4)
    merged = spark.read_windows(out, start="2026-01-30 01:00:00", end="2026-01-30 04:00:00", session=session)
    for key, sketch in merged.collect().items():
        assert sketch.to_bytes() == sketched(columns, some & (columns["g"] == key), weighted=True)
    everything = spark.read_windows(out, by=[], session=session).merged().to_bytes()
    assert everything == sketched(columns, weighted=True)
    # Micro-batches are no groups, for Python and `read` as little; and files say which windows they
    # have.
    assert {key[1:] for key in calipers.read_sketches(out)} == {key[1:] for key in spark.read(out).collect()}
    assert len(spark.read(out).collect()) == 6 * N_GROUPS
    (first,) = Path(out).glob("query=????????-????-*/batch=0/*.parquet")
    assert parquet.read_metadata(first).schema.column(0).physical_type == "INT64"
    with pytest.raises(CalipersError, match="df must be a stream"):
        spark.write_windows(session.read.parquet(str(source)), out, **named)
    shutil.rmtree(out)


@pytest.mark.parametrize("invalid", ["reject", "count"])
def test_a_row_without_a_time_is_not_lost(session: SparkSession, tmp_path: Path, invalid: Any) -> None:
    source = tmp_path / "in"
    rows = [(0.5, 1, "2026-01-30 00:10:00", 7), (0.25, 0, None, 8)]
    df = session.createDataFrame(rows, "p double, y int, t string, batch int")
    df.withColumn("t", sql.col("t").cast("timestamp")).coalesce(1).write.parquet(str(source))
    # A column that happens to be called as a folder is does no harm.
    stream = session.readStream.schema("p double, y int, t timestamp, batch int").parquet(str(source))
    out = str(tmp_path / "out")
    query = spark.write_windows(
        stream,
        out,
        time="t",
        window="1 hour",
        checkpoint=str(tmp_path / "checkpoint"),
        prob="p",
        label="y",
        invalid=invalid,
        trigger={"availableNow": True},
    )
    if invalid == "reject":
        with pytest.raises(StreamingQueryException, match="times must be present, got null"):
            query.awaitTermination()
        return
    query.awaitTermination()
    found = spark.read_windows(out, by="window_start", session=session).collect()
    assert {key: sketch.n for key, sketch in found.items()} == {
        None: 1,
        datetime(2026, 1, 30, tzinfo=timezone.utc): 1,
    }
    assert spark.read_windows(out, start="2026-01-30", session=session).n == 1


# Cost


def test_a_job_takes_little_more_than_counting(session: SparkSession, files: Path) -> None:
    df = session.read.parquet(str(files))

    def count(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        n = sum(batch.num_rows for batch in batches)
        yield pa.RecordBatch.from_arrays([pa.array([n])], ["n"])

    def counting() -> None:
        assert df.select("y", "p").mapInArrow(count, "n bigint").agg(sql.sum("n")).first()[0] == N

    def sketching() -> None:
        assert spark.sketch(df, prob="p", label="y").n == N

    counting(), sketching()
    seconds: dict[Any, list[float]] = {counting: [], sketching: []}
    for _ in range(3):
        for job, taken in seconds.items():
            start = time.perf_counter()
            job()
            taken.append(time.perf_counter() - start)
    ratios = [mine / theirs for theirs, mine in zip(*seconds.values(), strict=True)]
    print(f"\ncounting {min(seconds[counting]):.2f} s, sketching {min(seconds[sketching]):.2f} s, ratios {ratios}")
    assert statistics.median(ratios) <= 1.5


def test_what_is_shuffled_is_small(session: SparkSession, files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from calipers.spark import _gather

    # As if there were too many for the driver and for one task: then all sketches are shuffled.
    monkeypatch.setattr(_gather, "ROOM_OF_DRIVER", 0)
    monkeypatch.setattr(_gather, "_SKETCHES_OF_A_TASK", 8)
    df = session.read.parquet(str(files))
    n_partitions = df.rdd.getNumPartitions()
    with Watched(session) as watched:
        found = spark.sketch(df, prob="p", label="y", by=sql.lit(0).alias("k"))
    assert found.n == N
    found.unpersist()
    print(f"\nshuffled {watched.n_shuffled / n_partitions:,.0f} bytes for each of {n_partitions} partitions")
    assert 0 < watched.n_shuffled <= n_partitions << 20


# Documents


def test_the_page_has_the_sizes_of_sketches(many: dict[str, np.ndarray], one_core: OneCore) -> None:
    sizes = [
        len(sketched(generated(3))),
        len(sketched(generated(100))),
        len(sketched(generated(1_000_000))),
        len(sketched(generated(1_000_000), weighted=True, resolution=10)),
        *([len(one_core.all), len(sketched(many, resolution=10))] if N == 10_000_000 else []),
    ]
    page = (ROOT / "docs" / "scale.md").read_text()
    for size in sizes:
        assert f"| {size:,} |" in page, size


def test_docstrings_and_the_page_show_what_happens(session: SparkSession) -> None:
    from calipers.spark import _sketch_dataframe

    del session
    failed, tried = doctest.testmod(_sketch_dataframe, optionflags=doctest.NORMALIZE_WHITESPACE)
    assert tried > 5 and failed == 0
    page = ROOT / "docs" / "scale.md"
    found = subprocess.run(
        [sys.executable, "scripts/check_docs.py", page], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert found.returncode == 0, found.stdout + found.stderr
