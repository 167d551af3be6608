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


class Watched:
    """What Spark has done in a block: jobs, tasks, and bytes that were shuffled."""

    n_jobs = n_tasks = n_shuffled = 0

    def __init__(self, session: Any) -> None:
        self._context = session.sparkContext
        self._seen: set[int] = set()

    def __enter__(self) -> Watched:
        self._jobs, self._seen = self._n_jobs(), {stage.stageId() for stage in stages(self._context)}
        return self

    def __exit__(self, *_: object) -> None:
        new = [stage for stage in stages(self._context) if stage.stageId() not in self._seen]
        self.n_jobs = self._n_jobs() - self._jobs
        self.n_tasks = sum(stage.numCompleteTasks() for stage in new)
        self.n_shuffled = sum(stage.shuffleWriteBytes() for stage in new)

    def __repr__(self) -> str:
        return f"{self.n_jobs} jobs, {self.n_tasks} tasks, {self.n_shuffled:,} bytes shuffled"

    def _n_jobs(self) -> int:
        # Some take part in the next one, and are not listed before that has ended.
        self._context._jsc.sc().listenerBus().waitUntilEmpty()
        return int(self._context._jsc.sc().statusStore().jobsList(None).size())


def stages(context: Any) -> list[Any]:
    """What Spark knows of its stages, the latest first."""
    doubles = context._gateway.new_array(context._jvm.double, 0)
    found = context._jsc.sc().statusStore().stageList(None, False, False, doubles, None)
    return [found.apply(place) for place in range(found.size())]
