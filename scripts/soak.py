"""An hour of mixed load on the Python package: answers stay the same, and memory stays flat.

`make soak MINUTES=60` calls it. Four threads update, merge, write and read sketches, assess, fit maps, follow a
monitor and make reports; the main thread forks children that go on with a sketch that others are changing. Every
answer is compared with that of the first run of the same work, and resident memory after a warm-up with that at the
end.
"""

from __future__ import annotations

import argparse
import os
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from statistics import median

import calipers as cal
import numpy as np

N_THREADS = 4
# Share of the time in which caches and pools fill.
WARM_UP = 0.2
# What may come and go with the moment at which memory is looked at.
ALLOWED_MB = 24.0
SIZES = (1, 100, 3000, 40_000)


class Rows:
    """Rows of a model that is somewhat miscalibrated, always the same."""

    def __init__(self, n: int, seed: int) -> None:
        chance = np.random.default_rng(seed)
        self.p = chance.random(n)
        self.y = (chance.random(n) < self.p**1.2).astype(np.int64)
        self.y[0] = 1
        self.w = chance.integers(1, 5, n) / 2


ROWS = {n: Rows(n, n) for n in SIZES}


def _sketches(n: int) -> object:
    rows = ROWS[n]
    half = n // 2
    first = cal.Sketch().update(rows.y[:half], rows.p[:half]) if half else cal.Sketch()
    second = cal.Sketch().update(rows.y[half:], rows.p[half:])
    whole = cal.Sketch.from_bytes(first.merge(second).to_bytes())
    return whole.to_bytes(), float(whole.ls_ece(sigma=0.2))


def _weighted(n: int) -> object:
    rows = ROWS[n]
    return cal.Sketch().update(rows.y, rows.p, sample_weight=rows.w).to_bytes()


def _assess(n: int) -> object:
    rows = ROWS[min(n, 3000)]
    found = cal.assess(rows.y, rows.p, n_resamples=100)
    return float(found.value), found.p_value, found.interval.upper


def _fit(n: int) -> object:
    rows = ROWS[max(n, 100)]
    return cal.recalibrate(rows.y, rows.p, method="beta").to_json()


def _monitor(n: int) -> object:
    rows = ROWS[max(n, 100)]
    monitor = cal.Monitor()
    for window in range(3):
        monitor.update(cal.Sketch().update(rows.y, rows.p), window=str(window))
    return monitor.to_json()


def _report(n: int) -> object:
    rows = ROWS[min(max(n, 100), 3000)]
    return len(cal.report(rows.y, rows.p, n_resamples=100).html)


def _wrong(n: int) -> object:
    try:
        cal.ls_ece(ROWS[n].y, ROWS[n].p * np.nan)
    except cal.CalipersError as error:
        return str(error)
    return None


WORK: tuple[Callable[[int], object], ...] = (_sketches, _weighted, _assess, _fit, _monitor, _wrong, _report)


def resident_mb() -> float:
    """What is in memory now, of Linux."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


class Load:
    """What all threads share."""

    def __init__(self) -> None:
        self.expected: dict[tuple[str, int], object] = {}
        self.counts: Counter[str] = Counter()
        self.failures: list[str] = []
        self.lock = threading.Lock()
        self.is_done = threading.Event()
        self.shared = cal.Sketch()

    def run(self, number: int) -> None:
        """Work of all kinds in an order of its own, until all is done or something fails."""
        chance = np.random.default_rng(1000 + number)
        while not self.is_done.is_set():
            # Reports take as long as a hundred others.
            work = WORK[int(chance.choice(len(WORK), p=[0.3, 0.2, 0.15, 0.1, 0.1, 0.13, 0.02]))]
            n = int(chance.choice(SIZES))
            try:
                self.check(work, n)
                self.shared.update(ROWS[100].y, ROWS[100].p)
            except Exception as error:  # noqa: BLE001 - whatever it is, it is reported and ends the run
                self.failures.append(f"{work.__name__}({n}): {error!r}")
                self.is_done.set()

    def check(self, work: Callable[[int], object], n: int) -> None:
        found = work(n)
        with self.lock:
            expected = self.expected.setdefault((work.__name__, n), found)
            self.counts[work.__name__] += 1
        if found != expected:
            raise AssertionError(f"gives {found!r:.200}, and at first {expected!r:.200}")

    def fork(self) -> None:
        """A child that goes on with a sketch that threads are changing."""
        child = os.fork()
        if child == 0:
            before = self.shared.n
            self.shared.update([1, 0], [0.9, 0.2])
            is_right = before % 100 == 0 and self.shared.n == before + 2 and _sketches(3000) is not None
            os._exit(0 if is_right else 3)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        self.counts["fork"] += 1
        if code != 0:
            self.failures.append(f"a child ended with {code}")
            self.is_done.set()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=60.0)
    minutes = parser.parse_args().minutes
    load, memory = Load(), []
    threads = [threading.Thread(target=load.run, args=(number,)) for number in range(N_THREADS)]
    for thread in threads:
        thread.start()
    start = time.monotonic()
    while time.monotonic() - start < 60.0 * minutes and not load.is_done.is_set():
        time.sleep(1.0)
        load.fork()
        memory.append((time.monotonic() - start, resident_mb()))
    load.is_done.set()
    for thread in threads:
        thread.join()
    for failure in load.failures:
        print(failure, file=sys.stderr)
    warm = [size for at, size in memory if at > WARM_UP * 60.0 * minutes]
    fourth = max(1, len(warm) // 4)
    first, last = median(warm[:fourth]), median(warm[-fourth:])
    print(f"{minutes:g} minutes: {dict(load.counts)}")
    print(f"memory: {first:.0f} MB after the warm-up, {last:.0f} MB at the end, at most {max(warm):.0f} MB")
    is_flat = last <= first + ALLOWED_MB
    if not is_flat:
        print("memory grows", file=sys.stderr)
    return 0 if is_flat and not load.failures else 1


if __name__ == "__main__":
    sys.exit(main())
