"""Columns of every kind x every function: the bits of numpy's float64. On numpy alone; see python/integration."""

from __future__ import annotations

import gc
import subprocess
import sys
from typing import Any

import calipers
import every_function
import foreign
import numpy as np
import pytest
from calipers import _core, _inputs
from cases import LEAVE_OUT
from every_function import CLUSTER, FINE, NAMES, NUMPY, Kind, P, Y, said
from foreign import Array, ArrowColumn, ArrowStream, Tensor


def halves(array: Array) -> tuple[Array, Array, Array]:
    return array[:50], array[50:50], array[50:]


def masked(array: Array) -> Any:
    return np.ma.masked_array(array, mask=np.zeros(array.shape, bool))


def strided(array: Array) -> Array:
    return np.repeat(array, 2, axis=0)[::2]


KINDS = {
    "float16": Kind(lambda array: array.astype(np.float16), lambda array: array.astype(np.int8)),
    "float32": Kind(lambda array: array.astype(np.float32), lambda array: array.astype(np.uint8)),
    "strided": Kind(strided, strided),
    "Fortran": Kind(np.asfortranarray, lambda array: np.asfortranarray(array[:, None])[:, 0]),
    "lists": Kind(lambda array: array.tolist(), lambda array: array.tolist()),
    "masked, nothing is": Kind(masked, masked),
    "DLPack": Kind(Tensor, Tensor),
    "DLPack float32": Kind(
        lambda array: Tensor(array.astype(np.float32)), lambda array: Tensor(array.astype(np.int32))
    ),
    "DLPack float16": Kind(
        lambda array: Tensor(array.astype(np.float16)), lambda array: Tensor(array.astype(np.uint8))
    ),
    "DLPack bfloat16": Kind(foreign.BrainTensor, foreign.BrainTensor),
    "DLPack strided": Kind(lambda array: Tensor(strided(array)), lambda array: Tensor(strided(array))),
    "DLPack Fortran": Kind(lambda array: Tensor(np.asfortranarray(array)), Tensor),
    "DLPack with gradients": Kind(foreign.GradientTensor, foreign.GradientTensor),
    "DLPack on a device with cpu()": Kind(foreign.DistantTensor, foreign.DistantTensor),
    "DLPack on a device with dl_device": Kind(foreign.AskedTensor, foreign.AskedTensor),
    "DLPack on a device with to_device": Kind(foreign.MovedTensor, foreign.MovedTensor),
    "Arrow": Kind(ArrowColumn, ArrowColumn),
    "Arrow float32": Kind(
        lambda array: ArrowColumn(array.astype(np.float32)), lambda array: ArrowColumn(array != 0), ArrowColumn
    ),
    "Arrow float16": Kind(
        lambda array: ArrowColumn(array.astype(np.float16)), lambda array: ArrowColumn(array.astype(np.uint16))
    ),
    "Arrow stream": Kind(lambda array: ArrowStream(*halves(array)), lambda array: ArrowStream(array)),
    "Arrow table": Kind(
        lambda array: ArrowStream(*halves(array.reshape(len(array), -1)), frame=True),
        lambda array: ArrowStream(array[:, None], frame=True),
    ),
}
if np.lib.NumpyVersion(np.__version__) >= "2.1.0":
    KINDS["DLPack of a version"] = Kind(foreign.VersionedTensor, foreign.VersionedTensor)


@pytest.fixture(scope="module")
def expected() -> dict[str, Any]:
    return {name: said(name, NUMPY) for name in NAMES}


@pytest.mark.parametrize("name", NAMES)
def test_every_kind_of_column_gives_the_same_bits(name: str, expected: dict[str, Any]) -> None:
    slow = name == "lower_distance_to_calibration"  # by the door alone; what follows it does not know the kind
    for kind in ["DLPack bfloat16", "Arrow table"] if slow else KINDS:
        assert said(name, KINDS[kind]) == expected[name], kind


def test_rounded_values_are_those_of_numpy() -> None:
    single = FINE.astype(np.float32)
    by_single, by_double = calipers.ls_ece(Y, single, sigma=0.3), calipers.ls_ece(Y, FINE, sigma=0.3)
    assert by_single != by_double
    for column in (Tensor, ArrowColumn, ArrowStream):
        assert calipers.ls_ece(Y, column(single), sigma=0.3) == by_single
        assert calipers.ls_ece(Y, column(FINE), sigma=0.3) == by_double
    cut = (foreign.brain_bits(FINE).astype(np.uint32) << 16).view(np.float32)
    assert calipers.ls_ece(Y, foreign.BrainTensor(FINE), sigma=0.3) == calipers.ls_ece(Y, cut, sigma=0.3)


# In place.


