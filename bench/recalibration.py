"""Recalibration maps: the fit by calipers, and the fit of the same family by its peers.

python -m bench.recalibration [--quick] [--write]

With --write the results become the section of bench/RESULTS.md on recalibration, whose other sections stay.
"""

from __future__ import annotations

import os
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import calipers
import numpy as np

from bench import data
from bench.data import SEED
from bench.timing import Timing, race

CALIPERS = "calipers"


@dataclass
class Race:
    """One family on one sample: times by contender, and how much faster calipers is to be than each of them."""

    family: str
    rows: str
    timings: dict[str, Timing]
    limits: dict[str, float]

    def ratio(self, peer: str) -> float:
        return self.timings[peer].seconds / self.timings[CALIPERS].seconds


def races(*, quick: bool) -> list[Race]:
    """All of them. The value of a call is its first parameter."""
    turns, budget = (2, 10) if quick else (5, 60)
    n, shape = (10**5, (5_000, 100)) if quick else (10**6, (50_000, 1_000))
    run = partial(race, turns=turns, budget=budget)
    with warnings.catch_warnings():
        # Of torch about its own functions; betacal switches off all of them.
        warnings.simplefilter("ignore")
        return [*_binary(n, run), _temperature(*shape, run), _vector(2_000 if quick else 10_000, 100, run)]


def _binary(n: int, run: Callable[..., dict[str, Timing]]) -> list[Race]:
    from betacal import BetaCalibration
    from sklearn.calibration import _SigmoidCalibration
    from sklearn.isotonic import IsotonicRegression

    rows = data.sample(n)
    p, y = rows.p, rows.y
    logits, column = np.log(p) - np.log1p(-p), p[:, None]

    def ours(method: str, **options: Any) -> Callable[[], float]:
        def call() -> float:
            return next(iter(calipers.Recalibrator(method, **options).fit(y, p).parameters.values()), 0.0)

        return call

    def platt() -> float:
        # The class that `CalibratedClassifierCV(method="sigmoid")` fits.
        return -float(_SigmoidCalibration().fit(logits, y).a_)

    def beta() -> float:
        return float(BetaCalibration("abm").fit(column, y).calibrator_.map_[0])

    def isotonic() -> float:
        return float(IsotonicRegression(out_of_bounds="clip").fit(p, y).y_thresholds_[0])

    name = f"{n:,} rows"
    return [
        Race("Platt", name, run({CALIPERS: ours("platt"), "scikit-learn": platt}), {"scikit-learn": 20}),
        Race("beta", name, run({CALIPERS: ours("beta"), "betacal": beta}), {"betacal": 20}),
        Race("isotonic", name, run({CALIPERS: ours("isotonic"), "scikit-learn": isotonic}), {"scikit-learn": 3}),
    ]


def _scores(n: int, k: int) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Raw scores of a model that is mostly right and too sure, and labels."""
    random = np.random.default_rng([SEED, n, k])
    labels = random.integers(k, size=n)
    scores = random.standard_normal((n, k), dtype=np.float32)
    scores[np.arange(n), labels] += random.normal(6, 3, n).astype(np.float32)
    return labels, 2 * scores


def _temperature(n: int, k: int, run: Callable[..., dict[str, Timing]]) -> Race:
    import torch
    from sklearn.calibration import _TemperatureScaling

    labels, scores = _scores(n, k)
    z, y = torch.from_numpy(scores), torch.from_numpy(labels)

    def ours() -> float:
        fitted = calipers.Recalibrator("temperature", from_logits=True).fit(labels, scores)
        return fitted.parameters["slope"]

    def sklearn() -> float:
        # The class that `CalibratedClassifierCV(method="temperature")` fits.
        return float(_TemperatureScaling().fit(scores, labels).beta_)

    def lbfgs() -> float:
        slope = torch.ones(1, requires_grad=True)
        optimiser = torch.optim.LBFGS([slope], lr=0.1, max_iter=100)

        def closure() -> torch.Tensor:
            optimiser.zero_grad()
            loss = torch.nn.functional.cross_entropy(slope * z, y)
            loss.backward()
            return loss

        optimiser.step(closure)
        return float(slope)

    calls = {CALIPERS: ours, "scikit-learn": sklearn, "torch, L-BFGS as in torch-uncertainty": lbfgs}
    return Race("temperature", f"{n:,} x {k:,} float32 scores", run(calls), dict.fromkeys(list(calls)[1:], 10))


def _vector(n: int, k: int, run: Callable[..., dict[str, Timing]]) -> Race:
    from probmetrics.calibrators import get_calibrator
    from scipy.special import softmax

    labels, scores = _scores(n, k)
    p = softmax(scores.astype(np.float64), axis=1)
    p /= p.sum(axis=1, keepdims=True)

    def ours() -> float:
        return next(iter(calipers.Recalibrator("vector").fit(labels, p).parameters.values()))

    def svs() -> float:
        get_calibrator("svs").fit(p, labels)
        return 0.0

    timings = run({CALIPERS: ours, "probmetrics": svs})
    return Race("vector (SVS)", f"{n:,} x {k:,} probabilities", timings, {"probmetrics": 10})


def main() -> None:
    start = time.perf_counter()
    all_races = races(quick="--quick" in sys.argv)
    for found in all_races:
        for who, timing in found.timings.items():
            limit = found.limits.get(who)
            times = "" if limit is None else f"{found.ratio(who):8.1f} times ours (required: {limit:g})"
            line = f"{found.family:13} {found.rows:28} {who:38} {1e3 * timing.seconds:10.1f} ms {timing.runs:3}"
            print(f"{line}  {timing.value:.6f} {times}", flush=True)
    if "--write" in sys.argv:
        write(all_races, time.perf_counter() - start)


def write(found: list[Race], seconds: float) -> None:
    """Replaces the section of RESULTS.md, or adds it before the one on Parquet."""
    from bench import machine, report

    busy = Path("/proc/loadavg").read_text().split()[1]
    about = (
        f"Written apart from the other sections by `python -m bench.recalibration --write`, in {seconds / 60:.0f} "
        f"minutes: {machine.processor()}, {len(os.sched_getaffinity(0))} cores, with a mean load of {busy} processes."
    )
    section = "\n\n".join(["## Recalibration maps", about, report.recalibration_table(found)])
    path = report.FOLDER / "RESULTS.md"
    parts = path.read_text().split("\n## ")
    parts = [part for part in parts if not part.startswith("Recalibration maps")]
    place = next(place for place, part in enumerate(parts) if part.startswith("A Parquet file"))
    parts.insert(place, section.removeprefix("## ") + "\n")
    path.write_text("\n## ".join(parts))


if __name__ == "__main__":
    main()
