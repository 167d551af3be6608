"""The sweep over bins and sigma: how much of an ECE is the choice of bins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from calipers import _core
from calipers._documented import documented
from calipers._estimate import Estimate
from calipers._inputs import Compat, Link, Noise
from calipers._predictions import Outcomes, Probabilities, read
from calipers._progress import shown
from calipers._result import Result, html_table, html_text
from calipers._row_options import OneViewOptions, Unpack

Columns: TypeAlias = dict[str, NDArray[np.float64]]
Bins: TypeAlias = Sequence[int] | NDArray[np.integer[Any]] | None


@dataclass(frozen=True, eq=False, repr=False)
class _Swept(Result):
    """What sweeps of rows and of sketches have in common."""

    bins: NDArray[np.int64]
    ece_uniform: NDArray[np.float64]
    ls_ece: NDArray[np.float64]
    ls_ece_bounds: NDArray[np.float64]
    verdict: Literal["brittle", "stable", "undecided"]
    brittle_with: tuple[Literal["uniform", "quantile"], ...]
    sentence: str
    range_uniform: tuple[float, float] | None
    range_quantile: tuple[float, float] | None
    range_ls_ece: tuple[float, float] | None
    sampling_noise_uniform: float
    n: int
    settings: dict[str, Any]

    def _text(self, columns: Columns) -> str:
        rows = (
            f"{n_bins:>6}  " + "  ".join(f"{value:>15}" for value in row) for n_bins, *row in _table(self.bins, columns)
        )
        return "\n".join([f"{type(self).__name__}, {self.n:,} rows: {self.sentence}", *rows])


@documented
@dataclass(frozen=True, eq=False, repr=False)
class SweepResult(_Swept):
    """ECE over numbers of bins, LS-ECE over as many sigmas, and whether the first is brittle.

    Attributes
    ----------
    ece_quantile : array or None
        ECE with B bins of equal mass; None where `compat` names a tool that has none.
    smooth_ece : Estimate
        Smooth ECE, which has no bins.
    verdict : {"brittle", "stable", "undecided"}
        Undecided if fewer than two numbers of bins are from 10 to 100.
    jump : float
        By how much the ECE of the data would jump if equal probabilities were split.
    tied_ece : float
        The ECE of the data in which each distinct probability is a bin of its own.
    n_tied : int
        Rows that share their probability with another one.
    """

    ece_quantile: NDArray[np.float64] | None
    smooth_ece: Estimate
    sampling_noise_quantile: float | None
    jump: float
    tied_ece: float
    n_tied: int
    n_clipped: int
    _svg: str

    @property
    def brittle(self) -> bool | None:
        """Whether ECE is brittle; None if that is undecided."""
        return None if self.verdict == "undecided" else self.verdict == "brittle"

    def to_dict(self) -> dict[str, Any]:
        """Everything but the chart, with lists in place of arrays: as JSON takes it."""
        fields = {**super().to_dict(), "smooth_ece": float(self.smooth_ece), "brittle": self.brittle}
        return {name: value for name, value in fields.items() if name != "_svg"}

    def to_svg(self) -> str:
        """The chart: ECE as solid lines, LS-ECE as a dashed one, smECE as a dotted one."""
        return self._svg

    def _repr_svg_(self) -> str:
        return self._svg

    def _columns(self) -> Columns:
        """What stands beside the numbers of bins."""
        by_mass = {} if self.ece_quantile is None else {"ECE equal-mass": self.ece_quantile}
        return {"ECE equal-width": self.ece_uniform, **by_mass, "LS-ECE": self.ls_ece}

    def _repr_html_(self) -> str:
        header, *rows = _table(self.bins, self._columns())
        return html_text(self.sentence) + self._svg + html_table(header, rows)

    def __repr__(self) -> str:
        ties = f"{self.n_tied:,} rows tied, jump {self.jump:.6f} if split"
        return f"{self._text(self._columns())}\nsmECE {float(self.smooth_ece):.6f}; {ties}"


@documented
@dataclass(frozen=True, eq=False, repr=False)
class SketchSweep(_Swept):
    """The result of `Sketch.sweep`: a sweep without smooth ECE and ties, which need the rows.

    Attributes
    ----------
    ece_uniform_bounds : array
        How far cells that a bin divides leave ECE open: 0 where B was declared.
    ece_quantile : array
        ECE with B bins of equal mass.
    ece_quantile_bounds : array
        How far cells leave it open.
    verdict : {"brittle", "stable", "undecided"}
        Undecided if fewer than two numbers of bins are from 10 to 100; brittle only beyond what the
        bounds leave open.
    """

    ece_uniform_bounds: NDArray[np.float64]
    ece_quantile: NDArray[np.float64]
    ece_quantile_bounds: NDArray[np.float64]
    sampling_noise_quantile: float

    def __repr__(self) -> str:
        values = {"ECE equal-width": self.ece_uniform, "ECE equal-mass": self.ece_quantile, "LS-ECE": self.ls_ece}
        return self._text(values)


def _table(bins: NDArray[np.int64], columns: Columns) -> list[tuple[str, ...]]:
    rows = zip(*columns.values(), strict=True)
    return [
        ("bins", *columns),
        *((str(n_bins), *(f"{value:.6f}" for value in row)) for n_bins, row in zip(bins, rows, strict=True)),
    ]


@documented
def sweep(
    y_true: Outcomes,
    y_prob: Probabilities = None,
    *,
    bins: Bins = None,
    noise: Noise = "gaussian",
    link: Link = "logistic",
    tolerance: float = 1e-6,
    clip: float = 1e-6,
    compat: Compat = None,
    random_state: int = 0,
    progress: bool = False,
    **rows: Unpack[OneViewOptions],
) -> SweepResult:
    """ECE over numbers of bins beside LS-ECE over sigma: how much the choice of bins decides.

    Use it before you report a binned ECE: if the verdict is brittle, the value is one of the bins
    and not of the model.

    For each number of bins B: `expected_calibration_error` with B bins of equal width and of equal
    mass, and `ls_ece` at sigma = 1/B. From 10 to 100 bins, ECE is brittle if its range (greatest
    less least) exceeds that of LS-ECE over the same 1/sigma, and also twice the sampling noise: the
    mean range, over the same bins, that a perfectly calibrated model would get on the same data by
    chance alone (200 resamples).

    Parameters
    ----------
    random_state : int
        Seed of the sampling noise.

    Returns
    -------
    SweepResult
        Arrays over bins, the verdict and what it is made from.

    Notes
    -----
    Assumes independent rows, for the sampling noise alone.

    Cost: a sort, and O(n) for each number of bins and each sigma. Accuracy: every value is that of
    its own function.

    References
    ----------
    Section 5 of the paper of LS-ECE: see `ls_ece`.

    Examples
    --------
    Every prediction is 1/2, and every second outcome is 1. All bins agree, and splitting ties would
    change the value.

    >>> import calipers as cal
    >>> result = cal.sweep([0, 1, 0, 1], [0.5, 0.5, 0.5, 0.5], bins=[10, 20])
    >>> result.verdict, result.ece_uniform.tolist(), result.jump
    ('stable', [0.0, 0.0], 0.5)
    >>> result.to_svg()[:4]
    '<svg'
    """
    asked = read(sweep, y_true, y_prob, rows)
    options = {"noise": noise, "link": link, "tolerance": tolerance, "clip": clip, "compat": compat}
    with shown(progress, "sweep") as show:
        found = asked.ask(_core.sweep, bins=counts(bins), random_state=random_state, progress=show, **options)
    svg, of_rows = found.pop("svg"), found["smooth_ece"]["settings"]
    # The core has the options of the sweep, the estimate beside them those of the rows.
    settings = {**found["settings"], **{name: of_rows[name] for name in (*asked.options, "weighted")}}
    return SweepResult._of({**found, "settings": settings, "_svg": svg})


def counts(bins: Bins) -> Sequence[int] | None:
    """Numbers of bins as the core takes them."""
    return bins.tolist() if isinstance(bins, np.ndarray) else bins
