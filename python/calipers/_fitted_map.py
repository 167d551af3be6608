"""What is known about a fitted map, and how it is printed."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from calipers import _core
from calipers._errors import coded_error
from calipers._fitted import FitBound, GroupMap
from calipers._result import html_table, html_text

if TYPE_CHECKING:
    from calipers._core import _FitFacts, _Remarks

# Maps with more parameters than this print the first of them.
MOST_PARAMETERS_SHOWN = 12


class FittedMap:
    """The half of `Recalibrator` that reports what its map is, once there is one."""

    method: str
    _held: _core.Recalibration | None
    _remarks: _Remarks

    @property
    def fingerprint(self) -> str:
        """16 hexadecimal digits that are the same for equal maps."""
        return self._map().fingerprint()

    @property
    def formula(self) -> str:
        """The map in words that a program can be written from."""
        return self._map().formula()

    @property
    def is_fitted(self) -> bool:
        """Whether there is a map."""
        return self._held is not None

    @property
    def chosen(self) -> str:
        """The family of the fitted map: `method`, or what "auto" has chosen."""
        return self._facts()["method"]

    @property
    def n_classes(self) -> int:
        """How many classes the map is for; 2 for a binary outcome."""
        return self._map().n_classes()

    @property
    def classes(self) -> list[str] | None:
        """The names of the classes, in the order of the columns; None where labels are numbers."""
        return self._map().labels()

    @property
    def parameters(self) -> dict[str, float | NDArray[np.float64]]:
        """The parameters of the map by their names; none of a map that is a table.

        Maps of classes have arrays: one number for each class, or a row of them.
        """
        return self._facts()["parameters"]

    @property
    def standard_errors(self) -> dict[str, float | NDArray[np.float64] | None]:
        """Standard errors of the parameters, by the sandwich formula.

        None where a constraint holds the parameter, or where it is not known; NaN in arrays.
        """
        return self._facts()["standard_errors"]

    @property
    def groups(self) -> dict[str, GroupMap] | None:
        """The map of each group by its name; None unless it was fitted by group.

        Those above are then what the groups have in common: the map of a group that is not known.
        """
        groups = self._map().groups()
        return None if groups is None else {each["name"]: GroupMap._of(each) for each in groups}

    @property
    def spread(self) -> dict[str, float] | None:
        """How much each parameter differs among groups: a standard deviation.

        None unless it was fitted by group.
        """
        return self._map().spread()

    @property
    def bound(self) -> FitBound | None:
        """How far the parameters are from the optimum at most; 0 for tables, which are exact.

        None for a file without a fit, as are the numbers of rows and the log-losses.
        """
        bound = self._facts()["bound"]
        return None if bound is None else FitBound._of(bound)

    @property
    def log_loss_before(self) -> float | None:
        """Mean log-loss of the fitted rows before recalibration."""
        return self._facts()["log_loss_before"]

    @property
    def log_loss_after(self) -> float | None:
        """Mean log-loss of the fitted rows after recalibration.

        This is in sample, so it is lower than that of new rows; `improvement` estimates the latter.
        """
        return self._facts()["log_loss_after"]

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader should know about the fit, in sentences."""
        self._map()
        return tuple(self._remarks["notes"])

    @property
    def n(self) -> int | None:
        """Rows that it was fitted to."""
        return self._facts()["n"]

    @property
    def n_clipped(self) -> int | None:
        """Probabilities of 0 and 1 that were clipped for the fit; None for a map from a file."""
        self._map()
        return self._remarks["n_clipped"]

    @property
    def left_out(self) -> dict[str, int]:
        """Rows that ``invalid="count"`` left out, by kind."""
        self._map()
        return self._remarks["left_out"]

    def _map(self) -> _core.Recalibration:
        if self._held is None:
            raise coded_error("not_fitted", "the Recalibrator must be fitted first: call fit(y_true, y_prob)")
        return self._held

    def _facts(self) -> _FitFacts:
        return self._map().facts()

    def _lines(self) -> list[tuple[str, str]]:
        """What is below the first line of a printed recalibrator."""
        facts = self._facts()
        lines = []
        for name, value in facts["parameters"].items():
            error = facts["standard_errors"][name]
            values, errors = np.ravel(value), np.ravel(np.nan if error is None else error)
            names = [name] if values.size == 1 else [f"{name}[{place}]" for place in np.ndindex(np.shape(value))]
            lines += [
                (each.replace("(", "").replace(",)", "").replace(")", ""), f"{own:.6g}" + _plus_minus(known))
                for each, own, known in zip(names, values.tolist(), errors.tolist(), strict=True)
            ]
        if len(lines) > MOST_PARAMETERS_SHOWN:
            others = len(lines) - MOST_PARAMETERS_SHOWN
            lines[MOST_PARAMETERS_SHOWN:] = [("...", f"{others:,} more in .parameters")]
        before, after = facts["log_loss_before"], facts["log_loss_after"]
        own = self._map().groups()
        if own is not None:
            lines.append(("groups", f"{len(own):,}, each with a map of its own in .groups"))
        if before is not None and after is not None:
            lines.append(("log-loss", f"{before:.6g} before, {after:.6g} after (in sample)"))
        return lines

    def _title(self) -> str:
        facts = self._facts()
        chosen = facts["method"] if self.method == facts["method"] else f"{facts['method']} ({self.method})"
        return f"Recalibrator: {chosen}" + ("" if facts["n"] is None else f", fitted to {facts['n']:,} rows")

    def __repr__(self) -> str:
        if self._held is None:
            return f"Recalibrator({self.method!r}), not fitted"
        lines = self._lines()
        width = max((len(name) for name, _ in lines), default=0)
        return "\n".join(
            [self._title(), *(f"  {name:<{width}}  {text}" for name, text in lines), *(f"  {x}" for x in self.notes)]
        )

    def _repr_html_(self) -> str:
        if self._held is None:
            return html_text(repr(self))
        notes = html_text("\n".join(self.notes)) if self.notes else ""
        return html_text(self._title()) + html_table((), self._lines()) + notes


def _plus_minus(error: float) -> str:
    return "" if math.isnan(error) else f" ± {error:.6g}"
