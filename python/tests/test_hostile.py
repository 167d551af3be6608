"""Hostile producers, forks and interrupts: an error or an answer, never a crash, a hang or a mix of two files."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import calipers as cal
import foreign
import numpy as np
import pytest
from calipers._parquet import _replacing
from foreign import ArrowColumn, Tensor

P = np.linspace(0.01, 0.99, 100)
Y = (np.arange(100) * 37 % 100) / 100 < P


class HostileColumn(ArrowColumn):
    """A column whose schema or array is changed before it is handed over."""

    def __init__(self, change: Callable[[Any, Any], None], array: foreign.Array = P) -> None:
        super().__init__(array)
        self.change = change

    def __arrow_c_array__(self, requested_schema: Any = None) -> tuple[Any, Any]:
        del requested_schema
        schema, column = foreign._schema(self.array), foreign._column(self.array, None)
        self.change(schema, column)
        return foreign._capsule(schema, b"arrow_schema"), foreign._capsule(column, b"arrow_array")


def _set(part: str, **fields: Any) -> Callable[[Any, Any], None]:
    def change(schema: Any, column: Any) -> None:
        for name, value in fields.items():
            setattr({"schema": schema, "array": column}[part], name, value)

    return change


def _nested(levels: int) -> Callable[[Any, Any], None]:
    def change(schema: Any, _column: Any) -> None:
        inner = foreign._export(foreign._Schema(format=b"g", name=b"", n_children=0))
        for _ in range(levels):
            children = foreign._pointers([inner], foreign._Schema)
            outer = foreign._Schema(format=b"+l", name=b"", n_children=1, children=children)
            inner = foreign._export(outer, inner, children)
        schema.format, schema.n_children = b"+l", 1
        schema.children = foreign._pointers([inner], foreign._Schema)
        foreign._structs.append((inner, schema.children))

    return change


NO_CHILDREN = ctypes.POINTER(ctypes.POINTER(foreign._Schema))()
NULL_CHILD = (ctypes.POINTER(foreign._Schema) * 1)()
SCHEMAS = {
    "released": (_set("schema", release=foreign._Release(0)), "an Arrow schema that was released"),
    "no format": (_set("schema", format=None), "an Arrow schema without a format"),
    "format of other bytes": (_set("schema", format=b"\xff"), "not UTF-8"),
    "name of other bytes": (_set("schema", name=b"\xff"), "not UTF-8"),
    "unknown format": (_set("schema", format=b"?"), "not supported"),
    "negative children": (_set("schema", format=b"+s", n_children=-1), "negative number of children"),
    "list without a child": (_set("schema", format=b"+l", n_children=0), 'schema "\\+l" with 0 children'),
    "children nowhere": (_set("schema", format=b"+l", n_children=1, children=NO_CHILDREN), "without its children"),
    "a child nowhere": (_set("schema", format=b"+l", n_children=1, children=NULL_CHILD), "without its children"),
    "negative width": (_set("schema", format=b"w:-3"), "negative width"),
    "100 levels": (_nested(100), "nested more than 64 levels deep"),
    "10,000 levels": (_nested(10_000), "nested more than 64 levels deep"),
}
ARRAYS = {
    "released": (_set("array", release=foreign._Release(0)), "an Arrow array that was released"),
    "negative length": (_set("array", length=-1), "impossible length"),
    "negative offset": (_set("array", offset=-1), "impossible length"),
    "a huge number of rows": (_set("array", length=2**62), "impossible length"),
    "no buffers": (_set("array", n_buffers=0), "with 0 buffers"),
    "buffers nowhere": (_set("array", buffers=ctypes.POINTER(ctypes.c_void_p)()), "without its buffers"),
    "values nowhere": (_set("array", buffers=(ctypes.c_void_p * 2)()), "without its values"),
    "no children": (_nested(0), "other children than its schema"),
}


@pytest.mark.parametrize("name", SCHEMAS)
def test_a_malformed_arrow_schema_is_an_error(name: str) -> None:
    change, text = SCHEMAS[name]
    with pytest.raises(cal.CalipersError, match=text):
        cal.ls_ece(Y, HostileColumn(change))


@pytest.mark.parametrize("name", ARRAYS)
def test_a_malformed_arrow_array_is_an_error(name: str) -> None:
    change, text = ARRAYS[name]
    with pytest.raises(cal.CalipersError, match=text):
        cal.ls_ece(Y, HostileColumn(change))


def test_metadata_of_arrow_are_not_read() -> None:
    # 2^31 - 1 entries, for which arrow-rs would reserve 100 GB.
    entries = ctypes.create_string_buffer(b"\xff\xff\xff\x7f" + bytes(60))
    change = _set("schema", metadata=ctypes.cast(entries, ctypes.c_char_p))
    assert cal.ls_ece(Y, HostileColumn(change), sigma=0.2) == cal.ls_ece(Y, P, sigma=0.2)


def test_a_dlpack_capsule_is_used_once() -> None:
    array = P.copy()

    class Once(Tensor):
        """Gives the same capsule each time."""

        capsule = array.__dlpack__()

        def __dlpack__(self) -> Any:
            return self.capsule

    tensor = Once(array)
    assert cal.ls_ece(Y, tensor, sigma=0.2) == cal.ls_ece(Y, P, sigma=0.2)
    assert "used_dltensor" in repr(tensor.capsule)
    with pytest.raises(cal.CalipersError):
        cal.ls_ece(Y, tensor, sigma=0.2)


def test_tensors_of_dlpack_are_given_back() -> None:
    array = np.linspace(0.01, 0.99, 100)
    before = sys.getrefcount(array)
    for _ in range(100):
        cal.ls_ece(Y, Tensor(array), sigma=0.2)
    assert sys.getrefcount(array) == before


def test_bytes_that_are_neither_0_nor_1_are_true_as_labels_and_an_error_as_marks() -> None:
    labels = np.array([0, 1, 2, 255] * 25, np.uint8).view(bool)
    assert cal.ls_ece(labels, P, sigma=0.2) == cal.ls_ece(labels.view("u1") != 0, P, sigma=0.2)
    weights = np.ma.masked_array(np.ones(100), np.array([0, 2] * 50, np.uint8).view(bool))
    with pytest.raises(TypeError, match="neither 0 nor 1; pass array"):
        cal.ls_ece(Y, P, sample_weight=weights, invalid="count")


LONG = {
    "ls_ece_sampled": "cal.ls_ece_sampled(Y, P, n_samples=10**9)",
    "Sketch.ls_curve": "SKETCH.ls_curve(at=np.linspace(0.001, 0.999, 10**6))",
    "ls_curve": "cal.ls_curve(Y, P, at=np.linspace(0.001, 0.999, 3 * 10**7))",
    "lower_distance_to_calibration": "cal.lower_distance_to_calibration(Y, P, n_nodes=10**6)",
    "kde_ece": "cal.kde_ece([1, 0], [0.1, 0.4], bandwidth=1e-4)",
}
INTERRUPTED = """
import os, signal, threading, time
import calipers as cal
import numpy as np

