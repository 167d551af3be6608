"""Expressions of Polars: the values of `calipers` for the same rows, in every context."""

from __future__ import annotations

import doctest
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import calipers as cal
import calipers.polars
import numpy as np
import polars as pl
import pytest
from calipers.polars import _namespace

ROOT = Path(__file__).parents[2]
COMMAND = os.environ.get("CALIPERS")
N = 20_000


@pytest.fixture(scope="module")
def rows() -> pl.DataFrame:
    rng = np.random.default_rng(8)
    p = 1 / (1 + np.exp(-2 * rng.normal(size=N)))
    return pl.DataFrame(
        {
            "p": p,
            "y": rng.uniform(size=N) < p**1.2,
            "w": rng.integers(0, 5, size=N) / 4,
            "g": np.minimum(rng.geometric(0.05, size=N), 100),
        }
    )


def expected(rows: pl.DataFrame, measure: Any) -> dict[int, float]:
    return {key: measure(part) for (key,), part in rows.partition_by("g", as_dict=True).items()}


def by_group(found: pl.DataFrame, name: str = "p") -> dict[int, Any]:
    return dict(zip(found["g"].to_list(), found[name].to_list(), strict=True))


def ls_ece(part: pl.DataFrame) -> float:
    return float(cal.ls_ece(part["y"], part["p"], sigma=0.2))


def test_each_context_gives_the_value_of_its_rows(rows: pl.DataFrame) -> None:
    expression = pl.col("p").calipers.ls_ece("y", sigma=0.2)
    by = expected(rows, ls_ece)
    whole = ls_ece(rows)
    assert rows.select(expression).item() == whole
    assert rows.with_columns(z=expression)["z"].unique().to_list() == [whole]
    assert by_group(rows.group_by("g").agg(expression)) == by
    over = rows.with_columns(z=expression.over("g"))
    assert over["z"].to_list() == [by[key] for key in rows["g"].to_list()]
    for engine in ("in-memory", "streaming"):
        lazy = rows.lazy().group_by("g").agg(expression).collect(engine=engine)
        assert by_group(lazy) == by
        assert rows.lazy().select(expression).collect(engine=engine).item() == whole


def test_a_filter_is_not_moved_before_the_value(rows: pl.DataFrame) -> None:
    lazy = rows.lazy().with_columns(z=pl.col("p").calipers.ece("y")).filter(pl.col("g") == 3)
    assert lazy.collect()["z"].unique().to_list() == [float(cal.expected_calibration_error(rows["y"], rows["p"]))]


def test_values_are_those_of_the_functions(rows: pl.DataFrame) -> None:
    y, p, w = rows["y"], rows["p"], rows["w"]
    column = pl.col("p").calipers
    logit = (pl.col("p") / (1 - pl.col("p"))).log()
    cases = {
        float(cal.ls_ece(y, p)): column.ls_ece("y"),
        float(cal.ls_ece(y, p, noise="laplace", sample_weight=w)): column.ls_ece("y", noise="laplace", weight="w"),
        float(cal.expected_calibration_error(y, p, n_bins=10)): column.ece(pl.col("y").cast(pl.Int8), n_bins=10),
        float(cal.brier_score(y, p)): column.measure("brier_score", "y"),
        float(cal.smooth_ece(y, p)): column.measure("smooth_ece", "y"),
        float(cal.ls_ece(y, rows.select(logit).to_series(), from_logits=True, sigma=0.1)): logit.calipers.ls_ece(
            "y", sigma=0.1, from_logits=True
        ),
        float(cal.brier_score(y, p.cast(pl.Float32))): pl.col("p")
        .cast(pl.Float32)
        .calipers.measure("brier_score", "y"),
    }
    for value, expression in cases.items():
        assert rows.select(expression).item() == value
    words = rows.with_columns(pl.when("y").then(pl.lit("yes")).otherwise(pl.lit("no")).alias("word"))
    assert words.select(column.ece("word", pos_label="yes")).item() == float(cal.expected_calibration_error(y, p))


