"""Hostile producers of DLPack and Arrow structs: an answer or an error, never a crash."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import calipers as cal
import numpy as np
import pytest
from random_producers import HostileTensor, N, P, Y

TENSORS = {
    "no elements": ({"data": None}, "without its elements"),
    "no elements, an offset": ({"data": None, "byte_offset": 8}, "without its elements"),
    "an offset beyond memory": ({"byte_offset": 2**64 - 1}, "impossible size"),
    "more elements than memory": ({"shape": (2**61,)}, "impossible size"),
    "a product beyond memory": ({"shape": (2**32, 2**32), "ndim": 2}, "impossible size"),
    "no shape": ({"shape": None}, "impossible shape"),
    "a negative size": ({"shape": (-1,)}, "impossible shape"),
    "a stride beyond integers": ({"strides": (2**61,)}, "impossible shape"),
    "a stride beyond memory": ({"strides": (2**50,)}, "impossible size"),
    "another version": ({"versioned": True, "major": 2}, "version 2"),
    "another device": ({"device_type": 2}, "device"),
    "bits of no type": ({"bits": 63}, "63 bits"),
    "lanes": ({"lanes": 2}, "2 lanes"),
    "negative dimensions": ({"ndim": -1}, "impossible shape"),
}


@pytest.mark.parametrize("name", TENSORS)
def test_a_malformed_tensor_is_an_error(name: str) -> None:
    fields, text = TENSORS[name]
    tensor = HostileTensor(**fields)
    with pytest.raises((cal.CalipersError, TypeError), match=text):
        cal.ls_ece(Y, tensor)
    # It was not taken, and so is not given back: its capsule still owns it.
    assert tensor.n_deleted == 0


@pytest.mark.parametrize("versioned", [False, True])
def test_offsets_and_strides_of_a_tensor_are_kept(versioned: bool) -> None:
    tensor = HostileTensor(versioned=versioned, strides=(-1,), byte_offset=8 * (N - 1))
    assert cal.ls_ece(Y, tensor, sigma=0.2) == cal.ls_ece(Y, P[::-1].copy(), sigma=0.2)
    assert tensor.n_deleted == 1
    # A byte off its place: numpy copies elements that are not aligned.
    moved = HostileTensor(versioned=versioned, byte_offset=1)
    moved.memory.view(np.uint8)[2048 * 8 + 1 : (2048 + N) * 8 + 1] = P.view(np.uint8)
    assert cal.ls_ece(Y, moved, sigma=0.2) == cal.ls_ece(Y, P, sigma=0.2)


def run_random(seed: int, n_runs: int) -> tuple[int, int]:
    """The numbers of answers and errors; a crash of the child fails."""
    arguments = [sys.executable, str(Path(__file__).with_name("random_producers.py")), str(seed), str(n_runs)]
    done = subprocess.run(arguments, capture_output=True, text=True, timeout=3600, check=False)
    assert done.returncode == 0, f"seed {seed} ends with {done.returncode}: {done.stderr[-2000:]}"
    answers, errors = map(int, done.stdout.split())
    return answers, errors


def test_random_structs_are_an_answer_or_an_error() -> None:
    n_runs = int(os.environ.get("CALIPERS_FUZZ_RUNS", "1000"))
    answers, errors = run_random(int(os.environ.get("CALIPERS_FUZZ_SEED", "1")), n_runs)
    assert answers + errors == n_runs
    assert answers > 0 and errors > 0


@pytest.mark.parametrize("n", [1000, 200_000])
def test_an_array_that_another_thread_changes_is_an_answer_or_an_error(n: int) -> None:
    p = np.linspace(0.01, 0.99, n)
    y = (np.arange(n) % 2).astype(np.int64)
    is_done = threading.Event()

    def disturb() -> None:
        hostile = [0.5, np.nan, 2.0, -1.0, np.inf, 0.25]
        place = 0
        while not is_done.is_set():
            p[place % n] = hostile[place % len(hostile)]
            y[(7 * place) % n] = (-1, 0, 1, 2**62)[place % 4]
            place += 1

    thread = threading.Thread(target=disturb)
    thread.start()
    try:
        for call in range(200 if n == 1000 else 20):
            try:
                if call % 2:
                    value: float = cal.ls_ece(y, p, sigma=0.2, invalid="count")
                else:
                    value = cal.Sketch().update(y, p).ls_ece(sigma=0.2)
            except cal.CalipersError:
                continue
            assert 0.0 <= value <= 1.0
    finally:
        is_done.set()
        thread.join()
