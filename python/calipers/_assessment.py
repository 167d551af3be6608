"""What an assessment has found: a value with its noise floor, interval and direction."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from calipers._estimate import Estimate
from calipers._result import Result, html_table, html_text

# More classes than this print as those with the least p-values.
MOST_CLASSES_SHOWN = 30


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
        The same without what chance adds to it, never below 0.
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
        The value without what chance adds to it, never below 0.
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
    per_class : PerClass or None
        Each class on its own, for a mean over classes (``multiclass="classwise"``).
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
    per_class: PerClass | None
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
        classes = found["per_class"]
        per_class = None
        if classes is not None:
            per_class = PerClass(tuple(map(ClassAssessment._of, classes)), found["adjust"])
        others = {name: value for name, value in found.items() if name not in (*drawn, "per_class", "adjust")}
        return super()._of({**others, "per_class": per_class, "settings": settings})

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
        last = {name: fields.pop(name) for name in ("n_clusters", "per_class", "settings")}
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


@dataclass(frozen=True)
class ClassAssessment(Result):
    """One class against the rest.

    Attributes
    ----------
    name : str
        The name of the class, or its number.
    class_index : int
        Its column, from 0.
    n : int
        Rows whose label is the class.
    mean_probability : float
        Mean probability of the class over all rows.
    outcome_rate : float
        Share of all rows, or of their weight, whose label is the class.
    p_adjusted : float or None
        The p-value adjusted for the number of classes; None without a floor.
    direction : {"too high", "too low", "overconfident", "underconfident"} or None
        On which side of the outcomes the probabilities of the class are, where that is certain at
        the level of the assessment, for LS-ECE and its residual form.
    assessment : Assessment
        The value with its noise floor, p-value and interval.
    """

    name: str
    class_index: int
    n: int
    mean_probability: float
    outcome_rate: float
    p_adjusted: float | None
    direction: str | None
    assessment: Assessment

    def _row(self) -> dict[str, Any]:
        """The class in a line of a table."""
        found = self.assessment
        return {
            "class": self.name,
            "n": self.n,
            "mean_probability": self.mean_probability,
            "outcome_rate": self.outcome_rate,
            "value": found.value,
            "lower": found.interval.lower,
            "upper": found.interval.upper,
            "floor": None if found.floor is None else found.floor.mean,
            "p_value": found.p_value,
            "p_adjusted": self.p_adjusted,
            "direction": self.direction,
        }


@dataclass(frozen=True, eq=False, repr=False)
class PerClass(Result):
    """Each class against the rest; it prints as a table.

    ``found["cat"]`` is the class of that name, ``found[0]`` that of the first column.

    Attributes
    ----------
    classes : tuple of ClassAssessment
        In the order of the columns.
    adjust : {"holm", "bh", "by"}
        How p-values were adjusted for the number of classes.
    """

    classes: tuple[ClassAssessment, ...]
    adjust: str

    def __len__(self) -> int:
        return len(self.classes)

    def __iter__(self) -> Iterator[ClassAssessment]:
        return iter(self.classes)

    def __getitem__(self, name: str | int) -> ClassAssessment:
        if not isinstance(name, str):
            return self.classes[name]
        for found in self.classes:
            if found.name == name:
                return found
        raise KeyError(name)

    def to_pandas(self) -> Any:
        """A DataFrame with a row for each class; this needs pandas.

        Its columns are class, n, mean_probability, outcome_rate, value, lower, upper, floor,
        p_value, p_adjusted and direction.
        """
        import pandas as pd

        return pd.DataFrame([found._row() for found in self.classes])

    def _table(self) -> tuple[list[tuple[str, ...]], int]:
        """The table with its header first, and how many classes it leaves out."""
        shown = self.classes
        if len(shown) > MOST_CLASSES_SHOWN:
            # Those with the least p-values, in the order of the columns.
            order = sorted(shown, key=lambda found: 1.0 if found.p_adjusted is None else found.p_adjusted)
            shown = tuple(sorted(order[:MOST_CLASSES_SHOWN], key=lambda found: found.class_index))
        header = ("class", "n", "mean p", "outcome rate", "value", "floor", adjusted_heading(self.adjust), "direction")
        return [header, *map(_class_line, shown)], len(self.classes) - len(shown)

    def __repr__(self) -> str:
        table, n_others = self._table()
        widths = [max(len(row[place]) for row in table) for place in range(len(table[0]))]
        lines = [
            "  ".join(
                # Names and words begin where their column does, numbers end there.
                f"{text:<{width}}" if place in (0, len(widths) - 1) else f"{text:>{width}}"
                for place, (text, width) in enumerate(zip(row, widths, strict=True))
            ).rstrip()
            for row in table
        ]
        return "\n".join([*lines, *([_others(n_others)] if n_others else [])])

    def _repr_html_(self) -> str:
        (header, *rows), n_others = self._table()
        return html_table(header, rows) + (html_text(_others(n_others)) if n_others else "")


def _others(n: int) -> str:
    return f"{n:,} classes with larger p-values are not shown; to_pandas() has all."


def _class_line(found: ClassAssessment) -> tuple[str, ...]:
    floor = found.assessment.floor
    return (
        found.name,
        f"{found.n:,}",
        f"{found.mean_probability:.4f}",
        f"{found.outcome_rate:.4f}",
        f"{found.assessment.value:.6f}",
        "-" if floor is None else f"{floor.mean:.6f}",
        "-" if found.p_adjusted is None else p_value_text(found.p_adjusted, 4, "<"),
        found.direction or "-",
    )


def adjusted_heading(adjust: str) -> str:
    """The heading of adjusted p-values."""
    return f"p ({'Holm' if adjust == 'holm' else adjust.upper()})"


def p_value_text(p: float, digits: int, below: str) -> str:
    """A p-value with so many digits, or that it is below the smallest number that they can show."""
    smallest = 10.0**-digits
    return f"{p:.{digits}f}" if p >= smallest else f"{below}{smallest:.{digits}f}"
