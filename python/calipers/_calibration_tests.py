"""Tests of calibration: p-values for the hypothesis that predictions are calibrated.

The hypothesis of all is that each outcome is 1 with the probability that was predicted for it,
independently of other rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from calipers import _core
from calipers._documented import documented
from calipers._inputs import Link
from calipers._predictions import Outcomes, Probabilities, Rows, call_of
from calipers._result import Result, html_table, html_text
from calipers._row_options import TEST_DEFAULTS, OneViewOptions, TestOptions, Unpack

if TYPE_CHECKING:
    from collections.abc import Iterator


class CoefficientInterval(NamedTuple):
    """A coefficient with its Wald interval, estimate ± z · standard error."""

    value: float
    standard_error: float
    lower: float
    upper: float


@documented
@dataclass(frozen=True)
class CalibrationTest(Result):
    """A p-value with what belongs to it.

    A p-value of at most 0.05 is evidence of miscalibration: a calibrated model gets one in 5 % of
    samples at most. `settings` includes how the p-value was found.

    Examples
    --------
    >>> import calipers as cal
    >>> cal.spiegelhalter_test([1, 0], [0.9, 0.9], null_distribution="asymptotic")
    CalibrationTest('spiegelhalter', statistic=1.88562, p_value=0.0593, n=2, ...)
    """

    test: str
    statistic: float
    p_value: float
    degrees_of_freedom: float | None
    n: int
    left_out: dict[str, int]
    settings: dict[str, Any]

    def __repr__(self) -> str:
        shown = [f"{self.test!r}", f"statistic={self.statistic:.6g}", f"p_value={self.p_value:.3g}"]
        if self.degrees_of_freedom is not None:
            shown.append(f"degrees_of_freedom={self.degrees_of_freedom:g}")
        shown.append(f"n={self.n}")
        for name in ("n_groups", "n_bins", "null_distribution", "n_resamples", "random_state"):
            if self.settings.get(name) is not None:
                shown.append(f"{name}={self.settings[name]!r}")
        if self.left_out:
            shown.append(f"left_out={self.left_out!r}")
        return f"{type(self).__name__}({', '.join(shown)})"


@documented
@dataclass(frozen=True, repr=False)
class CoxTest(CalibrationTest):
    """Whether Cox's regression has intercept 0 and slope 1, and how well it knows both.

    Attributes
    ----------
    intercept, slope : CoefficientInterval
        Of the regression on the logits; calibrated predictions have 0 and 1.
    in_the_large : CoefficientInterval
        The intercept where the slope is held at 1; calibrated predictions have 0.
    covariance : float
        Of intercept and slope.
    level : float
        Level of the intervals.
    """

    intercept: CoefficientInterval
    slope: CoefficientInterval
    in_the_large: CoefficientInterval
    covariance: float
    level: float
    n_clipped: int


class CalibrationTests(Mapping[str, CalibrationTest]):
    """Tests of the same rows by name, printed as a table.

    Attributes
    ----------
    errors : dict
        Why a test has no result, by its name.
    """

    def __init__(self, tests: dict[str, CalibrationTest], errors: dict[str, str]) -> None:
        self._tests = dict(tests)
        self.errors = dict(errors)

    def __getitem__(self, name: str) -> CalibrationTest:
        return self._tests[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._tests)

    def __len__(self) -> int:
        return len(self._tests)

    def _rows(self) -> list[tuple[str, str, str, str]]:
        """The table, its header first."""
        tests = [
            (name, f"{test.statistic:.4g}", f"{test.p_value:.3g}", _by(test)) for name, test in self._tests.items()
        ]
        return [("test", "statistic", "p-value", "by"), *tests]

    def _repr_html_(self) -> str:
        header, *rows = self._rows()
        errors = "".join(html_text(f"{name}: {reason}") for name, reason in self.errors.items())
        return html_table(header, rows) + errors

    def __repr__(self) -> str:
        rows = self._rows()
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = [
            f"{test:<{widths[0]}}  {statistic:>{widths[1]}}  {p_value:>{widths[2]}}  {by}"
            for test, statistic, p_value, by in rows
        ]
        return "\n".join(lines + [f"{name}: {reason}" for name, reason in self.errors.items()])

    def to_dict(self) -> dict[str, Any]:
        """All tests as plain Python objects, ready for JSON."""
        return {
            "tests": {name: test.to_dict() for name, test in self._tests.items()},
            "errors": dict(self.errors),
        }


def _by(test: CalibrationTest) -> str:
    """Where the p-value comes from, in a word or two."""
    if "n_resamples" in test.settings:
        return f"{test.settings['n_resamples']} resamples"
    if test.degrees_of_freedom is not None:
        return f"chi-square, {test.degrees_of_freedom:g} degrees of freedom"
    return "normal distribution" if test.test == "spiegelhalter" else "Brownian motion"


def _tested(function: Callable[..., Any], test: str, given: dict[str, Any]) -> CalibrationTest:
    """The test of that name, as the function was called."""
    rows, options = call_of(function, given)
    return _result(rows, test, options)


def _result(rows: Rows, test: str, options: Mapping[str, object]) -> CalibrationTest:
    found = rows.ask(partial(_core.calibration_test, test), **{**TEST_DEFAULTS, **options})
    return CalibrationTest._of(found)


@documented
def spiegelhalter_test(y_true: Outcomes, y_prob: Probabilities = None, **rows: Unpack[TestOptions]) -> CalibrationTest:
    r"""Spiegelhalter's test: whether the Brier score is as large as the predictions imply.

    Use it to detect predictions that are too extreme or not extreme enough.

        z = Σ w_i (y_i - p_i)(1 - 2 p_i) / √( Σ w_i² (1 - 2 p_i)² p_i (1 - p_i) )
        p-value = P(|Z| >= |z|),  Z normal

    Above 0: the Brier score is worse than predicted, as that of overconfident predictions is; below
    0: better. Two-sided, since both are miscalibrated.

    Notes
    -----
    Assumes independent rows. One direction only: errors that leave the Brier score as predicted are
    not detected, such as all errors at p = 1/2.

    Cost: O(n), one pass; with resamples a sort and up to 8,000 random numbers for each. "auto"
    takes the normal distribution where Σ (w (1 - 2p))⁴ p (1 - p) is at most a tenth of the
    denominator's fourth power.

    References
    ----------
    Spiegelhalter, "Probabilistic prediction in patient management and clinical trials", Statistics
    in Medicine 5, 1986.

    Examples
    --------
    0.9 twice, right once: z = (0.1 - 0.9)(-0.8) / √(2 · 0.64 · 0.09).

    >>> import calipers as cal
    >>> test = cal.spiegelhalter_test([1, 0], [0.9, 0.9], null_distribution="asymptotic")
    >>> round(test.statistic, 6), round(test.p_value, 6)
    (1.885618, 0.059346)
    """
    return _tested(spiegelhalter_test, "spiegelhalter", locals())


@documented
def hosmer_lemeshow_test(
    y_true: Outcomes,
    y_prob: Probabilities = None,
    *,
    n_groups: int = 10,
    quantiles: Literal["mass", "interpolated"] = "mass",
    fitted: bool = False,
    **rows: Unpack[TestOptions],
) -> CalibrationTest:
    r"""The test of Hosmer and Lemeshow: outcomes against predictions in groups of equal mass.

    Use it where it is customary, as for clinical models; its result depends on the groups.

        H = Σ_g ( Σ_(i in g) w_i (y_i - p_i) )² / ( p̄_g (1 - p̄_g) Σ_(i in g) w_i² )

    with p̄_g the mean probability of a group. Rows are in order of their probability; ties are in
    one group, and with many of them there are fewer groups than requested. The p-value is that of
    chi-square with one degree of freedom for each occupied group, for predictions that were not
    fitted on these rows.

    Parameters
    ----------
    n_groups : int
        Groups, from 2 to 10,000.
    quantiles : {"mass", "interpolated"}
        Where groups end: at the rows where the share of the weight passes 1/G, 2/G and so on, or
        at quantiles that are interpolated between rows (type 7, groups closed above), as R's
        `hoslem.test` of the package ResourceSelection has them, for rows without weights.
    fitted : bool
        Whether predictions are those of a logistic regression that was fitted on the same rows: two
        degrees of freedom fewer. On other predictions that would reject 6 to 15 % of calibrated
        ones at 5 %.

    Notes
    -----
    Assumes independent rows. Gaps that cancel inside a group are not detected.

    Cost: O(n log n) for a sort; with resamples up to 8,000 random numbers for each. "auto" takes
    chi-square where each group expects at least 5 outcomes of either kind.

    References
    ----------
    Hosmer, Lemeshow, "Goodness of fit tests for the multiple logistic regression model",
    Communications in Statistics 9, 1980.

    Examples
    --------
    Two groups, of which one expects 1 outcome of 2 and has 2, the other 1.5 of 2 and has 1: H = 1 /
    0.5 + 0.25 / 0.375.

    >>> import calipers as cal
    >>> y, p = [1, 1, 1, 0], [0.5, 0.5, 0.75, 0.75]
    >>> test = cal.hosmer_lemeshow_test(y, p, n_groups=2, null_distribution="asymptotic")
    >>> round(test.statistic, 6), test.degrees_of_freedom, round(test.p_value, 6)
    (2.666667, 2.0, 0.263597)
    """
    return _tested(hosmer_lemeshow_test, "hosmer_lemeshow", locals())


@documented
def ecce_r_test(y_true: Outcomes, y_prob: Probabilities = None, **rows: Unpack[TestOptions]) -> CalibrationTest:
    r"""Kuiper's test by ECCE-R: whether the cumulated residuals range farther than by chance.

    Use it to test calibration without bins and bandwidth. It detects miscalibration of one sign
    over long ranges of probability best.

        C_k = Σ_(i: p_i <= p_(k)) w_i (y_i - p_i),  C_0 = 0,  σ² = Σ w_i² p_i (1 - p_i)
        statistic = (max C - min C) / σ      against the range of Brownian motion on [0, 1]

    with p_(k) the k-th distinct probability: ties are one step, so that the order of rows does not
    matter. C_0 belongs to the sums.

    Notes
    -----
    Assumes independent rows. There are no bins and no bandwidth.

    Cost: O(n log n) for a sort; with resamples up to 8,000 random numbers for each. "auto"
    resamples where there are fewer than 2,000 steps of equal variance: on a grid of 0.05 the limit
    has a size of about 3 % at 5 %.

    References
    ----------
    Arrieta-Ibarra, Gujral, Tannen, Tygert, Xu, "Metrics of calibration for probabilistic
    predictions", JMLR 23, 2022.

    Examples
    --------
    C = 0, -0.3, 0.3, -0.3: the range is 0.6, and σ² = 0.21 + 0.24 + 0.24.

    >>> import calipers as cal
    >>> test = cal.ecce_r_test([0, 1, 0], [0.3, 0.4, 0.6], null_distribution="asymptotic")
    >>> round(test.statistic, 6)
    0.722315
    """
    return _tested(ecce_r_test, "ecce_r", locals())


@documented
def ecce_mad_test(y_true: Outcomes, y_prob: Probabilities = None, **rows: Unpack[TestOptions]) -> CalibrationTest:
    r"""Kolmogorov-Smirnov test by ECCE-MAD: whether cumulated residuals are larger than by chance.

    Use it as `ecce_r_test`; this one is better where predictions are too high or too low as a
    whole.

        C_k = Σ_(i: p_i <= p_(k)) w_i (y_i - p_i),  C_0 = 0,  σ² = Σ w_i² p_i (1 - p_i)
        statistic = max |C| / σ      against the largest absolute value of Brownian motion on [0, 1]

    with p_(k) the k-th distinct probability: ties are one step, so that the order of rows does not
    matter. C_0 belongs to the sums.

    Notes
    -----
    Assumes independent rows. There are no bins and no bandwidth.

    Cost: O(n log n) for a sort; with resamples up to 8,000 random numbers for each. "auto"
    resamples where there are fewer than 2,000 steps of equal variance: on a grid of 0.05 the limit
    has a size of about 3.5 % at 5 %.

    References
    ----------
    The paper of `ecce_r_test`.

    Examples
    --------
    C = 0, -0.3, 0.3, -0.3: the largest size is 0.3, and σ² = 0.21 + 0.24 + 0.24.

    >>> import calipers as cal
    >>> test = cal.ecce_mad_test([0, 1, 0], [0.3, 0.4, 0.6], null_distribution="asymptotic")
    >>> round(test.statistic, 6)
    0.361158
    """
    return _tested(ecce_mad_test, "ecce_mad", locals())


@documented
def tcal_test(
    y_true: Outcomes,
    y_prob: Probabilities = None,
    *,
    most_bins: int = 4096,
    link: Link = "logistic",
    n_resamples: int = 999,
    random_state: int = 0,
    **rows: Unpack[OneViewOptions],
) -> CalibrationTest:
    r"""T-Cal's adaptive test: the squared calibration error in 2, 4, 8, ... bins.

    Use it to detect miscalibration of any shape, also where gaps change their sign often.

        T_m = Σ_b ( (Σ_(i in b) w_i r_i)² - Σ_(i in b) w_i² r_i² ) / W_b
        r_i = y_i - p_i,  m bins [(b-1)/m, b/m)
        p_m = share of resamples, with the data among them, whose T_m is at least that of the data
        statistic = min over m = 2, 4, 8, ... of p_m

    with as many bins as have at least 8 rows each on average. In a resample each outcome is 1 with
    its predicted probability. The p-value is the share of resamples whose own smallest p_m is as
    small.

    Parameters
    ----------
    most_bins : int
        Bins of the finest scale at most, however many rows there are.

    Notes
    -----
    Assumes independent rows. Products of a row with itself are left out, so that a single outcome
    with a predicted probability of 0 is not detected. ``settings["n_bins"]`` is the scale of the
    smallest p_m.

    Cost: O(n log n) for a sort, and up to 8,000 random numbers for each resample. The size is exact
    for any n.

    References
    ----------
    The paper of `tcal_squared_error`.

    Examples
    --------
    Predictions of 0.2 and 0.8 for outcomes that are as frequent everywhere.

    >>> import calipers as cal
    >>> cal.tcal_test([1, 0] * 50, [0.2] * 50 + [0.8] * 50).p_value
    0.001
    """
    return _tested(tcal_test, "tcal_adaptive", locals())


@documented
def cox_test(
    y_true: Outcomes,
    y_prob: Probabilities = None,
    *,
    clip: float = 1e-6,
    level: float = 0.95,
    **rows: Unpack[OneViewOptions],
) -> CoxTest:
    r"""Cox's test: whether outcomes, regressed on logits, have intercept 0 and slope 1.

    Use it to detect predictions that are too high or too extreme as a whole, with intervals for
    both.

        logit P(Y = 1) = a + b h,  h = logit of the probability
        LR = 2 ( max_(a, b) l(a, b) - l(0, 1) ),  l the log-likelihood

    against chi-square with 2 degrees of freedom.

    With unequal weights LR has another distribution; then the statistic is the score test Uᵀ V⁻¹ U
    with U = Σ w (y - p)(1, h) and V = Σ w² p (1 - p)(1, h)(1, h)ᵀ, which is the same for many rows
    of equal weight.

    Parameters
    ----------
    level : float
        Level of the intervals.

    Returns
    -------
    CoxTest
        Statistic, p-value, and the coefficients with intervals.

    Notes
    -----
    Assumes independent rows. It detects what is a straight line in logits: predictions that are too
    high or too extreme as a whole. Outcomes that the logits separate are an error, as for
    `cox_calibration`. Standard errors are those of the information matrix, with unequal weights
    those of the sandwich.

    Cost: O(n) for each Newton step, mostly 5 to 8. The chi-square distribution is that of many
    rows.

    References
    ----------
    Cox, "Two further applications of a model for binary regression", Biometrika 45, 1958; Miller,
    Hui, Tierney, "Validation techniques for logistic regression models", Statistics in Medicine 10,
    1991.

    Examples
    --------
    Logits ±ln 3, and outcomes as often as predicted: intercept 0, slope 1, no evidence of
    miscalibration.

    >>> import calipers as cal
    >>> test = cal.cox_test([1, 1, 1, 0, 1, 0, 0, 0], [0.75] * 4 + [0.25] * 4)
    >>> test.statistic < 1e-12, round(test.slope.value, 6), test.slope.lower < 1 < test.slope.upper
    (True, 1.0, True)
    """
    asked, options = call_of(cox_test, locals())
    return _cox(asked, **options)


def _cox(rows: Rows, **options: object) -> CoxTest:
    """The test by Cox's regression."""
    found = rows.ask(_core.cox_test, **options)
    return CoxTest._of({**found.pop("test"), **found})


