"""Groups of the rows of a table, each measured or assessed on its own, with one table back."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, Literal, TypeAlias

import numpy as np

from calipers import _core
from calipers._assess import Adjust, Debias, Method
from calipers._documented import documented
from calipers._group_table import GroupTable, WorstGroup
from calipers._inputs import Options, cluster_column, group_name
from calipers._measures import named
from calipers._predictions import Rows, check_keywords
from calipers._progress import shown
from calipers._row_options import ColumnOptions, MeasureOptions, Unpack
from calipers._tables import crossed, read_table

Names: TypeAlias = str | Sequence[str]


@documented
def by(
    table: Any,
    *,
    prob: Names,
    label: str,
    by: Names,
    weight: str | None = None,
    cluster: str | None = None,
    cross: bool = True,
    **rows: Unpack[ColumnOptions],
) -> GroupedPredictions:
    """The rows of a table in groups, such as one for each country.

    Use it to find out in which groups a model is miscalibrated. `GroupedPredictions.assess` has a
    p-value for each group that is adjusted for their number, and the worst group with a p-value for
    having looked at all of them.

    Parameters
    ----------
    table : dict of arrays, data frame, or any table with ``__arrow_c_stream__``
        pandas, polars, pyarrow, a relation of DuckDB, or arrays by name. It is read once.
    prob : str or sequence of str
        The column of probabilities of outcome 1, or the columns of all classes.
    label : str
        The column of outcomes or class labels.
    by : str or sequence of str
        The columns whose values tell groups apart. Rows without a value are a group, too.
    weight : str, optional
        The column of weights.
    cluster : str, optional
        Rows with equal values in this column depend on each other, as the questions of one user do.
    cross : bool
        Whether each combination of the values of several columns is a group. If False, each value
        of each column is one, so that groups overlap; the table then has the columns ``by`` and
        ``group``.

    Returns
    -------
    GroupedPredictions
        Its methods `assess` and `measure` return a table with a line for each group.

    Examples
    --------
    In the north, four in five forecasts of 0.6 come true.

    >>> import calipers as cal
    >>> table = {
    ...     "p": [0.6] * 400,
    ...     "y": [1, 1, 1, 0, 0] * 40 + [1, 1, 1, 1, 0] * 40,
    ...     "region": ["south"] * 200 + ["north"] * 200,
    ... }
    >>> found = cal.by(table, prob="p", label="y", by="region").assess(sigma=0.1)
    >>> found.columns["region"], found.worst.name
    (['north', 'south'], 'north')
    >>> print(found.sentence.split(". ")[1])
    1 of 2 groups is miscalibrated after adjusting for their number: north (too low by 0.200).
    """
    check_keywords(_by, rows)
    probs, keys = _listed(prob, "prob"), _listed(by, "by")
    wanted = [*probs, label, *(name for name in (weight, cluster) if name is not None)]
    columns = read_table(table, list(dict.fromkeys(wanted)), keys)
    scores = [columns.values[name] for name in probs]
    y_prob = scores[0] if isinstance(prob, str) else np.ma.stack(scores, axis=1)
    weights = {} if weight is None else {"sample_weight": columns.values[weight]}
    read = Rows(columns.values[label], y_prob, {**rows, **weights})
    clusters = None if cluster is None else cluster_column(columns.values[cluster])
    of_keys = [columns.keys[name] for name in keys]
    if cross:
        groups, numbers = crossed(of_keys)
        divisions = [(numbers, len(groups))]
    else:
        groups = [(name, _name((value,))) for name, each in zip(keys, of_keys, strict=True) for value in each.values]
        divisions = [(each.codes, len(each.values)) for each in of_keys]
    return GroupedPredictions(read, tuple(keys), groups, divisions, clusters, cross)


_by = by


class GroupedPredictions:
    """Predictions in groups, as `by` makes them: each group is measured or assessed on its own.

    Attributes
    ----------
    by : tuple of str
        The columns that tell groups apart.
    groups : list of tuple
        The values of these columns, or the column and its value, for each group.
    """

    by: tuple[str, ...]
    groups: list[tuple[Any, ...]]

    def __init__(
        self,
        rows: Rows,
        by: tuple[str, ...],
        groups: list[tuple[Any, ...]],
        divisions: list[tuple[Any, int]],
        clusters: Any,
        cross: bool,
    ) -> None:
        self._rows, self._divisions, self._clusters, self._cross = rows, divisions, clusters, cross
        self.by, self.groups = by, groups

    def __len__(self) -> int:
        return len(self.groups)

    def __repr__(self) -> str:
        return f"GroupedPredictions({len(self.groups)} groups by {', '.join(self.by)})"

    @documented
    def assess(
        self,
        measure: str = "ls_ece",
        *,
        level: float = 0.95,
        n_resamples: int = 1000,
        method: Method = None,
        debias: Debias = "local",
        adjust: Adjust = "holm",
        random_state: int = 0,
        progress: bool = False,
        **options: Unpack[MeasureOptions],
    ) -> GroupTable:
        """The assessment of each group, with p-values that are adjusted for the number of groups.

        P-values that may be significant get more resamples than `n_resamples`, as many as the
        adjustment takes. A sigma that is chosen automatically is chosen for each group.

        Parameters
        ----------
        measure : str
            Any name of `measures` of which a larger value is worse.
        **options
            Those of the measure, as `calipers.assess` has them.

        Returns
        -------
        GroupTable
            The groups with the most evidence of miscalibration come first.
        """
        asked = named(measure, dict(options))
        choices: Options = {"level": level, "method": method, "debias": debias, "adjust": adjust}
        choices |= {"n_resamples": n_resamples, "random_state": random_state, "cluster": self._clusters}
        choices |= {"names": [self._name(group) for group in self.groups], "by": ", ".join(self.by)}
        with shown(progress, f"assess {measure} of {len(self.groups)} groups") as show:
            found = self._rows.ask(
                partial(_core.assess_segments, asked.measure),
                **asked.options,
                **choices,
                segments=self._divisions,
                progress=show,
            )
        worst = None if found["worst"] is None else WorstGroup._of(found["worst"])
        columns = self._columns(found["lines"])
        return GroupTable(
            found["sentence"], measure, self.by, columns, worst, adjust, level, left_out=found["left_out"]
        )

    @documented
    def measure(self, measure: str = "ls_ece", **options: Unpack[MeasureOptions]) -> GroupTable:
        """The value of each group.

        Parameters
        ----------
        measure : str
            Any name of `measures`.
        **options
            Those of the measure, as `calipers.assess` has them.

        Returns
        -------
        GroupTable
            The groups with the largest values come first, if a larger value is worse.
        """
        asked = named(measure, dict(options))
        question = partial(_core.measure_segments, asked.measure)
        found = self._rows.ask(question, **asked.options, segments=self._divisions)
        columns = self._columns(found["lines"])
        return GroupTable("", measure, self.by, columns, None, None, None, left_out=found["left_out"])

    def _name(self, group: tuple[Any, ...]) -> str:
        return _name(group if self._cross else group[1:])

    def _columns(self, lines: dict[str, Any]) -> dict[str, Any]:
        """The columns of the table in the order of the ranks, after those of the keys."""
        order = np.argsort(np.array(lines.pop("rank")), kind="stable")
        places = np.array(lines.pop("place"), dtype=np.intp)[order].tolist()
        titles = self.by if self._cross else ("by", "group")
        keys = {title: [self.groups[place][index] for place in places] for index, title in enumerate(titles)}
        errors = lines.pop("error")
        sorted_lines: dict[str, Any] = {}
        for name, column in lines.items():
            if isinstance(column, np.ndarray):
                sorted_lines[name] = column[order]
            elif name == "n":
                sorted_lines[name] = np.array(column, dtype=np.int64)[order]
            else:
                sorted_lines[name] = [column[place] for place in order.tolist()]
        if any(error is not None for error in errors):
            sorted_lines["error"] = [errors[place] for place in order.tolist()]
        taken = set(keys) & set(sorted_lines)
        if taken:
            keys = {f"by_{title}" if title in taken else title: column for title, column in keys.items()}
        return {**keys, **sorted_lines}


def _listed(names: Names, what: Literal["prob", "by"]) -> list[str]:
    listed = [names] if isinstance(names, str) else list(names)
    if not listed or not all(isinstance(name, str) for name in listed):
        raise TypeError(f"{what} must be the name of a column, or several, got {names!r}")
    return listed


def _name(values: tuple[Any, ...]) -> str:
    return ", ".join("(none)" if value is None else group_name(value) for value in values)
