"""A sketch for each group, held by the driver or kept by Spark, and what can be asked of them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, Literal, cast

import numpy as np
from pyspark.sql import Column, DataFrame, SparkSession, types

from calipers import _core
from calipers._assess import Debias, Method
from calipers._documented import documented
from calipers._measures import measures
from calipers._parquet import FOLDERS, START
from calipers._recalibrator import Recalibrator
from calipers._result import html_table
from calipers._sketch import Sketch
from calipers._sketch_improvement import SketchImprovement, improvement_from_sketches
from calipers.spark._adjust import Adjust, Adjusting, check_adjust
from calipers.spark._collect import collected, created, keys_where, shown
from calipers.spark._columns import RESERVED, SKETCH, check_dataframe, column, input_error, key_field
from calipers.spark._errors import clearly
from calipers.spark._gather import Gathered, gathered, held_by_the_driver, merging, schema_of
from calipers.spark._groups import Key
from calipers.spark._measure_sketches import KINDS, QUESTIONS, Asking, check_names
from calipers.spark._session import session as active_session
from calipers.spark._tasks import spread_over


class Sketches:
    """A sketch for each group of rows: what `sketch`, `read` and `read_windows` give.

    Values of all groups come as a DataFrame, computed in Spark: so a hundred thousand groups are no
    more work for the driver than one. Few are held by the driver; many are kept by Spark, until
    `unpersist`. It prints as what is in it.

    Attributes
    ----------
    by : list of str
        The columns that make the groups; empty for all rows together.
    n : int
        Rows in all sketches.
    n_left_out : int
        Rows that ``invalid="count"`` left out.
    n_groups : int
        Groups; 1 without `by`, or 0 without rows.
    """

    def __init__(self, found: Gathered, *, empty: Sketch | None = None) -> None:
        self._found = found
        self._keys = found.keys
        # What there is of no rows.
        self._empty = Sketch() if empty is None else empty
        self.by = [key.name for key in found.keys]
        self.n = found.facts.n
        self.n_left_out = found.facts.n_left_out
        self.n_groups = found.facts.n_groups

    def __repr__(self) -> str:
        left_out = f", n_left_out={self.n_left_out}" if self.n_left_out else ""
        return f"Sketches(n={self.n}{left_out}, n_groups={self.n_groups}, by={self.by!r})"

    def _repr_html_(self) -> str:
        rows = [("rows", f"{self.n:,}"), ("groups", f"{self.n_groups:,}"), ("by", ", ".join(self.by) or "none")]
        if self.n_left_out:
            rows.append(("left out", f"{self.n_left_out:,}"))
        is_held = self._found.held is not None
        rows.append(("kept by", "the driver" if is_held else "Spark, until unpersist"))
        return html_table(("sketches", "one for each group"), rows)

    @property
    def dataframe(self) -> DataFrame:
        """A row for each group: its keys, and ``sketch``, the bytes of the sketch."""
        return self._rows

    @cached_property
    def _rows(self) -> DataFrame:
        if self._found.kept is not None:
            return self._found.kept.select(*(column(key.name) for key in self._keys), SKETCH)
        return created(self._found.session, (self._found.held or {}).items(), self._keys)

    def merged(self) -> Sketch:
        """The sketch of all groups together."""
        return self._merged.copy()

    @cached_property
    def _merged(self) -> Sketch:
        if self.n_groups == 0:
            return self._empty
        found = self._found
        if found.held is None:
            found = gathered(_partials(self._rows.select(SKETCH), ()), ())
        parts = list((found.held or {}).values())
        (sketch,), *_ = _core.pack(_core.merge_runs(parts, np.array([0, len(parts)])))
        return Sketch.from_bytes(sketch)

    def collect(self) -> dict[Any, Sketch]:
        """Each group's sketch on the driver, by its key.

        A value, or a tuple where `by` has several columns.

        Timestamps are in UTC, and say so: a time without a zone would stand for two where clocks go
        back.
        """
        held = self._found.held
        found: dict[Any, Sketch] = {}
        for key, data in collected(self._rows, self._keys) if held is None else held.items():
            values = shown(key, self._keys)
            found[values[0] if len(values) == 1 else values] = Sketch.from_bytes(data)
        return found

    def recalibrators(self, method: str = "beta", **options: Any) -> dict[Any, Recalibrator]:
        """A recalibration map of each group, by its key, for `recalibrated`.

        Parameters
        ----------
        method : str
            A family of maps of a binary outcome, as of `calipers.Sketch.recalibrate`.
        **options
            Those of `calipers.Sketch.recalibrate`: ``ridge``, ``mixture`` and so on.
        """
        return {key: sketch.recalibrate(method, **options) for key, sketch in self.collect().items()}

    def improvements(
        self, fold: str, method: str = "beta", *, level: float = 0.95, **options: Any
    ) -> dict[Any, SketchImprovement]:
        """Whether recalibration helps in each group, where one of the columns of `by` is a fold.

        Make the fold a hash of a key of the rows, ``F.pmod(F.xxhash64("id"), F.lit(5))``, and
        sketch by it and by the groups. Each fold is then held out in turn.

        Parameters
        ----------
        fold : str
            The column of folds, one of `by`.
        method : str
            A family of maps of a binary outcome.
        level : float
            Level of the intervals.
        **options
            Those of `calipers.improvement_from_sketches`: ``ridge``, ``mixture`` and so on.

        Returns
        -------
        dict of calipers.SketchImprovement
            By the key of the group: a value, a tuple, or None where `by` has the fold alone.
        """
        if fold not in self.by:
            raise ValueError(f"fold must be one of the columns that make the groups, {self.by}, got {fold!r}")
        place = self.by.index(fold)
        folds: dict[Any, list[Sketch]] = {}
        for key, sketch in self.collect().items():
            values = key if len(self.by) > 1 else (key,)
            others = values[:place] + values[place + 1 :]
            group = None if not others else others[0] if len(others) == 1 else others
            folds.setdefault(group, []).append(sketch)
        return {
            group: improvement_from_sketches(sketches, method=method, level=level, **options)
            for group, sketches in folds.items()
        }

    def where(self, condition: Column | str) -> Sketches:
        """The groups whose keys satisfy a condition, as of `DataFrame.where`."""
        held = self._found.held
        if held is None:
            return self._with(self._rows.where(condition), self._keys)
        chosen = keys_where(self._found.session, list(held), self._keys, condition)
        parts = list(held.items())
        return self._holding({parts[place][0]: [parts[place][1]] for place in chosen}, self._keys)

    def merged_by(self, *by: str) -> Sketches:
        """Sketches of fewer groups: those that agree in these of the columns are merged."""
        unknown = [name for name in by if name not in self.by]
        if unknown:
            raise input_error("wrong_column", f"by must be of {', '.join(self.by) or 'none'}, got {unknown[0]!r}")
        keys = tuple(key for name in by for key in self._keys if key.name == name)
        if self._found.held is not None:
            places = [self.by.index(name) for name in by]
            parts: dict[Key, list[bytes]] = {}
            for key, sketch in self._found.held.items():
                parts.setdefault(tuple(key[place] for place in places), []).append(sketch)
            return self._holding(parts, keys)
        return self._with(self._rows.select(*(column(key.name) for key in keys), SKETCH), keys)

    def _holding(self, parts: dict[Key, list[bytes]], keys: tuple[types.StructField, ...]) -> Sketches:
        return Sketches(held_by_the_driver(self._found.session, parts, keys), empty=self._empty)

    def _with(self, rows: DataFrame, keys: tuple[types.StructField, ...]) -> Sketches:
        return Sketches(gathered(_partials(rows, keys), keys), empty=self._empty)

    def measure(self, measure: str = "ls_ece", **options: Any) -> DataFrame:
        """The value of a measure for each group.

        Parameters
        ----------
        measure : str
            Any whose ``from_sketch`` in `calipers.measures` is not "nothing".
        **options
            Those of the method of that name. With ``sigma="auto"``, as without, each group has a
            sigma for its own number of rows.

        Returns
        -------
        pyspark.sql.DataFrame
            Keys, ``measure``, ``value``, ``numerical_bound``, ``settings`` as JSON, ``n``,
            ``n_left_out``, and ``error``: why a group has no value.
        """
        of_sketches = [each.name for each in measures() if each.from_sketch != "nothing"]
        if measure not in of_sketches:
            raise input_error("invalid_setting", f"measure must be one of {', '.join(of_sketches)}, got {measure!r}")
        self._try("measure", {"measure": measure, **options})
        return self._ask("measure", {"measure": measure, **options})

    @documented
    def assess(
        self,
        *,
        measure: str = "ls_ece",
        level: float = 0.95,
        n_resamples: int = 1000,
        method: Method = None,
        debias: Debias = "local",
        adjust: Adjust = "holm",
        random_state: int = 0,
        **options: Any,
    ) -> DataFrame:
        """Noise floor, p-value, interval and debiased value of a measure for each group.

        Parameters
        ----------
        measure : {"ls_ece", "residual_ls_ece", "expected_calibration_error"}
            The last with bins of equal width. Each group has a sigma for its own number of rows
            unless one is given for all.
        adjust : {"holm", "bh", "by"} or None
            How p-values are adjusted for the number of groups: ``p_adjusted``. Where a p-value is
            as small as `n_resamples` can show, there are more draws, so that it can be significant
            after adjustment.
        **options
            Those of the function of that name but for ``clip``: ``sigma``, ``noise``, ``link`` and
            ``tolerance`` for `calipers.ls_ece`, ``n_bins`` and so on for binned ECE.

        Returns
        -------
        pyspark.sql.DataFrame
            Keys, ``measure``, ``value``, ``numerical_bound``, ``floor``, ``p_value``,
            ``p_adjusted``, ``significant``, ``lower``, ``upper``, ``is_upper_limit``, ``debiased``,
            ``standard_error``, ``sentence``, ``settings`` as JSON, ``n``, ``n_left_out``, and
            ``error``. ``significant`` is that of a group by itself; for many groups, compare
            ``p_adjusted`` with 1 - level.
        """
        choices = {name: value for name, value in locals().items() if name not in ("self", "adjust", "options")}
        check_adjust(adjust)
        self._try("assess", {**choices, **options})
        if adjust is None:
            return self._ask("assess", {**choices, **options})
        choices["n_tests"] = max(1, self.n_groups)
        answers = self._ask("assess", {**choices, **options})
        return Adjusting(adjust, "p_value", "p_adjusted").applied(answers, self._n_tasks("assess"))

    @documented
    def sweep(self, *, bins: Sequence[int] | None = None, **options: Any) -> DataFrame:
        """ECE over numbers of bins beside LS-ECE over sigma, for each group.

        How much the bins decide.

        Parameters
        ----------
        **options
            Those of `calipers.Sketch.sweep`: ``noise``, ``link``, ``tolerance`` and
            ``random_state``.

        Returns
        -------
        pyspark.sql.DataFrame
            A row for each group and number of bins: keys, ``n_bins``, ``ece_uniform``,
            ``ece_uniform_bound``, ``ece_quantile``, ``ece_quantile_bound``, ``ls_ece``,
            ``ls_ece_bound``, and for the group as a whole ``verdict`` and ``sentence``, ``n``,
            ``n_left_out``, and ``error``.
        """
        asked = {"bins": None if bins is None else [int(n_bins) for n_bins in bins], **options}
        self._try("sweep", asked)
        return self._ask("sweep", asked)

    def write(
        self,
        path: str,
        *,
        mode: Literal["error", "overwrite", "append", "ignore"] = "error",
        format: str = "parquet",  # noqa: A002 (as Spark calls it)
        **options: Any,
    ) -> None:
        """Writes a row for each group, as `read` reads it.

        Parquet is read by the command and by `calipers.read_sketches`, too.

        Parameters
        ----------
        path : str
            A folder, wherever Spark can write.
        mode : {"error", "overwrite", "append", "ignore"}
            What happens if it is there; sketches that are appended are merged by whoever reads.
        format : str
            What Spark can write: ``"delta"`` for Delta Lake, where that is installed. For a table
            of a catalog use ``sketches.dataframe.write.saveAsTable(...)``.
        **options
            Those of the format, such as ``mergeSchema=True``.
        """
        # What the driver holds is one file: Spark would begin with an empty one where groups are
        # few.
        rows = self._rows if self._found.held is None else self._rows.coalesce(1)
        with clearly():
            rows.write.format(format).mode(mode).options(**options).save(path)

    def unpersist(self) -> None:
        """Lets Spark forget what it keeps of many groups.

        Asked again, it would read the rows again.
        """
        if self._found.kept is not None:
            self._found.kept.unpersist()

    def _n_tasks(self, question: str) -> int:
        return -(-self.n_groups // QUESTIONS[question].groups_of_a_task)

    def _try(self, question: str, options: dict[str, Any]) -> None:
        """Raises TypeError on the driver where an option is not one: no job is needed to say so."""
        try:
            Asking(question, options, ()).try_on(Sketch())
        except _core.CalipersError as error:
            if error.code not in ("no_rows", "no_valid_rows"):
                raise

    def _ask(self, question: str, options: dict[str, Any]) -> DataFrame:
        asking = Asking(question, options, tuple(self.by))
        values = [types.StructField(name, KINDS[kind]) for name, kind in asking.columns().items()]
        check_names(self.by, [question])
        rows = spread_over(self._rows, self._found.n_parts, self._n_tasks(question))
        return rows.mapInArrow(asking.stage(), types.StructType([*self._keys, *values]))


def _partials(rows: DataFrame, keys: tuple[types.StructField, ...]) -> DataFrame:
    """Keys and bytes -> partials, as the first stage has them: neighbours of one group merged."""
    return rows.mapInArrow(merging(keys).stage(), schema_of(keys))


def read(
    path: str | Sequence[str] | DataFrame,
    *,
    format: str = "parquet",  # noqa: A002 (as Spark calls it)
    session: SparkSession | None = None,
    **options: Any,
) -> Sketches:
    """The sketches that `Sketches.write`, the command or Python have written.

    Those of one group are merged.

    Parameters
    ----------
    path : str, sequence of str, or pyspark.sql.DataFrame
        Files or folders; where folders are named ``day=2026-01-31``, the day is a key. Or rows that
        Spark has read, such as ``session.table("sketches")``: a column ``sketch``, and keys.
    format : str
        What Spark can read, such as ``"delta"``.
    session : pyspark.sql.SparkSession, optional
        The active one, or a new one, unless given.
    **options
        Those of the format, such as ``versionAsOf=3``.

    Returns
    -------
    Sketches
    """
    if hasattr(path, "mapInArrow"):
        df = cast("DataFrame", path)
    else:
        paths = path if isinstance(path, str) else list(path)
        with clearly():
            df = (session or active_session()).read.format(format).options(**options).load(paths)
    # The folders of a stream tell its micro-batches apart, which are no groups.
    return of_rows(df.drop(*FOLDERS) if START in df.columns else df)


def of_rows(df: DataFrame) -> Sketches:
    """The sketches of a DataFrame: a binary column ``sketch``, all others being keys."""
    check_dataframe(df)
    kinds = {field.name: field.dataType for field in df.schema.fields}
    if not isinstance(kinds.get(SKETCH), types.BinaryType):
        shown = ", ".join(f"{name} {kind.simpleString()}" for name, kind in kinds.items())
        raise input_error("wrong_column", f"sketches must be in a binary column {SKETCH!r}, got {shown}")
    keys = tuple(key_field(df, name) for name in df.columns if name.lower() not in RESERVED)
    rows = df.select(*(column(key.name) for key in keys), SKETCH)
    return Sketches(gathered(_partials(rows, keys), keys))
