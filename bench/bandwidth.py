"""How many bytes a second the machine reads from memory, to compare with what a call reads."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from bench.timing import race

# More than any cache holds.
N_BYTES = 1 << 28


def bandwidths() -> dict[str, float]:
    """Bytes a second that numpy's sum of doubles reads, by one thread and by one on each core."""
    values = np.ones(N_BYTES // 8)
    n_threads = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    parts = np.array_split(values, n_threads)
    with ThreadPoolExecutor(n_threads) as pool:
        calls = {
            "numpy's sum, one thread": lambda: float(values.sum()),
            f"numpy's sum, {n_threads} threads": lambda: float(sum(pool.map(np.sum, parts))),
        }
        timings = race(calls, turns=15, budget=5)
    return {name: N_BYTES / timing.seconds for name, timing in timings.items()}
