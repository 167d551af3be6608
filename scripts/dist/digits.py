"""Whether the commands of two artifacts give the same answers, and in how many numbers they differ.

Other C libraries and processors may have other exponentials and logarithms, which differ in the last
digit. So numbers may differ by rounding, and everything else has to be the same.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

# Of the larger number, or of 1: rounding, and what sums of many roundings become.
TOLERANCE = 1e-9


@dataclass(frozen=True)
class Comparison:
    """How many numbers there are, those that differ by their paths, and the largest difference."""

    n_numbers: int
    differing: tuple[str, ...]
    largest: float

    def __str__(self) -> str:
        if not self.differing:
            return f"all {self.n_numbers} numbers are the same"
        n = len(self.differing)
        named = f"{', '.join(self.differing[:5])}{' ...' if n > 5 else ''}"
        return f"{n} of {self.n_numbers} numbers differ, by {self.largest:.1g} at most: {named}"


def pairs(one: Any, other: Any, path: str = "") -> Iterator[tuple[str, float, float]]:
    """The numbers at the same places of two answers; an error where anything else differs."""
    if isinstance(one, float) and isinstance(other, float):
        yield path, one, other
    elif isinstance(one, dict) and isinstance(other, dict) and one.keys() == other.keys():
        for key in one:
            yield from pairs(one[key], other[key], f"{path}.{key}".lstrip("."))
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for place, (left, right) in enumerate(zip(one, other, strict=True)):
            yield from pairs(left, right, f"{path}[{place}]")
    elif one != other:
        raise SystemExit(f"{path} is {one} in one answer and {other} in the other")


def compared(one: list[str], other: list[str]) -> Comparison:
    """Compare the answers to the same questions, as JSON texts; an error if they differ by more than rounding."""
    texts = zip(one, other, strict=True)
    numbers = [pair for left, right in texts for pair in pairs(json.loads(left), json.loads(right))]
    distances = {path: abs(left - right) / max(1.0, abs(left)) for path, left, right in numbers if left != right}
    largest = max(distances.values(), default=0.0)
    if largest > TOLERANCE:
        worst = max(distances, key=lambda path: distances[path])
        raise SystemExit(f"{worst} differs by {largest:.1g} of its size, which is more than rounding")
    return Comparison(len(numbers), tuple(distances), largest)
