"""The true values, in float64, by code that shares nothing with calipers."""

from __future__ import annotations

import itertools
import math

import numpy as np
from scipy.optimize import brentq

from bench.data import Floats, Labels, Sample, rho

CLIP = 1e-6
# Beyond this many sigmas a Gaussian is below 1e-18.
REACH = 9.0
N_NODES = 10


def binned_ece(p: Floats, y: Labels, n_bins: int) -> float:
    """The sum over bins of |sum of y - sum of p| / n, correctly rounded; bins [b / B, (b + 1) / B), the last closed."""
    edges = np.arange(1, n_bins) / n_bins
    bins = np.searchsorted(edges, p, side="right")
    # Sorting by bin costs less than a mask for each one.
    order = np.argsort(bins, kind="stable")
    ends = np.cumsum(np.bincount(bins, minlength=n_bins))
    gaps = []
    for start, end in zip(np.concatenate([[0], ends[:-1]]), ends, strict=True):
        rows = order[start:end]
        gaps.append(abs(math.fsum([float(y[rows].sum()), -math.fsum(p[rows])])))
    return math.fsum(gaps) / len(p)


def mean_gap(p: Floats, y: Labels) -> float:
    """The mean of y - p."""
    return math.fsum([float(y.sum()), -math.fsum(p)]) / len(p)


def ls_ece(sample: Sample, sigma: float) -> float:
    """The integral of |G| by Gauss-Legendre on panels of sigma / 4, split where G changes sign.

    G(u) = (1/n) sum_i (y_i - rho(u)) K(u - h_i) is summed over every row within REACH sigmas, so this takes
    n times the number of nodes: right, and slow.
    """
    order = np.argsort(sample.p)
    clipped = np.clip(sample.p[order], CLIP, 1 - CLIP)
    h = np.log(clipped) - np.log1p(-clipped)
    y = sample.y[order].astype(np.float64)

    def g(u: Floats) -> Floats:
        """G at some nodes that are near each other."""
        first, last = np.searchsorted(h, [u.min() - REACH * sigma, u.max() + REACH * sigma])
        kernel = np.exp(-0.5 * ((u[:, None] - h[None, first:last]) / sigma) ** 2)
        ones = kernel @ y[first:last]
        zeros = kernel @ (1 - y[first:last])
        values: Floats = ((1 - rho(u)) * ones - rho(u) * zeros) / (len(h) * sigma * math.sqrt(2 * math.pi))
        return values

    nodes, weights = np.polynomial.legendre.leggauss(N_NODES)

    def integral(a: float, b: float) -> float:
        return float(weights @ g((a + b) / 2 + (b - a) / 2 * nodes)) * (b - a) / 2

    start, stop = float(h[0] - REACH * sigma), float(h[-1] + REACH * sigma)
    ends = np.linspace(start, stop, math.ceil((stop - start) / (sigma / 4)) + 1)
    pieces = []
    for a, b in itertools.pairwise(ends):
        u = np.concatenate([[a], (a + b) / 2 + (b - a) / 2 * nodes, [b]])
        values = g(u)
        if np.all(values >= 0) or np.all(values <= 0):
            pieces.append(abs(float(weights @ values[1:-1])) * (b - a) / 2)
            continue
        changes = np.flatnonzero(values[:-1] * values[1:] < 0)
        roots = [brentq(lambda x: float(g(np.array([x]))[0]), u[i], u[i + 1], xtol=1e-14) for i in changes]
        cuts = [a, *roots, b]
        pieces += [abs(integral(c, d)) for c, d in itertools.pairwise(cuts)]
    return math.fsum(pieces)
