"""Files of sketches that `write_sketches` writes: whole, whoever writes them and whatever fails."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import calipers as cal
import numpy as np
import pyarrow as pa
import pytest

P = np.linspace(0.01, 0.99, 100)
Y = (np.arange(100) * 37 % 100) / 100 < P


def test_a_file_of_sketches_is_whole_whoever_writes_it(tmp_path: Path) -> None:
    path = tmp_path / "days.parquet"
    sketches = [{"mon": cal.Sketch().update(Y[:n], P[:n])} for n in (50, 100)]
    cal.write_sketches(sketches[0], path, by="day")
    end = time.monotonic() + 2.0

    def write(number: int) -> None:
        while time.monotonic() < end:
            cal.write_sketches(sketches[number], path, by="day")

    threads = [threading.Thread(target=write, args=(number,)) for number in (0, 1)]
    for thread in threads:
        thread.start()
    found = set()
    while time.monotonic() < end:
        found.add(cal.read_sketches(path)["mon"].n)
    for thread in threads:
        thread.join()
    assert found <= {50, 100}
    assert [entry.name for entry in tmp_path.iterdir()] == ["days.parquet"]


def test_a_file_of_sketches_that_cannot_be_written_leaves_the_one_before(tmp_path: Path) -> None:
    path = tmp_path / "days.parquet"
    cal.write_sketches({"mon": cal.Sketch().update(Y, P)}, path, by="day")
    before = path.read_bytes()
    with pytest.raises((pa.ArrowInvalid, pa.ArrowTypeError, cal.CalipersError)):
        cal.write_sketches({"mon": cal.Sketch(), 7: cal.Sketch()}, path, by="day")
    assert path.read_bytes() == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["days.parquet"]
