"""The DuckDB extension: the bytes of `Sketch` and of the command, for any threads, groups and window.

`make test-duckdb` builds the extension, whose file `CALIPERS_DUCKDB` names.
"""

from __future__ import annotations

import doctest
import json
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import calipers as cal
import duckdb
import numpy as np
import pyarrow as pa
import pytest

ROOT = Path(__file__).parents[2]
EXTENSION = os.environ.get("CALIPERS_DUCKDB")
COMMAND = os.environ.get("CALIPERS")

pytestmark = pytest.mark.skipif(EXTENSION is None, reason="no extension: run make test-duckdb")

N = 100_000


@pytest.fixture(scope="module")
def rows() -> dict[str, Any]:
    """Probabilities with ties, zeros and ones; labels, weights and groups of very different sizes."""
    rng = np.random.default_rng(5)
    p = 1 / (1 + np.exp(-2 * rng.normal(size=N)))
    p[::7] = np.round(p[::7], 2)
    return {
        "p": p,
        "y": rng.uniform(size=N) < p**1.2,
        "w": rng.integers(0, 5, size=N) / 4,
        "g": np.minimum(rng.geometric(0.02, size=N), 300),
        "row": np.arange(N),
    }


def connected(threads: int = 2) -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect(config={"allow_unsigned_extensions": "true", "threads": threads})
    connection.execute(f"load '{EXTENSION}'")
    return connection


@pytest.fixture(scope="module")
def connection(rows: dict[str, Any]) -> Iterator[duckdb.DuckDBPyConnection]:
    with connected() as made:
        fill(made, rows)
        yield made


def fill(connection: duckdb.DuckDBPyConnection, rows: dict[str, Any]) -> None:
    connection.register("given", pa.table(rows))
    connection.execute("create table rows as select * from given")
    connection.unregister("given")


def one(connection: duckdb.DuckDBPyConnection, query: str) -> Any:
    found = connection.execute(query).fetchall()
    assert len(found) == 1 and len(found[0]) == 1, found
    return found[0][0]


def said(connection: duckdb.DuckDBPyConnection, query: str) -> str:
    """The text of the error of a query."""
    with pytest.raises(duckdb.Error) as error:
        connection.execute(query).fetchall()
    return str(error.value)


def test_the_bytes_are_those_of_a_sketch(connection: duckdb.DuckDBPyConnection, rows: dict[str, Any]) -> None:
    p, y, w = rows["p"], rows["y"], rows["w"]
    cases = {
        "p, y": cal.Sketch().update(y, p),
        "p, y::int": cal.Sketch().update(y, p),
        "p, y::utinyint": cal.Sketch().update(y, p),
        "p, y::int::double": cal.Sketch().update(y, p),
        "p::float, y": cal.Sketch().update(y, p.astype(np.float32)),
        "p, y, 'monitoring'": cal.Sketch(profile="monitoring").update(y, p),
        "p, y, 'exact'": cal.Sketch().update(y, p),
        "p, y, 'resolution=9, n_bins=7 20, clip=1e-4'": cal.Sketch(resolution=9, n_bins=(7, 20), clip=1e-4).update(
            y, p
        ),
        "p, y, w": cal.Sketch().update(y, p, sample_weight=w),
        "p::float, y::int, w, 'monitoring'": cal.Sketch(profile="monitoring").update(
            y, p.astype(np.float32), sample_weight=w
        ),
        "ln(p / (1 - p)), y, 'from_logits=true'": None,
    }
    for arguments, expected in cases.items():
        found = one(connection, f"select calipers_sketch({arguments}) from rows where p > 0 and p < 1")
        inner = (p > 0) & (p < 1)
        if expected is None:
            logits = connection.execute("select ln(p / (1 - p)) as h from rows where p > 0 and p < 1 order by row")
            expected = cal.Sketch().update(y[inner], logits.fetchnumpy()["h"], from_logits=True)
        else:
            assert inner.all() or expected.n == len(p)
            found = one(connection, f"select calipers_sketch({arguments}) from rows")
        assert found == expected.to_bytes(), arguments


