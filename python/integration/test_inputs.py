"""Columns of the libraries that people have: every kind on every function gives the bits of numpy's float64."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import calipers
import duckdb
import jax.numpy as jnp
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import torch
from calipers import _inputs

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "python" / "tests"))

from every_function import CLUSTER, FINE, NAMES, NUMPY, Array, Kind, P, Y, bits, said  # noqa: E402


def texts(array: Array) -> Array:
    """Names in place of numbers, for clusters."""
    return np.array([f"cluster {value}" for value in array.tolist()])


def lists(array: Array) -> Any:
    """pyarrow's fixed-size lists where rows have several values."""
    if array.ndim == 1:
        return pa.array(array)
    return pa.FixedSizeListArray.from_arrays(pa.array(array.ravel()), array.shape[1])


def table(array: Array) -> Any:
    """pyarrow's table, a column of it for each of numpy's."""
    return pa.table({f"class {index}": column for index, column in enumerate(array.reshape(len(array), -1).T)})


def chunked(array: Array) -> Any:
    return pa.chunked_array([lists(array[:30]), lists(array[30:30]), lists(array[30:])])


def relation(array: Array, cast: str = "double") -> Any:
    """DuckDB's answer to a query, with a row number so that its order is that of the table."""
    columns = table(array)
    names = ", ".join(f'"{name}"::{cast}' for name in columns.column_names)
    connection = duckdb.connect()
    connection.register("columns", columns.append_column("row", pa.array(range(len(array)))))
    return connection.sql(f"select {names} from columns order by row")


def frame(array: Array) -> Any:
    """A frame of pandas whose index is not 0, 1, 2, which an export would take for a column."""
    return pd.DataFrame(array.reshape(len(array), -1)).set_index(np.arange(len(array))[::-1] + 5)


def series(dtype: str) -> Callable[[Array], Any]:
    """A series, or a frame of several, of a type of pandas."""
    return lambda array: pd.Series(array).astype(dtype) if array.ndim == 1 else frame(array).astype(dtype)


KINDS = {
    "pyarrow": Kind(lists, pa.array),
    "pyarrow float32, uint8": Kind(
        lambda array: lists(array.astype(np.float32)), lambda array: pa.array(array.astype("u1"))
    ),
    "pyarrow float16, bool": Kind(
        lambda array: lists(array.astype(np.float16)), lambda array: pa.array(array == 1), pa.array
    ),
    "pyarrow lists": Kind(lambda array: pa.array(array.tolist()), lambda array: pa.array(array.astype("i2"))),
    "pyarrow large lists": Kind(
        lambda array: pa.array(array.tolist(), pa.large_list(pa.float64()) if array.ndim == 2 else None), pa.array
    ),
    "pyarrow chunks": Kind(chunked, chunked, lambda array: pa.chunked_array([texts(array[:9]), texts(array[9:])])),
    "pyarrow dictionary": Kind(lists, lambda array: pa.array(array).dictionary_encode()),
    "pyarrow table": Kind(table, table),
    "pyarrow batch": Kind(lambda array: table(array).to_batches()[0], lambda array: table(array).to_batches()[0]),
    "pyarrow reader": Kind(lambda array: table(array).to_reader(17), lambda array: table(array).to_reader()),
    "pyarrow slices": Kind(
        lambda array: lists(np.repeat(array, 3, axis=0))[: 3 * len(array)].take(pa.array(np.arange(len(array)) * 3)),
        lambda array: pa.array(np.concatenate([array, array]))[len(array) :],
    ),
    "polars": Kind(pl.Series, pl.Series, lambda array: pl.Series(texts(array), dtype=pl.Categorical)),
    "polars float32, bool": Kind(
        lambda array: pl.Series(array.astype("f4")), lambda array: pl.Series(array == 1), pl.Series
    ),
    "polars frame": Kind(
        lambda array: pl.DataFrame(array.reshape(len(array), -1)), lambda array: pl.DataFrame({"y": array})
    ),
    "pandas": Kind(lambda array: pd.Series(array) if array.ndim == 1 else frame(array), pd.Series),
    "pandas frame": Kind(frame, frame),
    "pandas Float64": Kind(series("Float64"), series("Int64"), lambda array: pd.Series(texts(array))),
    "pandas Float32": Kind(series("Float32"), series("boolean"), series("category")),
    "pandas of pyarrow": Kind(series("double[pyarrow]"), series("int8[pyarrow]")),
    "DuckDB": Kind(relation, lambda array: relation(array, "int")),
    "DuckDB decimals": Kind(lambda array: relation(array, "decimal(18, 10)"), lambda array: relation(array, "hugeint")),
    "JAX": Kind(lambda array: jnp.asarray(array, "float32"), jnp.asarray),
    "JAX float16": Kind(
        lambda array: jnp.asarray(array, "float16"), lambda array: jnp.asarray(array == 1), jnp.asarray
    ),
    "JAX bfloat16": Kind(lambda array: jnp.asarray(array, "bfloat16"), lambda array: jnp.asarray(array, "int8")),
    "bfloat16 of ml_dtypes": Kind(lambda array: np.asarray(jnp.asarray(array, "bfloat16")), np.asarray),
}

