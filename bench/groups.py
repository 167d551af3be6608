"""Many groups in one file: the largest resident set of `calipers sketch --by`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from bench import data
from bench.launching import launch

ROWS_A_GROUP = 20


def peak_of_groups(n_groups: int, command: Path, folder: Path) -> float:
    """MiB, for groups whose rows are scattered over the file."""
    rows = data.sample(n_groups * ROWS_A_GROUP)
    path = folder / "groups.parquet"
    group = np.arange(len(rows.p)) % n_groups
    pq.write_table(pa.table({"p": rows.p, "y": rows.y, "user": group}), path)
    sketch = [str(command), "sketch", str(path), "--prob", "p", "--label", "y", "--by", "user"]
    usage, _ = launch([*sketch, "-o", str(folder / "sketches_of_groups.parquet")])
    return usage["peak_kib"] / 1024