signal.signal(signal.SIGINT, signal.default_int_handler)
P = np.linspace(0.01, 0.99, 300)
Y = (np.arange(300) * 37 % 100) / 100 < P
many = np.random.default_rng(1).random(200_000)
SKETCH = cal.Sketch().update(many > 0.4, many)
sent = []
def interrupt():
    sent.append(time.monotonic())
    os.kill(os.getpid(), signal.SIGINT)
threading.Timer(0.3, interrupt).start()
try:
    CALL
    print("finished")
except KeyboardInterrupt:
    print(time.monotonic() - sent[0])
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
@pytest.mark.parametrize("name", LONG)
def test_a_call_on_a_few_rows_can_be_interrupted(name: str) -> None:
    script = INTERRUPTED.replace("CALL", LONG[name])
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() != "finished"
    # One step of the longest loop on a machine that does other things as well.
    assert float(done.stdout) < 5.0


FORK = """
import os, threading
import calipers as cal
import numpy as np

many = np.random.default_rng(1).random(300_000)
sketch = cal.Sketch()
done = threading.Event()
def fill():
    while not done.is_set():
        sketch.update(many > 0.4, many)
threads = [threading.Thread(target=fill) for _ in range(2)]
for thread in threads:
    thread.start()
for _ in range(20):
    child = os.fork()
    if child == 0:
        # Whole batches, and the child can go on with the sketch.
        before = sketch.n
        sketch.update([1, 0], [0.9, 0.2])
        os._exit(0 if before % 300_000 == 0 and sketch.n == before + 2 else 3)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
done.set()
for thread in threads:
    thread.join()
print("forked")
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
def test_a_fork_waits_until_no_thread_changes_a_sketch() -> None:
    command = [sys.executable, "-W", "ignore", "-c", FORK]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout == "forked\n"


def test_a_replaced_file_is_whole_whoever_writes_it(tmp_path: Path) -> None:
    # What `write_sketches` writes with; python/integration/test_sketch_files.py has the whole call.
    path = tmp_path / "days.parquet"
    contents = [bytes([number]) * 100_000 for number in (1, 2)]
    path.write_bytes(contents[0])
    end = time.monotonic() + 1.0

    def write(content: bytes) -> None:
        while time.monotonic() < end:
            with _replacing(path) as file:
                file.write(content[:50_000])
                file.write(content[50_000:])

    threads = [threading.Thread(target=write, args=(content,)) for content in contents]
    for thread in threads:
        thread.start()
    found = set()
    while time.monotonic() < end:
        found.add(path.read_bytes())
    for thread in threads:
        thread.join()
    assert found <= set(contents)
    assert [entry.name for entry in tmp_path.iterdir()] == ["days.parquet"]


def test_a_replaced_file_stays_where_writing_fails(tmp_path: Path) -> None:
    path = tmp_path / "days.parquet"
    path.write_bytes(b"before")
    with pytest.raises(OSError, match="full"), _replacing(path) as file:
        file.write(b"half")
        raise OSError("the disk is full")
    assert path.read_bytes() == b"before"
    assert [entry.name for entry in tmp_path.iterdir()] == ["days.parquet"]


def test_ls_ece_is_at_most_1() -> None:
    # Without a limit the value is above 1 by 8e-6, which the tolerance allows.
    options: dict[str, Any] = {"from_logits": True, "sigma": 0.01, "noise": "laplace", "tolerance": 1e-4}
    value = cal.ls_ece([0], [50.0], **options)
    assert value == 1.0
    assert value.numerical_bound <= 1e-4