KINDS |= {
    "torch": Kind(torch.tensor, torch.tensor),
    "torch float32, bool": Kind(
        lambda array: torch.tensor(array, dtype=torch.float32), lambda array: torch.tensor(array == 1), torch.tensor
    ),
    "torch with gradients": Kind(lambda array: torch.tensor(array, requires_grad=True) * 1, torch.tensor),
    "torch parameter": Kind(lambda array: torch.nn.Parameter(torch.tensor(array)), torch.tensor),
    "torch float16": Kind(
        lambda array: torch.tensor(array, dtype=torch.float16), lambda array: torch.tensor(array).byte()
    ),
    "torch bfloat16": Kind(
        lambda array: torch.tensor(array, dtype=torch.bfloat16, requires_grad=True),
        lambda array: torch.tensor(array).short(),
    ),
    "torch transposed": Kind(
        lambda array: torch.tensor(array.T.copy()).T, lambda array: torch.tensor(np.repeat(array, 2))[::2]
    ),
}


@pytest.fixture(scope="module")
def expected() -> dict[str, Any]:
    return {name: said(name, NUMPY) for name in NAMES}


@pytest.mark.parametrize("kind", KINDS)
def test_every_function_gives_the_same_bits(kind: str, expected: dict[str, Any]) -> None:
    for name in NAMES:
        if name != "lower_distance_to_calibration":  # a second each; what follows the door does not know the kind
            assert said(name, KINDS[kind]) == expected[name], name


def test_torch_is_among_the_kinds() -> None:
    assert sum(kind.startswith("torch") for kind in KINDS) == 7


SINGLE = {
    "pyarrow": lambda array: pa.array(array.astype(np.float32)),
    "polars": lambda array: pl.Series(array, dtype=pl.Float32),
    "pandas": lambda array: pd.Series(array, dtype="float32"),
    "DuckDB": lambda array: relation(array, "float"),
    "JAX": lambda array: jnp.asarray(array, "float32"),
}


@pytest.mark.parametrize("library", SINGLE)
def test_float32_gives_the_bits_of_numpys_float32(library: str) -> None:
    expected = bits(calipers.ls_ece(Y, FINE.astype(np.float32), sigma=0.3))
    assert bits(calipers.ls_ece(Y, SINGLE[library](FINE), sigma=0.3)) == expected
    assert expected != bits(calipers.ls_ece(Y, FINE, sigma=0.3))


@pytest.mark.parametrize(
    "labels",
    [
        pa.array(texts(Y)),
        pa.array(texts(Y), pa.large_string()),
        pa.array(texts(Y)).cast(pa.string_view()),
        pa.array(texts(Y)).dictionary_encode(),
        pa.chunked_array([texts(Y[:5]), texts(Y[5:])]),
        pa.chunked_array([pa.array(texts(Y[:5])).dictionary_encode(), pa.array(texts(Y[5:])).dictionary_encode()]),
        pl.Series(texts(Y)),
        pl.Series(texts(Y), dtype=pl.Categorical),
        pl.Series(texts(Y), dtype=pl.Enum(["cluster 1", "cluster 0"])),
        pd.Series(texts(Y)),
        pd.Series(texts(Y), dtype="category"),
        pd.Series(texts(Y), dtype=object),
    ],
    ids=lambda labels: type(labels).__name__,
)
def test_text_of_every_kind_is_a_label(labels: Any) -> None:
    assert calipers.ls_ece(labels, P, pos_label="cluster 1") == calipers.ls_ece(Y, P)


@pytest.mark.parametrize("type_of", [pa.timestamp("s"), pa.timestamp("ns", "UTC"), pa.date64(), pa.int64()], ids=str)
def test_points_in_time_are_clusters_but_no_labels(type_of: Any) -> None:
    times = pa.array(CLUSTER).cast(type_of) if type_of != pa.date64() else pa.array(CLUSTER * 86_400_000, pa.date64())
    found = calipers.assess(Y, P, cluster=times, n_resamples=99)
    assert bits(found) == bits(calipers.assess(Y, P, cluster=CLUSTER, n_resamples=99))
    if type_of != pa.int64():
        with pytest.raises(calipers.CalipersError, match="labels must be numbers, true and false, or text"):
            calipers.ls_ece(times, P)


