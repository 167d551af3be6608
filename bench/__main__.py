"""Run all benchmarks, print which claims hold, and write the report.

python -m bench --command PATH-OF-CALIPERS [--extension PATH] [--quick]
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

import calipers

from bench import checks, contenders, data, machine, report, sizes, sketches, truth
from bench.bandwidth import bandwidths
from bench.contenders import CONTENDERS, Contender
from bench.data import Sample
from bench.groups import peak_of_groups
from bench.measures import race_measures
from bench.memory import extra_memory
from bench.parquet import ParquetRace, race_parquet
from bench.recalibration import races
from bench.results import Results, Row
from bench.timing import Timing, race
from bench.topclass import race_top_class

# Just below the number of rows at which calipers uses cells, where it needs the most memory.
BEFORE_CELLS = 524_287
# Up to this number of rows, the true LS-ECE is a quadrature over all rows.
MOST_QUADRATURE = 50_000
# Six matrices of 10,000 by n in float32.
PAPER_GIB = 12


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench", description="calipers against its peers")
    parser.add_argument("--command", type=Path, required=True, help="the calipers command, as released")
    parser.add_argument("--extension", type=Path, help="the DuckDB extension, as released")
    parser.add_argument("--quick", action="store_true", help="smaller sizes and fewer repetitions")
    arguments = parser.parse_args()

    start = time.perf_counter()
    results = Results(arguments.quick, machine.facts(), data.population_ece())
    with tempfile.TemporaryDirectory(prefix="calipers-bench-") as name:
        folder = Path(name)
        numbers = [10**4, 50_000, 10**6] if arguments.quick else [10**4, 50_000, 10**6, 10**7]
        for n in numbers:
            run_size(results, n, folder)
        run_largest(results, numbers[-1], folder)
        run_bandwidth(results)
        run_top_class(results)
        run_measures(results)
        run_sizes(results)
        run_recalibration(results)
        run_parquet(results, arguments.command, folder)
        run_groups(results, arguments.command, folder)
        run_sketches(results, arguments.command, arguments.extension, folder)
    results.seconds = time.perf_counter() - start
    found = checks.checks(results)
    report.write(results, found)
    say_checks(found)


def run_size(results: Results, n: int, folder: Path) -> None:
    """Time, memory and value of all contenders at one size."""
    say(f"n = {n:,}")
    rows = data.sample(n)
    rows.save(folder)
    who = [contender for contender in CONTENDERS if n <= contender.n_most and can_run(contender, n, results)]
    calls = {contender.key: contender.prepare(rows) for contender in who}
    timings = race(calls, turns=5 if results.quick else 15, budget=2 if results.quick else 12)
    del calls
    truths = Truths(rows)
    for contender in who:
        timing = timings[contender.key]
        extra = extra_memory(contender.key, n, folder)
        results.rows.append(row_of(contender, timing, extra, truths))
        say(f"  {contender.key:24} {report.duration(timing.seconds):>9} {extra or 0:9.1f} MiB  {timing.value:.9f}")
        if is_ours_at_a_sigma(contender) and extra is not None:
            results.calipers_memory.append((n, contenders.SIGMAS[contender.quantity], extra))


def can_run(contender: Contender, n: int, results: Results) -> bool:
    """Whether the paper's matrices fit into memory and into the time of a quick run."""
    if contender.key != "paper" or n <= 10**4:
        return True
    if results.quick:
        results.notes.append(f"the paper's estimator at n = {n:,}, in a quick run.")
        return False
    if machine.available_gib() < PAPER_GIB:
        results.notes.append(f"the paper's estimator at n = {n:,}: it needs {PAPER_GIB} GiB of free memory.")
        return False
    return True


def run_largest(results: Results, n: int, folder: Path) -> None:
    """calipers alone at ten times the rows of the largest race, and at its largest memory use."""
    largest = 10 * n
    say(f"n = {largest:,}, calipers alone")
    rows = data.sample(largest)
    rows.save(folder)
    before_cells = Sample(rows.p[:BEFORE_CELLS], rows.y[:BEFORE_CELLS])
    before_cells.save(folder)
    first = Sample(rows.p[:n], rows.y[:n])
    prepare = contenders.BY_KEY["calipers"].prepare
    timings = race({"small": prepare(first), "large": prepare(rows)}, turns=5, budget=20)
    results.growth = {n: timings["small"], largest: timings["large"]}
    for contender in CONTENDERS:
        if contender.n_most < largest or not is_ours_at_a_sigma(contender):
            continue
        for size in (BEFORE_CELLS, largest):
            extra = extra_memory(contender.key, size, folder)
            if extra is not None:
                results.calipers_memory.append((size, contenders.SIGMAS[contender.quantity], extra))
        if contender.key == "calipers":
            extra = results.calipers_memory[-1][2]
            results.rows.append(row_of(contender, timings["large"], extra, Truths(rows)))
    results.calipers_memory.sort(key=lambda entry: (entry[1], entry[0]))