def test_decimals_are_read_as_doubles(connection: duckdb.DuckDBPyConnection) -> None:
    found = one(connection, "select calipers_sketch(v::decimal(4, 3), 1) from (values (0.125), (0.9)) t(v)")
    assert found == cal.Sketch().update([1, 1], [0.125, 0.9]).to_bytes()


@pytest.mark.skipif(COMMAND is None, reason="no command: set CALIPERS")
def test_bytes_and_values_are_those_of_the_command(connection: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    table, made = tmp_path / "rows.parquet", tmp_path / "made.calipers"
    connection.execute(f"copy (select p, y::int as y from rows) to '{table}' (format parquet)")
    for profile in ("exact", "monitoring"):
        arguments = ["sketch", str(table), "--prob", "p", "--label", "y", "--profile", profile, "-o", str(made)]
        subprocess.run([str(COMMAND), *arguments], check=True, capture_output=True)
        found = one(connection, f"select calipers_sketch(p, y, '{profile}') from rows")
        assert found == made.read_bytes()
        connection.execute("create or replace temp table one as select ?::blob as s", [found])
        named = ["--measure", "ls_ece", "--measure", "expected_calibration_error"]
        asked = [str(COMMAND), "assess", str(made), "--sigma", "0.25", "--n-bins", "15", *named, "--json"]
        printed = subprocess.run(asked, check=True, capture_output=True, text=True).stdout
        measured = json.loads(printed)["results"][0]["measures"]
        ls_ece, ece = measured["ls_ece"], measured["expected_calibration_error"]
        assert one(connection, "select calipers_ls_ece(s, 0.25) from one") == ls_ece["value"]
        assert one(connection, "select calipers_ece(s) from one") == ece["value"]
        whole = one(connection, "select calipers_assess(s, 'ls_ece', 'sigma=0.25') from one")
        assert (whole["value"], whole["p_value"]) == (ls_ece["value"], ls_ece["p_value"])
        assert (whole["floor"], whole["floor_std"]) == (ls_ece["floor"]["mean"], ls_ece["floor"]["deviation"])
        assert (whole["lower"], whole["upper"]) == (ls_ece["interval"]["lower"], ls_ece["interval"]["upper"])


@pytest.mark.parametrize("threads", [1, 7, 64])
def test_threads_and_partitions_change_nothing(rows: dict[str, Any], threads: int, tmp_path: Path) -> None:
    whole = cal.Sketch().update(rows["y"], rows["p"]).to_bytes()
    with connected(threads) as connection:
        fill(connection, rows)
        assert one(connection, "select calipers_sketch(p, y) from rows") == whole
        # A file for each partition, read in parallel.
        parts = f"select *, row % {threads} as part from rows"
        connection.execute(f"copy ({parts}) to '{tmp_path}/parts' (format parquet, partition_by (part))")
        files = f"read_parquet('{tmp_path}/parts/*/*.parquet')"
        assert one(connection, f"select calipers_sketch(p, y) from {files}") == whole
        by_part = f"select calipers_sketch(p, y) as s from {files} group by part"
        assert one(connection, f"select calipers_merge(s) from ({by_part})") == whole


def test_each_group_has_the_sketch_of_its_rows(connection: duckdb.DuckDBPyConnection, rows: dict[str, Any]) -> None:
    found = dict(connection.execute("select g, calipers_sketch(p, y, w) from rows group by g").fetchall())
    assert len(found) == len(np.unique(rows["g"])) > 200
    for group, sketch in found.items():
        of = rows["g"] == group
        expected = cal.Sketch().update(rows["y"][of], rows["p"][of], sample_weight=rows["w"][of])
        assert sketch == expected.to_bytes(), group


def test_many_small_groups_and_sorted_ones(connection: duckdb.DuckDBPyConnection, rows: dict[str, Any]) -> None:
    whole = cal.Sketch(profile="monitoring").update(rows["y"], rows["p"]).to_bytes()
    for group in ("row // 3", "row % 30000", "row // 40000"):
        sketches = f"select calipers_sketch(p, y, 'monitoring') as s from rows group by {group}"
        assert one(connection, f"select calipers_merge(s) from ({sketches})") == whole
        assert one(connection, f"select sum(calipers_n(s)) from ({sketches})") == N


def test_tied_rows_and_many_rows_of_a_group() -> None:
    # Groups that settle early, since their rows are in few cells, and one with a table for filling.
    with connected() as connection:
        connection.execute(
            "create table t as select ((i * 7919) % 100 + 0.5) / 100 as p, (i * 31) % 11 < 4 as y, i "
            "from range(600000) r(i)"
        )
        columns = connection.execute("select p, y, i from t order by i").fetchnumpy()
        whole = cal.Sketch().update(columns["y"], columns["p"]).to_bytes()
        assert one(connection, "select calipers_sketch(p, y) from t") == whole
        parts = "select calipers_sketch(p, y) as s from t group by i % 13"
        assert one(connection, f"select calipers_merge(s) from ({parts})") == whole
        spread = "(i % 599999 + 0.5) / 600000"
        p = (columns["i"] % 599999 + 0.5) / 600000
        whole = cal.Sketch().update(columns["y"], p).to_bytes()
        assert one(connection, f"select calipers_sketch({spread}, y) from t") == whole
        parts = f"select calipers_sketch({spread}, y) as s from t group by i % 13"
        assert one(connection, f"select calipers_merge(s) from ({parts})") == whole


def test_values_are_those_of_the_sketch(connection: duckdb.DuckDBPyConnection, rows: dict[str, Any]) -> None:
    sketch = cal.Sketch().update(rows["y"], rows["p"])
    connection.execute("create or replace temp table one as select calipers_sketch(p, y) as s from rows")
    assert one(connection, "select calipers_n(s) from one") == N
    assert one(connection, "select calipers_ls_ece(s) from one") == float(sketch.ls_ece())
    assert one(connection, "select calipers_ls_ece(s, 0.1) from one") == float(sketch.ls_ece(sigma=0.1))
    assert one(connection, "select calipers_ece(s, 10) from one") == float(sketch.expected_calibration_error(n_bins=10))
    for measure in cal.measures():
        query = f"select calipers_measure(s, '{measure.name}') from one"
        if measure.from_sketch == "nothing":
            assert "measure must be one that a sketch can answer" in said(connection, query)
        else:
            assert one(connection, query) == float(sketch.estimate(measure.name)), measure.name
    found = one(connection, "select calipers_measure(s, 'ls_ece', 'sigma=0.3, noise=laplace') from one")
    assert found == float(sketch.ls_ece(sigma=0.3, noise="laplace"))


def test_an_assessment_is_that_of_the_sketch(connection: duckdb.DuckDBPyConnection, rows: dict[str, Any]) -> None:
    expected = cal.Sketch().update(rows["y"], rows["p"]).assess(level=0.9, n_resamples=100, random_state=3, sigma=0.2)
    options = "sigma=0.2, level=0.9, n_resamples=100, random_state=3"
    found = one(connection, f"select calipers_assess(calipers_sketch(p, y), 'ls_ece', '{options}') from rows")
    assert expected.floor is not None
    assert found == {
        "value": expected.value,
        "numerical_bound": expected.estimate.numerical_bound,
        "floor": expected.floor.mean,
        "floor_std": expected.floor.deviation,
        "lower": expected.interval.lower,
        "upper": expected.interval.upper,
        "p_value": expected.floor.p_value,
        "significant": expected.significant,
        "sentence": expected.sentence,
    }


def test_sketches_of_other_programs_are_read(connection: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    # Those of the command, of Python and of Spark are Parquet files with a column `sketch`.
    sketches = {"a": cal.Sketch().update([1, 0], [0.9, 0.2]), "b": cal.Sketch().update([1], [0.6])}
    cal.write_sketches(sketches, tmp_path / "groups.parquet", by="g")
    query = f"select calipers_merge(sketch) from '{tmp_path}/groups.parquet'"
    assert one(connection, query) == sketches["a"].merge(sketches["b"]).to_bytes()


def test_windows_filters_and_distinct(connection: duckdb.DuckDBPyConnection, rows: dict[str, Any]) -> None:
    first = "(select * from rows where row < 50)"
    window = "calipers_sketch(p, y) over (order by row rows between 9 preceding and current row)"
    found = connection.execute(f"select row, {window} from {first} order by row").fetchall()
    for row, sketch in found:
        of = slice(max(0, row - 9), row + 1)
        assert sketch == cal.Sketch().update(rows["y"][of], rows["p"][of]).to_bytes()
    query = "select calipers_sketch(p, y) filter (g = 3) from rows"
    of = rows["g"] == 3
    assert one(connection, query) == cal.Sketch().update(rows["y"][of], rows["p"][of]).to_bytes()
    assert (
        one(connection, "select calipers_n(calipers_sketch(distinct p, y)) from (select 0.5 as p, true as y from rows)")
        == 1
    )


def test_null(connection: duckdb.DuckDBPyConnection) -> None:
    assert one(connection, "select calipers_sketch(p, y) from rows where false") is None
    assert one(connection, "select calipers_merge(null::blob)") is None
    assert one(connection, "select calipers_ls_ece(null::blob, 0.1)") is None
    assert one(connection, "select calipers_assess(null::blob)") is None
    mixed = "select calipers_merge(s) from (select calipers_sketch(0.9, 1) as s union all select null)"
    assert one(connection, mixed) == cal.Sketch().update([1], [0.9]).to_bytes()
    hint = "leave such rows out by WHERE or FILTER, or count them by the option 'invalid=count'"
    for column, arguments in {
        "probability": "if(row = 7, null, p), y",
        "label": "p, if(row = 7, null, y)",
        "weight": "p, y, if(row = 7, null, w)",
    }.items():
        text = said(connection, f"select calipers_sketch({arguments}) from rows")
        assert f"calipers_sketch: {column} in a row is missing; {hint}" in text


def test_invalid_rows_are_counted_in_their_group(connection: duckdb.DuckDBPyConnection, rows: dict[str, Any]) -> None:
    p, y = rows["p"].copy(), rows["y"].astype(float)
    p[::1000], y[5::1000] = np.nan, np.nan
    query = "if(row % 1000 = 0, null, p), if(row % 1000 = 5, null, y), 'invalid=count'"
    found = one(connection, f"select calipers_sketch({query}) from rows")
    missing = [None if bad else value for value, bad in zip(rows["p"].tolist(), np.isnan(p), strict=True)]
    labels = [None if bad else value for value, bad in zip(rows["y"].tolist(), np.isnan(y), strict=True)]
    expected = cal.Sketch().update(np.array(labels, dtype=object), np.array(missing, dtype=object), invalid="count")
    assert (
        cal.Sketch.from_bytes(found).left_out == expected.left_out == {"missing label": 100, "missing probability": 100}
    )
    assert found == expected.to_bytes()
    parts = f"select calipers_sketch({query}) as s from rows group by g"
    assert one(connection, f"select calipers_merge(s) from ({parts})") == found
    assert one(connection, "select calipers_n(calipers_sketch(null::double, null::int, 'invalid=count'))") == 0


ERRORS = {
    "calipers_sketch(p * 2, y)": "calipers_sketch: probability in a row must be in [0, 1], got 1.",
    "calipers_sketch(p * 100, y)": "if these are percentages, divide them by 100",
    "calipers_sketch(p * 100, y, 'invalid=count')": "if these are percentages, divide them by 100",
    "calipers_sketch(p * 20 - 10, y)": "which looks like logits: pass the option 'from_logits=true' if they are",
    "calipers_sketch('nan'::double, y)": "probability in a row must be in [0, 1], got NaN",
    "calipers_sketch(p, y::int + 1)": "label in a row must be 0 or 1, got 2",
    "calipers_sketch(p, y, -w - 1)": "weight in a row must be finite and not negative",
    "calipers_sketch(p, y, 'fast')": 'profile must be "exact" or "monitoring", got "fast"',
    "calipers_sketch(p, y, 'bins=3')": "option must be profile, resolution, clip, n_bins, weight_bits, invalid or",
    "calipers_sketch(p, y, if(g = 1, 'exact', 'monitoring'))": "options must be the same for all rows",
    "calipers_merge(row::varchar::blob)": "calipers_merge: bytes must be a calipers sketch",
    "calipers_n('calipers'::blob)": "calipers_n: bytes must be a calipers sketch",
    "calipers_ls_ece(calipers_sketch(p, y), -1)": "calipers_ls_ece: sigma must be in [1e-9, 1e6]",
    "calipers_ece(calipers_sketch(p, y), 0)": "calipers_ece: n_bins must be from 1 to",
    "calipers_measure(calipers_sketch(p, y), 'ls_eec')": 'did you mean "ls_ece"?',
    "calipers_measure(calipers_sketch(p, y), 'ls_ece', 'bins=3')": "option must be one of sigma, noise, link",
    "calipers_measure(calipers_sketch(p, y), 'ls_ece', 'sigma')": "options must be name=value",
    "calipers_assess(calipers_sketch(p, y), 'ls_ece', 'level=2')": "level must be",
    "calipers_ls_ece(calipers_sketch(p, y, 0.0))": "weights must not all be zero",
}


@pytest.mark.parametrize("call", ERRORS)
def test_an_error_has_the_rule_and_the_value(connection: duckdb.DuckDBPyConnection, call: str) -> None:
    text = said(connection, f"select {call} from rows")
    assert ERRORS[call] in text and "bug" not in text
    # The query has failed, not the database.
    assert one(connection, "select calipers_n(calipers_sketch(p, y)) from rows") == N


def test_unlike_sketches_are_not_merged(connection: duckdb.DuckDBPyConnection) -> None:
    sketches = "select calipers_sketch(0.5, 1) as s union all select calipers_sketch(0.5, 1, 'clip=1e-3')"
    assert "sketches must have the same clip to be merged" in said(
        connection, f"select calipers_merge(s) from ({sketches})"
    )


def test_try_makes_an_error_null(connection: duckdb.DuckDBPyConnection) -> None:
    assert one(connection, "select try(calipers_n('calipers'::blob))") is None


def test_states_are_freed(connection: duckdb.DuckDBPyConnection) -> None:
    resident = Path("/proc/self/statm")
    if not resident.exists():
        pytest.skip("memory is read from /proc")

    def used() -> int:
        return int(resident.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    def aggregate() -> None:
        connection.execute(
            "select sum(octet_length(s)) from (select calipers_sketch(p, y) as s from rows group by row // 4)"
        ).fetchall()
        with pytest.raises(duckdb.Error):
            connection.execute(
                "select calipers_sketch(p, if(row > 90000, 2, y::int)) from rows group by row // 4"
            ).fetchall()

    for _ in range(3):
        aggregate()
    before = used()
    for _ in range(12):
        aggregate()
    # 25,000 states in each of 24 queries, of a few hundred bytes each: 200 MB if they stayed.
    assert used() - before < 60 << 20


def test_large_input_in_the_memory_of_a_sketch() -> None:
    with connected() as connection:
        numbers = "select hash(i) % 1000003 as a, hash(i + 7) % 1000003 as b from range(4000000) r(i)"
        uniform = f"select (a + 0.5) / 1000003 as p, b < a as y from ({numbers})"
        found = cal.Sketch.from_bytes(one(connection, f"select calipers_sketch(p, y) from ({uniform})"))
        assert found.n == 4_000_000
        assert abs(found.ls_ece(sigma=0.1) - found.ls_ece(sigma=0.2)) < 0.1


class Table(doctest.OutputChecker):
    """Compares output but for the blank line after a table."""

    def check_output(self, want: str, got: str, optionflags: int) -> bool:
        return super().check_output(want.rstrip(), got.rstrip(), optionflags)


def test_the_example_of_the_guide_runs() -> None:
    text = (ROOT / "docs" / "guide" / "sql.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    source = "\n".join(block for block in blocks if "db." in block)
    source = source.replace("target/duckdb/calipers.duckdb_extension", str(EXTENSION))
    test = doctest.DocTestParser().get_doctest(source, {}, "sql.md", "sql.md", 0)
    assert len(test.examples) == 7
    assert doctest.DocTestRunner(Table()).run(test).failed == 0