def test_every_measure_of_rows_and_of_sketches(rows: pl.DataFrame) -> None:
    few = rows.head(300)
    sketch = cal.Sketch().update(few["y"], few["p"])
    sketched = few.select(pl.col("p").calipers.sketch("y").alias("s"))
    for measure in cal.measures():
        found = few.group_by(1).agg(pl.col("p").calipers.measure(measure.name, "y"))["p"].item()
        with np.errstate(all="ignore"):
            assert (
                found == float(cal.assess(few["y"], few["p"], measure=measure.name, n_resamples=20).estimate)
                if (measure.larger_is_worse)
                else np.isfinite(found)
            )
        if measure.from_sketch != "nothing":
            value = sketched.select(pl.col("s").calipers.measure(measure.name)).item()
            assert value == float(sketch.estimate(measure.name)), measure.name


def test_sketches_are_those_of_the_rows_and_merge(rows: pl.DataFrame) -> None:
    whole = cal.Sketch().update(rows["y"], rows["p"], sample_weight=rows["w"])
    sketch = pl.col("p").calipers.sketch("y", weight="w").alias("s")
    assert rows.select(sketch).item() == whole.to_bytes()
    groups = rows.group_by("g").agg(sketch)
    for (key,), part in rows.partition_by("g", as_dict=True).items():
        found = groups.filter(pl.col("g") == key)["s"].item()
        assert found == cal.Sketch().update(part["y"], part["p"], sample_weight=part["w"]).to_bytes()
    assert groups.select(pl.col("s").calipers.merge()).item() == whole.to_bytes()
    halves = groups.group_by(pl.col("g") % 2).agg(pl.col("s").calipers.merge())
    assert halves.select(pl.col("s").calipers.merge()).item() == whole.to_bytes()
    assert halves.select(pl.col("s").calipers.n()).sum().item() == N
    values = groups.select("g", pl.col("s").calipers.ls_ece(sigma=0.3).alias("v"))
    first = groups.row(0, named=True)
    assert values.filter(pl.col("g") == first["g"])["v"].item() == float(
        cal.Sketch.from_bytes(first["s"]).ls_ece(sigma=0.3)
    )
    monitoring = pl.col("p").calipers.sketch("y", profile="monitoring", n_bins=[7])
    expected = cal.Sketch(profile="monitoring", n_bins=[7]).update(rows["y"], rows["p"]).to_bytes()
    assert rows.select(monitoring).item() == expected


def test_chunks_change_nothing(rows: pl.DataFrame) -> None:
    whole = rows.select(pl.col("p").calipers.sketch("y")).item()
    for n_parts in (7, 64):
        parts = pl.concat([rows.gather_every(n_parts, offset) for offset in range(n_parts)], rechunk=False)
        assert parts.n_chunks() >= n_parts
        assert parts.select(pl.col("p").calipers.sketch("y")).item() == whole


@pytest.mark.skipif(COMMAND is None, reason="no command: set CALIPERS")
def test_bytes_are_those_of_the_command(rows: pl.DataFrame, tmp_path: Path) -> None:
    rows.select("p", pl.col("y").cast(pl.Int8)).write_parquet(tmp_path / "rows.parquet")
    arguments = [
        "sketch",
        str(tmp_path / "rows.parquet"),
        "--prob",
        "p",
        "--label",
        "y",
        "-o",
        str(tmp_path / "s.calipers"),
    ]
    subprocess.run([str(COMMAND), *arguments], check=True, capture_output=True)
    found = pl.scan_parquet(tmp_path / "rows.parquet").select(pl.col("p").calipers.sketch("y")).collect().item()
    assert found == (tmp_path / "s.calipers").read_bytes()


def test_an_assessment_is_a_struct(rows: pl.DataFrame) -> None:
    options: dict[str, Any] = {"n_resamples": 60, "random_state": 2, "sigma": 0.3}
    found = rows.group_by("g").agg(pl.col("p").calipers.assess("y", **options).alias("found"))
    for row in found.filter(pl.col("g") < 5).iter_rows(named=True):
        part = rows.filter(pl.col("g") == row["g"])
        expected = cal.assess(part["y"], part["p"], **options)
        assert row["found"] == summary(expected)
    sketched = rows.select(pl.col("p").calipers.sketch("y").calipers.assess(**options)).item()
    assert sketched == summary(cal.Sketch().update(rows["y"], rows["p"]).assess(**options))
    assert found.unnest("found").columns[:2] == ["g", "value"]


