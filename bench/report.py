"""RESULTS.md for people, results.json for programs."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

from bench.checks import Check
from bench.measures import ARGSORT, ISOTONIC
from bench.parquet import ParquetRace
from bench.recalibration import Race
from bench.results import Results, Row

FOLDER = Path(__file__).parent
# The calls, by their keys, that take as long as reading the columns, or nearly.
READERS = ("numpy_sums", "numpy_mean", "calipers", "calipers_fine", "calipers_auto", "calipers_ece")
VERDICT = {True: "yes", False: "**no**", None: "not run"}


def write(results: Results, found: list[Check]) -> None:
    """Writes both files into this folder. A quick run has its own files, since its values are not kept."""
    suffix = "_quick" if results.quick else ""
    text = json.dumps({**results.to_dict(), "checks": [asdict(check) for check in found]}, indent=2)
    (FOLDER / f"results{suffix}.json").write_text(text + "\n")
    (FOLDER / f"RESULTS{suffix.upper()}.md").write_text(markdown(results, found))


def markdown(results: Results, found: list[Check]) -> str:
    """The report."""
    facts = results.machine
    parts = [
        "# calipers and its peers",
        "Written by `make bench`" + (" QUICK=1." if results.quick else ".") + " Do not edit: comments are in NOTES.md.",
        f"{facts['processor']}, {facts['cores']} cores, {facts['memory']}; {facts['system']}, Python {facts['Python']}."
        f" The run took {results.seconds / 60:.0f} minutes.",
        "## Claims",
        table(
            ["claim", "limit", "measured", "holds"],
            [[check.claim, check.limit, check.measured, VERDICT[check.holds]] for check in found],
        ),
    ]
    notes = FOLDER / "NOTES.md"
    if notes.exists():
        parts.append(notes.read_text().strip())
    parts += [
        "## How it is measured",
        METHOD.format(population_ece=results.population_ece),
        *[f"Not run: {note}" for note in results.notes],
    ]
    for n in sorted({row.n for row in results.rows}):
        parts += [f"## n = {n:,}", _size_table([row for row in results.rows if row.n == n])]
    parts += ["## Extra memory of calipers' LS-ECE", _memory_table(results)]
    if results.growth:
        growth = ", ".join(f"n = {n:,}: {duration(timing.seconds)}" for n, timing in sorted(results.growth.items()))
        parts += ["## Growth", f"LS-ECE at both sizes in turn: {growth}."]
    if results.bandwidths:
        parts += ["## Bytes read a second", _bandwidth_part(results)]
    if results.top_class:
        parts += ["## Raw scores to the top class", _top_class_table(results)]
    if results.measures:
        parts += [f"## Every measure, n = {results.measures_n:,}", _measures_table(results)]
    if results.recalibration:
        parts += ["## Recalibration maps", recalibration_table(results.recalibration)]
    parts += ["## A Parquet file", _parquet_part(results.parquet)]
    versions = [[package, number] for package, number in list(facts.items())[5:]]
    parts += ["## Versions", table(["package", "version"], versions)]
    return "\n\n".join(parts) + "\n"


METHOD = """\
All contenders get the same arrays (float64 probabilities and int64 outcomes, unless the row states float32) in one
process, in turn. The time is the best of `runs` calls; slow peers have fewer. Calls are made from Python and include
all checks and conversions. The data are from an overconfident model with normal logits (`bench/data.py`), whose true
ECE is {population_ece:.6f}.

Extra memory is the peak of the resident set during one call minus the resident set before, in a fresh process.

