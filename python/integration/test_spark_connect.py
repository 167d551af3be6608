"""Spark Connect: a client without Java in its process has the same bytes, and windows too."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("pyspark", reason="pyspark not installed")
pytest.importorskip("grpc", reason="grpcio not installed, which Spark Connect needs")

# In a process of its own: one that has a classic session cannot have another kind.
CLIENT = """
import sys
import calipers
from calipers import CalipersError, spark
from pyspark.sql import SparkSession
from pyspark.sql import functions as sql

folder = sys.argv[1]
session = (
    SparkSession.builder.remote("local[2]").config("spark.ui.enabled", "false").config("spark.log.level", "ERROR")
    .config("spark.sql.session.timeZone", "UTC").getOrCreate()
)
assert "connect" in type(session).__module__
df = session.range(3000).selectExpr(
    "(id % 997 + 0.5) / 997 as p", "cast(id % 7 < 3 as int) as y", "id % 3 as g",
    "timestamp_micros(id * 4000000) as at",
)
found = spark.sketch(df.repartition(3), prob="p", label="y", by=["g", (sql.col("g") > 0).alias("rest")])
assert (found.n, found.n_groups, found.by) == (3000, 3, ["g", "rest"]), found
rows = df.toPandas()
for (g, rest), sketch in found.collect().items():
    own = rows[rows.g == g]
    assert rest == (g > 0)
    assert sketch == calipers.Sketch().update(own.y.to_numpy(), own.p.to_numpy())
assert found.merged_by("rest").n_groups == 2 and found.where("rest").n_groups == 2
assert found.measure(sigma=0.3).count() == 3
assert found.assess(sigma=0.3, n_resamples=20).where("p_adjusted is not null").count() == 3
try:
    spark.sketch(df.withColumn("p", sql.lit(1.5)), prob="p", label="y")
except CalipersError as error:
    assert "1.5" in str(error), error
else:
    raise AssertionError("1.5 is no probability")

df.coalesce(1).write.parquet(folder + "/in")
for _ in range(2):
    stream = session.readStream.schema(df.schema).parquet(folder + "/in")
    query = spark.write_windows(
        stream, folder + "/out", time="at", window="1 hour", checkpoint=folder + "/checkpoint", prob="p", label="y",
        by=(sql.col("g") % 2).alias("even"), trigger={"availableNow": True},
    )
    query.awaitTermination()
    assert query.exception() is None, query.exception()
windows = spark.read_windows(folder + "/out", by=["window_start", "even"], session=session)
assert (windows.n, windows.n_groups) == (3000, 8), windows
assert windows.merged() == found.merged()
print("as on one machine")
"""


def test_a_client_of_spark_connect_has_sketches_and_windows(tmp_path: Path) -> None:
    environment = {**os.environ, "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    found = subprocess.run(
        [sys.executable, "-c", CLIENT, str(tmp_path)],
        capture_output=True,
        text=True,
        env=environment,
        # The server makes its warehouse where it starts.
        cwd=tmp_path,
        check=False,
        timeout=600,
    )
    if "Timed out while waiting for the Python worker to connect back" in found.stderr:
        pytest.skip("Spark gives the process that writes windows ten seconds to start, which this machine did not meet")
    assert "as on one machine" in found.stdout, found.stdout + found.stderr
