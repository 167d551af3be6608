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


@pytest.mark.parametrize("method", ["platt", "beta", "isotonic", "spline", "venn_abers"])
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


def test_temperature_sketches_have_the_bytes_of_one_machine(session: SparkSession) -> None:
    random = np.random.default_rng(5)
    labels, groups = random.integers(4, size=900), random.integers(3, size=900)
    scores = random.normal(size=(900, 4))
    scores[np.arange(900), labels] += 2
    weights = random.integers(1, 4, size=900).astype(float)
    rows = zip(scores.tolist(), labels.tolist(), groups.tolist(), weights.tolist(), strict=True)
    df = session.createDataFrame(list(rows), "z array<double>, y int, g int, w double").repartition(7)
    options = {"prob": "z", "label": "y", "weight": "w", "from_logits": True}
    expected = cal.TemperatureSketch(4).update(labels, scores, sample_weight=weights, from_logits=True)
    assert spark.temperature_sketch(df, **options) == expected
    by_group = spark.temperature_sketches(df, by="g", **options)
    assert sorted(by_group) == [0, 1, 2]
    for key, found in by_group.items():
        own = groups == key
        expected = cal.TemperatureSketch(4).update(
            labels[own], scores[own], sample_weight=weights[own], from_logits=True
        )
        assert found == expected and found.fit().parameters["slope"] > 0
    two = spark.temperature_sketches(df.withColumn("h", df.g + 1), by=["g", "h"], **options)
    assert sorted(two) == [(0, 1), (1, 2), (2, 3)]


def test_what_has_no_temperature_on_spark_is_an_error_of_calipers(session: SparkSession) -> None:
    df = session.createDataFrame([([0.5, 0.5], 1, "a", 0.5)], "p array<double>, y int, t string, q double")
    with pytest.raises(cal.CalipersError, match="column 'q': scores must be arrays or vectors with one of each class"):
        spark.temperature_sketch(df, prob="q", label="y")
    with pytest.raises(cal.CalipersError, match="column 't': labels must be numbers of classes"):
        spark.temperature_sketch(df, prob="p", label="t")
    with pytest.raises(cal.CalipersError, match="invalid must be"):
        spark.temperature_sketch(df, prob="p", label="y", invalid="drop")
    with pytest.raises(cal.CalipersError, match=r"^rows: label"):
        spark.temperature_sketch(df.selectExpr("p", "7 AS y"), prob="p", label="y")
    with pytest.raises(cal.CalipersError) as caught:
        spark.temperature_sketch(df.limit(0), prob="p", label="y")
    assert caught.value.code == "no_rows"
    ragged = df.unionByName(session.createDataFrame([([0.2, 0.3, 0.5], 1, "a", 0.5)], df.schema))
    with pytest.raises(cal.CalipersError):
        spark.temperature_sketch(ragged, prob="p", label="y")