def summary(found: Any) -> dict[str, Any]:
    return {
        "value": found.value,
        "numerical_bound": found.estimate.numerical_bound,
        "floor": found.floor.mean,
        "floor_std": found.floor.deviation,
        "lower": found.interval.lower,
        "upper": found.interval.upper,
        "p_value": found.floor.p_value,
        "sentence": found.sentence,
    }


def test_groups_without_rows_and_nulls(rows: pl.DataFrame) -> None:
    few = rows.head(1000)
    none = pl.col("p").filter(pl.col("g") > 1000)
    label = pl.col("y").filter(pl.col("g") > 1000)
    assert few.select(none.calipers.ece(label)).item() is None
    some = pl.col("p").filter(pl.col("g") > 10).calipers.ece(pl.col("y").filter(pl.col("g") > 10))
    found = by_group(few.group_by("g").agg(some))
    for key, value in found.items():
        part = few.filter(pl.col("g") == key)
        assert value == (float(cal.expected_calibration_error(part["y"], part["p"])) if key > 10 else None)
    assert pl.DataFrame({"s": [None]}, schema={"s": pl.Binary}).select(pl.col("s").calipers.merge()).item() is None
    mixed = few.select(pl.col("p").calipers.sketch("y").alias("s")).vstack(
        pl.DataFrame({"s": [None]}, schema={"s": pl.Binary})
    )
    assert mixed.select(pl.col("s").calipers.n())["s"].to_list() == [1000, None]
    holes = few.with_columns(pl.when(pl.int_range(pl.len()) % 10 == 0).then(None).otherwise("p").alias("p"))
    with pytest.raises(cal.CalipersError, match="probability in row 0 is missing"):
        holes.select(pl.col("p").calipers.ece("y"))
    counted = cal.Sketch.from_bytes(holes.select(pl.col("p").calipers.sketch("y", invalid="count")).item())
    assert counted.left_out == {"missing probability": 100}
    value = holes.select(pl.col("p").calipers.ece("y", invalid="count")).item()
    assert value == float(cal.expected_calibration_error(holes["y"], holes["p"], invalid="count"))


def test_errors(rows: pl.DataFrame) -> None:
    def said(expression: pl.Expr) -> str:
        with pytest.raises(Exception) as error:
            rows.group_by("g").agg(expression)
        return str(error.value)

    assert "rows are counted from the first of their group" in said((pl.col("p") * 1.5).calipers.ece("y"))
    assert "must be in [0, 1], got" in said((pl.col("p") * 1.5).calipers.sketch("y"))
    assert "a column of sketches must be Binary, got Float64; for probabilities pass labels" in said(
        pl.col("p").calipers.ece()
    )
    with pytest.raises(TypeError, match="ls_ece has no option 'bins'"):
        pl.col("p").calipers.ls_ece("y", bins=3)
    with pytest.raises(TypeError, match="weight needs a column of labels"):
        pl.col("s").calipers.ls_ece(weight="w")
    with pytest.raises(cal.CalipersError, match="resolution must be from 6 to 20"):
        pl.col("p").calipers.sketch("y", resolution=30)


def test_calipers_itself_does_not_import_polars() -> None:
    code = "import sys, calipers; sys.exit('polars' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_examples_run() -> None:
    failed, tried = doctest.testmod(_namespace)
    assert failed == 0 and tried > 0
    assert calipers.polars.CalipersNamespace is _namespace.CalipersNamespace


def test_the_example_of_the_guide_runs() -> None:
    text = (ROOT / "docs" / "guide" / "sql.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    source = "\n".join(block for block in blocks if "pl." in block)
    test = doctest.DocTestParser().get_doctest(source, {}, "sql.md", "sql.md", 0)
    assert len(test.examples) > 5
    assert doctest.DocTestRunner().run(test).failed == 0
