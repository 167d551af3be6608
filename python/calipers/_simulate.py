"""Simulations: how good measures, intervals and tests are where the truth is known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

from calipers import _core
from calipers._documented import documented
from calipers._inputs import Options
from calipers._measures import Named, named
from calipers._progress import shown
from calipers._result import Result, html_table, html_text
from calipers._smoothed import residual_ls_ece

Measures: TypeAlias = Sequence[str] | Mapping[str, Mapping[str, Any]]


class Family(NamedTuple):
    """A law of logits with known outcomes.

    ``ece`` is the true ECE, ``calibrated`` whether the probabilities are the truth.
    """

    name: str
    ece: float
    calibrated: bool


class MonteCarlo(NamedTuple):
    """A mean over runs with the standard error that comes of their number."""

    value: float
    standard_error: float

    def __str__(self) -> str:
        return f"{self.value:.4f} ± {self.standard_error:.4f}"


@dataclass(frozen=True)
class Accuracy(Result):
    """How far estimates are from what they estimate.

    Attributes
    ----------
    truth : float
        Mean of the truth over the runs: the same in all, unless the estimate chooses its sigma.
    bias : MonteCarlo
        Mean of estimate - truth.
    rmse : MonteCarlo
        Root of the mean of (estimate - truth)².
    """

    truth: float
    bias: MonteCarlo
    rmse: MonteCarlo


@documented
@dataclass(frozen=True)
class EstimatorResult(Result):
    """How good an estimate of ECE a measure is, and of LS-ECE where it is one.

    Attributes
    ----------
    name : str
        The measure.
    mean : MonteCarlo
        Mean of the estimates.
    of_ece : Accuracy
        Against the true ECE.
    of_ls_ece : Accuracy or None
        Against the true LS-ECE at its own sigma: for LS-ECE with Gaussian noise, the logistic link
        and a given sigma; for its residual form, against that of the population.
    """

    name: str
    n_runs: int
    n_failed: int
    mean: MonteCarlo
    of_ece: Accuracy
    of_ls_ece: Accuracy | None


@documented
@dataclass(frozen=True)
class CoverageResult(Result):
    """How often the intervals of `assess` hold the truth.

    Attributes
    ----------
    name : str
        The measure.
    sigma : float or None
        Mean of sigma, for LS-ECE with Gaussian noise and the logistic link.
    of_ls_ece : Accuracy or None
        The value against the true LS-ECE at the run's own sigma, for such a measure.
    covers_ls_ece : MonteCarlo or None
        Share of intervals that hold the true LS-ECE at the run's own sigma, for such a measure.
    covers_ece, above_ece, below_ece : MonteCarlo
        Shares of intervals that hold the true ECE, that are wholly above it, and wholly below.
    width : MonteCarlo
        Mean of upper - lower.
    oracle_width : float
        The same width for an interval that knows the bias: 2 · 1.96 standard deviations of the
        values over the runs.
    upper_limits : MonteCarlo
        Share of upper limits.
    floor : MonteCarlo or None
        Mean of the noise floors' means, where there are floors.
    debiased : Accuracy
        The debiased values against the true ECE.
    residual : CoverageResult or None
        The same for the measure that decides, where it is another one: for LS-ECE its residual
        form. The truth that its ``covers_ls_ece`` and ``of_ls_ece`` are about is that of the
        residual form.
    """

    name: str
    level: float
    n_runs: int
    n_failed: int
    sigma: float | None
    of_ls_ece: Accuracy | None
    covers_ls_ece: MonteCarlo | None
    covers_ece: MonteCarlo
    above_ece: MonteCarlo
    below_ece: MonteCarlo
    width: MonteCarlo
    oracle_width: float
    upper_limits: MonteCarlo
    floor: MonteCarlo | None
    debiased: Accuracy
    residual: CoverageResult | None


@documented
@dataclass(frozen=True)
class RejectionResult(Result):
    """How often a test rejects: its size where the family is calibrated, else its power.

    Attributes
    ----------
    name : str
        The test.
    alpha : float
        The level that p-values were held against.
    n_runs, n_failed : int
        Runs, and those whose rows could not be tested: they count as not rejected.
    rejected : MonteCarlo
        Share of runs with a p-value of at most alpha.
    """

    name: str
    alpha: float
    n_runs: int
    n_failed: int
    rejected: MonteCarlo


@dataclass(frozen=True, eq=False, repr=False)
class Simulation(Result):
    """What many samples of a known family show; it prints as tables.

    Attributes
    ----------
    family : Family
        Where the samples come from, with its true ECE.
    n, runs, random_state : int
        Rows of each sample, samples, and the seed.
    measures, coverage, tests : dict
        An `EstimatorResult`, `CoverageResult` or `RejectionResult` by name.
    """

    family: Family
    n: int
    runs: int
    random_state: int
    measures: dict[str, EstimatorResult]
    coverage: dict[str, CoverageResult]
    tests: dict[str, RejectionResult]

    def _title(self) -> str:
        return f"{self.family.name}: {self.runs:,} samples of {self.n:,} rows, true ECE {self.family.ece:.6f}"

    def _tables(self) -> list[list[tuple[str, ...]]]:
        """Those that are not empty, each with its header first."""
        measures = [
            (name, str(each.mean), str(each.of_ece.bias), str(each.of_ece.rmse), _against(each.of_ls_ece))
            for name, each in self.measures.items()
        ]
        coverage = [
            (name, str(each.covers_ece), _shown(each.covers_ls_ece), str(each.width), str(each.debiased.bias))
            for name, each in self.coverage.items()
        ]
        tests = [(name, str(each.rejected), f"{each.alpha:g}") for name, each in self.tests.items()]
        tables: list[list[tuple[str, ...]]] = [
            [("measure", "mean", "bias of ECE", "RMSE of ECE", "bias of LS-ECE"), *measures],
            [("interval", "holds ECE", "holds LS-ECE", "width", "bias of debiased"), *coverage],
            [("test", "rejects", "at"), *tests],
        ]
        return [table for table in tables if len(table) > 1]

    def __repr__(self) -> str:
        lines = [self._title()]
        for table in self._tables():
            widths = [max(map(len, column)) for column in zip(*table, strict=True)]
            lines += ["", *("  " + "  ".join(map(str.ljust, row, widths)).rstrip() for row in table)]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        return html_text(self._title()) + "".join(html_table(header, rows) for header, *rows in self._tables())


def _shown(value: MonteCarlo | None) -> str:
    return "-" if value is None else str(value)


def _against(accuracy: Accuracy | None) -> str:
    return "-" if accuracy is None else str(accuracy.bias)


def families() -> list[Family]:
    """Every known family with its true ECE, which is exact to ten digits at least.

    Returns
    -------
    list of Family
        Named tuples ``(name, ece, calibrated)``.

    Examples
    --------
    >>> import calipers as cal
    >>> cal.families()[0]
    Family(name='calibrated', ece=0.0, calibrated=True)
    >>> ece = {family.name: family.ece for family in cal.families()}
    >>> round(ece["overconfident"], 4)
    0.0776
    """
    return [Family(*each) for each in _core.families()]


@documented
def simulate(
    family: str,
    n: int,
    *,
    measures: Measures = ("ls_ece", "expected_calibration_error"),
    coverage: Measures = (),
    tests: Sequence[str] = (),
    runs: int = 1000,
    level: float = 0.95,
    n_resamples: int = 200,
    random_state: int = 0,
    progress: bool = False,
) -> Simulation:
    r"""Draws samples of a family whose truth is known, and measures how good estimates are.

    Use it to choose a measure, an interval or a test for your number of rows.

        bias      mean over samples of (estimate - truth)
        RMSE      sqrt of the mean of (estimate - truth)²
        coverage  share of samples whose interval holds the truth
        size      share of samples in which a test rejects; power if the family is miscalibrated

    Each with the standard error that comes of the number of samples.

    Parameters
    ----------
    family : str
        A name of `families`: a law of logits h with a known P(y = 1 | h), for which the model
        predicts 1 / (1 + exp(-h)).
    n : int
        Rows of each sample.
    measures : sequence of str, or dict
        Names of `measures` whose bias and error are measured; a dict gives options, as
        ``{"ls_ece": {"sigma": 0.3}}``.
    coverage : sequence of str, or dict
        Those whose intervals by `assess` are held against the truth.
    tests : sequence of str
        Some of "ls_ece_floor", "spiegelhalter", "hosmer_lemeshow", "ecce_r", "ecce_mad",
        "adaptive_tcal", "cox".
    runs : int
        Samples, from 2 on.
    level : float
        Level of the intervals; tests reject at 1 - level.
    n_resamples : int
        Resamples of each interval, and of tests that resample.
    random_state : int
        The seed: with the same one all measures, intervals and tests see the same samples.
    progress : bool
        Whether a line on standard error reports the progress.

    Returns
    -------
    Simulation
        It prints as tables.

    Notes
    -----
    Cost: that of each measure, interval and test, ``runs`` times. Accuracy: the truth is an
    integral that is exact to ten digits; values have their standard error beside them. The same
    bits for any number of threads.

    References
    ----------
    Morris, White, Crowther, "Using simulation studies to evaluate statistical methods", Statistics
    in Medicine 38, 2019.

    Examples
    --------
    200 rows of a calibrated model: every measure is above its true ECE, which is 0.

    >>> import calipers as cal
    >>> found = cal.simulate("calibrated", 200, runs=20, tests=["spiegelhalter"])
    >>> found.measures["expected_calibration_error"].of_ece.bias.value > 0.02
    True
    >>> found.tests["spiegelhalter"].rejected.value < 0.4
    True
    """
    known = {each.name: each for each in families()}
    if not isinstance(family, str):
        raise TypeError(f"family must be text, got {type(family).__name__}")
    asked, held = _named(measures, "measures"), _named(coverage, "coverage")
    if isinstance(tests, str):
        raise TypeError("tests must be a sequence of names, got str")
    drawn: Options = {"n": n, "runs": runs, "random_state": random_state}
    found: list[EstimatorResult] = []
    # Where nothing is requested, the family and the numbers are checked all the same.
    if asked or not (held or tests):
        listed = [(name, each.measure, each.options) for name, each in asked.items()]
        with shown(progress, "simulate measures") as show:
            results = _core.simulate_measures(family, listed, {**drawn, "progress": show})
        found = list(map(EstimatorResult._of, results))
    intervals = {}
    for name, each in held.items():
        with shown(progress, f"simulate intervals of {name}") as show:
            choices: Options = {**drawn, "level": level, "n_resamples": n_resamples, "progress": show}
            covered = _core.simulate_coverage(family, each.measure, each.options, choices)
        intervals[name] = _coverage(name, level, covered)
    rejections: list[RejectionResult] = []
    if tests:
        with shown(progress, "simulate tests") as show:
            alpha = round(1.0 - level, 12)
            choices = {**drawn, "alpha": alpha, "n_resamples": n_resamples, "progress": show}
            rejected = _core.simulate_rejections(family, list(tests), choices)
        rejections = list(map(RejectionResult._of, rejected))
    return Simulation(
        family=known[family],
        n=n,
        runs=runs,
        random_state=random_state,
        measures={each.name: each for each in found},
        coverage=intervals,
        tests={each.name: each for each in rejections},
    )


def _named(measures: Measures, what: str) -> dict[str, Named]:
    if isinstance(measures, str):
        raise TypeError(f"{what} must be a sequence of names or a dict of options by name, got str")
    if isinstance(measures, Mapping):
        return {name: named(name, dict(options)) for name, options in measures.items()}
    return {name: named(name, {}) for name in measures}


def _coverage(name: str, level: float, found: Mapping[str, Any]) -> CoverageResult:
    residual = found["residual"]
    of_residual = None if residual is None else _coverage(residual_ls_ece.__name__, level, residual)
    return CoverageResult._of({**found, "name": name, "level": level, "residual": of_residual})