def test_single_chunks_are_read_where_they_are() -> None:
    for dtype in (np.float32, np.float64):
        array = pa.array(P.astype(dtype))
        for column in (array, pa.chunked_array([array]), pa.table({"p": array})):
            found, _ = _inputs.float_column(column, "probabilities")
            assert found.ctypes.data == array.buffers()[1].address
        flat = pa.array(np.repeat(P, 3).astype(dtype))
        found, _ = _inputs.float_column(pa.FixedSizeListArray.from_arrays(flat, 3)[7:], "probabilities", max_ndim=2)
        assert found.ctypes.data == flat.buffers()[1].address + 21 * found.itemsize
        held = pl.Series(P.astype(dtype))
        assert _inputs.float_column(held, "probabilities")[0].ctypes.data == held.to_numpy(allow_copy=False).ctypes.data
        of_numpy = P.astype(dtype)
        assert np.shares_memory(_inputs.float_column(pd.Series(of_numpy, copy=False), "weights")[0], of_numpy)
        tensor = torch.tensor(P.astype(dtype), requires_grad=True)
        assert _inputs.float_column(tensor, "probabilities")[0].ctypes.data == tensor.data_ptr()
    column = jnp.asarray(P, "float32")
    assert _inputs.float_column(column, "probabilities")[0].ctypes.data == column.unsafe_buffer_pointer()


# Refusals.

WITH_NULL = [None if row == 17 else value for row, value in enumerate(P.tolist())]
NULLS = {
    "pyarrow": pa.array(WITH_NULL),
    "pyarrow chunks": pa.chunked_array([WITH_NULL[:9], WITH_NULL[9:]]),
    "pyarrow, a chunk of nulls": pa.chunked_array([WITH_NULL[:17], WITH_NULL[17:18], WITH_NULL[18:]], pa.float64()),
    "pyarrow table": pa.table({"no": 1 - P, "yes": WITH_NULL}),
    "pyarrow list": pa.array([None if value is None else [1 - value, value] for value in WITH_NULL]),
    "pyarrow null in a list": pa.array([[0.5, value] for value in WITH_NULL]),
    "pyarrow null in fixed": pa.array([[0.5, value] for value in WITH_NULL], pa.list_(pa.float64(), 2)),
    "pyarrow null fixed": pa.array([value and [1 - value, value] for value in WITH_NULL], pa.list_(pa.float64(), 2)),
    "polars": pl.Series(WITH_NULL),
    "polars frame": pl.DataFrame({"no": 1 - P, "yes": WITH_NULL}),
    "pandas Float64": pd.Series(WITH_NULL, dtype="Float64"),
    "pandas of pyarrow": pd.Series(WITH_NULL, dtype="double[pyarrow]"),
    "pandas objects": pd.Series(WITH_NULL, dtype=object),
    "DuckDB": duckdb.sql("select case when range = 17 then null else 0.5 end from range(120) order by range"),
}


@pytest.mark.parametrize("kind", NULLS)
def test_a_null_is_refused_with_its_row(kind: str) -> None:
    with pytest.raises(calipers.CalipersError, match=r"^probability in row 17 is missing; correct it, or pass"):
        calipers.ls_ece(Y, NULLS[kind], sum_tolerance=1)
    assert calipers.ls_ece(Y, NULLS[kind], sum_tolerance=1, invalid="count").left_out == {"missing probability": 1}


