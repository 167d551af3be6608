"""The machine of a run, without host names and paths."""

from __future__ import annotations

import os
import platform
from importlib.metadata import version
from pathlib import Path

PACKAGES = [
    "calipers",
    "numpy",
    "scipy",
    "torch",
    "torchmetrics",
    "netcal",
    "relplot",
    "uncertainty-calibration",
    "scikit-learn",
    "betacal",
    "probmetrics",
    "duckdb",
    "pyarrow",
]


def facts() -> dict[str, str]:
    """Processor, cores, memory, system and versions."""
    return {
        "processor": processor(),
        "cores": str(len(os.sched_getaffinity(0))),
        "memory": f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30:.1f} GiB",
        "system": f"{platform.system()} {platform.machine()}",
        "Python": platform.python_version(),
        **{package: version(package) for package in PACKAGES},
    }


def available_gib() -> float:
    """Memory that can be had without swapping."""
    for line in Path("/proc/meminfo").read_text().splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) / 2**20
    raise OSError("no MemAvailable in /proc/meminfo")


def processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.processor() or "unknown"
