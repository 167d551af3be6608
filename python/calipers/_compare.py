"""Models on the same rows: by how much their values differ, and whether that is chance."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from numpy.typing import NDArray

from calipers import _core
from calipers._arrays import ArrayLike, SupportsArrowStream
from calipers._assess import Clusters
from calipers._assessment import Assessment, Interval, p_value_text
from calipers._documented import documented
from calipers._inputs import cluster_column
from calipers._measures import named
from calipers._predictions import Predictions, Rows, ask_models, models_of, read_models, split
from calipers._progress import shown
from calipers._result import Result, html_table, html_text
from calipers._row_options import CompareOptions, Unpack


@dataclass(frozen=True)
class Pair(Result):
    """Two models and the difference of their values.

    Attributes
    ----------
    first, second : str
        Names of the models.
    difference : float
        The value of the first less that of the second, each without what chance adds: below 0, the
        first is better calibrated. The values are those of the measure that the models are compared
        by.
    interval : Interval
        Where the population's difference is.
    standard_error : float
        That of the difference, over the same rows for both.
    p_value : float
        Two-sided, for no difference in the population.
    p_adjusted : float
        The same after Holm's adjustment for all pairs.
    sentence : str
        The result in words.
    """

    first: str
    second: str
    difference: float
    interval: Interval
    standard_error: float
    p_value: float
    p_adjusted: float
    sentence: str

    def __str__(self) -> str:
        return self.sentence


@dataclass(frozen=True)
class ComparedBy(Result):
    """The measure by which models are compared.

    Attributes
    ----------
    measure : str
        Its name: "residual_ls_ece" where LS-ECE is requested, else the measure itself.
    sigma : float or None
        Its sigma, for LS-ECE: the given one or the automatic one, whichever is smaller. A larger
        sigma would take more from a gap that changes its sign than from one that does not.
    """

    measure: str
    sigma: float | None


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(Result):
    """Models on the same rows; it prints as a sentence and two tables.

    Attributes
    ----------
    sentence : str
        Which models differ, and how many rows were left out.
    level : float
        Level of the intervals.
    models : dict
        An `Assessment` of each model by name, all at one sigma.
    compared_by : ComparedBy
        The measure by which they are compared, with its sigma.
    pairs : tuple of Pair
        Every two models, in the order in which they were given.
    """

    sentence: str
    level: float
    models: dict[str, Assessment]
    compared_by: ComparedBy
    pairs: tuple[Pair, ...]

    def _tables(self) -> list[list[tuple[str, ...]]]:
        """The tables of models and of pairs, each with its header first."""
        interval = f"{100 * self.level:g} % interval"
        models = [
            (name, f"{found.value:.6f}", str(found.interval), _floor(found), f"{found.debiased:.6f}")
            for name, found in self.models.items()
        ]
        pairs = [
            (
                f"{pair.first} - {pair.second}",
                f"{pair.difference:.6f}",
                str(pair.interval),
                p_value_text(pair.p_value, 4, "<"),
                p_value_text(pair.p_adjusted, 4, "<"),
            )
            for pair in self.pairs
        ]
        return [
            [("model", "value", interval, "floor", "debiased"), *models],
            [("difference", "value", interval, "p", "p (Holm)"), *pairs],
        ]

    def _repr_html_(self) -> str:
        return html_text(self.sentence) + "".join(html_table(header, rows) for header, *rows in self._tables())

    def __repr__(self) -> str:
        lines = [self.sentence]
        for table, last in zip(self._tables(), (9, 8), strict=True):
            name = max(len(row[0]) for row in table)
            lines.append("")
            lines += [
                f"  {row[0]:<{name}}  {row[1]:>9}  {row[2]:<22}  {row[3]:>{last}}  {row[4]:>{last}}" for row in table
            ]
        return "\n".join(lines)


def _floor(found: Assessment) -> str:
    return "-" if found.floor is None else f"{found.floor.mean:.6f}"


@documented
def compare(
    y_true: ArrayLike | Mapping[str, Predictions],
    y_prob: Mapping[str, ArrayLike] | SupportsArrowStream | NDArray[Any] | None = None,
    *,
    measure: str = "ls_ece",
    level: float = 0.95,
    n_resamples: int = 1000,
    cluster: Clusters = None,
    random_state: int = 0,
    progress: bool = False,
    **options: Unpack[CompareOptions],
) -> Comparison:
    r"""Models on the same rows: differences of a measure with paired intervals and p-values.

    Use it to decide which of several models is better calibrated. Two intervals that overlap say
    little: rows that are easy for one model are easy for others, so a difference is known better
    than either value.

        difference  d = v(first) - v(second), each without what chance adds
        interval    m(first) - m(second) ± (w + z se)
        w           sqrt(b(first)² + b(second)² - 2 r b(first) b(second))
        p-value     two-sided: 1 less the largest level whose interval leaves 0 out
        adjusted    by Holm: of p_(1) <= ... <= p_(m), max over j <= i of min(1, (m + 1 - j) p_(j))

    with m the middle and b half the distance of the lower and the upper estimate that bracket the
    value of each model, se the standard error of the difference of these estimates, row by row, and
    r the correlation of the two models in it, or 0 where that is negative. Where both models show a
    gap everywhere, b is 0. Measures without such a bracket have 2 d - mean(d*) ± z se, with d* the
    difference over the same resamples of rows for both models.

    For LS-ECE the models are compared by its residual form, at the given sigma or the automatic
    one, whichever is smaller (``compared_by``).

    Parameters
    ----------
    y_true : array-like of shape (n,), one-hot of shape (n, k), or dict of Predictions
        Outcomes 0 and 1 (or see `pos_label`), or class labels from 0 to k - 1 (or see `classes`). A
        dict has the `Predictions` of each model by its name, all of the same rows, and stands for
        `y_true`, `y_prob` and the options of rows.
    y_prob : dict of array-like, or data frame, optional
        The probabilities of each model by its name, two models at least: row i of each is about
        outcome i. Each column of a data frame of pandas, polars or pyarrow, or field of a
        structured array, is a model.
    measure : str
        Any name of `measures` of which a larger value is worse. One sigma serves all models: where
        it is chosen automatically, the geometric mean of theirs.
    **options
        Those of the function of that name: ``sigma``, ``noise``, ``link``, ``tolerance`` and
        ``clip`` for `ls_ece`, ``n_bins`` and so on for others.

    Returns
    -------
    Comparison
        It prints as a sentence and tables of models and pairs.

    Raises
    ------
    CalipersError
        Where rows cannot be paired, and for all that is an error for `assess`.

    Notes
    -----
    Assumes independent rows, or independent clusters. With ``multiclass="top_class"`` each model is
    asked about the class that it takes itself.

    Cost: an assessment of each model, and one of each pair. Accuracy: that of `assess`.

    References
    ----------
    Efron, Tibshirani, "An Introduction to the Bootstrap", 1993; Holm, "A simple sequentially
    rejective multiple test procedure", Scandinavian Journal of Statistics 6, 1979.

    Examples
    --------
    >>> import calipers as cal
    >>> outcomes = [1, 1, 1, 0] * 100
    >>> found = cal.compare(outcomes, {"sure": [0.9] * 400, "careful": [0.75] * 400}, sigma=0.1)
    >>> [pair] = found.pairs
    >>> pair.first, pair.second, round(pair.difference, 2), pair.p_value < 0.01
    ('sure', 'careful', 0.15, True)
    >>> found.models["careful"].significant
    False
    """
    given = None if y_prob is None else models_of(y_prob)
    if given is None and not (y_prob is None and isinstance(y_true, Mapping)):
        raise TypeError(f"y_prob must be a dict or a data frame of models by name, got {type(y_prob).__name__}")
    of_rows, of_measure = split(compare, options)
    models, asked = read_models(compare, y_true, given, of_rows), named(measure, of_measure)
    drawn = {"level": level, "n_resamples": n_resamples, "random_state": random_state}
    with shown(progress, f"compare {measure}") as show:
        choices = {**asked.options, **drawn, "cluster": cluster_column(cluster), "progress": show}
        return compare_rows(models, asked.measure, choices)


def compare_rows(models: Mapping[str, Rows], measure: str, options: Mapping[str, object]) -> Comparison:
    """What the core finds about models whose rows were read."""
    found = ask_models(partial(_core.compare, measure), models, **options)
    names = list(models)
    assessments = map(Assessment._of, found["models"])
    return Comparison(
        sentence=found["sentence"],
        models=dict(zip(names, assessments, strict=True)),
        compared_by=ComparedBy._of(found["compared_by"]),
        pairs=tuple(
            Pair._of({**pair, "first": names[pair["first"]], "second": names[pair["second"]]})
            for pair in found["pairs"]
        ),
        level=found["level"],
    )
