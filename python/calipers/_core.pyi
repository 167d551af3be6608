"""The compiled half, crates/calipers-python: private, and typed for the half that calls it."""

from typing import Any, Literal, TypeAlias, TypedDict, final, type_check_only

import numpy as np
from numpy.typing import NDArray

from calipers._inputs import Columns, Options

__all__ = [
    "Borrowed",
    "CalipersError",
    "Sketch",
    "__version__",
    "arrow",
    "assess",
    "calibration_bins",
    "calibration_indices",
    "calibration_test",
    "canonical_kde_ece",
    "compare",
    "corp",
    "corp_curve",
    "cox_calibration",
    "cox_test",
    "cumulative_curve",
    "dlpack",
    "estimate",
    "families",
    "ls_curve",
    "measures",
    "merge_runs",
    "no_cluster",
    "pack",
    "refusal",
    "report",
    "report_of_sketches",
    "set_threads",
    "set_threads_here",
    "simulate_coverage",
    "simulate_measures",
    "simulate_rejections",
    "spline_curve",
    "sweep",
    "top_label_calibration_error",
    "update_runs",
]

_Doubles: TypeAlias = NDArray[np.float64]

__version__: str

class CalipersError(ValueError):
    code: str

@final
class Borrowed:
    @property
    def __array_interface__(self) -> dict[str, Any]: ...
    @property
    def bfloat16(self) -> bool: ...

@type_check_only
class _Chunk(TypedDict):
    values: Borrowed | list[str | None]
    nulls: Borrowed | None
    keys: Borrowed | None

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
class _Band(TypedDict):
    kind: Literal["consistency", "confidence"]
    lower: _Doubles
    upper: _Doubles
    level: float
    n_resamples: int
    random_state: int

@type_check_only
class _Floor(TypedDict):
    mean: float
    deviation: float
    quantiles: tuple[float, float, float]
    p_value: float
    n_resamples: int
    n_failed: int

@type_check_only
class _Interval(TypedDict):
    lower: float
    upper: float
    level: float
    method: str
    is_upper_limit: bool

@type_check_only
class _Part(TypedDict):
    value: float
    debiased: float
    interval: _Interval

@type_check_only
class _Parts(TypedDict):
    too_high: _Part
    too_low: _Part
    overconfident: _Part | None
    underconfident: _Part | None

@type_check_only
class _Assessed(TypedDict):
    sentence: str
    estimate: _Measured
    floor: _Floor | None
    withheld: str | None
    interval: _Interval
    debiased: float
    debias: Literal["local", "mean", "floor", "bootstrap"]
    standard_error: float
    bias: float
    significant: bool | None
    residual: _Assessed | None
    parts: _Parts | None
    smoothing: float | None
    n_clusters: int | None
    n_resamples: int
    random_state: int

@type_check_only
class _Pair(TypedDict):
    first: int
    second: int
    difference: float
    interval: _Interval
    standard_error: float
    p_value: float
    p_adjusted: float
    sentence: str

@type_check_only
class _ComparedBy(TypedDict):
    measure: str
    sigma: float | None

@type_check_only
class _Compared(TypedDict):
    sentence: str
    models: list[_Assessed]
    compared_by: _ComparedBy
    pairs: list[_Pair]
    level: float

@type_check_only
class _Page(TypedDict):
    title: str
    html: str
    charts: list[tuple[str, str]]

@type_check_only
class _Curve(TypedDict):
    probabilities: _Doubles
    outcome_rates: _Doubles
    densities: _Doubles
    outcome_rate_bounds: _Doubles
    density_bounds: _Doubles
    sigma: float
    band: _Band | None

@type_check_only
class _Swept(TypedDict):
    bins: NDArray[np.int64]
    ece_uniform: _Doubles
    ece_quantile: _Doubles | None
    ls_ece: _Doubles
    ls_ece_bounds: _Doubles
    smooth_ece: _Measured
    verdict: Literal["brittle", "stable", "undecided"]
    brittle_with: list[Literal["uniform", "quantile"]]
    sentence: str
    range_uniform: tuple[float, float] | None
    range_quantile: tuple[float, float] | None
    range_ls_ece: tuple[float, float] | None
    sampling_noise_uniform: float
    sampling_noise_quantile: float | None
    jump: float
    tied_ece: float
    n_tied: int
    n: int
    n_clipped: int
    settings: dict[str, Any]
    svg: str

