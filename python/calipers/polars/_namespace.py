"""The expressions: what ``pl.col("p").calipers`` has."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, TypeAlias

import polars as pl

from calipers import _core
from calipers._binned import expected_calibration_error
from calipers._core import CalipersError
from calipers._inputs import Invalid, PosLabel, Profile
from calipers._measures import Named, named
from calipers._sketch import Sketch
from calipers.polars._groups import Groups, groups_of, of_group

Column: TypeAlias = str | pl.Expr

_ASSESSMENT = {
    **dict.fromkeys(("value", "numerical_bound", "floor", "floor_std", "lower", "upper", "p_value"), pl.Float64),
    "sentence": pl.String,
}


class CalipersNamespace:
    """Expressions of a column of probabilities, or of a column of sketches.

    With a column of labels, the column has probabilities, and the expression is an aggregate: one
    value for all rows in ``select``, for each group in ``group_by(...).agg(...)``, and for the
    group of each row with ``over``. Without labels, the column has sketches, and there is a value
    for each of them.

    A group without rows has null. A null, NaN or a value out of range raises a `CalipersError`;
    with ``invalid="count"``, such rows are left out, and a sketch counts them.

    Examples
    --------
    >>> import calipers.polars
    >>> import polars as pl
    >>> rows = pl.DataFrame({"country": ["de", "de", "fr"], "p": [0.9, 0.2, 0.6], "y": [1, 0, 1]})
    >>> by_country = rows.group_by("country", maintain_order=True)
    >>> by_country.agg(pl.col("p").calipers.ece("y").round(2).alias("ece"))["ece"].to_list()
    [0.15, 0.4]
    """

    def __init__(self, expr: pl.Expr) -> None:
        self._expr = expr

    def ls_ece(
        self,
        label: Column | None = None,
        *,
        weight: Column | None = None,
        sigma: float | Literal["auto"] = "auto",
        from_logits: bool = False,
        pos_label: PosLabel = None,
        invalid: Invalid = "reject",
        **options: Any,
    ) -> pl.Expr:
        """LS-ECE: `calipers.ls_ece` of the rows, or that of each sketch.

        Parameters
        ----------
        label : str or pl.Expr, optional
            The outcomes 0 and 1, or see `pos_label`; left out for a column of sketches.
        weight : str or pl.Expr, optional
            One weight for each row.
        sigma : float or "auto"
            The scale of the noise on the logits; chosen for each group unless set.
        from_logits : bool
            Whether the column has raw scores.
        pos_label : str, int, float or bool, optional
            The label that is outcome 1, where labels are not 0 and 1.
        invalid : {"reject", "count"}
            What happens to invalid rows.
        **options
            Those of the function `calipers.ls_ece`: ``noise``, ``link``, ``tolerance``, ``clip``.
        """
        return self.measure(
            "ls_ece",
            label,
            weight=weight,
            from_logits=from_logits,
            pos_label=pos_label,
            invalid=invalid,
            sigma=sigma,
            **options,
        )

    def ece(
        self,
        label: Column | None = None,
        *,
        weight: Column | None = None,
        n_bins: int | Literal["auto"] = 15,
        from_logits: bool = False,
        pos_label: PosLabel = None,
        invalid: Invalid = "reject",
        **options: Any,
    ) -> pl.Expr:
        """Binned ECE: `calipers.expected_calibration_error` of the rows, or that of each sketch.

        Parameters
        ----------
        label, weight, from_logits, pos_label, invalid
            As for `ls_ece`.
        n_bins : int or "auto"
            The number of bins.
        **options
            Those of `calipers.expected_calibration_error`: ``strategy``, ``norm``, ``compat``.
        """
        return self.measure(
            expected_calibration_error.__name__,
            label,
            weight=weight,
            from_logits=from_logits,
            pos_label=pos_label,
            invalid=invalid,
            n_bins=n_bins,
            **options,
        )

    def measure(
        self,
        name: str,
        label: Column | None = None,
        *,
        weight: Column | None = None,
        from_logits: bool = False,
        pos_label: PosLabel = None,
        invalid: Invalid = "reject",
        **options: Any,
    ) -> pl.Expr:
        """The value of a measure by its name.

        Parameters
        ----------
        name : str
            A name from `calipers.measures`; for sketches one that a sketch answers.
        label, weight, from_logits, pos_label, invalid
            As for `ls_ece`.
        **options
            Those of the measure.
        """
        asked = named(name, options)
        if label is None:
            self._check_sketches(weight=weight)
            return self._of_sketches(lambda sketch: float(sketch._estimate(asked)), pl.Float64)

        def values(groups: Groups) -> pl.Series:
            found = _ask(_core.estimate_runs, asked, groups, {})
            return pl.Series(found, dtype=pl.Float64)

        reading = {"from_logits": from_logits, "pos_label": pos_label, "invalid": invalid}
        return self._of_rows(label, weight, reading, values, pl.Float64)

    def assess(
        self,
        label: Column | None = None,
        *,
        measure: str = "ls_ece",
        weight: Column | None = None,
        level: float = 0.95,
        n_resamples: int = 1000,
        random_state: int = 0,
        from_logits: bool = False,
        pos_label: PosLabel = None,
        invalid: Invalid = "reject",
        **options: Any,
    ) -> pl.Expr:
        """A value with its noise floor, p-value and interval, as a struct.

        The fields are value, numerical_bound, floor, floor_std, lower, upper, p_value and sentence;
        ``.struct.unnest()`` makes columns of them. p-values are not adjusted for the number of
        groups.

        Parameters
        ----------
        label, weight, from_logits, pos_label, invalid
            As for `ls_ece`.
        measure : str
            A name from `calipers.measures` of which a larger value is worse.
        level : float
            The level of the interval.
        n_resamples : int
            How many resamples are drawn for each group.
        random_state : int
            What random numbers are made from.
        **options
            Those of the measure.
        """
        asked = named(measure, options)
        drawn = {"level": level, "n_resamples": n_resamples, "random_state": random_state}
        if label is None:
            self._check_sketches(weight=weight)
            return self._of_sketches(lambda sketch: _summary(sketch, asked, drawn), pl.Struct(_ASSESSMENT))

        def values(groups: Groups) -> pl.Series:
            found = _ask(_core.assess_runs, asked, groups, {**drawn, "method": None, "debias": "local"})
            columns = [pl.Series(name, found[name], dtype=kind) for name, kind in _ASSESSMENT.items()]
            return pl.DataFrame(columns).with_columns(pl.col(pl.Float64).fill_nan(None)).to_struct()

        reading = {"from_logits": from_logits, "pos_label": pos_label, "invalid": invalid}
        return self._of_rows(label, weight, reading, values, pl.Struct(_ASSESSMENT))

    def sketch(
        self,
        label: Column,
        *,
        weight: Column | None = None,
        profile: Profile = "exact",
        resolution: int | None = None,
        clip: float = 1e-6,
        n_bins: Sequence[int] = (10, 15),
        from_logits: bool = False,
        pos_label: PosLabel = None,
        invalid: Invalid = "reject",
    ) -> pl.Expr:
        """The sketch of the rows: the bytes of `calipers.Sketch`, which merge exactly.

        Parameters
        ----------
        label, weight, from_logits, pos_label, invalid
            As for `ls_ece`.
        profile, resolution, clip, n_bins
            As for `calipers.Sketch`.
        """
        shape: dict[str, Any] = {"profile": profile, "resolution": resolution, "clip": clip, "n_bins": n_bins}
        empty = Sketch(**shape)._held

        def values(groups: Groups) -> pl.Series:
            sketches = [empty.empty_like() for _ in groups.places]
            _core.update_runs(sketches, groups.starts, groups.rows.columns, groups.rows.options)
            return pl.Series(_core.pack(sketches)[0], dtype=pl.Binary)

        reading = {"from_logits": from_logits, "pos_label": pos_label, "invalid": invalid}
        return self._of_rows(label, weight, reading, values, pl.Binary())

    def merge(self) -> pl.Expr:
        """The sketch of all rows of a column of sketches; null where all are null."""

        def merged(lists: pl.Series) -> pl.Series:
            lists = lists.list.drop_nulls()
            lengths = lists.list.len().fill_null(0).to_list()
            parts = iter(lists.filter(pl.Series(lengths) > 0).explode().to_list())
            return pl.Series([_merged([next(parts) for _ in range(n)]) for n in lengths], dtype=pl.Binary)

        return self._expr.implode().map_batches(merged, return_dtype=pl.Binary(), is_elementwise=True)

    def n(self) -> pl.Expr:
        """The number of rows of each sketch."""
        return self._of_sketches(lambda sketch: sketch.n, pl.Int64)

    @staticmethod
    def _check_sketches(**given: object) -> None:
        for name, value in given.items():
            if value is not None:
                raise TypeError(f"{name} needs a column of labels: without one, the column has sketches")

    def _of_sketches(self, answer: Callable[[Sketch], Any], kind: Any) -> pl.Expr:
        """A value for each sketch of the column."""

        def answers(sketches: pl.Series) -> pl.Series:
            if sketches.dtype not in (pl.Binary, pl.Null):
                raise TypeError(
                    f"a column of sketches must be Binary, got {sketches.dtype}; for probabilities pass labels"
                )
            found = [None if data is None else answer(Sketch.from_bytes(data)) for data in sketches.to_list()]
            return pl.Series(sketches.name, found, dtype=kind)

        return self._expr.map_batches(answers, return_dtype=kind, is_elementwise=True)

    def _of_rows(
        self,
        label: Column,
        weight: Column | None,
        reading: Mapping[str, Any],
        values: Callable[[Groups], pl.Series],
        kind: Any,
    ) -> pl.Expr:
        """A value for the rows of each group.

        `implode` makes a list of each group's rows, so that one call has those of all groups: a
        function of lists, which Polars takes for one of each element.
        """
        columns = [self._expr, _column(label).alias("calipers.label")]
        if weight is not None:
            columns.append(_column(weight).alias("calipers.weight"))

        def of_lists(lists: pl.Series) -> pl.Series:
            groups = groups_of(lists, reading)
            if groups is None:
                return pl.Series(lists.name, [None] * len(lists), dtype=kind)
            try:
                return groups.spread(values(groups)).alias(lists.name)
            except CalipersError as error:
                raise of_group(error) from None

        return pl.struct(columns).implode().map_batches(of_lists, return_dtype=kind, is_elementwise=True)


def _column(given: Column) -> pl.Expr:
    return pl.col(given) if isinstance(given, str) else given


def _ask(question: Callable[..., Any], asked: Named, groups: Groups, options: Mapping[str, Any]) -> Any:
    """The answer of a function of the core for all groups."""
    given = {**asked.options, **options, **groups.rows.options}
    return question(asked.measure, groups.starts, groups.rows.columns, given)


def _summary(sketch: Sketch, asked: Named, drawn: Mapping[str, Any]) -> dict[str, Any]:
    options: dict[str, Any] = {**drawn, **asked.options}
    found = sketch.assess(measure=asked.measure, **options)
    floor = found.floor
    return {
        "value": found.value,
        "numerical_bound": found.estimate.numerical_bound,
        "floor": None if floor is None else floor.mean,
        "floor_std": None if floor is None else floor.deviation,
        "lower": found.interval.lower,
        "upper": found.interval.upper,
        "p_value": None if floor is None else floor.p_value,
        "sentence": found.sentence,
    }


def _merged(parts: Sequence[bytes]) -> bytes | None:
    if not parts:
        return None
    whole = Sketch.from_bytes(parts[0])
    for part in parts[1:]:
        whole.merge(Sketch.from_bytes(part))
    return whole.to_bytes()