INEXACT = json.loads((ROOT / "fixtures" / "inexact.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("case", INEXACT, ids=[case["name"] for case in INEXACT])
def test_rows_that_are_not_quite_right_are_counted_alike(case: dict[str, Any]) -> None:
    p = case["y_prob"]
    kinds = (pa.array(p), pa.chunked_array([p[:1], p[1:]]), pl.Series(p), pd.Series(p), torch.tensor(p).double())
    for rows in kinds:
        found = calipers.ls_ece(case["y_true"], rows, **case["options"])
        assert {name: getattr(found, name) for name in ("n_rounded", "n_inexact_sums", "left_out")} == {
            name: case[name] for name in ("n_rounded", "n_inexact_sums", "left_out")
        }


def test_nulls_that_do_not_fit_into_memory_are_an_error() -> None:
    lists = pa.array([[0.0] * 100_000] + [None] * 60_000)
    chunks = pa.chunked_array([lists[:1], lists[1:]])
    for rows in (lists, chunks):
        with pytest.raises(calipers.CalipersError, match="got 60000 of 60001 lists of 100000 values missing"):
            calipers.ls_ece([0] * 60_001, rows, invalid="count")
    with pytest.raises(MemoryError, match=f"probabilities have {2**30} nulls, and at most {2**26} are read"):
        calipers.ls_ece([1], pa.nulls(2**30))


@pytest.mark.parametrize("column", [pd.Series(P).mask(P[3] == P), pl.Series(np.where(P[3] == P, np.nan, P))], ids=type)
def test_nan_is_no_null(column: Any) -> None:
    with pytest.raises(calipers.CalipersError, match=r"^probability in row 3 must be in \[0, 1\], got NaN; correct it"):
        calipers.ls_ece(Y, column)


@pytest.mark.parametrize(
    ("column", "text"),
    [
        (pa.array([1, 2], pa.time32("s")), "must be numbers, got Time32Array (Arrow's Time32(s))"),
        (pa.array([b"a", b"b"]), "must be numbers, got BinaryArray (Arrow's Binary)"),
        (pa.array(["a", "b"]), 'must be numbers, got text "a" in row 0'),
        (pa.array([[0.5, 0.5], [0.2, 0.3, 0.5]]), "must have shape (n,) or (n, k), got rows of different lengths"),
        (
            pa.chunked_array([[[0.5, 0.5]], [[0.2, 0.3, 0.5]]]),
            "must have shape (n,) or (n, k), got rows of different lengths",
        ),
        (
            pa.table({"a": [[1.0], [2.0]], "b": [1.0, 2.0]}),
            "must have shape (n,) or (n, k), got lists in a table of 2 columns",
        ),
        (pa.table({}), "must have shape (n,) or (n, k), got a table without columns"),
        (pl.Series(["a", "b"]), 'must be numbers, got text "a" in row 0'),
        (pl.Series([0.5, 1.5]), "probability in row 1 must be in [0, 1], got 1.5"),
    ],
    ids=lambda given: given if isinstance(given, str) else type(given).__name__,
)
def test_what_cannot_be_probabilities_is_refused(column: Any, text: str) -> None:
    with pytest.raises(calipers.CalipersError) as refused:
        calipers.ls_ece([0, 1], column)
    assert text in str(refused.value)


def test_a_query_that_fails_is_refused() -> None:
    failing = duckdb.sql("select case when range = 7 then error('no such row') else 0.5 end from range(10)")
    with pytest.raises(calipers.CalipersError, match="no such row"):
        calipers.ls_ece(np.arange(10) % 2, failing)


def test_tensors_without_values_are_refused() -> None:
    for tensor in (torch.empty(3, device="meta"), torch.eye(3).to_sparse()):
        with pytest.raises(calipers.CalipersError, match="probabilities must be numbers, got Tensor"):
            calipers.ls_ece([0, 1, 0], tensor)


# Memory.

MEMORY_PROGRAM = """
import sys
import numpy as np
import calipers

n = 100_000_000
probabilities, labels = np.empty(n, np.float32), np.empty(n, np.uint8)
rng = np.random.default_rng(0)
for start in range(0, n, 1_000_000):
    rows = slice(start, start + 1_000_000)
    rng.random(dtype=np.float32, out=probabilities[rows])
    labels[rows] = rng.random(1_000_000, dtype=np.float32) < probabilities[rows]
if sys.argv[1] == "torch":
    import torch
    probabilities, labels = torch.from_numpy(probabilities), torch.from_numpy(labels.view(bool))
if sys.argv[1] == "pyarrow":
    import pyarrow
    probabilities, labels = pyarrow.array(probabilities), pyarrow.array(labels)

def kib(name):
    return int(next(line for line in open("/proc/self/status") if line.startswith(name)).split()[1])

calipers.ls_ece(labels[:200_000], probabilities[:200_000], sigma=0.1)
# The mark goes back to what is held now, so that nothing from before hides a rise.
open("/proc/self/clear_refs", "w").write("5")
before = kib("VmHWM")
calipers.ls_ece(labels, probabilities, sigma=0.1)
print((kib("VmHWM") - before) / 1024)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="/proc/self/status is Linux's")
@pytest.mark.parametrize("library", ["numpy", "pyarrow", "torch"])
def test_a_hundred_million_rows_raise_the_peak_by_less_than_64_mib(library: str) -> None:
    """A copy of the labels alone would be 95 MiB, one of the probabilities 381."""
    program = [sys.executable, "-c", MEMORY_PROGRAM, library]
    risen = float(subprocess.run(program, check=True, capture_output=True, text=True).stdout)
    print(f"{library}: the peak rose by {risen:.1f} MiB")
    assert risen < 64
