"""Models on the same rows: by how much their figures differ, and whether that is chance."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from calipers._arrays import ArrayLike
from calipers._assess import Assessment, Clusters, Interval, assessment
from calipers._inputs import Invalid, OneView, PosLabel, Ties, cluster_column
from calipers._named import named
from calipers._predictions import Rows
from calipers._progress import shown
from calipers._result import Result, html_table, html_text


@dataclass(frozen=True)
class Pair(Result):
    """Two models and the difference of their figures.

    Attributes
    ----------
    first, second : str
        Names of the models.
    difference : float
        The value of the first less that of the second, each without what noise adds: below 0, the first is better
        calibrated. The values are those of the measure that the models are compared by.
    interval : Interval
        Where the population's difference is.
    standard_error : float
        That of the difference, over the same rows for both.
    p_value : float
        Two-sided, for no difference in the population.
    p_adjusted : float
        The same after Holm's adjustment for all pairs.
    sentence : str
        What a person wants to know.
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
        Its name: "residual_ls_ece" where LS-ECE is asked for, else the measure itself.
    sigma : float or None
        Its sigma, for LS-ECE: the given one or the automatic one, whichever is smaller. A larger sigma would take more
        from a gap that changes its sign than from one that does not.
    """

    measure: str
    sigma: float | None


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """Models on the same rows; it prints as a sentence and two tables.

    Attributes
    ----------
    sentence : str
        Which models differ.
    models : dict
        An `Assessment` of each model by name, all at one sigma.
    compared_by : ComparedBy
        The measure by which they are compared, with its sigma.
    pairs : tuple of Pair
        Every two models, in the order in which they were given.
    level : float
        Level of the intervals.
    """

    sentence: str
    models: dict[str, Assessment]
    compared_by: ComparedBy
    pairs: tuple[Pair, ...]
    level: float

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain Python objects, ready for JSON."""
        return {
            "sentence": self.sentence,
            "level": self.level,
            "models": {name: found.to_dict() for name, found in self.models.items()},
            "compared_by": self.compared_by.to_dict(),
            "pairs": [pair.to_dict() for pair in self.pairs],
        }

    def _repr_html_(self) -> str:
        interval = f"{100 * self.level:g} % interval"
        models = [
            (name, f"{found.value:.6f}", str(found.interval), _floor(found), f"{found.debiased:.6f}")
            for name, found in self.models.items()
        ]
        pairs = [
            (
                _title(pair),
                f"{pair.difference:.6f}",
                str(pair.interval),
                _p_value(pair.p_value),
                _p_value(pair.p_adjusted),
            )
            for pair in self.pairs
        ]
        return (
            html_text(self.sentence)
            + html_table(("model", "value", interval, "floor", "debiased"), models)
            + html_table(("difference", "value", interval, "p", "p (Holm)"), pairs)
        )

    def __repr__(self) -> str:
        name = max(map(len, ["model", *self.models]))
        both = max(map(len, ["difference", *map(_title, self.pairs)]))
        interval = f"{100 * self.level:g} % interval"
        lines = [
            self.sentence,
            "",
            f"  {'model':<{name}}  {'value':>9}  {interval:<22}  {'floor':>9}  {'debiased':>9}",
            *(
                f"  {each:<{name}}  {found.value:>9.6f}  {found.interval!s:<22}  "
                f"{_floor(found):>9}  {found.debiased:>9.6f}"
                for each, found in self.models.items()
            ),
            "",
            f"  {'difference':<{both}}  {'value':>9}  {interval:<22}  {'p':>8}  {'p (Holm)':>8}",
            *(
                f"  {_title(pair):<{both}}  {pair.difference:>9.6f}  {pair.interval!s:<22}  "
                f"{_p_value(pair.p_value):>8}  {_p_value(pair.p_adjusted):>8}"
                for pair in self.pairs
            ),
        ]
        return "\n".join(lines)


def _floor(found: Assessment) -> str:
    return "-" if found.floor is None else f"{found.floor.mean:.6f}"


def _title(pair: Pair) -> str:
    return f"{pair.first} - {pair.second}"


def _p_value(p: float) -> str:
    return "<0.0001" if p < 0.0001 else f"{p:.4f}"


