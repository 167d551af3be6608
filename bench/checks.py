"""The claims of the benchmark, each with the measured value and whether it holds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from bench.measures import ARGSORT, ISOTONIC, WITHOUT_SORT
from bench.parquet import ParquetRace
from bench.recalibration import Race
from bench.results import Results
from bench.sketches import Line

MOST_MEMORY_MIB = 64
MOST_RESIDENT_MIB = 300
MOST_GROUPS_MIB = 2048


@dataclass(frozen=True)
class Check:
    """A claim, its limit and the measured value; `holds` is None if it was not measured."""

    claim: str
    limit: str
    measured: str
    holds: bool | None


def checks(results: Results) -> list[Check]:
    """All of them, in the order of the report."""
    return [
        _at_most(results, 10**7, "calipers", "numpy_mean", "numpy's `(y - p).mean()`", 0.6),
        _at_most(results, 10**7, "calipers", "numpy_sums", "numpy's sums of both columns", 1.5),
        _faster(results, 10**7, "numpy_ece", "numpy's binned one-liner", 4),
        _faster(results, 10**7, "torchmetrics", "torchmetrics' ECE", 25),
        _faster(results, 10**7, "relplot", "relplot's smECE", 250),
        _faster(results, 50_000, "paper", "the paper's estimator", 20_000),
        _sweep(results, 50_000),
        _closer(results, 50_000),
        _top_class(results),
        _growth(results),
        _memory(results),
        *_parquet(results),
        *_groups(results),
        *_lines(results.sizes),
        *_lines(results.sketches),
        _exact_sums(results, 10**7),
        *_measures(results),
        *_recalibration(results),
    ]


def _ratio(results: Results, n: int, above: str, below: str) -> float | None:
    first, second = results.row(above, n), results.row(below, n)
    return first.seconds / second.seconds if first and second else None


def _at_most(results: Results, n: int, ours: str, key: str, name: str, limit: float) -> Check:
    ratio = _ratio(results, n, ours, key)
    return _check(f"n = {n:,}: time of LS-ECE over {name}", ratio, f"at most {limit:g}", lambda x: x <= limit)


def _faster(results: Results, n: int, key: str, name: str, limit: float) -> Check:
    ratio = _ratio(results, n, key, "calipers")
    return _check(f"n = {n:,}: time of {name} over LS-ECE", ratio, f"at least {limit:,g}", lambda x: x >= limit)


def _sweep(results: Results, n: int) -> Check:
    ratio = _ratio(results, n, "calipers_sweep", "relplot")
    return _check(f"n = {n:,}: time of the whole sweep over relplot's smECE", ratio, "below 1", lambda x: x < 1)


def _closer(results: Results, n: int) -> Check:
    claim, limit = f"n = {n:,}: distance from the truth, calipers and the paper's estimator", "calipers is closer"
    ours, theirs = results.row("calipers", n), results.row("paper", n)
    if not ours or not theirs or ours.distance is None or theirs.distance is None:
        return Check(claim, limit, "not run", None)
    measured = f"{ours.distance:.1e}, {theirs.distance:.1e}"
    return Check(claim, limit, measured, ours.distance < theirs.distance)


def _top_class(results: Results) -> Check:
    n_rows, n_classes = results.top_class_shape
    claim = (
        f"{n_rows:,} x {n_classes:,} float32 scores: time of scipy softmax + max + argmax over LS-ECE of the top class"
    )
    timings = results.top_class
    ratio = timings["scipy"].seconds / timings["calipers"].seconds if timings else None
    return _check(claim, ratio, "at least 5", lambda x: x >= 5)


def _growth(results: Results) -> Check:
    if len(results.growth) != 2:
        return Check("time at ten times the rows", "at most 10.5", "not run", None)
    (small, at_small), (large, at_large) = sorted(results.growth.items())
    claim = f"time from n = {small:,} to {large:,}"
    return _check(claim, at_large.seconds / at_small.seconds, "at most 10.5", lambda x: x <= 10.5)


def _memory(results: Results) -> Check:
    claim, limit = "extra memory of LS-ECE, sigma >= 0.01, the most of all n", f"at most {MOST_MEMORY_MIB} MiB"
    if not results.calipers_memory:
        return Check(claim, limit, "not run", None)
    n, sigma, most = max(results.calipers_memory, key=lambda entry: entry[2])
    return Check(claim, limit, f"{most:.1f} MiB (n = {n:,}, sigma {sigma:g})", most <= MOST_MEMORY_MIB)


def _parquet(results: Results) -> list[Check]:
    race = results.parquet
    rows = f"Parquet, {race.n:,} rows" if isinstance(race, ParquetRace) else "Parquet"
    ratio, peak = None, None
    if isinstance(race, ParquetRace):
        ratio = race.calipers_seconds / race.duckdb_query_seconds
        peak = race.calipers_peak_mib
    claim = f"{rows}: time of `calipers measure`, start to end, over DuckDB's query alone"
    return [
        _check(claim, ratio, "at most 2", lambda x: x <= 2),
        _check(
            f"{rows}: largest resident set of `calipers measure`, MiB",
            peak,
            f"below {MOST_RESIDENT_MIB}",
            lambda x: x < MOST_RESIDENT_MIB,
        ),
    ]


def _groups(results: Results) -> list[Check]:
    def check(n: int, peak: float) -> Check:
        claim = f"{n:,} groups of 20 rows: largest resident set of `calipers sketch --by`, MiB"
        return _check(claim, peak, f"below {MOST_GROUPS_MIB:,}", lambda x: x < MOST_GROUPS_MIB)

    return [check(n, peak) for n, peak in results.groups.items()]


def _lines(lines: list[Line]) -> list[Check]:
    def check(line: Line) -> Check:
        limit = f"{'at least' if line.at_least else 'at most'} {line.limit:,g}"
        return _check(line.claim, line.value, limit, lambda _: line.holds)

    return [check(line) for line in lines]


def _exact_sums(results: Results, n: int) -> Check:
    claim = f"n = {n:,}, float32 input: distance of ECE from the truth"
    limit = "calipers at most 1e-12"
    ours, theirs = results.row("calipers_ece_single", n), results.row("torchmetrics_single", n)
    if not ours or not theirs or ours.distance is None or theirs.distance is None or not theirs.truth:
        return Check(claim, limit, "not run", None)
    measured = f"{ours.distance:.0e}; torchmetrics {theirs.distance:.1e}, {theirs.distance / theirs.truth:.0%} off"
    return Check(claim, limit, measured, ours.distance <= 1e-12)


def _recalibration(results: Results) -> list[Check]:
    def of(race: Race, peer: str, limit: float) -> Check:
        claim = f"{race.rows}: time of a {race.family} fit by {peer} over that by calipers"
        return _check(claim, race.ratio(peer), f"at least {limit:g}", lambda x: x >= limit)

    return [of(race, peer, limit) for race in results.recalibration for peer, limit in race.limits.items()]


def _measures(results: Results) -> list[Check]:
    """The slowest of each kind decides whether all hold."""
    ours = {name: timing.seconds for name, timing in results.measures.items() if name not in (ISOTONIC, ARGSORT)}
    if not ours:
        return []

    def slowest(names: list[str], peer: str, limit: float) -> Check:
        name = max(names, key=lambda name: ours[name])
        ratio = ours[name] / results.measures[peer].seconds
        claim = f"n = {results.measures_n:,}: time of the slowest measure over {peer}"
        return Check(claim, f"at most {limit:g}", f"{ratio:.3g} ({name})", ratio <= limit)

    without = slowest([name for name in ours if name in WITHOUT_SORT], ARGSORT, 1)
    return [
        slowest(list(ours), ISOTONIC, 3),
        Check(without.claim.replace("slowest", "slowest sortless"), without.limit, without.measured, without.holds),
    ]


def _check(claim: str, value: float | None, limit: str, holds: Callable[[float], bool]) -> Check:
    if value is None:
        return Check(claim, limit, "not run", None)
    return Check(claim, limit, f"{value:,.0f}" if value >= 1000 else f"{value:.3g}", holds(value))