@type_check_only
class _SweptSketch(TypedDict):
    bins: NDArray[np.int64]
    ece_uniform: _Doubles
    ece_uniform_bounds: _Doubles
    ece_quantile: _Doubles
    ece_quantile_bounds: _Doubles
    ls_ece: _Doubles
    ls_ece_bounds: _Doubles
    verdict: Literal["brittle", "stable", "undecided"]
    brittle_with: list[Literal["uniform", "quantile"]]
    sentence: str
    range_uniform: tuple[float, float] | None
    range_quantile: tuple[float, float] | None
    range_ls_ece: tuple[float, float] | None
    sampling_noise_uniform: float
    sampling_noise_quantile: float
    n: int
    settings: dict[str, Any]

@type_check_only
class _Cumulative(TypedDict):
    shares: _Doubles
    differences: _Doubles
    probabilities: _Doubles

@type_check_only
class _Isotonic(TypedDict):
    probabilities: _Doubles
    shares: _Doubles
    outcome_rates: _Doubles
    band: _Band | None

@type_check_only
class _Spline(TypedDict):
    probabilities: _Doubles
    percentiles: _Doubles
    gaps: _Doubles
    recalibrated: _Doubles

@type_check_only
class _Corp(TypedDict):
    score: float
    miscalibration: float
    discrimination: float
    uncertainty: float
    numerical_bound: float
    n: int
    left_out: dict[str, int]

@type_check_only
class _Indices(TypedDict):
    ici: float
    e50: float
    e90: float
    emax: float
    ici_bound: float
    largest_bound: float
    sigma: float
    n: int
    n_clipped: int
    left_out: dict[str, int]

@type_check_only
class _Cox(TypedDict):
    intercept: float
    slope: float
    in_the_large: float
    intercept_standard_error: float
    slope_standard_error: float
    in_the_large_standard_error: float
    covariance: float
    intercept_bound: float
    slope_bound: float
    in_the_large_bound: float
    n: int
    n_clipped: int
    left_out: dict[str, int]

@type_check_only
class _Tested(TypedDict):
    test: str
    statistic: float
    p_value: float
    degrees_of_freedom: float | None
    n: int
    left_out: dict[str, int]
    settings: dict[str, Any]

@type_check_only
class _CoxTested(TypedDict):
    test: _Tested
    intercept: tuple[float, float, float, float]
    slope: tuple[float, float, float, float]
    in_the_large: tuple[float, float, float, float]
    covariance: float
    level: float
    n_clipped: int

@type_check_only
class _Accuracy(TypedDict):
    truth: float
    bias: tuple[float, float]
    rmse: tuple[float, float]

@type_check_only
class _Estimated(TypedDict):
    name: str
    n_runs: int
    n_failed: int
    mean: tuple[float, float]
    of_ece: _Accuracy
    of_ls_ece: _Accuracy | None

@type_check_only
class _Covered(TypedDict):
    n_runs: int
    n_failed: int
    sigma: float | None
    of_ls_ece: _Accuracy | None
    covers_ls_ece: tuple[float, float] | None
    covers_ece: tuple[float, float]
    above_ece: tuple[float, float]
    below_ece: tuple[float, float]
    width: tuple[float, float]
    oracle_width: float
    upper_limits: tuple[float, float]
    floor: tuple[float, float] | None
    debiased: _Accuracy
    residual: _Covered | None

@type_check_only
class _Rejected(TypedDict):
    name: str
    alpha: float
    n_runs: int
    n_failed: int
    rejected: tuple[float, float]