@documented
def calibration_tests(
    y_true: Outcomes,
    y_prob: Probabilities = None,
    *,
    n_groups: int = 10,
    clip: float = 1e-6,
    **rows: Unpack[TestOptions],
) -> CalibrationTests:
    r"""All tests of calibration on the same rows, by name.

    Use it for an overview. The smallest of six p-values is small more often than a single one:
    choose the test before you look at the data, or multiply the p-value by six.

    `spiegelhalter_test`, `hosmer_lemeshow_test`, `ecce_r_test`, `ecce_mad_test`, `tcal_test` and
    `cox_test`, each as it is by itself.

    Parameters
    ----------
    n_groups : int
        Groups of Hosmer and Lemeshow.
    clip : float
        For the logits of Cox's regression.

    Returns
    -------
    CalibrationTests
        A mapping from names to results, which prints as a table.

    Notes
    -----
    Where outcomes are separated by the logits, Cox's regression has no fit: ``errors`` then has the
    reason.

    Cost: the sum of theirs; mostly that of the resamples of T-Cal.

    References
    ----------
    Those of the tests.

    Examples
    --------
    >>> import calipers as cal
    >>> tests = cal.calibration_tests([1, 0] * 50, [0.2] * 50 + [0.8] * 50)
    >>> [name for name, test in tests.items() if test.p_value > 0.05]
    []
    >>> print(cal.calibration_tests([1, 0, 1, 1], [0.9, 0.2, 0.6, 0.8]).errors["cox"])
    rows must be of both outcomes with overlapping ranges of logits...
    """
    asked, options = call_of(calibration_tests, locals())
    own: dict[str, dict[str, object]] = {
        "hosmer_lemeshow": {"n_groups": n_groups, "quantiles": "mass", "fitted": False},
        "tcal_adaptive": {"most_bins": 4096},
    }
    names = ("spiegelhalter", "hosmer_lemeshow", "ecce_r", "ecce_mad", "tcal_adaptive")
    tests = {name: _result(asked, name, {**options, **own.get(name, {})}) for name in names}
    errors = {}
    try:
        tests["cox"] = _cox(asked, clip=clip, level=0.95)
    except _core.CalipersError as error:
        # The rows are valid, or the first test would have raised an error.
        errors["cox"] = str(error)
    return CalibrationTests(tests, errors)