def run_bandwidth(results: Results) -> None:
    say("bandwidth of memory")
    results.bandwidths = bandwidths()


def run_measures(results: Results) -> None:
    results.measures_n = 10**5 if results.quick else 10**6
    say(f"every measure, n = {results.measures_n:,}")
    results.measures = race_measures(data.sample(results.measures_n), turns=3, budget=6)


def run_sizes(results: Results) -> None:
    say("calls of every size")
    results.sizes = sizes.lines(quick=results.quick)


def run_recalibration(results: Results) -> None:
    say("recalibration maps")
    results.recalibration = races(quick=results.quick)
    for found in results.recalibration:
        times = ", ".join(f"{who} {report.duration(timing.seconds)}" for who, timing in found.timings.items())
        say(f"  {found.family}, {found.rows}: {times}")


def run_groups(results: Results, command: Path, folder: Path) -> None:
    n_groups = 10**4 if results.quick else 10**5
    say(f"{n_groups:,} groups")
    results.groups[n_groups] = peak_of_groups(n_groups, command, folder)


def run_sketches(results: Results, command: Path, extension: Path | None, folder: Path) -> None:
    say("sketches")
    results.sketches = sketches.lines(command, extension, folder, quick=results.quick)


def row_of(contender: Contender, timing: Timing, extra: float | None, truths: Truths) -> Row:
    value, by = truths.of(contender.quantity)
    return Row(
        n=truths.rows.n,
        key=contender.key,
        package=contender.package,
        call=contender.call,
        quantity=contender.quantity,
        seconds=timing.seconds,
        runs=timing.runs,
        value=float(timing.value),
        truth=value,
        truth_by=by,
        extra_mib=extra,
    )


def run_top_class(results: Results) -> None:
    results.top_class_shape = (5_000, 1_000) if results.quick else (50_000, 1_000)
    say("raw scores {:,} x {:,}".format(*results.top_class_shape))
    results.top_class = race_top_class(*results.top_class_shape, turns=7, budget=15)


def run_parquet(results: Results, command: Path, folder: Path) -> None:
    n = 10**7 if results.quick else 10**8
    say(f"Parquet, {n:,} rows")
    # The arrays of the races are no longer needed, and the file may need their space.
    for array in folder.glob("*.npy"):
        array.unlink()
    results.parquet = race_parquet(n, command, folder, turns=3 if results.quick else 5)
    if isinstance(results.parquet, ParquetRace):
        times = results.parquet.calipers_seconds, results.parquet.duckdb_query_seconds
        say("  calipers {}, DuckDB {}".format(*map(report.duration, times)))


class Truths:
    """The true value of each quantity for one sample, with its source; each is computed once."""

    def __init__(self, rows: Sample) -> None:
        self.rows = rows
        self.known: dict[str, tuple[float | None, str]] = {}

    def of(self, quantity: str) -> tuple[float | None, str]:
        if quantity not in self.known:
            self.known[quantity] = self.compute(quantity)
        return self.known[quantity]

    def compute(self, quantity: str) -> tuple[float | None, str]:
        p, y = self.rows.p, self.rows.y
        if quantity in (*contenders.SIGMAS, contenders.LS_ECE_AUTO):
            sigma = contenders.SIGMAS.get(quantity) or automatic_sigma(self.rows)
            if self.rows.n <= MOST_QUADRATURE:
                return truth.ls_ece(self.rows, sigma), "quadrature in numpy"
            return smallest_tolerance(self.rows, sigma)
        if quantity == contenders.ECE:
            return truth.binned_ece(p, y, contenders.N_BINS), "exact sums"
        if quantity == contenders.ECE_SINGLE:
            single = p.astype("float32").astype("float64")
            return truth.binned_ece(single, y, contenders.N_BINS), "exact sums of the float32 values"
        if quantity == contenders.MEAN_GAP:
            return truth.mean_gap(p, y), "exact sums"
        return None, "no other definition"


def smallest_tolerance(rows: Sample, sigma: float) -> tuple[float, str]:
    """calipers at the smallest tolerance that it can prove."""
    for exponent in range(12, 7, -1):
        try:
            estimate = calipers.ls_ece(rows.y, rows.p, sigma=sigma, tolerance=10.0**-exponent)
        except calipers.CalipersError:
            continue
        return float(estimate), f"calipers, tolerance 1e-{exponent}"
    raise RuntimeError("no tolerance below 1e-7 can be proven")


def automatic_sigma(rows: Sample) -> float:
    return float(calipers.ls_ece(rows.y, rows.p).settings["sigma"])


def is_ours_at_a_sigma(contender: Contender) -> bool:
    return contender.package == "calipers" and contender.quantity in contenders.SIGMAS


def say_checks(found: list[checks.Check]) -> None:
    say("")
    for check in found:
        verdict = {True: "holds  ", False: "FAILS  ", None: "not run"}[check.holds]
        say(f"{verdict}  {check.claim}: {check.measured} ({check.limit})")


def say(line: str) -> None:
    print(line, flush=True)


if __name__ == "__main__":
    main()
