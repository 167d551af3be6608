"""The comparison table of README.md, from bench/results.json and from facts that a test checks.

    python scripts/readme_table.py            write the table into README.md
    python scripts/readme_table.py --check    exit code 1 if README.md has another table

Every cell has its source:

- Times, memory and the error on float32 input are rows of `bench/results.json`, which `make bench` writes.
- `HAS` and `LACKS` are compared with the source of the packages by `python/integration/test_comparison.py`.
- The row on p = 1 is `test_some_give_a_probability_of_1_a_bin_of_its_own` in `python/tests/test_peer_claims.py`; the
  packages themselves run in `python/integration/test_peers.py`, and for torchmetrics and netcal in `fixtures/peers.py`.
"""

from __future__ import annotations

import json
import sys
import textwrap
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"
START, END = "<!-- comparison: made by scripts/readme_table.py -->", "<!-- end of comparison -->"
N = 10_000_000
COLUMNS = 100

# Package, and its rows of the bench: ECE (for relplot smECE, its main measure), and ECE of
# float32 input.
TOOLS = {
    "calipers": ("calipers_ece", "calipers_ece_single"),
    "scikit-learn": ("sklearn", None),
    "torchmetrics": ("torchmetrics", "torchmetrics_single"),
    "netcal": ("netcal", None),
    "relplot": ("relplot", None),
    "uncertainty-calibration": ("uncertainty_calibration", None),
}
FEATURES = {
    "ECE": "ECE",
    "LS-ECE": "LS-ECE",
    "smECE": "smECE",
    "interval": "Confidence interval",
    "p_value": "Noise floor and p-value",
    "compare": "Test which model is better",
    "weights": "Sample weights",
    "merge": "Batches in constant memory",
}
# The public function of each package that does it, as a dotted path.
HAS = {
    "calipers": {
        "ECE": "calipers.expected_calibration_error",
        "LS-ECE": "calipers.ls_ece",
        "smECE": "calipers.smooth_ece",
        "interval": "calipers.assess",
        "p_value": "calipers.assess",
        "compare": "calipers.compare",
        "weights": "calipers.Predictions",
        "merge": "calipers.Sketch",
    },
    "scikit-learn": {},
    "torchmetrics": {"ECE": "torchmetrics.functional.classification.calibration_error.binary_calibration_error"},
    "netcal": {"ECE": "netcal.metrics.confidence.ECE.ECE"},
    "relplot": {
        "ECE": "relplot.metrics.binnedECE",
        "smECE": "relplot.metrics.smECE",
        "interval": "relplot.diagrams.prepare_rel_diagram",
    },
    "uncertainty-calibration": {
        "ECE": "calibration.utils.get_ece",
        "interval": "calibration.utils.get_calibration_error_uncertainties",
    },
}
# What the source of a package would have if it had the feature, and then the part of the source
# that measures calibration.
LACKS = {
    "ECE": r"def \w*(calibration_error|_ece)\b|class \w*(ECE|CalibrationError)\b",
    "LS-ECE": r"logit.?smooth|ls_?ece",
    "smECE": r"smooth_?ece|\bsmece",
    "interval": r"bootstrap|confidence.?interval",
    "p_value": r"p_?value|noise.?floor|under the null",
    "compare": r"def \w*compare",
    "weights": r"def [^)]*(calibration_curve|calibration_error|_ce|ece|measure)\([^)]*weight",
    # The metrics of torchmetrics keep all predictions: their states are concatenated.
    "merge": r"def merge|dist_reduce_fx=.sum",
}
PARTS = {
    "scikit-learn": ["sklearn.calibration"],
    "torchmetrics": [
        "torchmetrics.functional.classification.calibration_error",
        "torchmetrics.classification.calibration_error",
    ],
    "netcal": ["netcal.metrics"],
    "relplot": ["relplot"],
    "uncertainty-calibration": ["calibration"],
}
# Where a probability of exactly 1 is counted.
AT_ONE = {
    "calipers": "last",
    "scikit-learn": "last",
    "torchmetrics": "its own",
    "netcal": "last",
    "relplot": "its own",
    "uncertainty-calibration": "last",
}


def duration(seconds: float) -> str:
    return f"{seconds * 1e3:.0f} ms" if seconds < 1 else f"{seconds:.1f} s"


def table(results: dict[str, Any]) -> str:
    """The table as Markdown, with the sentences that it needs."""
    rows = {row["key"]: row for row in results["rows"] if row["n"] == N}
    facts = results["machine"]

    def time(key: str) -> str:
        taken = duration(rows[key]["seconds"])
        return f"{taken} (smECE)" if rows[key]["quantity"] == "smECE" else taken

    lines = [["", *TOOLS], ["---"] * (len(TOOLS) + 1)]
    for feature, title in FEATURES.items():
        lines.append([title, *("yes" if feature in HAS[tool] else "no" for tool in TOOLS)])
    lines += [
        ["Bin of a probability of 1", *(AT_ONE[tool] for tool in TOOLS)],
        ["Time of ECE, 10⁷ rows", *(time(key) for key, _ in TOOLS.values())],
        ["Extra memory, MiB", *(f"{rows[key]['extra_mib']:,.0f}" for key, _ in TOOLS.values())],
    ]
    ours = rows["calipers"]
    single = rows[TOOLS["torchmetrics"][1]]
    off = 100 * single["distance"] / single["truth"]
    exact = rows[TOOLS["calipers"][1]]["distance"]
    assert exact < 1e-12 < single["distance"], "the sentence below says that calipers is exact"
    text = f"""
Times are the best of several runs with 15 bins (`make bench`; {facts["processor"]}, {facts["cores"]} cores); memory is
what a call adds. calipers computes LS-ECE of the same rows in {duration(ours["seconds"])} at `sigma=0.05`. With
float32 input, the ECE of torchmetrics is {off:.0f} % off on these data, and that of calipers is exact.
From scikit-learn's `calibration_curve`, ECE takes two more lines. `compat=` reproduces the bins of all
five; [sums stay exact](docs/measures.md#where-other-tools-differ).
"""
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n" + wrapped(text)


def wrapped(text: str) -> str:
    return "\n" + textwrap.fill(" ".join(text.split()), COLUMNS, break_long_words=False, break_on_hyphens=False)


def with_table(readme: str, made: str) -> str:
    before, _, rest = readme.partition(START)
    _, found, after = rest.partition(END)
    if not found:
        raise SystemExit(f"README.md must have the lines {START} and {END}")
    return f"{before}{START}\n{made}\n{END}{after}"


def main(arguments: list[str], readme: Path = README) -> int:
    results = json.loads((ROOT / "bench" / "results.json").read_text(encoding="utf-8"))
    text = readme.read_text(encoding="utf-8")
    made = with_table(text, table(results))
    if arguments == ["--check"]:
        if made != text:
            print("README.md: the comparison is not that of bench/results.json; run scripts/readme_table.py")
        return int(made != text)
    if arguments:
        print(__doc__)
        return 2
    readme.write_text(made, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
