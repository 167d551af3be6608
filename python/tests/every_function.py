"""Every public function on the same rows, and all that it says as bits: with columns of any kind the same."""

from __future__ import annotations

import dataclasses
import inspect
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import calipers
import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[Any]

N = 120
_rng = np.random.default_rng(20240612)
# Multiples of 2^-8, which float16 and bfloat16 hold, too: every kind of column has the same values.
P = _rng.integers(1, 256, N) / 256
Q = _rng.integers(1, 256, N) / 256
Y = (_rng.random(N) < P).astype(np.int64)
WEIGHT = _rng.integers(1, 4, N).astype(np.float64)
CLUSTER = np.arange(N) % 12
# Of values that float32 rounds.
FINE = _rng.random(N)

OF_CLASSES = {"canonical_kde_ece", "top_label_calibration_error"}


def _reads_rows(name: str) -> bool:
    function = getattr(calipers, name)
    return inspect.isfunction(function) and next(iter(inspect.signature(function).parameters), None) == "y_true"


FUNCTIONS = [name for name in calipers.__all__ if _reads_rows(name)]
NAMES = [*FUNCTIONS, "Sketch.update", "LsCurve.at", "SplineCurve.recalibrate"]
# What would take long, and is the same with less.
BRIEF = {"n_resamples": 99, "n_samples": 50, "n_simulations": 99}


def required(name: str) -> dict[str, Any]:
    """What a function cannot do without, besides rows."""
    if name == "canonical_kde_ece":
        return {"bandwidth": 0.1}
    return {"recalibrator": calipers.recalibrate(Y, P, method="platt")} if name == "improvement_on" else {}


@dataclass(frozen=True)
class Kind:
    """Columns of a library: how each is made of numpy's."""

    scores: Callable[[Array], Any]
    labels: Callable[[Array], Any]
    clusters: Callable[[Array], Any] | None = None

    def cluster(self, array: Array) -> Any:
        return (self.clusters or self.labels)(array)


NUMPY = Kind(scores=np.asarray, labels=np.asarray)


def said(name: str, kind: Kind) -> Any:
    """All that a function says of the rows, as bits."""
    y, p, weight = kind.labels(Y), kind.scores(P), kind.scores(WEIGHT)
    if name == "Sketch.update":
        return calipers.Sketch().update(y, p, sample_weight=weight).to_bytes()
    if name == "LsCurve.at":
        return bits(calipers.ls_curve(Y, P, sigma=0.3, at=p))
    if name == "SplineCurve.recalibrate":
        return bits(calipers.spline_curve(Y, P).recalibrate(p))
    function = getattr(calipers, name)
    takes = inspect.signature(function).parameters
    options: dict[str, Any] = {option: value for option, value in BRIEF.items() if option in takes}
    if "sample_weight" in takes:
        options["sample_weight"] = weight
    if "cluster" in takes:
        options["cluster"] = kind.cluster(CLUSTER)
    if name == "compare":
        p = {"first": p, "second": kind.scores(Q)}
    if name in OF_CLASSES:
        p = kind.scores(np.stack([1 - P, P], axis=1))
    return bits(function(y, p, **options, **required(name)))


def bits(found: Any) -> Any:
    """A result as plain values that are equal where all of its bits are."""
    if isinstance(found, np.ndarray):
        return found.dtype.str, found.shape, found.tobytes()
    if isinstance(found, calipers.Estimate):
        return struct.pack("d", found), bits(found.to_dict())
    if isinstance(found, calipers.Recalibrator):
        return bits(found.to_dict())
    if isinstance(found, float):
        return struct.pack("d", found)
    if dataclasses.is_dataclass(found):
        return {field.name: bits(getattr(found, field.name)) for field in dataclasses.fields(found)}
    if isinstance(found, Mapping):
        return {key: bits(value) for key, value in found.items()}
    if isinstance(found, (list, tuple)):
        return [bits(value) for value in found]
    assert found is None or isinstance(found, (str, int, bool)), type(found)
    return found
