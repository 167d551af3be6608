"""Rows that tests share: with ties, zeros, ones and rows without weight."""

from __future__ import annotations

import math
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import special

Doubles: TypeAlias = NDArray[np.float64]
Case: TypeAlias = tuple[Doubles, Doubles, Doubles]


def case(seed: int, n: int, *, ties: bool = True) -> Case:
    """Outcomes, probabilities and weights; with ties, zeros, ones and rows without weight unless told."""
    rng = np.random.default_rng(seed)
    p = special.expit(rng.normal(0.2, 1.7, n))
    if ties:
        p = np.round(p, rng.integers(1, 4))
        p[rng.random(n) < 0.03] = 0.0
        p[rng.random(n) < 0.03] = 1.0
    y = (rng.random(n) < p ** rng.uniform(0.6, 1.6)).astype(float)
    y[:2] = 0, 1
    weight = rng.integers(0, 4, n).astype(float)
    weight[:2] = 1
    return y, p, weight


def pooled(y: Doubles, p: Doubles, weight: Doubles) -> tuple[Doubles, Doubles, Doubles]:
    """Distinct probabilities, and the shares of the weight with outcome 0 and 1 at each."""
    values, place = np.unique(p, return_inverse=True)
    share = weight / weight.sum()
    ones = np.bincount(place, share * y, len(values))
    return values, np.bincount(place, share, len(values)) - ones, ones


def golden() -> tuple[Doubles, Doubles]:
    """The rows with ties, zeros and ones for which others' figures are known: see fixtures/peers.py."""
    k = np.arange(1, 201)
    p = np.round((k * 0.6180339887498949) % 1, 2)
    y = ((k * 0.7548776662466927) % 1 < p + 0.2 * np.sin(2 * math.pi * p)).astype(float)
    p[np.argmax(p)], p[np.argmin(p)] = 1.0, 0.0
    return y, p


# Which keyword helps.
HINTS = {
    "invalid_probability": "; pass from_logits=True if these are raw scores",
    "looks_like_logits": "; pass from_logits=True",
    "row_sum": "; pass from_logits=True for raw scores, or a larger sum_tolerance",
    "invalid_outcome": "; pass the positive label as pos_label",
    "invalid_label": "; pass other labels as classes, in the order of the columns",
    "labels_from_one": ", or pass classes=range(1, 4)",
}


# What to do about a value that is missing, NaN or infinite.
LEAVE_OUT = '; correct it, or pass invalid="count" to leave such rows out'


def in_python(refusal: dict[str, Any]) -> str:
    """The text of a case of fixtures/refusals.json as Python has it."""
    text: str = refusal["text"]
    of_rows = ("missing", "invalid_probability", "invalid_logit", "invalid_weight")
    has_no_number = text.endswith((" is missing", " NaN", " inf", " -inf"))
    if refusal["code"] in of_rows and has_no_number and not text.startswith("cluster"):
        return text + LEAVE_OUT
    return text + HINTS.get(refusal["code"], "")
