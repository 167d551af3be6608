"""The data of the benchmark: seeded, with a known true ECE.

The model is an over-confident one. Its logits are normal, h ~ N(2.5, 2), as the confidence in the top class of
a classifier that is mostly right; the outcome is 1 with probability rho(0.75 h) where the model predicts rho(h).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
Labels: TypeAlias = NDArray[np.int64]

SEED = 20240215
MEAN, DEVIATION, SLOPE = 2.5, 2.0, 0.75
# Each block of rows has a seed of its own, so that a sample is the beginning of every longer one.
BLOCK = 1_000_000


@dataclass(frozen=True)
class Sample:
    """Probabilities and outcomes, one row after the other."""

    p: Floats
    y: Labels

    @property
    def n(self) -> int:
        return len(self.p)

    def save(self, folder: Path) -> None:
        np.save(folder / f"p_{self.n}.npy", self.p)
        np.save(folder / f"y_{self.n}.npy", self.y)

    @classmethod
    def load(cls, folder: Path, n: int) -> Sample:
        return cls(np.load(folder / f"p_{n}.npy"), np.load(folder / f"y_{n}.npy"))


def block(index: int) -> Sample:
    """Rows index * BLOCK and on."""
    random = np.random.default_rng([SEED, index])
    logits = random.normal(MEAN, DEVIATION, BLOCK)
    outcomes = random.random(BLOCK) < rho(SLOPE * logits)
    return Sample(rho(logits), outcomes.astype(np.int64))


def sample(n: int) -> Sample:
    """The first n rows."""
    p, y = np.empty(n), np.empty(n, dtype=np.int64)
    for start in range(0, n, BLOCK):
        rows = block(start // BLOCK)
        stop = min(start + BLOCK, n)
        p[start:stop] = rows.p[: stop - start]
        y[start:stop] = rows.y[: stop - start]
    return Sample(p, y)


def population_ece() -> float:
    """The ECE of the model itself, E |rho(SLOPE h) - rho(h)|, which a sample only estimates."""
    h, step = np.linspace(MEAN - 12 * DEVIATION, MEAN + 12 * DEVIATION, 400_001, retstep=True)
    density = np.exp(-0.5 * ((h - MEAN) / DEVIATION) ** 2) / (DEVIATION * np.sqrt(2 * np.pi))
    return float(np.sum(np.abs(rho(SLOPE * h) - rho(h)) * density) * step)


def rho(logits: Floats) -> Floats:
    """The logistic function."""
    return 1 / (1 + np.exp(-logits))