@final
class Sketch:
    def __new__(cls, options: Options) -> Sketch: ...
    def empty_like(self) -> Sketch: ...
    def memory(self) -> int: ...
    @staticmethod
    def from_bytes(data: bytes) -> Sketch: ...
    def to_bytes(self) -> bytes: ...
    def update(self, columns: Columns, options: Options) -> None: ...
    def merge(self, other: Sketch) -> None: ...
    def coarsen(self, options: Options) -> None: ...
    def dense_len(self, of_probabilities: bool) -> int: ...
    def to_dense(self, of_probabilities: bool) -> tuple[NDArray[np.int64], NDArray[np.int64], float]: ...
    def of_dense(self, words: NDArray[np.int64], score_error: float, of_probabilities: bool) -> Sketch: ...
    def copy(self) -> Sketch: ...
    def ls_ece(self, options: Options) -> _Measured: ...
    def residual_ls_ece(self, options: Options) -> _Measured: ...
    def assess(self, measure: str, options: Options) -> _Assessed: ...
    def sweep(self, options: Options) -> _SweptSketch: ...
    def ls_curve(self, options: Options) -> _Curve: ...
    def expected_calibration_error(self, options: Options) -> _Measured: ...
    def ecce_r(self, options: Options) -> _Measured: ...
    def ecce_mad(self, options: Options) -> _Measured: ...
    def brier_score(self) -> _Measured: ...
    def log_loss(self, options: Options) -> _Measured: ...
    @property
    def n(self) -> int: ...
    @property
    def total_weight(self) -> float: ...
    @property
    def is_weighted(self) -> bool: ...
    @property
    def n_cells(self) -> int: ...
    @property
    def n_clipped(self) -> int: ...
    @property
    def left_out(self) -> dict[str, int]: ...
    @property
    def resolution(self) -> int: ...
    @property
    def clip(self) -> float: ...
    @property
    def n_bins(self) -> list[int]: ...
    @property
    def scores(self) -> Literal["probabilities", "log-odds", "raw scores"] | None: ...

def update_runs(sketches: list[Sketch], starts: NDArray[np.int64], columns: Columns, options: Options) -> int: ...
def merge_runs(parts: list[bytes], starts: NDArray[np.int64]) -> list[Sketch]: ...
def pack(sketches: list[Sketch]) -> tuple[list[bytes], list[int], list[int], list[bool]]: ...
def refusal(code: Literal["shape", "wrong_type"], what: str, got: str) -> CalipersError: ...
def no_cluster(row: int) -> CalipersError: ...
def arrow(values: object, what: str) -> list[list[_Chunk]]: ...
def dlpack(capsule: object) -> Borrowed: ...
def measures() -> list[tuple[str, str]]: ...
def estimate(measure: str, columns: Columns, options: Options) -> _Measured: ...
def assess(measure: str, columns: Columns, options: Options) -> _Assessed: ...
def compare(measure: str, models: list[tuple[str, Columns]], options: Options) -> _Compared: ...
def report(models: list[tuple[str, Columns]], options: Options) -> _Page: ...
def report_of_sketches(models: list[tuple[str, Sketch]], options: Options) -> _Page: ...
def ls_ece_sampled(columns: Columns, options: Options) -> _Measured: ...
def canonical_kde_ece(columns: Columns, options: Options) -> _Measured: ...
def top_label_calibration_error(columns: Columns, options: Options) -> _Measured: ...
def corp(columns: Columns, options: Options) -> _Corp: ...
def corp_curve(columns: Columns, options: Options) -> _Isotonic: ...
def calibration_indices(columns: Columns, options: Options) -> _Indices: ...
def cox_calibration(columns: Columns, options: Options) -> _Cox: ...
def cumulative_curve(columns: Columns, options: Options) -> _Cumulative: ...
def spline_curve(columns: Columns, options: Options) -> _Spline: ...
def calibration_bins(columns: Columns, options: Options) -> list[tuple[float, float, int, float, float, float]]: ...
def ls_curve(columns: Columns, options: Options) -> _Curve: ...
def sweep(columns: Columns, options: Options) -> _Swept: ...
def calibration_test(test: str, columns: Columns, options: Options) -> _Tested: ...
def cox_test(columns: Columns, options: Options) -> _CoxTested: ...
def set_threads(options: Options) -> None: ...
def set_threads_here(options: Options) -> int | None: ...
def families() -> list[tuple[str, float, bool]]: ...
def simulate_measures(family: str, measures: list[tuple[str, str, Options]], options: Options) -> list[_Estimated]: ...
def simulate_coverage(family: str, measure: str, of_measure: Options, options: Options) -> _Covered: ...
def simulate_rejections(family: str, tests: list[str], options: Options) -> list[_Rejected]: ...