@pytest.mark.parametrize("column", [Tensor, ArrowColumn, ArrowStream])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(600,), (300, 2)])
def test_contiguous_floats_are_read_where_they_are(column: Any, dtype: type, shape: tuple[int, ...]) -> None:
    array = np.ones(shape, dtype)
    found, _ = _inputs.float_column(column(array), "probabilities", max_ndim=2)
    assert found.ctypes.data == array.ctypes.data
    assert found.shape == shape


@pytest.mark.parametrize("dtype", ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8", "?"])
def test_labels_are_read_where_they_are(dtype: str) -> None:
    array = Y.astype(dtype)
    found, _ = _inputs.label_column(Tensor(array))
    assert isinstance(found, np.ndarray)
    assert found.ctypes.data == array.ctypes.data
    if dtype != "?":  # Arrow packs them as bits
        found, _ = _inputs.label_column(ArrowColumn(array))
        assert isinstance(found, np.ndarray)
        assert found.ctypes.data == array.ctypes.data
    assert calipers.ls_ece(ArrowColumn(array), P, sigma=0.2) == calipers.ls_ece(Y, P, sigma=0.2)


def test_a_tensor_is_moved_once() -> None:
    tensor = foreign.DistantTensor(P)
    calipers.ls_ece(Y, tensor)
    assert tensor.n_moves == 1


def test_memory_of_others_lives_as_long_as_it_is_read_and_no_longer() -> None:
    gc.collect()
    before = foreign.n_held()
    found, _ = _inputs.float_column(ArrowColumn(P), "probabilities")
    gc.collect()
    assert foreign.n_held() == before + 1
    assert np.array_equal(found, P)
    del found
    calipers.ls_ece(ArrowStream(*halves(Y)), ArrowStream(*halves(np.stack([1 - P, P], axis=1)), frame=True))
    gc.collect()
    assert foreign.n_held() == before
    array = P.copy()
    references = sys.getrefcount(array)
    found, _ = _inputs.float_column(Tensor(array), "probabilities")
    assert sys.getrefcount(array) > references
    del found
    gc.collect()
    assert sys.getrefcount(array) == references


def test_nothing_is_written_to() -> None:
    for column in (Tensor, ArrowColumn):
        assert not _inputs.float_column(column(P.copy()), "probabilities")[0].flags.writeable


def test_empty_batches_of_every_kind_are_batches() -> None:
    sketch = calipers.Sketch()
    none = np.empty(0)
    for column in (Tensor, ArrowColumn, ArrowStream):
        sketch.update(column(none.astype(np.int8)), column(none))
    assert sketch.n == 0
    sketch.update(Y, ArrowStream(P[:0], P))
    assert sketch.n == len(P)


def test_text_is_a_label_or_a_cluster() -> None:
    texts = np.where(Y == 1, "ja, ä", "")
    expected = calipers.ls_ece(Y, P, sigma=0.2)
    for column in (ArrowColumn(texts), ArrowStream(*halves(texts))):
        assert calipers.ls_ece(column, P, sigma=0.2, pos_label="ja, ä") == expected
    by_number = calipers.assess(Y, P, cluster=CLUSTER, n_resamples=99)
    by_text = calipers.assess(Y, P, cluster=ArrowColumn(CLUSTER.astype("U")), n_resamples=99)
    assert every_function.bits(by_number) == every_function.bits(by_text)


def test_a_stream_is_read_once_for_all_models() -> None:
    class Once(ArrowStream):
        n_reads = 0

        def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
            self.n_reads += 1
            return super().__arrow_c_stream__(requested_schema)

    labels, weights = Once(Y), Once(P)
    calipers.compare(labels, {"a": P, "b": 1 - P, "c": P / 2}, sample_weight=weights, n_resamples=99)
    assert labels.n_reads == weights.n_reads == 1


# Refusals.


@pytest.mark.parametrize(
    ("array", "what"), [(P, "probability"), (np.stack([1 - P, P], axis=1), "probability"), (Y, "label"), (P, "weight")]
)
def test_nulls_are_refused_with_their_row_or_counted(array: Array, what: str) -> None:
    column = ArrowColumn(array, np.arange(len(array)) == 17)
    columns: dict[str, Any] = {"label": Y, "probability": P, "weight": None, what: column}

    def measure(**options: Any) -> calipers.Estimate:
        return calipers.ls_ece(
            columns["label"], columns["probability"], sample_weight=columns["weight"], sigma=0.2, **options
        )

    with pytest.raises(calipers.CalipersError, match=f"^{what} in row 17 is missing{LEAVE_OUT}$") as refused:
        measure()
    assert refused.value.code == "missing"
    assert measure(invalid="count").left_out == {f"missing {what}": 1}


def test_a_null_cluster_is_refused_with_its_row() -> None:
    with pytest.raises(calipers.CalipersError, match="cluster in row 5 is missing"):
        calipers.assess(Y, P, cluster=ArrowColumn(CLUSTER, np.arange(len(P)) == 5))


def test_a_masked_array_behind_a_protocol_is_masked() -> None:
    class Holder:
        def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
            del dtype, copy
            return np.ma.masked_array([0.5, 0.5], mask=[False, True])

    with pytest.raises(calipers.CalipersError, match="probability in row 1 is missing"):
        calipers.ls_ece([0, 1], Holder())


class Capsule:
    """A tensor with other fields."""

    def __init__(self, **fields: int) -> None:
        self.fields = fields

    def __dlpack__(self) -> Any:
        return foreign.patched(P.copy(), **self.fields)

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0


class Failing:
    """An object whose exports fail with an exception of its own."""

    class OwnError(Exception):
        pass

    def __init__(self, *names: str) -> None:
        self.names = names

    def __getattr__(self, name: str) -> Any:
        if name in ("names", "detach", "cpu", "to_device", "shape") or name not in self.names:
            raise AttributeError(name)

        def fail(*_: Any, **__: Any) -> Any:
            raise self.OwnError("the line\nis busy")

        return fail


class NoCapsule:
    def __arrow_c_stream__(self) -> Any:
        return 3


@pytest.mark.parametrize(
    ("column", "got"),
    [
        (Capsule(code=4, bits=8), "Capsule (a DLPack type with code 4, 8 bits and 1 lanes)"),
        (Capsule(code=2, bits=64, lanes=2), "Capsule (a DLPack type with code 2, 64 bits and 2 lanes)"),
        (Capsule(code=17), "Capsule (a DLPack type with code 17, 64 bits and 1 lanes)"),
        (Capsule(device=2), "Capsule (a DLPack tensor on device (2, 0))"),
        (Capsule(ndim=-1), "Capsule (a DLPack tensor of an impossible shape)"),
        (Capsule(ndim=65), "Capsule (a DLPack tensor of an impossible shape)"),
        (Tensor(P.astype(np.complex128)), "complex128"),
        (Failing("__dlpack__", "__dlpack_device__"), "Failing (the line is busy)"),
        (Failing("__arrow_c_array__"), "Failing (the line is busy)"),
        (Failing("__arrow_c_stream__"), "Failing (the line is busy)"),
        (ArrowStream(P, failure=b"disk full"), "ArrowStream (C Data interface error: disk full)"),
        (ArrowStream(P, failure=b""), "ArrowStream (C Data interface error: error 5 of the stream)"),
        (ArrowColumn(Y.astype("U")), f'text "{Y[0]}" in row 0'),
    ],
)
def test_what_no_door_takes_is_refused_with_the_reason(column: Any, got: str) -> None:
    with pytest.raises(calipers.CalipersError) as refused:
        calipers.ls_ece(Y, column)
    assert str(refused.value) == f"probabilities must be numbers, got {got}"
    assert refused.value.code == "wrong_type"


@pytest.mark.parametrize("shape", [(), (2, 2, 2), (8, 0)])
def test_tensors_of_another_shape_are_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(calipers.CalipersError) as refused:
        calipers.ls_ece(Y, Tensor(np.ones(shape)))
    assert str(refused.value) == f"probabilities must have shape (n,) or (n, k), got {shape}"


def test_a_capsule_is_not_read_after_another_has_used_it() -> None:
    class Used(Tensor):
        def __dlpack__(self) -> Any:
            capsule = self.array.__dlpack__()
            self.taken = np.from_dlpack(_Once(capsule))
            return capsule

    class _Once:
        def __init__(self, capsule: Any) -> None:
            self.capsule = capsule

        def __dlpack__(self, **_: Any) -> Any:
            return self.capsule

        def __dlpack_device__(self) -> tuple[int, int]:
            return 1, 0

    with pytest.raises(calipers.CalipersError, match="probabilities must be numbers, got Used"):
        calipers.ls_ece(Y, Used(P.copy()))


def test_the_compiled_half_refuses_what_is_no_capsule() -> None:
    with pytest.raises(TypeError):
        _core.dlpack(3)
    with pytest.raises(calipers.CalipersError, match="got NoCapsule"):
        calipers.ls_ece(Y, NoCapsule())


def test_calipers_imports_numpy_alone() -> None:
    program = (
        "import calipers, sys; print({name.partition('.')[0] for name in sys.modules} - set(sys.stdlib_module_names))"
    )
    found = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True).stdout
    others = {name for name in eval(found) if not name.startswith("_")} - {"calipers", "numpy"}
    assert not others & {"pyarrow", "polars", "pandas", "duckdb", "torch", "jax", "scipy", "ml_dtypes"}
