"""The compiled half, crates/calipers-python: private, and typed for the half that calls it."""

from typing import Any, Literal, TypeAlias, TypedDict, type_check_only

import numpy as np
from numpy.typing import NDArray

from calipers._inputs import Columns, Options

__all__ = [
    "CalipersError",
    "__version__",
    "calibration_bins",
    "expected_calibration_error",
    "ls_curve",
    "ls_ece",
    "ls_ece_sampled",
    "refusal",
]

_Doubles: TypeAlias = NDArray[np.float64]

__version__: str

class CalipersError(ValueError):
    code: str

@type_check_only
class _Measured(TypedDict):
    measure: str
    value: float
    numerical_bound: float
    standard_error: float | None
    n: int
    n_clipped: int
    n_ties: int
    n_rounded: int
    left_out: dict[str, int]
    settings: dict[str, Any]
    per_class: list[_Measured] | None

@type_check_only
class _Curve(TypedDict):
    probabilities: _Doubles
    outcome_rates: _Doubles
    densities: _Doubles
    outcome_rate_bounds: _Doubles
    density_bounds: _Doubles
    sigma: float

def refusal(code: Literal["shape", "wrong_type"], what: str, got: str) -> CalipersError: ...
def ls_ece(columns: Columns, options: Options) -> _Measured: ...
def ls_ece_sampled(columns: Columns, options: Options) -> _Measured: ...
def expected_calibration_error(columns: Columns, options: Options) -> _Measured: ...
def calibration_bins(columns: Columns, options: Options) -> list[tuple[float, float, int, float, float, float]]: ...
def ls_curve(columns: Columns, options: Options) -> _Curve: ...
