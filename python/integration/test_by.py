"""`cal.by` on tables of other packages: the same result, and a result that these packages read."""

from __future__ import annotations

from typing import Any

import calipers as cal
import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

_rng = np.random.default_rng(5)
N = 3_000
P = _rng.random(N)
COLUMNS: dict[str, Any] = {
    "p": P,
    "y": (_rng.random(N) < P).astype(int),
    "g": [None if row % 50 == 0 else f"g{row % 7}" for row in range(N)],
    "day": (_rng.integers(0, 2, N) == 1),
}
ARROW = pa.table(COLUMNS)
KINDS = {
    "dict": COLUMNS,
    "pyarrow": ARROW,
    "dictionary": ARROW.set_column(2, "g", ARROW["g"].dictionary_encode()),
    "batches": pa.Table.from_batches(ARROW.to_batches(max_chunksize=700)),
    "pandas": pd.DataFrame(COLUMNS),
    "categories": pd.DataFrame(COLUMNS).astype({"g": "category"}),
    "polars": pl.DataFrame(COLUMNS),
    "duckdb": duckdb.sql("select * from ARROW"),
}


def found(table: Any) -> cal.GroupTable:
    return cal.by(table, prob="p", label="y", by=["g", "day"]).assess(n_resamples=50)


@pytest.mark.parametrize("kind", KINDS)
def test_every_table_gives_the_same(kind: str) -> None:
    assert found(KINDS[kind]).to_dict() == found(COLUMNS).to_dict()


def test_other_packages_read_the_result() -> None:
    result = found(ARROW)
    table = pa.table(result)
    assert table.num_rows == 16
    assert table["value"].to_pylist() == result["value"].tolist()
    assert table["g"].to_pylist() == result["g"]
    assert table["direction"].type == pa.string() and table["p_value"].type == pa.float64()
    assert pl.DataFrame(result)["n"].sum() == N
    assert duckdb.from_arrow(table).sum("n").fetchall() == [(N,)]
    assert result.to_pandas()["n"].sum() == N
    assert table["day"].type == pa.bool_()