The distance is from the true value of the quantity in the row. For LS-ECE, this is a quadrature in numpy that shares
no code with calipers up to n = 50,000, and calipers at the smallest tolerance that it can prove above. For binned
ECE, it is the correctly rounded sums (`math.fsum`) of the input. For smECE, there is no other definition."""


def _size_table(rows: list[Row]) -> str:
    ours = next((row.seconds for row in rows if row.key == "calipers"), None)
    cells = []
    for row in sorted(rows, key=lambda row: (row.quantity, row.seconds)):
        cells.append(
            [
                row.quantity,
                row.package,
                f"`{row.call}`",
                duration(row.seconds),
                "" if ours is None else f"{row.seconds / ours:.3g}",
                str(row.runs),
                "" if row.extra_mib is None else f"{row.extra_mib:,.1f}",
                f"{row.value:.9f}",
                "" if row.distance is None else f"{row.distance:.1e}",
                row.truth_by,
            ]
        )
    heads = ["quantity", "by", "call", "time", "of calipers' LS-ECE", "runs", "extra MiB", "value", "distance", "from"]
    return table(heads, cells)


def _memory_table(results: Results) -> str:
    cells = [[f"{n:,}", f"{sigma:g}", f"{mib:.1f}"] for n, sigma, mib in results.calipers_memory]
    return table(["n", "sigma", "extra MiB"], cells)


def _bandwidth_part(results: Results) -> str:
    """What calls read, a second, beside what the machine can read."""
    most = max(results.bandwidths.values())
    cells = [[name, "", "", "", f"{rate / 1e9:.3g}", f"{rate / most:.0%}"] for name, rate in results.bandwidths.items()]
    # A double and a 64-bit integer for each row; an integer and single scores for the top class.
    rows = [row for row in results.rows if row.key in READERS and row.n >= 10**6]
    calls = [(f"{row.quantity}, n = {row.n:,}", row.call, 16 * row.n, row.seconds) for row in rows]
    if results.top_class:
        n_rows, n_classes = results.top_class_shape
        name = f"LS-ECE of the top class, {n_rows:,} x {n_classes:,} float32 scores"
        n_bytes = 4 * n_rows * n_classes + 8 * n_rows
        calls.append((name, "ls_ece(y, scores, from_logits=True)", n_bytes, results.top_class["calipers"].seconds))
    for name, call, n_bytes, seconds in calls:
        rate = n_bytes / seconds
        size = f"{n_bytes / 1e6:,.0f}"
        cells.append([name, f"`{call}`", size, duration(seconds), f"{rate / 1e9:.3g}", f"{rate / most:.0%}"])
    return table(["what", "call", "MB read", "time", "GB a second", "of the most"], cells)


def _top_class_table(results: Results) -> str:
    does = {
        "calipers": "all of LS-ECE: log-odds of the top class, outcomes and the integral",
        "scipy": "only softmax, max and argmax",
    }
    cells = [[key, does[key], duration(timing.seconds), str(timing.runs)] for key, timing in results.top_class.items()]
    n_rows, n_classes = results.top_class_shape
    return f"{n_rows:,} rows of {n_classes:,} float32 scores.\n\n" + table(["by", "what", "time", "runs"], cells)


def _measures_table(results: Results) -> str:
    isotonic, argsort = (results.measures[peer].seconds for peer in (ISOTONIC, ARGSORT))
    cells = [
        [name, duration(timing.seconds), f"{timing.seconds / isotonic:.3g}", f"{timing.seconds / argsort:.3g}"]
        for name, timing in sorted(results.measures.items(), key=lambda item: item[1].seconds)
    ]
    return table(["measure, with its default options", "time", "of an isotonic fit", "of an argsort"], cells)


def recalibration_table(races: list[Race]) -> str:
    """The times of all contenders, and how often they are those of calipers."""
    cells = [
        [race.family, race.rows, who, duration(timing.seconds), str(timing.runs), f"{race.ratio(who):.3g}"]
        for race in races
        for who, timing in race.timings.items()
    ]
    return table(["family", "data", "by", "time", "runs", "of calipers"], cells)


def _parquet_part(race: ParquetRace | str) -> str:
    if isinstance(race, str):
        return f"Not run: {race}."
    command = "`calipers measure FILE --prob p --label y --sigma 0.05 --json`, the process"
    query = "DuckDB, 2 threads: `select sum(p), sum(y)`, the query alone"
    process = "the same, with the process that runs it"
    cells = [
        [command, duration(race.calipers_seconds), f"{race.calipers_peak_mib:,.0f}"],
        [query, duration(race.duckdb_query_seconds), ""],
        [process, duration(race.duckdb_process_seconds), f"{race.duckdb_peak_mib:,.0f}"],
    ]
    about = (
        f"{race.n:,} rows, two columns (double, int64), {race.file_mib:,.0f} MiB, in the page cache; "
        f"best of {race.runs}, in turn. calipers' value: {race.calipers_value:.9f}."
    )
    return about + "\n\n" + table(["what", "time", "largest resident MiB"], cells)


def table(heads: list[str], cells: list[list[str]]) -> str:
    """A Markdown table."""
    lines = [heads, ["---"] * len(heads), *cells]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def duration(seconds: float) -> str:
    """Three digits, in the unit that suits them."""
    if seconds < 1e-3:
        return f"{seconds * 1e6:.3g} µs"
    return f"{seconds * 1e3:.3g} ms" if seconds < 1 else f"{seconds:.3g} s"
