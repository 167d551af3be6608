"""Raw scores of many classes: LS-ECE of the top class by calipers, and the usual code that only finds that class."""

from __future__ import annotations

import calipers
import numpy as np
from scipy.special import softmax

from bench.contenders import SIGMA
from bench.data import SEED
from bench.timing import Timing, race


def race_top_class(n_rows: int, n_classes: int, *, turns: int, budget: float) -> dict[str, Timing]:
    """`calipers` measures from raw scores; `scipy` gets as far as confidence and prediction."""
    random = np.random.default_rng([SEED, n_rows, n_classes])
    labels = random.integers(n_classes, size=n_rows)
    scores = random.standard_normal((n_rows, n_classes), dtype=np.float32)
    # A model that is mostly right: the label's score is well above the largest of the others, or
    # somewhat below.
    scores[np.arange(n_rows), labels] += random.normal(6, 3, n_rows).astype(np.float32)

    def with_calipers() -> float:
        return calipers.ls_ece(labels, scores, from_logits=True, sigma=SIGMA)

    def with_scipy() -> float:
        p = softmax(scores, axis=1)
        confidence, prediction = p.max(axis=1), p.argmax(axis=1)
        return float((prediction == labels).mean() - confidence.mean(dtype=np.float64))

    return race({"calipers": with_calipers, "scipy": with_scipy}, turns=turns, budget=budget)
