"""The sweep over bins and sigma: how much of an ECE is the choice of bins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from calipers import _core
from calipers._arrays import ArrayLike
from calipers._estimate import Estimate, from_dict
from calipers._inputs import Compat, Invalid, Link, Noise, OneView, PosLabel, Ties
from calipers._predictions import Rows
from calipers._progress import shown
from calipers._result import html_table, html_text


@dataclass(frozen=True, eq=False, repr=False)
class SweepResult:
    """ECE over numbers of bins, LS-ECE over as many sigmas, and whether the first is brittle.

    Attributes
    ----------
    bins : array of int
        The numbers of bins B, ascending.
    ece_uniform : array
        ECE with B bins of equal width.
    ece_quantile : array or None
        ECE with B bins of equal mass; None where `compat` names a tool that has none.
    ls_ece, ls_ece_bounds : array
        LS-ECE at sigma = 1/B, and bounds on its numerical error.
    smooth_ece : Estimate
        smECE, which has no bins.
    verdict : {"brittle", "stable", "undecided"}
        Undecided if fewer than two numbers of bins are from 10 to 100.
    brittle_with : tuple of {"uniform", "quantile"}
        The bins with which ECE is brittle.
    sentence : str
        The verdict with its reason.
    range_uniform, range_quantile, range_ls_ece : tuple or None
        Least and greatest of the three, over 10 to 100 bins.
    sampling_noise_uniform, sampling_noise_quantile : float
        The mean range of ECE that a perfectly calibrated model with these predictions would show.
    jump : float
        By how much ECE of the rows themselves would jump if equal probabilities were split.
    tied_ece : float
        ECE of the rows themselves, each distinct probability being a set of its own.
    n_tied : int
        Rows that share their probability with another one.
    n : int
        Rows.
    n_clipped : int
        Probabilities that LS-ECE moved off 0 or 1 so that their logit is finite.
    settings : dict
        The options that made it.
    """

    bins: NDArray[np.int64]
    ece_uniform: NDArray[np.float64]
    ece_quantile: NDArray[np.float64] | None
    ls_ece: NDArray[np.float64]
    ls_ece_bounds: NDArray[np.float64]
    smooth_ece: Estimate
    verdict: Literal["brittle", "stable", "undecided"]
    brittle_with: tuple[Literal["uniform", "quantile"], ...]
    sentence: str
    range_uniform: tuple[float, float] | None
    range_quantile: tuple[float, float] | None
    range_ls_ece: tuple[float, float] | None
    sampling_noise_uniform: float
    sampling_noise_quantile: float | None
    jump: float
    tied_ece: float
    n_tied: int
    n: int
    n_clipped: int
    settings: dict[str, Any]
    _svg: str

    @property
    def brittle(self) -> bool | None:
        """Whether ECE is brittle; None if that is undecided."""
        return None if self.verdict == "undecided" else self.verdict == "brittle"

    def to_dict(self) -> dict[str, Any]:
        """Everything but the chart, with lists in place of arrays: as JSON takes it."""

        def plain(value: object) -> object:
            if isinstance(value, np.ndarray):
                return value.tolist()
            if isinstance(value, tuple):
                return list(value)
            return float(value) if isinstance(value, Estimate) else value

        fields = {name: plain(value) for name, value in vars(self).items() if name != "_svg"}
        return {**fields, "brittle": self.brittle}

    def to_svg(self) -> str:
        """The chart: ECE as solid lines, LS-ECE as a dashed one, smECE as a dotted one."""
        return self._svg

    def _repr_svg_(self) -> str:
        return self._svg

    def _columns(self) -> list[tuple[str, NDArray[np.float64]]]:
        """What stands beside the numbers of bins."""
        columns = [("ECE equal-width", self.ece_uniform)]
        if self.ece_quantile is not None:
            columns.append(("ECE equal-mass", self.ece_quantile))
        return [*columns, ("LS-ECE", self.ls_ece)]

    def _repr_html_(self) -> str:
        columns = self._columns()
        rows = [
            (str(n_bins), *(f"{values[index]:.6f}" for _, values in columns)) for index, n_bins in enumerate(self.bins)
        ]
        return html_text(self.sentence) + self._svg + html_table(("bins", *(name for name, _ in columns)), rows)

    def __repr__(self) -> str:
        columns = self._columns()
        lines = [
            f"SweepResult, {self.n:,} rows: {self.sentence}",
            "  bins  " + "  ".join(f"{name:>15}" for name, _ in columns),
            *(
                f"{n_bins:>6}  " + "  ".join(f"{values[index]:>15.6f}" for _, values in columns)
                for index, n_bins in enumerate(self.bins)
            ),
            f"smECE {float(self.smooth_ece):.6f}; {self.n_tied:,} rows tied, jump {self.jump:.6f} if split",
        ]
        return "\n".join(lines)


@dataclass(frozen=True, eq=False, repr=False)
class SketchSweep:
    """What `Sketch.sweep` gives: the sweep, but for smECE and ties, which need the rows.

    Attributes
    ----------
    bins : array of int
        The numbers of bins B, ascending.
    ece_uniform, ece_uniform_bounds : array
        ECE with B bins of equal width, and how far cells that bins divide leave it open: nothing where B was declared.
    ece_quantile, ece_quantile_bounds : array
        The same with bins of equal mass.
    ls_ece, ls_ece_bounds : array
        LS-ECE at sigma = 1/B, and bounds on its numerical error.
    verdict : {"brittle", "stable", "undecided"}
        As for `SweepResult`, beyond what the bounds leave open.
    brittle_with : tuple of {"uniform", "quantile"}
        The bins with which ECE is brittle.
    sentence : str
        The verdict with its reason.
    range_uniform, range_quantile, range_ls_ece : tuple or None
        Least and greatest of the three, over 10 to 100 bins.
    sampling_noise_uniform, sampling_noise_quantile : float
        The mean range of ECE that a perfectly calibrated model with these predictions would show.
    n : int
        Rows.
    settings : dict
        The options that made it.
    """

    bins: NDArray[np.int64]
    ece_uniform: NDArray[np.float64]
    ece_uniform_bounds: NDArray[np.float64]
    ece_quantile: NDArray[np.float64]
    ece_quantile_bounds: NDArray[np.float64]
    ls_ece: NDArray[np.float64]
    ls_ece_bounds: NDArray[np.float64]
    verdict: Literal["brittle", "stable", "undecided"]
    brittle_with: tuple[Literal["uniform", "quantile"], ...]
    sentence: str
    range_uniform: tuple[float, float] | None
    range_quantile: tuple[float, float] | None
    range_ls_ece: tuple[float, float] | None
    sampling_noise_uniform: float
    sampling_noise_quantile: float
    n: int
    settings: dict[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """Everything, with lists in place of arrays: as JSON takes it."""
        return {name: value.tolist() if isinstance(value, np.ndarray) else value for name, value in vars(self).items()}

    def __repr__(self) -> str:
        columns = (self.ece_uniform, self.ece_quantile, self.ls_ece)
        lines = [
            f"SketchSweep, {self.n:,} rows: {self.sentence}",
            f"  bins  {'ECE equal-width':>15}  {'ECE equal-mass':>15}  {'LS-ECE':>15}",
            *(
                f"{n_bins:>6}  " + "  ".join(f"{values[index]:>15.6f}" for values in columns)
                for index, n_bins in enumerate(self.bins)
            ),
        ]
        return "\n".join(lines)


def sweep(
    y_true: ArrayLike,
    y_prob: ArrayLike,
    *,
    bins: Sequence[int] | NDArray[np.integer[Any]] | None = None,
    noise: Noise = "gaussian",
    link: Link = "logistic",
    tolerance: float = 1e-6,
    clip: float = 1e-6,
    compat: Compat = None,
    random_state: int = 0,
    progress: bool = False,
    sample_weight: ArrayLike | None = None,
    from_logits: bool = False,
    multiclass: OneView = None,
    ties: Ties = "first",
    pos_label: PosLabel = None,
    sum_tolerance: float = 1e-3,
    invalid: Invalid = "refuse",
) -> SweepResult:
    """ECE over numbers of bins beside LS-ECE over sigma: how brittle the figure is.

    For each number of bins B: `expected_calibration_error` with B bins of equal width and of equal mass, and
    `ls_ece` at sigma = 1/B. From 10 to 100 bins, ECE is brittle if its range (greatest less least) exceeds that of
    LS-ECE over the same 1/sigma, and also twice the sampling noise: the mean range, over the same bins, that a
    perfectly calibrated model with these very predictions would show (200 draws).

    Parameters
    ----------
    y_true, y_prob
        As for `ls_ece`, and so are the options that are not named here.
    bins : sequence of int, optional
        Numbers of bins; 1, 10, 20, ..., 100 unless given.
    noise, link, tolerance, clip
        As for `ls_ece`.
    compat : {None, "sklearn", "netcal", "torchmetrics", "relplot", "uncertainty-calibration"}
        Bin edges of another tool, as for `expected_calibration_error`.
    random_state : int
        Seed of the sampling noise.
    progress : bool
        Whether a line on standard error says how far it is.
    multiclass : {None, "top_class"} or int
        As for `ls_ece`, but for "classwise", which has a sweep for each class.

    Returns
    -------
    SweepResult
        Arrays over bins, the verdict and what it is made from.

    Notes
    -----
    Assumes independent rows, for the sampling noise alone.

    Cost: a sort, and O(n) for each number of bins and each sigma. Accuracy: every figure is that of its own function.

    References
    ----------
    Chidambaram, Lee, McSwiggen, Rezchikov, "How Flawed Is ECE? An Analysis via Logit Smoothing", 2024, section 5.

    Examples
    --------
    Every row says 1/2, and every second one is right: all bins agree, and splitting ties would change everything.

    >>> import calipers as cal
    >>> result = cal.sweep([0, 1, 0, 1], [0.5, 0.5, 0.5, 0.5], bins=[10, 20])
    >>> result.verdict, result.ece_uniform.tolist(), result.jump
    ('stable', [0.0, 0.0], 0.5)
    >>> result.to_svg()[:4]
    '<svg'
    """
    rows = Rows(y_true, y_prob, sample_weight, from_logits, multiclass, ties, pos_label, sum_tolerance, invalid)
    counts = bins.tolist() if isinstance(bins, np.ndarray) else bins
    options = {"noise": noise, "link": link, "tolerance": tolerance, "clip": clip, "compat": compat}
    with shown(progress, "sweep") as show:
        found = rows.ask(_core.sweep, bins=counts, random_state=random_state, progress=show, **options)
    smooth_ece = from_dict(found["smooth_ece"])
    # The core has the options of the sweep, the estimate beside them those of the rows.
    of_rows = ("multiclass", "ties", "from_logits", "pos_label", "sum_tolerance", "invalid", "weighted")
    settings = {**found["settings"], **{name: smooth_ece.settings[name] for name in of_rows}}
    return SweepResult(
        bins=found["bins"],
        ece_uniform=found["ece_uniform"],
        ece_quantile=found["ece_quantile"],
        ls_ece=found["ls_ece"],
        ls_ece_bounds=found["ls_ece_bounds"],
        smooth_ece=smooth_ece,
        verdict=found["verdict"],
        brittle_with=tuple(found["brittle_with"]),
        sentence=found["sentence"],
        range_uniform=found["range_uniform"],
        range_quantile=found["range_quantile"],
        range_ls_ece=found["range_ls_ece"],
        sampling_noise_uniform=found["sampling_noise_uniform"],
        sampling_noise_quantile=found["sampling_noise_quantile"],
        jump=found["jump"],
        tied_ece=found["tied_ece"],
        n_tied=found["n_tied"],
        n=found["n"],
        n_clipped=found["n_clipped"],
        settings=settings,
        _svg=found["svg"],
    )
