"""The contenders: calipers, one-line references in numpy, and one function for each peer.

A contender gets the arrays and returns the call that is timed. It imports its package only when it is prepared, so
that a child process that measures memory has only this package.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

import numpy as np

from bench.data import Sample

Call: TypeAlias = Callable[[], float]

SIGMA = 0.05
TOLERANCE = 1e-6
N_BINS = 15
FINE_SIGMA = 0.01

LS_ECE = f"LS-ECE, sigma {SIGMA}"
LS_ECE_FINE = f"LS-ECE, sigma {FINE_SIGMA}"
LS_ECE_AUTO = "LS-ECE, sigma chosen automatically"
ECE = f"ECE, {N_BINS} equal-width bins"
ECE_SINGLE = f"ECE, {N_BINS} bins, float32 input"
SMOOTH_ECE = "smECE"
SWEEP = "sweep: ECE twice and LS-ECE for 11 bin counts, smECE, 200 draws"
MEAN_GAP = "mean of y - p"

# The quantities whose sigma is given.
SIGMAS = {LS_ECE: SIGMA, LS_ECE_FINE: FINE_SIGMA}


@dataclass(frozen=True)
class Contender:
    """One way to compute one quantity."""

    key: str
    package: str
    call: str
    quantity: str
    prepare: Callable[[Sample], Call]
    # Above this number of rows, it needs too much memory or time.
    n_most: int = 10**7


def calipers_ls_ece(sample: Sample, sigma: float = SIGMA) -> Call:
    import calipers

    p, y = sample.p, sample.y
    return lambda: calipers.ls_ece(y, p, sigma=sigma, tolerance=TOLERANCE)


def calipers_ls_ece_auto(sample: Sample) -> Call:
    import calipers

    p, y = sample.p, sample.y
    return lambda: calipers.ls_ece(y, p)


def calipers_ece(sample: Sample) -> Call:
    import calipers

    p, y = sample.p, sample.y
    return lambda: calipers.expected_calibration_error(y, p, n_bins=N_BINS)


def calipers_sweep(sample: Sample) -> Call:
    import calipers

    p, y = sample.p, sample.y
    return lambda: float(calipers.sweep(y, p).smooth_ece)


def calipers_ece_single(sample: Sample) -> Call:
    import calipers

    p, y = sample.p.astype(np.float32), sample.y
    return lambda: calipers.expected_calibration_error(y, p, n_bins=N_BINS)


def numpy_mean(sample: Sample) -> Call:
    y_prob, y_true = sample.p, sample.y
    return lambda: float((y_true - y_prob).mean())


def numpy_sums(sample: Sample) -> Call:
    """Reads both columns once, and no more."""
    y_prob, y_true, n = sample.p, sample.y, sample.n
    return lambda: float((y_true.sum() - y_prob.sum()) / n)


def numpy_ece(sample: Sample) -> Call:
    p, y, n = sample.p, sample.y, sample.n
    return lambda: float(abs(np.bincount(np.minimum((p * 15).astype(int), 14), y - p)).sum() / n)


def torchmetrics_ece(sample: Sample) -> Call:
    import torch
    from torchmetrics.functional.classification import binary_calibration_error

    p, y = torch.from_numpy(sample.p), torch.from_numpy(sample.y)
    return lambda: float(binary_calibration_error(p, y, n_bins=N_BINS, norm="l1"))


def torchmetrics_ece_single(sample: Sample) -> Call:
    import torch
    from torchmetrics.functional.classification import binary_calibration_error

    p, y = torch.from_numpy(sample.p.astype(np.float32)), torch.from_numpy(sample.y)
    return lambda: float(binary_calibration_error(p, y, n_bins=N_BINS, norm="l1"))


def netcal_ece(sample: Sample) -> Call:
    from netcal.metrics import ECE as NetcalECE

    p, y = sample.p, sample.y
    return lambda: float(NetcalECE(N_BINS).measure(p, y))


def uncertainty_calibration_ece(sample: Sample) -> Call:
    import calibration

    p, y = sample.p, sample.y
    return lambda: float(calibration.get_ece(p, y, num_bins=N_BINS))


def sklearn_ece(sample: Sample) -> Call:
    """scikit-learn has the curve, and users add the counts. No bin of this sample is empty."""
    from sklearn.calibration import calibration_curve

    p, y, n = sample.p, sample.y, sample.n

    def call() -> float:
        rates, means = calibration_curve(y, p, n_bins=N_BINS)
        counts = np.histogram(p, N_BINS, (0, 1))[0]
        return float((counts[counts > 0] * abs(rates - means)).sum() / n)

    return call


def relplot_smooth_ece(sample: Sample) -> Call:
    import relplot

    p, y = sample.p, sample.y
    return lambda: float(relplot.smECE(p, y))


def paper_ls_ece(sample: Sample) -> Call:
    import torch

    from bench import paper

    p, y = torch.from_numpy(sample.p), torch.from_numpy(sample.y)
    return lambda: paper.ls_ece(p, y, SIGMA)


CONTENDERS = [
    Contender("calipers", "calipers", "ls_ece(y, p, sigma=0.05, tolerance=1e-6)", LS_ECE, calipers_ls_ece, 10**8),
    Contender(
        "calipers_fine",
        "calipers",
        "ls_ece(y, p, sigma=0.01, tolerance=1e-6)",
        LS_ECE_FINE,
        partial(calipers_ls_ece, sigma=FINE_SIGMA),
        10**8,
    ),
    Contender("calipers_auto", "calipers", "ls_ece(y, p)", LS_ECE_AUTO, calipers_ls_ece_auto),
    Contender("paper", "torch", "the paper's estimator, 10,000 samples, float32", LS_ECE, paper_ls_ece, 50_000),
    Contender("numpy_mean", "numpy", "(y - p).mean()", MEAN_GAP, numpy_mean),
    Contender("numpy_sums", "numpy", "(y.sum() - p.sum()) / n", MEAN_GAP, numpy_sums),
    Contender("numpy_ece", "numpy", "abs(bincount(minimum((p*15).astype(int), 14), y-p)).sum()/n", ECE, numpy_ece),
    Contender("calipers_ece", "calipers", "expected_calibration_error(y, p)", ECE, calipers_ece),
    Contender("torchmetrics", "torchmetrics", "binary_calibration_error(p, y)", ECE, torchmetrics_ece),
    Contender("netcal", "netcal", "ECE(15).measure(p, y)", ECE, netcal_ece),
    Contender("uncertainty_calibration", "uncertainty-calibration", "get_ece(p, y)", ECE, uncertainty_calibration_ece),
    Contender("sklearn", "scikit-learn", "calibration_curve(y, p, n_bins=15) and counts", ECE, sklearn_ece),
    Contender("calipers_ece_single", "calipers", "expected_calibration_error(y, p)", ECE_SINGLE, calipers_ece_single),
    Contender(
        "torchmetrics_single",
        "torchmetrics",
        "binary_calibration_error(p, y)",
        ECE_SINGLE,
        torchmetrics_ece_single,
    ),
    Contender("relplot", "relplot", "smECE(p, y)", SMOOTH_ECE, relplot_smooth_ece),
    Contender("calipers_sweep", "calipers", "sweep(y, p)", SWEEP, calipers_sweep, 10**6),
]
BY_KEY = {contender.key: contender for contender in CONTENDERS}
