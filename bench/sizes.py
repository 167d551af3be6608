"""Calls from 100 rows to 10^6, floors of every measure, classes from raw logits, displays and reports.

python -m bench.sizes [--quick] prints these lines alone.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable

import calipers
import numpy as np

from bench import data
from bench.contenders import numpy_ece
from bench.sketches import Line
from bench.timing import race

# Times LS-ECE and ECE may take of numpy's binned one-liner, by the number of rows.
SMALL = {1_000: (2.5, 1.0), 10_000: (3.0, 0.6)}
# Those whose floors may take longer: a transport problem, and kernels that differ from row to row.
SLOW = ("lower_distance_to_calibration", "smooth_calibration_error", "surrogate_interval_calibration_error")
SLOW_KERNELS = ("beta_kde_ece",)


def lines(*, quick: bool) -> list[Line]:
    """All of them."""
    return [*_small_calls(), *_class_wise(quick), *_floors(quick), *_pictures(quick)]


def cpu(call: Callable[[], object]) -> float:
    """CPU seconds of all threads."""
    start = time.process_time()
    call()
    return time.process_time() - start


def _small_calls() -> list[Line]:
    found = []
    for n, (ls_ece, ece) in SMALL.items():
        rows = data.sample(n)
        y, p = rows.y, rows.p
        calls: dict[str, Callable[[], float]] = {
            "numpy": numpy_ece(rows),
            "ls_ece": lambda y=y, p=p: calipers.ls_ece(y, p),
            "ece": lambda y=y, p=p: calipers.expected_calibration_error(y, p),
        }
        timings = race(calls, turns=40, budget=10)
        one_liner = timings["numpy"].seconds
        found += [
            Line(f"n = {n:,}: LS-ECE over numpy's binned one-liner", timings["ls_ece"].seconds / one_liner, ls_ece),
            Line(f"n = {n:,}: ECE over numpy's binned one-liner", timings["ece"].seconds / one_liner, ece),
        ]
    return found


def _class_wise(quick: bool) -> list[Line]:
    n, k = (2_000, 500) if quick else (10_000, 1_000)
    random = np.random.default_rng(0)
    logits = 2 * random.normal(size=(n, k))
    labels = random.integers(0, k, n)
    exponentials = np.exp(logits - logits.max(axis=1, keepdims=True))
    probabilities = exponentials / exponentials.sum(axis=1, keepdims=True)
    found = []
    for name, measure in (("LS-ECE", calipers.ls_ece), ("ECE", calipers.expected_calibration_error)):
        ratios = [
            cpu(lambda measure=measure: measure(labels, logits, from_logits=True, multiclass="classwise"))
            / cpu(lambda measure=measure: measure(labels, probabilities, multiclass="classwise"))
            for _ in range(3)
        ]
        claim = f"class-wise {name} of {n:,} x {k:,}: CPU time from logits over that from probabilities"
        found.append(Line(claim, statistics.median(ratios), 2))
    return found


def _floors(quick: bool) -> list[Line]:
    found = []
    for n in (10**4, 10**5) if quick else (10**4, 10**5, 10**6):
        rows = data.sample(n)
        ece = cpu(lambda rows=rows: calipers.assess(rows.y, rows.p, measure="expected_calibration_error"))
        ls_ece = cpu(lambda rows=rows: calipers.assess(rows.y, rows.p))
        found.append(Line(f"assess, n = {n:,}: CPU time of ECE over that of LS-ECE", ece / ls_ece, 2))
    few = data.sample(1_000)
    claim = "assess, n = 1,000: CPU seconds of smECE"
    found.append(Line(claim, cpu(lambda: calipers.assess(few.y, few.p, measure="smooth_ece")), 0.5))
    n = 10**4 if quick else 10**5
    rows = data.sample(n)
    for measure in calipers.measures():
        if not measure.larger_is_worse or (quick and measure.name in (*SLOW, *SLOW_KERNELS)):
            continue
        limit = 20.0 if measure.name in (*SLOW, *SLOW_KERNELS) else 3.0
        seconds = cpu(lambda name=measure.name: calipers.assess(rows.y, rows.p, measure=name))
        found.append(Line(f"assess, n = {n:,}: CPU seconds of {measure.name}", seconds, limit))
    return found


def _pictures(quick: bool) -> list[Line]:
    # Imported here, since a process imports it once, whatever it draws.
    import matplotlib.pyplot as plt  # noqa: F401

    found = []
    for n, display, report in ((1_000, None, 1.5), (4_000, 0.5, None), (10**6, 2.0, 5.0)):
        if quick and n == 10**6:
            continue
        rows = data.sample(n)
        if report is not None:
            seconds = cpu(lambda rows=rows: calipers.report(rows.y, rows.p))
            found.append(Line(f"report, n = {n:,}: CPU seconds", seconds, report))
        if display is not None:
            seconds = cpu(lambda rows=rows: calipers.ReliabilityDisplay.from_predictions(rows.y, rows.p))
            found.append(Line(f"reliability display, n = {n:,}: CPU seconds", seconds, display))
    if not quick:
        random = np.random.default_rng(1)
        logits, labels = 2 * random.normal(size=(10_000, 1_000)), random.integers(0, 1_000, 10_000)
        seconds = cpu(lambda: calipers.report(labels, logits, from_logits=True))
        found.append(Line("report of 10,000 x 1,000 logits: CPU seconds", seconds, 10))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.sizes", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="smaller sizes, without the slowest measures")
    for line in lines(quick=parser.parse_args().quick):
        print(
            f"{'holds' if line.holds else 'FAILS'}  {line.claim}: {line.value:.3g} (limit {line.limit:g})", flush=True
        )


if __name__ == "__main__":
    main()
