"""Recalibration maps: fitted to rows, applied to new ones, and kept in files."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from calipers import _core
from calipers._arrays import ArrayLike
from calipers._assess import Clusters
from calipers._curve import points
from calipers._documented import documented
from calipers._errors import coded_error
from calipers._fitted import ProbabilityIntervals, RecalibrationCurve
from calipers._fitted_map import FittedMap
from calipers._inputs import (
    Between,
    Columns,
    Dialect,
    GroupsOfRows,
    NumberedGroups,
    Options,
    cluster_column,
    group_column,
    group_name,
    score_column,
)
from calipers._predictions import Outcomes, Predictions, Probabilities, Rows, check_keywords, read
from calipers._result import plain
from calipers._row_options import MAP_DEFAULTS, ROW_DEFAULTS, FitOptions, Unpack

if TYPE_CHECKING:
    from calipers._core import _Remarks

R = TypeVar("R", bound="Recalibrator")


@documented
class Recalibrator(FittedMap):
    """A map that repairs probabilities: fitted to rows with outcomes, then applied to new rows.

    Use it where `improvement` says that recalibration helps. Fit it to rows that the model was not
    trained on. Formulas minimise the mean log-loss with a ridge toward the identity:

        J(θ) = Σ ω log-loss(θ) + (ridge / n) |θ - identity|²

    with ω the weights over their sum. Every fit proves how far it is from the minimum at most
    (``bound``). What has no finite solution is an error, and never the identity in its place.

    Attributes
    ----------
    method, ridge, mixture, clip, between, n_bins, counts, one_vs_rest, from_logits
        The options, as they were given.

    Raises
    ------
    CalipersError
        For invalid options, when `fit` is called.

    References
    ----------
    Cox, "Two further applications of a model for binary regression", Biometrika 45, 1958 and Platt
    1999 (logistic); Kull, Silva Filho, Flach, "Beta calibration", AISTATS 2017; Guo, Pleiss, Sun,
    Weinberger, "On calibration of modern neural networks", ICML 2017 (temperature).

    Examples
    --------
    A forecast of 3/4 came true in two of three cases, one of 1/4 in one of three:

    >>> import calipers as cal
    >>> y, p = [1, 1, 0, 1, 0, 0], [0.75, 0.75, 0.75, 0.25, 0.25, 0.25]
    >>> recalibrator = cal.Recalibrator("temperature").fit(y, p)
    >>> recalibrator.predict_proba([0.75, 0.25, 0.9]).round(6).tolist()
    [0.666667, 0.333333, 0.8]
    >>> recalibrator
    Recalibrator: temperature, fitted to 6 rows
      slope     0.63093 ± 0.78829
      log-loss  0.653886 before, 0.636514 after (in sample)
      Few rows of the rarer outcome (3): 0 % of the information comes from the ridge.
      The number of different scores is 2: the map is known there, and a guess between them.
    """

    def __init__(
        self,
        method: str = "auto",
        *,
        ridge: float | None = None,
        mixture: float | None = None,
        clip: float = 1e-12,
        between: Between = "line",
        n_bins: int = 10,
        counts: bool = False,
        one_vs_rest: bool = False,
        from_logits: bool = False,
    ) -> None:
        self.method = method
        self.ridge = ridge
        self.mixture = mixture
        self.clip = clip
        self.between = between
        self.n_bins = n_bins
        self.counts = counts
        self.one_vs_rest = one_vs_rest
        self.from_logits = from_logits
        self._held = None
        self._remarks = {"notes": [], "n_clipped": None, "left_out": {}}

    @documented
    def fit(
        self: R,
        y_true: Outcomes,
        y_prob: Probabilities = None,
        *,
        cluster: Clusters = None,
        groups: GroupsOfRows = None,
        **rows: Unpack[FitOptions],
    ) -> R:
        """Fits the map to rows, in place of any former fit.

        With `groups`, each group has a map of its own, drawn to the pooled one as far as the rows
        say:

            J = Σ ω log-loss(β_g) + (1/n) (ridge |θ - identity|² + Σ_gj (β_gj - θ_j)² / 2 τ_j²)

        τ, how much maps differ among groups, is estimated from the rows by restricted maximum
        likelihood. A group of few rows has nearly the pooled map θ, one of many rows its own, and
        one that is not known gets θ. The method is "shift", "temperature", "platt" or "beta";
        "auto" is "beta".

        Parameters
        ----------
        groups : array-like of shape (n,), optional
            The group of each row, as text or numbers; a missing value is a group, too.

        Returns
        -------
        Recalibrator
            Itself.
        """
        return self._fit(self._rows(Recalibrator.fit, y_true, y_prob, rows), cluster, groups)

    def predict_proba(
        self, y_prob: ArrayLike, *, groups: GroupsOfRows = None, sum_tolerance: float = 0.02
    ) -> NDArray[np.float64]:
        """Recalibrated probabilities of new rows, in the shape of those that are given.

        Parameters
        ----------
        y_prob : array-like of shape (n,), (n, 2) or (n, k)
            Probabilities of outcome 1 or of each class, or raw scores if the recalibrator has
            `from_logits`. A map of a binary outcome takes one or two columns.
        groups : array-like of shape (n,), optional
            The group of each row, for a recalibrator that was fitted by group; one that it does not
            know gets the pooled map.
        sum_tolerance : float
            How far the sum of a row of class probabilities may be from 1.

        Returns
        -------
        array of shape (n,), (n, 2) or (n, k)
            Doubles. Equal rows get equal values, whatever stands beside them.
        """
        columns, options = self._scores(y_prob, sum_tolerance)
        return self._map().apply(columns, options, self._groups_of(groups)).reshape(columns.scores.shape)

    def transform(
        self, y_prob: ArrayLike, *, groups: GroupsOfRows = None, sum_tolerance: float = 0.02
    ) -> NDArray[np.float64]:
        """The same as `predict_proba`.

        Parameters
        ----------
        y_prob : array-like of shape (n,), (n, 2) or (n, k)
            Probabilities, or raw scores if the recalibrator has `from_logits`.
        groups : array-like of shape (n,), optional
            The group of each row, for a recalibrator that was fitted by group.
        sum_tolerance : float
            How far the sum of a row of class probabilities may be from 1.
        """
        return self.predict_proba(y_prob, groups=groups, sum_tolerance=sum_tolerance)

    def predict_interval(self, y_prob: ArrayLike, *, sum_tolerance: float = 0.02) -> ProbabilityIntervals:
        """Recalibrated probabilities of outcome 1 with intervals, for the method "venn_abers".

        Its ends are the probabilities that isotonic regression would give if the outcome of the row
        were known to be 0 or 1. One of them is calibrated, whatever the model and the number of
        rows, if rows are independent.

        Parameters
        ----------
        y_prob : array-like of shape (n,) or (n, 2)
            Probabilities, or raw scores if the recalibrator has `from_logits`.
        sum_tolerance : float
            How far the sum of a row of class probabilities may be from 1.
        """
        return ProbabilityIntervals._of(self._map().intervals(*self._scores(y_prob, sum_tolerance)))

    def to_sql(
        self, column: str, *, by: str | None = None, dialect: Dialect = "ansi", from_logits: bool | None = None
    ) -> str:
        """The map of a binary outcome as an SQL expression, null where the column is null.

        Its values differ from those of `predict_proba` by at most 1e-12. Where a map jumps, a logit
        within 1e-12 of the knot is taken to be on it.

        Parameters
        ----------
        column : str
            The column of probabilities of outcome 1, or of logits. It is quoted.
        by : str, optional
            The column of groups, for a recalibrator that was fitted by group; the one that its file
            names unless given.
        dialect : {"ansi", "spark"}
            How names are quoted: ``"column"`` (DuckDB, PostgreSQL, SQLite, Snowflake, Trino) or
            ```column``` (Spark, Databricks, BigQuery, MySQL).
        from_logits : bool, optional
            Whether the column has logits; as of the recalibrator unless given.

        Examples
        --------
        >>> import calipers as cal
        >>> y, p = [1, 1, 0, 1, 0, 0], [0.75, 0.75, 0.75, 0.25, 0.25, 0.25]
        >>> cal.recalibrate(y, p, method="temperature").to_sql("h", from_logits=True)[:20]
        '(exp(5e-1 * ((6.3092'
        """
        scale = self.from_logits if from_logits is None else from_logits
        return self._map().to_sql(column, {"dialect": dialect, "from_logits": scale, "by": by})

    def curve(self, at: ArrayLike | None = None, *, level: float = 0.95) -> RecalibrationCurve:
        """The map of a binary outcome as a curve, with a pointwise band by the delta method.

        Parameters
        ----------
        at : array-like of shape (m,), optional
            Probabilities, also if the recalibrator has `from_logits`; 201 equally spaced ones
            unless given.
        level : float
            Level of the band: each interval holds its value in a share `level` of samples, all
            together in fewer.
        """
        return RecalibrationCurve._of(self._map().curve(points(at), level))

    def to_json(self, path: str | PathLike[str] | None = None) -> str:
        """The map as JSON, which other languages can evaluate.

        It has the formula, the parameters and values to check an evaluator with, what is known
        about the fit and, for a map of `improvement`, the gain. Notes are not part of it.

        Parameters
        ----------
        path : path-like, optional
            A file that gets the text: whole, or not at all.
        """
        text = self._map().to_json()
        if path is not None:
            write_whole(Path(path), text)
        return text

    @classmethod
    def from_json(cls: type[R], source: str | PathLike[str], *, from_logits: bool = False) -> R:
        """The recalibrator of a JSON text, or of a file of it.

        Parameters
        ----------
        source : str or path-like
            The text, which begins with ``{``, or the path of a file.
        from_logits : bool
            Whether `predict_proba` shall get raw scores. A map is for both.
        """
        is_text = isinstance(source, str) and source.lstrip().startswith("{")
        text = source if is_text else Path(source).read_text(encoding="utf-8")
        held = _core.Recalibration.from_json(cast("str", text))
        facts = held.facts()
        found = cls(facts["method"], ridge=facts["ridge"], mixture=facts["mixture"], clip=facts["clip"])
        found.from_logits, found._held = from_logits, held
        return found

    def of_group(self: R, group: object) -> R:
        """The recalibrator of one group alone, of one that was fitted by group.

        Parameters
        ----------
        group : str or number
            Its name. One that is not known has the pooled map.
        """
        found = type(self)(self.chosen, ridge=self.ridge, mixture=self.mixture, clip=self.clip)
        found.from_logits, found._held = self.from_logits, self._map().of_group(group_name(group))
        return found

    def to_dict(self) -> dict[str, Any]:
        """The options and all that is known about the fit as plain Python objects."""
        options = {**self._options(), "from_logits": self.from_logits}
        return {**options, "fit": None if self._held is None else plain({**self._facts(), **self._remarks})}

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_held": None if self._held is None else self._held.to_json()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        held = state["_held"]
        vars(self).update({**state, "_held": None if held is None else _core.Recalibration.from_json(held)})

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Recalibrator) or self.from_logits != other.from_logits:
            return False
        if self._held is None or other._held is None:
            return self._held is other._held and self._options() == other._options()
        return self._held.to_json() == other._held.to_json()

    # It changes.
    __hash__ = None  # type: ignore[assignment]

    def _options(self) -> dict[str, Any]:
        """Those of the map."""
        return {name: getattr(self, name) for name in ("method", *MAP_DEFAULTS)}

    def _rows(self, function: Any, y_true: Outcomes, y_prob: Probabilities, rows: Mapping[str, object]) -> Rows:
        """The rows of a call of `function`, which must be of the scale that this one is for."""
        if not isinstance(y_true, Predictions):
            check_keywords(function, rows)
            found = Rows(y_true, cast("ArrayLike", y_prob), {**rows, "from_logits": self.from_logits})
        else:
            found = read(function, y_true, y_prob, rows)
            theirs = found.options["from_logits"]
            if theirs != self.from_logits:
                text = f"from_logits must be that of the Predictions, {theirs}, got {self.from_logits}"
                raise coded_error("invalid_setting", text)
        return found.without_question()

    def _fit(self: R, rows: Rows, cluster: Clusters, groups: GroupsOfRows) -> R:
        of_rows = {"cluster": cluster_column(cluster), "groups": group_column(groups)}
        return self._fitted(*rows.ask(_core.Recalibration.fit, **self._options(), **of_rows))

    def _groups_of(self, groups: GroupsOfRows) -> NumberedGroups | None:
        """The groups of rows, which must be given where each has a map of its own, and else not."""
        if (self._map().groups() is None) != (groups is None):
            rule = "left out, since there is one map for all" if groups is not None else "given, as the map was fitted"
            raise coded_error("invalid_setting", f"groups must be {rule}")
        return group_column(groups)

    def _fitted(self: R, held: _core.Recalibration, remarks: _Remarks) -> R:
        self._held, self._remarks = held, remarks
        return self

    def _scores(self, y_prob: ArrayLike, sum_tolerance: float) -> tuple[Columns, Options]:
        """Scores without outcomes, and how they are read."""
        scores, missing = score_column(y_prob, self.from_logits)
        # The core checks rows with their labels; any will do here.
        labels = np.zeros(len(scores), np.uint8)
        columns = Columns(labels, None, None, scores, None, None, missing, None)
        return columns, {**ROW_DEFAULTS, "from_logits": self.from_logits, "sum_tolerance": sum_tolerance}


def write_whole(path: Path, text: str) -> None:
    """The text as a file: whole, or not at all."""
    with tempfile.NamedTemporaryFile("w", encoding="utf-8", dir=path.parent, prefix=path.name, delete=False) as part:
        try:
            part.write(text)
            part.close()
            os.replace(part.name, path)
        except BaseException:
            part.close()
            os.unlink(part.name)
            raise
