"""Extra memory of a call: the peak of the resident set minus the resident set before.

Each contender has a fresh process, so that the peak is its own. It makes a small call first, so that modules that
the package loads on its first call do not count.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from bench.contenders import BY_KEY
from bench.data import Sample

MIB = 2**20
WARM_UP = 1_000


def extra_memory(key: str, n: int, folder: Path) -> float | None:
    """MiB that a contender takes for the sample of n rows that is in the folder; None if its process died."""
    command = [sys.executable, "-m", "bench.memory", key, str(n), str(folder)]
    child = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    return float(json.loads(child.stdout)) if child.returncode == 0 else None


def _resident(field: str) -> float:
    """VmRSS or VmHWM of this process, in MiB."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1]) * 1024 / MIB
    raise OSError(f"no {field} in /proc/self/status")


def _main(key: str, n: int, folder: Path) -> None:
    prepare = BY_KEY[key].prepare
    rows = Sample.load(folder, n)
    prepare(Sample(rows.p[:WARM_UP].copy(), rows.y[:WARM_UP].copy()))()
    call = prepare(rows)
    # Writing 5 sets the peak to what is resident now.
    Path("/proc/self/clear_refs").write_text("5")
    before = _resident("VmRSS")
    call()
    print(json.dumps(max(0.0, _resident("VmHWM") - before)))


if __name__ == "__main__":
    _main(sys.argv[1], int(sys.argv[2]), Path(sys.argv[3]))
