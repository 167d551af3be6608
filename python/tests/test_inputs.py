"""Input of every kind gives the bits of the plain float64 array, or a refusal; floats are read in place."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
import tracemalloc
from decimal import Decimal
from typing import Any

import calipers
import numpy as np
import pytest
from calipers import _inputs
from cases import LEAVE_OUT

RNG = np.random.default_rng(20240607)
# Every value is a multiple of 2^-10, so that float16 and float32 hold it too.
P = RNG.integers(1, 1024, 500) / 1024
Y = (RNG.random(500) < P).astype(np.int64)
EXPECTED = calipers.ls_ece(Y, P, sigma=0.2)


class ArrayHolder:
    """What torch, pandas and others are to numpy."""

    def __init__(self, array: np.ndarray[Any, Any]) -> None:
        self.array = array

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray[Any, Any]:
        return np.asarray(self.array, dtype=dtype)


def strided(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return np.repeat(array, 3, axis=0)[::3]


def misaligned(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    moved = np.frombuffer(b"\0" + array.tobytes(), dtype=array.dtype, offset=1)
    assert not moved.flags.aligned
    return moved


def read_only(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    array = array.copy()
    array.flags.writeable = False
    return array


PROBABILITIES = {
    "float16": P.astype(np.float16),
    "float32": P.astype(np.float32),
    "longdouble": P.astype(np.longdouble),
    "big-endian float64": P.astype(">f8"),
    "big-endian float32": P.astype(">f4"),
    "strided": strided(P),
    "strided float32": strided(P.astype(np.float32)),
    "backwards twice": P[::-1].copy()[::-1],
    "misaligned": misaligned(P),
    "misaligned float32": misaligned(P.astype(np.float32)),
    "read-only": read_only(P),
    "column": P[:, None],
    "list": P.tolist(),
    "tuple": tuple(P.tolist()),
    "objects": P.astype(object),
    "decimals": [Decimal(value) for value in P.tolist()],
    "masked array without a mask": np.ma.masked_array(P),
    "__array__": ArrayHolder(P),
    "memoryview": memoryview(P),
    "two columns": np.stack([1 - P, P], axis=1),
    "two columns, Fortran": np.asfortranarray(np.stack([1 - P, P], axis=1)),
    "two columns, float32, strided": np.stack([1 - P, P, P], axis=1).astype(np.float32)[:, :2],
}


@pytest.mark.parametrize("kind", PROBABILITIES)
def test_probabilities_of_any_kind_give_the_same_bits(kind: str) -> None:
    assert calipers.ls_ece(Y, PROBABILITIES[kind], sigma=0.2) == EXPECTED
    ece = calipers.expected_calibration_error(Y, PROBABILITIES[kind])
    assert ece == calipers.expected_calibration_error(Y, P)


LABELS = {
    **{
        np.dtype(dtype).name: Y.astype(dtype)
        for dtype in ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "g"]
    },
    "big-endian": Y.astype(">i4"),
    "strided": strided(Y),
    "strided bool": strided(Y.astype(bool)),
    "misaligned": misaligned(Y),
    "column": Y[:, None],
    "list": Y.tolist(),
    "list of bool": Y.astype(bool).tolist(),
    "objects": Y.astype(object),
    "objects, int and float": np.array([int(y) if i % 2 else float(y) for i, y in enumerate(Y)], dtype=object),
    "__array__": ArrayHolder(Y),
}


@pytest.mark.parametrize("kind", LABELS)
def test_labels_of_any_kind_give_the_same_bits(kind: str) -> None:
    assert calipers.ls_ece(LABELS[kind], P, sigma=0.2) == EXPECTED
    assert calipers.ls_ece(LABELS[kind], P, sigma=0.2, pos_label=1) == EXPECTED
    assert calipers.ls_ece(LABELS[kind], P, sigma=0.2, pos_label=True) == EXPECTED


@pytest.mark.parametrize("kind", ["float32", "strided", "list", "objects"])
def test_weights_of_any_kind_give_the_same_bits(kind: str) -> None:
    expected = calipers.ls_ece(Y, P, sigma=0.2, sample_weight=P)
    assert calipers.ls_ece(Y, P, sigma=0.2, sample_weight=PROBABILITIES[kind]) == expected


def test_whole_numbers_are_weights_and_probabilities_too() -> None:
    twice = calipers.ls_ece([0, 1, 1, 1], [0.2, 0.7, 0.7, 0.9], sigma=0.2)
    assert calipers.ls_ece([0, 1, 1], [0.2, 0.7, 0.9], sigma=0.2, sample_weight=[1, 2, 1]) == pytest.approx(twice)
    estimate = calipers.expected_calibration_error([0, 1, 1], np.array([0, 1, 1], dtype=np.uint8))
    assert estimate == 0.0


@pytest.mark.parametrize(
    "labels",
    [
        np.where(Y == 1, "yes", "no"),
        np.where(Y == 1, "yes", "no").astype(object),
        np.where(Y == 1, "yes", "no").tolist(),
        strided(np.where(Y == 1, "yes", "no")),
        np.where(Y == 1, "yes", "no")[:, None],
    ],
    ids=["str array", "object array", "list", "strided", "column"],
)
def test_text_labels_need_pos_label(labels: Any) -> None:
    assert calipers.ls_ece(labels, P, sigma=0.2, pos_label="yes") == EXPECTED
    flipped = calipers.ls_ece(labels, 1 - P, sigma=0.2, pos_label="no")
    assert abs(flipped - EXPECTED) <= flipped.numerical_bound + EXPECTED.numerical_bound


@pytest.mark.parametrize(
    ("labels", "pos_label"),
    [
        pytest.param(1 - 2 * Y, -1, id="-1/1"),
        pytest.param(Y + 1, 2.0, id="1/2"),
        pytest.param(Y + 1, np.int64(2), id="numpy scalar"),
        pytest.param(Y * 5.0, "5", id="text for a number"),
        pytest.param(Y == 1, "true", id="text for a bool"),
        pytest.param(np.where(Y, "True", "False"), True, id="bool for text"),
    ],
)
def test_pos_label_names_the_positive_label_by_value(labels: Any, pos_label: Any) -> None:
    assert calipers.ls_ece(labels, P, sigma=0.2, pos_label=pos_label) == EXPECTED


def test_bytes_that_pose_as_bools_count_as_true() -> None:
    posing = np.array([0, 2, 255, 1], dtype=np.uint8).view(bool)
    expected = calipers.ls_ece([0, 1, 1, 1], [0.1, 0.6, 0.7, 0.9], sigma=0.2)
    assert calipers.ls_ece(posing, [0.1, 0.6, 0.7, 0.9], sigma=0.2) == expected


def test_classes_are_read_in_place_and_in_row_order() -> None:
    rows = RNG.dirichlet([1.0, 2.0, 3.0], 200)
    labels = RNG.integers(0, 3, 200)
    expected = calipers.ls_ece(labels, rows, sigma=0.2)
    top = calipers.ls_ece(rows.argmax(axis=1) == labels, rows.max(axis=1), sigma=0.2)
    assert expected == top
    assert calipers.ls_ece(labels, np.asfortranarray(rows), sigma=0.2) == expected
    assert calipers.ls_ece(labels, rows.tolist(), sigma=0.2) == expected
    padded = np.zeros((200, 5))
    padded[:, 1:4] = rows
    assert calipers.ls_ece(labels, padded[:, 1:4], sigma=0.2) == expected


# Refusals that only Python's types make possible.


@pytest.mark.parametrize("column", ["labels", "probabilities", "weights"])
def test_anything_masked_is_missing(column: str) -> None:
    masked = np.arange(500) == 17
    columns: dict[str, Any] = {"labels": Y, "probabilities": P, "weights": np.ones(500)}
    columns[column] = np.ma.masked_array(columns[column], mask=masked)

    def measure(**options: Any) -> calipers.Estimate:
        return calipers.ls_ece(
            columns["labels"], columns["probabilities"], sample_weight=columns["weights"], sigma=0.2, **options
        )

    name = {"labels": "label", "probabilities": "probability", "weights": "weight"}[column]
    with pytest.raises(calipers.CalipersError, match=f"^{name} in row 17 is missing{LEAVE_OUT}$"):
        measure()
    counted = measure(invalid="count")
    assert counted.left_out == {f"missing {name}": 1}
    assert counted.n == 499
    assert counted == calipers.ls_ece(Y[~masked], P[~masked], sample_weight=np.ones(499), sigma=0.2)


def test_a_masked_class_makes_its_row_missing() -> None:
    rows = np.ma.masked_less([[0.2, 0.3, 0.5], [0.0, 0.5, 0.5]], 0.1)
    with pytest.raises(calipers.CalipersError, match="probability in row 1 is missing"):
        calipers.ls_ece([2, 1], rows)


def test_none_and_the_nulls_of_pandas_are_missing() -> None:
    class NAType:
        """As pandas.NA, which refuses to be compared."""

        def __bool__(self) -> bool:
            raise TypeError("boolean value of NA is ambiguous")

        def __eq__(self, other: object) -> NAType:  # type: ignore[override]
            return self

        __hash__ = None  # type: ignore[assignment]

    labels = np.array([1, 0, NAType(), 1], dtype=object)
    estimate = calipers.ls_ece(labels, [0.9, None, 0.3, 0.6], invalid="count", sigma=0.2)
    assert estimate.left_out == {"missing label": 1, "missing probability": 1}
    text = np.array(["a", "b", float("nan"), "a"], dtype=object)
    with pytest.raises(calipers.CalipersError, match="label in row 2 is missing"):
        calipers.ls_ece(text, [0.9, 0.2, 0.3, 0.6], pos_label="a")


def rejected(y_prob: Any) -> tuple[str, str]:
    """Code and text of the error for these probabilities."""
    with pytest.raises(calipers.CalipersError) as error:
        calipers.ls_ece([1, 0], y_prob)
    return error.value.code, str(error.value)


@pytest.mark.parametrize(
    ("y_prob", "got"),
    [
        (np.ones((2, 3, 4)), "(2, 3, 4)"),
        (np.ones((2, 0)), "(2, 0)"),
        (0.5, "()"),
        ([[0.1, 0.9], [0.5]], "rows of different lengths"),
        ([[0.5, 0.5], [[], 1]], "rows of different lengths"),
    ],
)
def test_probabilities_of_another_shape_are_rejected(y_prob: Any, got: str) -> None:
    assert rejected(y_prob) == ("shape", f"probabilities must have shape (n,) or (n, k), got {got}")


@pytest.mark.parametrize(
    ("y_prob", "got"),
    [
        (None, "NoneType"),
        ({"p": 0.5}, "dict"),
        ((p for p in [0.5, 0.5]), "generator"),
        (np.array([0.1 + 1j, 0.2]), "complex128"),
        (np.array([1, 2], dtype="M8[s]"), "datetime64[s]"),
        ([0.5, "0.5"], 'text "0.5" in row 0'),
        (np.array([0.5, "0.5"], dtype=object), 'text "0.5" in row 1'),
        (np.array([0.5, []], dtype=object), "list in row 1"),
    ],
)
def test_probabilities_of_another_type_are_rejected(y_prob: Any, got: str) -> None:
    assert rejected(y_prob) == ("wrong_type", f"probabilities must be numbers, got {got}")


@pytest.mark.parametrize(
    ("y_true", "text"),
    [
        (
            np.eye(3),
            "labels must have shape (n,), or (n, k) if one-hot, got (3, 3) beside probabilities of shape (2,)",
        ),
        ("ab", "labels must have shape (n,), or (n, k) if one-hot, got ()"),
        (None, "labels must be numbers, true and false, or text, got NoneType"),
        (np.array([1, "a"], dtype=object), "labels must be numbers, true and false, or text, got int and str"),
        (np.array([b"a", b"b"]), "labels must be numbers, true and false, or text, got bytes"),
        (np.array([1, 2], dtype="M8[s]"), "labels must be numbers, true and false, or text, got datetime64[s]"),
    ],
)
def test_labels_of_another_shape_or_type_are_refused(y_true: Any, text: str) -> None:
    with pytest.raises(calipers.CalipersError) as refused:
        calipers.ls_ece(y_true, [0.5, 0.5])
    assert str(refused.value) == text


def test_numbers_beyond_every_array_type_are_refused_by_their_rule() -> None:
    with pytest.raises(calipers.CalipersError, match=r"probability in row 0 must be in .*, got inf"):
        calipers.ls_ece([1, 0], [10**400, 0.5])
    with pytest.raises(calipers.CalipersError, match="label in row 0 must be 0 or 1, got 11805916207174"):
        calipers.ls_ece([2**70, 0], [0.5, 0.5])


@pytest.mark.parametrize("dtype", [bool, np.int8, np.int64, np.float32, np.float64])
def test_swapped_arguments_are_refused(dtype: type) -> None:
    with pytest.raises(calipers.CalipersError, match="look swapped") as refused:
        calipers.ls_ece(P, Y.astype(dtype))
    assert refused.value.code == "swapped"


# Nothing is copied, and nobody waits.


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(600,), (300, 2), (200, 3)])
def test_contiguous_floats_are_borrowed(dtype: type, shape: tuple[int, ...]) -> None:
    array = np.ones(shape, dtype)
    column, missing = _inputs.float_column(array, "probabilities", max_ndim=2)
    assert np.shares_memory(column, array)
    assert missing is None
    labels, _ = _inputs.label_column(array.ravel())
    assert isinstance(labels, np.ndarray)
    assert np.shares_memory(labels, array)


def test_python_allocates_nothing_of_the_size_of_the_input() -> None:
    probabilities = np.full(1_000_000, 0.5, np.float32)
    labels = np.zeros(1_000_000, np.int8)
    tracemalloc.start()
    try:
        calipers.expected_calibration_error(labels, probabilities, sample_weight=probabilities)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 100_000


MEMORY_PROGRAM = """
import resource, numpy as np, calipers
n = 5_000_000
probabilities, labels = np.full(n, 0.25, np.float32), np.ones(n, np.int8)
calipers.expected_calibration_error(labels[:100_000], probabilities[:100_000])
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
calipers.expected_calibration_error(labels, probabilities)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="ru_maxrss is in KiB on Linux only")
def test_memory_does_not_grow_with_the_input() -> None:
    """A copy of the probabilities alone would be 19,531 KiB, one as float64 twice that."""
    program = [sys.executable, "-c", MEMORY_PROGRAM]
    grown = int(subprocess.run(program, check=True, capture_output=True, text=True).stdout)
    assert grown < 8_000


def test_the_gil_is_released_while_the_core_works() -> None:
    n = 100_000
    probabilities = RNG.random(n)
    labels = RNG.random(n) < probabilities
    options: dict[str, Any] = {"sigma": 0.5, "n_samples": 400}
    worker = threading.Thread(target=calipers.ls_ece_sampled, args=(labels, probabilities), kwargs=options)
    begin = time.perf_counter()
    worker.start()
    n_ticks = 0
    while worker.is_alive():
        time.sleep(0.001)
        n_ticks += 1
    worker.join()
    assert time.perf_counter() - begin > 0.1, "too quick to tell"
    # With the GIL held, all ticks but those before and after the call would wait for its end.
    assert n_ticks >= 20


def test_an_estimator_is_told_of_its_predictions() -> None:
    class Forest:
        def predict_proba(self, X: Any) -> Any:
            return X

        def __len__(self) -> int:
            return 2

    with pytest.raises(calipers.CalipersError) as refused:
        calipers.assess([0, 1], Forest())
    assert str(refused.value) == (
        "probabilities must be numbers, got an estimator, Forest; pass its predict_proba(X), or use calipers.sklearn"
    )
