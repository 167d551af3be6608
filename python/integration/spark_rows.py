"""What the tests of Spark share: rows, files of them, and sketches by other ways than Spark."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import calipers
import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet

ROOT = Path(__file__).parents[2]
N_FILES = 64
N_GROUPS = 23
# Settings of a session that prints nothing and serves no page.
QUIET = {
    "spark__ui__enabled": "false",
    "spark__log__level": "ERROR",
    "spark__ui__showConsoleProgress": "false",
}


def command(*arguments: object) -> str:
    """What the command prints."""
    target = os.environ.get("CARGO_TARGET_DIR", ROOT / "target")
    calipers_command = Path(target, "fast", "calipers")
    assert calipers_command.exists(), "make build makes the command that Spark is compared with"
    done = subprocess.run([calipers_command, *map(str, arguments)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def generated(n: int, seed: int = 0) -> dict[str, np.ndarray]:
    """Predictions that are a little too sure of themselves, with weights, groups and times."""
    rng = np.random.default_rng(seed)
    logits = 2 * rng.standard_normal(n)
    return {
        "p": 1 / (1 + np.exp(-logits)),
        "y": (rng.random(n) < 1 / (1 + np.exp(-0.8 * logits))).astype(np.int32),
        "w": rng.exponential(size=n),
        "g": rng.integers(0, N_GROUPS, n).astype(np.int32),
    }


def written(columns: dict[str, np.ndarray], folder: Path, n_files: int = N_FILES) -> Path:
    """A folder of Parquet files, each of which Spark takes as a partition if it is told so."""
    folder.mkdir()
    table = pa.table(columns)
    share = -(-table.num_rows // n_files)
    for part in range(n_files):
        parquet.write_table(table.slice(part * share, share), folder / f"part-{part:03}.parquet")
    return folder


def sketched(columns: dict[str, np.ndarray], where: Any = slice(None), weighted: bool = False, **options: Any) -> bytes:
    """The sketch that one core of one machine makes."""
    with calipers.threads(1):
        weights = columns["w"][where] if weighted else None
        sketch = calipers.Sketch(**options).update(columns["y"][where], columns["p"][where], sample_weight=weights)
    return sketch.to_bytes()
