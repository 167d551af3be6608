"""Assessments: noise floor, p-value, interval and debiased value of any measure."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, TypeAlias

from calipers import _core
from calipers._arrays import ArrayLike
from calipers._documented import documented
from calipers._estimate import Estimate
from calipers._inputs import cluster_column
from calipers._measures import named
from calipers._predictions import Outcomes, Probabilities, read, split
from calipers._progress import shown
from calipers._result import Result, html_table, html_text
from calipers._row_options import AssessOptions, Unpack

Method: TypeAlias = Literal["bias-aware", "influence", "normal", "percentile", "bca"] | None
Debias: TypeAlias = Literal["local"] | Literal["mean"] | Literal["floor"] | Literal["bootstrap"]
Clusters: TypeAlias = ArrayLike | Sequence[Hashable] | None


@dataclass(frozen=True)
class NoiseFloor(Result):
    """The value that a perfectly calibrated model would get on the same data by chance alone.

    The measure is computed for outcomes that are drawn from the predictions, many times.

    Attributes
    ----------
    mean, deviation : float
        Mean and standard deviation of the resamples.
    quantiles : tuple of float
        Their quantiles at 0.05, 0.5 and 0.95.
    p_value : float
        (1 + resamples that are at least the value) / (1 + resamples). Where no resample reaches the
        value it may be smaller, by a bound on the tail (McDiarmid's). That of LS-ECE is of its
        residual form.
    n_resamples : int
        Resamples.
    n_failed : int
        Resamples that could not be measured, at most one in ten; they count as if they were larger
        than the value.
    """

    mean: float
    deviation: float
    quantiles: tuple[float, float, float]
    p_value: float
    n_resamples: int
    n_failed: int

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain Python objects, with quantiles by their level."""
        quantiles = dict(zip(("0.05", "0.5", "0.95"), self.quantiles, strict=True))
        return {**super().to_dict(), "quantiles": quantiles}


@dataclass(frozen=True)
class Interval(Result):
    """An interval for the value of a measure in the population.

    ``low, high = interval`` unpacks it.

    Attributes
    ----------
    lower, upper : float
        Its ends; 0 and the limit for an upper limit.
    level : float
        The share of samples whose interval holds the population's value.
    method : str
        How it was made: a `method` of `assess`.
    is_upper_limit : bool
        Whether this is an upper limit: all of 1 - level is beyond the upper end.
    """

    lower: float
    upper: float
    level: float
    method: str
    is_upper_limit: bool

    def __iter__(self) -> Iterator[float]:
        """``low, high = interval``."""
        return iter((self.lower, self.upper))

    def __str__(self) -> str:
        if self.is_upper_limit:
            return f"below {self.upper:.6f}"
        return f"[{self.lower:.6f}, {self.upper:.6f}]"


@dataclass(frozen=True)
class Part(Result):
    """One signed part of a residual measure.

    Attributes
    ----------
    value : float
        The part of the value of the rows.
    debiased : float
        The same without what noise adds to it, never below 0.
    interval : Interval
        Where the part of the population's value is.
    """

    value: float
    debiased: float
    interval: Interval


@dataclass(frozen=True)
class Parts(Result):
    """In which direction predictions are off: the signed parts of a residual measure.

    The first two sum to the measure, and so do the last two. For the confidence in a top class, too
    high is overconfident and too low is underconfident. A sketch does not know whether its
    predictions are confidences in a top class, so the last two of a sketch are None.

    Attributes
    ----------
    too_high : Part
        Outcomes happen less often than predicted.
    too_low : Part
        Outcomes happen more often than predicted.
    overconfident : Part or None
        Predictions are further from 1/2 than outcomes are.
    underconfident : Part or None
        Predictions are nearer to 1/2 than outcomes are.
    """

    too_high: Part
    too_low: Part
    overconfident: Part | None
    underconfident: Part | None


@dataclass(frozen=True, eq=False, repr=False)
class Assessment(Result):
    """A value with its noise floor, p-value, interval and debiased value.

    It prints as a sentence and a table.

    LS-ECE is decided by its residual form: the p-value, ``significant``, ``debiased``, ``debias``
    and ``parts`` of an assessment of LS-ECE are those of ``residual``. The value, the mean and
    deviation of the floor and the interval are its own.

    Attributes
    ----------
    sentence : str
        The result in words, with the rows that were left out.
    estimate : Estimate
        The value, with its numerical bound, rows and settings.
    floor : NoiseFloor or None
        The noise floor; None where it is not available.
    unavailable : str or None
        Why there is no floor.
    interval : Interval
        Where the population's value is; an upper limit where the floor test does not reject.
    debiased : float
        The value without what noise adds to it, never below 0.
    debias : {"local", "mean", "floor", "bootstrap"}
        How that was done.
    standard_error : float
        Standard error of the value.
    bias : float
        How far the value is biased up, as the interval has it.
    significant : bool or None
        Whether the p-value is at most 1 - level; None without a floor.
    residual : Assessment or None
        The assessment of the measure that decides, where it is another one: for LS-ECE its residual
        form at the same sigma.
    parts : Parts or None
        In which direction predictions are off, for LS-ECE and its residual form.
    smoothing : float or None
        For LS-ECE, what noise on the logits alone makes of it: its value were outcomes just as
        predicted.
    n_clusters : int or None
        Clusters of rows, where they were given.
    settings : dict
        The options of the measure, with ``level``, ``n_resamples`` and ``random_state``.
    """

    sentence: str
    estimate: Estimate
    floor: NoiseFloor | None
    unavailable: str | None
    interval: Interval
    debiased: float
    debias: Literal["local", "mean", "floor", "bootstrap"]
    standard_error: float
    bias: float
    significant: bool | None
    residual: Assessment | None
    parts: Parts | None
    smoothing: float | None
    n_clusters: int | None
    settings: dict[str, Any]

    @property
    def value(self) -> float:
        """The value of the measure."""
        return float(self.estimate)

    @property
    def p_value(self) -> float | None:
        """How often a perfectly calibrated model would get at least this value.

        None without a floor.
        """
        return None if self.floor is None else self.floor.p_value

    def __float__(self) -> float:
        return float(self.estimate)

    @classmethod
    def _of(cls, found: Mapping[str, Any]) -> Assessment:
        """The assessment that the core has made: what was drawn is part of the settings."""
        drawn = {name: found[name] for name in ("n_resamples", "random_state")}
        settings = {**found["estimate"]["settings"], "level": found["interval"]["level"], **drawn}
        return super()._of({name: value for name, value in found.items() if name not in drawn} | {"settings": settings})

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain Python objects, ready for JSON.

        >>> import calipers as cal
        >>> found = cal.assess([0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4], sigma=0.5, n_resamples=20)
        >>> list(found.to_dict())[:6]
        ['measure', 'value', 'numerical_bound', 'sentence', 'floor', 'p_value']
        """
        fields = super().to_dict()
        estimate = fields.pop("estimate")
        first = {name: estimate[name] for name in ("measure", "value", "numerical_bound")}
        second = {name: fields.pop(name) for name in ("sentence", "floor")}
        last = {name: fields.pop(name) for name in ("n_clusters", "settings")}
        return {**first, **second, "p_value": self.p_value, **fields, "n": self.estimate.n, **last}

    def _lines(self) -> list[tuple[str, str]]:
        """What stands under the sentence."""
        estimate, interval = self.estimate, self.interval
        lines = [("value", f"{self.value:.6f} (numerical bound {estimate.numerical_bound:.2g})")]
        if self.floor is not None:
            low, _, high = self.floor.quantiles
            lines += [
                ("noise floor", f"{self.floor.mean:.6f} ± {self.floor.deviation:.6f}, 90 % in [{low:.6f}, {high:.6f}]"),
                ("p-value", f"{p_value_text(self.floor.p_value, 6, 'below ')} ({self.floor.n_resamples:,} resamples)"),
            ]
        if self.residual is not None:
            deciding = self.residual
            lines.append(("decided by", f"{deciding.estimate.measure} {deciding.value:.6f}, {deciding.interval}"))
        if self.parts is not None:
            lines += [
                (name.replace("_", " "), f"{part.debiased:.6f} {part.interval}")
                for name, part in vars(self.parts).items()
                if part is not None
            ]
        rows = f"{estimate.n:,}" + ("" if self.n_clusters is None else f" in {self.n_clusters:,} clusters")
        if estimate.left_out:
            rows += f", {sum(estimate.left_out.values()):,} left out"
        limit = "upper limit" if interval.is_upper_limit else "interval"
        lines += [
            (f"{100 * interval.level:g} % {limit}", f"{interval} ({interval.method})"),
            ("debiased", f"{self.debiased:.6f} ({self.debias})"),
            ("standard error", f"{self.standard_error:.6f}, bias {self.bias:.6f}"),
            ("rows", rows),
        ]
        if isinstance(self.settings.get("sigma"), float):
            lines.append(("sigma", f"{self.settings['sigma']:.6g}"))
        return lines

    def __repr__(self) -> str:
        return "\n".join([self.sentence, *(f"  {name:<17} {text}" for name, text in self._lines())])

    def _repr_html_(self) -> str:
        return html_text(self.sentence) + html_table((), self._lines())


def p_value_text(p: float, digits: int, below: str) -> str:
    """A p-value with so many digits, or that it is below the smallest number that they can show."""
    smallest = 10.0**-digits
    return f"{p:.{digits}f}" if p >= smallest else f"{below}{smallest:.{digits}f}"


@documented
def assess(
    y_true: Outcomes,
    y_prob: Probabilities = None,
    *,
    measure: str = "ls_ece",
    level: float = 0.95,
    n_resamples: int = 1000,
    method: Method = None,
    debias: Debias = "local",
    cluster: Clusters = None,
    random_state: int = 0,
    progress: bool = False,
    **options: Unpack[AssessOptions],
) -> Assessment:
    r"""A value with its noise floor, p-value, interval and debiased value.

    Use it to decide whether a model is miscalibrated, and by how much. The noise floor is the value
    that a perfectly calibrated model would get on the same data by chance alone.

        floor     the measure of y* ~ Bernoulli(p), drawn R times: its mean m and deviation
        p-value   (1 + #{v(y*) >= v}) / (1 + R),  or a bound on the tail where no resample reaches v
        interval  [l - z se, u + z se],  l and u: a lower and an upper estimate
        debiased  the best single estimate of the value without its noise

    with v the value. Noise adds to every measure of miscalibration, so that even a perfectly
    calibrated model gets a value above 0: the floor. How much it adds to v depends on where the
    model is calibrated, which the data show only in part. The lower estimate l subtracts the most
    that it can be, and the upper estimate u the least. If the p-value is above 1 - level, the
    interval is an upper limit.

    LS-ECE is decided by its residual form (`residual_ls_ece`), since noise on the logits alone
    makes LS-ECE of a calibrated model larger than 0: p-value, verdict, debiased value and direction
    are those of the residual form.

    Parameters
    ----------
    measure : str
        Any name of `measures` of which a larger value is worse.
    **options
        Those of the function of that name: ``sigma``, ``noise``, ``link``, ``tolerance`` and
        ``clip`` for `ls_ece`, ``n_bins`` and so on for others.

    Returns
    -------
    Assessment
        It prints as a sentence and a table, and converts to the value as a float.

    Notes
    -----
    Assumes independent rows, or independent clusters. With ``multiclass="classwise"`` a resample
    gives each row one label, and the mean over classes is measured again. The interval holds the
    population's value of the measure at the same settings: for LS-ECE at the same sigma, which is
    not that of the ECE itself.

    Cost: for LS-ECE one pass and then some hundred microseconds for each resample, whatever the
    number of rows; with clusters one pass for each resample. Other measures are computed again for
    each. Accuracy: that of R resamples; the mean of the floor is known to its deviation over √R.

    References
    ----------
    Bröcker, Smith, "Increasing the reliability of reliability diagrams", Weather and Forecasting
    22, 2007 (the floor); Efron, "Better bootstrap confidence intervals", JASA 82, 1987;
    Chidambaram, Lee, McSwiggen, Rezchikov, "How Flawed Is ECE? An Analysis via Logit Smoothing",
    2024 (LS-ECE).

    Examples
    --------
    500 forecasts of 0.9, of which four in five came true:

    >>> import calipers as cal
    >>> found = cal.assess([1, 1, 1, 1, 0] * 100, [0.9] * 500, sigma=0.1)
    >>> import textwrap
    >>> print(textwrap.fill(found.sentence, 80))
    LS-ECE is 0.100 (95 % interval 0.065 to 0.135). A perfectly calibrated model
    would score 0.013 ± 0.007 on the same data, so this model is miscalibrated (p <
    0.001).
    >>> found.significant, round(found.value, 3), found.interval.lower < 0.1 < found.interval.upper
    (True, 0.1, True)

    The predictions are too high, by about 0.1:

    >>> round(found.parts.too_high.debiased, 3), round(found.parts.too_low.debiased, 3)
    (0.1, 0.0)

    Nine in ten came true. There is no evidence of miscalibration, and the interval is an upper
    limit:

    >>> found = cal.assess(([1] * 9 + [0]) * 50, [0.9] * 500, sigma=0.1)
    >>> found.significant, found.interval.is_upper_limit, found.debiased < 0.001
    (False, True, True)
    """
    of_rows, of_measure = split(assess, options)
    rows, asked = read(assess, y_true, y_prob, of_rows), named(measure, of_measure)
    choices = {"level": level, "method": method, "debias": debias, "cluster": cluster_column(cluster)}
    choices |= {"n_resamples": n_resamples, "random_state": random_state}
    with shown(progress, f"assess {measure}") as show:
        found = rows.ask(partial(_core.assess, asked.measure), **asked.options, **choices, progress=show)
    return Assessment._of(found)