def compare(
    y_true: ArrayLike,
    y_prob: Mapping[str, ArrayLike],
    *,
    measure: str = "ls_ece",
    level: float = 0.95,
    n_resamples: int = 1000,
    cluster: Clusters = None,
    random_state: int = 0,
    progress: bool = False,
    sample_weight: ArrayLike | None = None,
    from_logits: bool = False,
    multiclass: OneView = None,
    ties: Ties = "first",
    pos_label: PosLabel = None,
    sum_tolerance: float = 1e-3,
    invalid: Invalid = "refuse",
    **options: Any,
) -> Comparison:
    r"""Models on the same rows: differences of a measure with paired intervals and p-values.

        difference  d = v(first) - v(second), each without what noise adds
        interval    m(first) - m(second) ± (sqrt(b(first)² + b(second)² - 2 r b(first) b(second)) + z se)
        p-value     two-sided: 1 less the largest level whose interval leaves 0 out
        adjusted    by Holm: of p_(1) <= ... <= p_(m), max over j <= i of min(1, (m + 1 - j) p_(j))

    with m the middle and b half the distance of the lower and the upper estimate that bracket the value of each model,
    se the standard error of the difference of these estimates, row by row, and r the correlation of the two models in
    it, or 0 where that is negative. Where both models show a gap everywhere, b is 0. Measures without such a bracket
    have 2 d - mean(d*) ± z se, with d* the difference over the same draws of rows for both models.

    For LS-ECE the models are compared by its residual form, at the given sigma or the automatic one, whichever is
    smaller (``compared_by``).

    Rows that are easy for one model are easy for others, so that a difference is known better than either figure: two
    intervals that overlap say little about it.

    Parameters
    ----------
    y_true
        As for `ls_ece`.
    y_prob : dict of array-like
        The probabilities of each model by its name, two models at least: row i of each is about outcome i.
    measure : str
        As for `assess`. One sigma serves all models: where it is chosen automatically, the geometric mean of theirs.
    level, n_resamples, cluster, random_state, progress
        As for `assess`.
    multiclass : {None, "top_class"} or int
        As for `assess`, but for "classwise". With "top_class" each model is asked about the class that it takes itself.
    **options
        Those of the function of that name, as for `assess`.

    Returns
    -------
    Comparison
        It prints as a sentence and tables of models and pairs.

    Raises
    ------
    CalipersError
        Where rows cannot be paired, besides what `assess` refuses.

    Notes
    -----
    Assumes independent rows, or independent clusters.

    Cost: an assessment of each model, and one of each pair. Accuracy: as for `assess`.

    References
    ----------
    Efron, Tibshirani, "An Introduction to the Bootstrap", 1993; Holm, "A simple sequentially rejective multiple test
    procedure", Scandinavian Journal of Statistics 6, 1979.

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
    if not isinstance(y_prob, Mapping):
        raise TypeError(f"y_prob must be a dict of models by name, got {type(y_prob).__name__}")
    for name in y_prob:
        if not isinstance(name, str):
            raise TypeError(f"the name of a model must be text, got {type(name).__name__}")
    models: dict[str, Rows] = {}
    for name, probabilities in y_prob.items():
        if models:
            # Labels and weights are read once: a stream has no second time.
            models[name] = next(iter(models.values())).with_scores(probabilities)
        else:
            models[name] = Rows(
                y_true, probabilities, sample_weight, from_logits, multiclass, ties, pos_label, sum_tolerance, invalid
            )
    asked = named(measure, options)
    choices = {
        "level": level,
        "n_resamples": n_resamples,
        "random_state": random_state,
        "cluster": cluster_column(cluster),
    }
    with shown(progress, f"compare {measure}") as show:
        found = Rows.compare(models, asked.measure, **asked.options, **choices, progress=show)
    names = list(models)
    return Comparison(
        sentence=found["sentence"],
        models={name: assessment(parts) for name, parts in zip(names, found["models"], strict=True)},
        compared_by=ComparedBy(**found["compared_by"]),
        pairs=tuple(
            Pair(
                first=names[pair["first"]],
                second=names[pair["second"]],
                difference=pair["difference"],
                interval=Interval(**pair["interval"]),
                standard_error=pair["standard_error"],
                p_value=pair["p_value"],
                p_adjusted=pair["p_adjusted"],
                sentence=pair["sentence"],
            )
            for pair in found["pairs"]
        ),
        level=found["level"],
    )
