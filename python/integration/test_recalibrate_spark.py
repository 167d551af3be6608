"""calipers.spark: maps of groups from their sketches, applied as SQL expressions."""

from __future__ import annotations

from collections.abc import Iterator

import calipers as cal
import numpy as np
import pytest

pytest.importorskip("pyspark", reason="pyspark not installed")

from calipers import spark
from pyspark.sql import SparkSession
from spark_rows import QUIET, generated

ROWS = generated(4000, seed=3)
FRAME = {"p": ROWS["p"].tolist(), "y": ROWS["y"].tolist(), "g": [f"g{each % 3}" for each in ROWS["g"]]}


@pytest.fixture(scope="module")
def session() -> Iterator[SparkSession]:
    with spark.session("local[2]", **QUIET) as started:
        yield started


@pytest.mark.parametrize("method", ["platt", "beta", "isotonic"])
def test_a_map_is_an_expression(session: SparkSession, method: str) -> None:
    df = session.createDataFrame(list(zip(*FRAME.values(), strict=True)), list(FRAME))
    found = cal.recalibrate(FRAME["y"], FRAME["p"], method=method)
    given = spark.recalibrated(df, found, prob="p", into="q").select("p", "q").collect()
    np.testing.assert_allclose([row.q for row in given], found.predict_proba([row.p for row in given]), atol=1e-12)


def test_groups_have_maps_of_their_own(session: SparkSession) -> None:
    df = session.createDataFrame(list(zip(*FRAME.values(), strict=True)), list(FRAME))
    maps = spark.sketch(df, prob="p", label="y", by="g").recalibrators("platt")
    assert sorted(maps) == ["g0", "g1", "g2"]
    y, p, g = (np.array(FRAME[name]) for name in "ypg")
    for key, found in maps.items():
        own = cal.recalibrate(y[g == key], p[g == key], method="platt", clip=1e-6)
        assert found.parameters == pytest.approx(own.parameters, abs=1e-6)
    given = spark.recalibrated(df, maps, prob="p", by="g").collect()
    for row in given[:200]:
        assert row.p_recalibrated == pytest.approx(float(maps[row.g].predict_proba([row.p])[0]), abs=1e-12)
    del maps["g0"]
    rows = spark.recalibrated(df, maps, prob="p", by="g").where("g = 'g0'").collect()
    assert {row.p_recalibrated for row in rows} == {None}
    with pytest.raises(ValueError, match="by must be given for a dict of recalibrators"):
        spark.recalibrated(df, maps, prob="p")


def test_partially_pooled_maps_are_one_expression(session: SparkSession) -> None:
    df = session.createDataFrame(list(zip(*FRAME.values(), strict=True)), list(FRAME))
    found = cal.recalibrate(FRAME["y"], FRAME["p"], method="platt", groups=FRAME["g"])
    given = spark.recalibrated(df, found, prob="p", by="g").select("p", "g", "p_recalibrated").collect()
    own = found.predict_proba([row.p for row in given], groups=[row.g for row in given])
    np.testing.assert_allclose([row.p_recalibrated for row in given], own, atol=1e-12)
    with pytest.raises(ValueError, match="by must be the one column of groups"):
        spark.recalibrated(df, found, prob="p", by=["g", "y"])


def test_folds_of_sketches_tell_whether_a_map_helps(session: SparkSession) -> None:
    df = session.createDataFrame(list(zip(*FRAME.values(), strict=True)), list(FRAME))
    df = df.selectExpr("*", "pmod(xxhash64(p), 5) AS fold")
    sketches = spark.sketch(df, prob="p", label="y", by=["g", "fold"])
    found = sketches.improvements("fold", "platt")
    assert sorted(found) == ["g0", "g1", "g2"]
    assert {each.n_folds for each in found.values()} == {5}
    together = spark.sketch(df, prob="p", label="y", by="fold").improvements("fold", "platt")
    assert together[None].n == 4000
    exact = cal.improvement(FRAME["y"], FRAME["p"], method="platt", n_resamples=0)
    assert together[None].interval.lower == pytest.approx(exact.interval.lower, abs=1e-5)
    with pytest.raises(ValueError, match="fold must be one of the columns that make the groups"):
        sketches.improvements("day")
