"""The reliability diagram: how often it happened, against how often it was said to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calipers import _core
from calipers._binned import expected_calibration_error
from calipers._cumulative import CumulativeCurve
from calipers._curve import Band, Bin, IsotonicCurve, LsCurve
from calipers._displays import _canvas as canvas
from calipers._displays._estimator import OfEstimator
from calipers._documented import documented
from calipers._inputs import Link, NBins, Noise, Strategy
from calipers._predictions import Outcomes, Probabilities, read
from calipers._row_options import OneViewOptions, Unpack
from calipers._smoothed import ls_ece

if TYPE_CHECKING:
    from matplotlib.axes import Axes
# Unions of words, since stubtest takes an alias of one Literal with several for no union at all.
Kind: TypeAlias = Literal["smoothed"] | Literal["binned"] | Literal["corp"]
BandChoice: TypeAlias = Literal["auto", "consistency", "confidence"] | None
Curve: TypeAlias = LsCurve | IsotonicCurve | Sequence[Bin]

_DIAGONAL = "calipers-diagonal"
_DIAGONAL_TEXT = "observed = predicted"
_SHARES_TEXT = "calipers-shares-text"
# The strip of the predictions, below the rates: from its floor up to the height of its highest bar.
_FLOOR, _CEILING = -0.28, -0.1
# A smoothed curve is drawn where the density is at least this; it is 1 where predictions are spread
# evenly.
_LEAST_DENSITY = 0.01
# A piece of a curve that is narrower than this is a dot.
_DOT = 0.02


class Shares(NamedTuple):
    """The predictions as bars: edges, and the share of the weight between them."""

    edges: NDArray[np.float64]
    shares: NDArray[np.float64]


class ReliabilityDisplay(OfEstimator):
    """Reliability diagram: the outcome rate at each predicted probability.

    Use it to see at which probabilities a model is miscalibrated, and in which direction. Bars
    below the curve show where predictions are.

    On the diagonal, what is predicted with 30% happens in 30% of cases. Below it predictions are
    too high, above it too low. The curve is one of three kinds: `ls_curve` (smoothed on the scale
    of the logits; its mean gap is LS-ECE), `corp_curve` (isotonic), or the points of
    `calibration_bins`. The shaded band is where the curve of a calibrated model with these
    predictions would lie, place by place; for bins it is drawn as bars.

    Use `from_predictions` or `from_estimator`.

    Parameters
    ----------
    curve : LsCurve, IsotonicCurve or list of Bin
        What is drawn.
    band : Band, optional
        How far chance takes each bin; the other curves have a band of their own.
    shares : tuple of two arrays, optional
        Edges and shares of the predictions between them, for the bars below.
    estimate : float, optional
        LS-ECE, miscalibration or ECE, for the legend.
    name : str, optional
        What the legend calls it.

    Notes
    -----
    A smoothed curve is drawn where the density of smoothed predictions is at least 1/100 of an even
    spread. Its band may leave the diagonal where noise is wide: smoothing moves predictions, those
    of a calibrated model, too.

    References
    ----------
    Chidambaram, Lee, McSwiggen, Rezchikov, "How Flawed Is ECE? An Analysis via Logit Smoothing",
    2024 (smoothed); Dimitriadis, Gneiting, Jordan, "Stable reliability diagrams for probabilistic
    classifiers", PNAS 118, 2021 (corp); Bröcker, Smith, "Increasing the reliability of reliability
    diagrams", Weather and Forecasting 22, 2007 (bands).

    Examples
    --------
    >>> import calipers as cal
    >>> y_true, y_prob = [0, 1, 1], [0.2, 0.2, 0.9]
    >>> display = cal.ReliabilityDisplay.from_predictions(y_true, y_prob, kind="binned", n_bins=2)
    >>> display.curve[0].outcome_rate, round(display.estimate, 12)
    (0.5, 0.233333333333)
    >>> display.ax_.get_ylabel()
    'Observed frequency'
    """

    def __init__(
        self,
        curve: Curve,
        *,
        band: Band | None = None,
        shares: tuple[ArrayLike, ArrayLike] | None = None,
        estimate: float | None = None,
        name: str | None = None,
    ) -> None:
        self.curve = curve
        self.band = curve.band if isinstance(curve, (LsCurve, IsotonicCurve)) else band
        self.shares = None if shares is None else _shares(*shares)
        self.estimate = estimate
        self.name = name

    @classmethod
    @documented
    def from_predictions(
        cls,
        y_true: Outcomes,
        y_prob: Probabilities = None,
        *,
        kind: Kind = "smoothed",
        band: BandChoice = "auto",
        level: float = 0.95,
        n_resamples: int = 999,
        random_state: int = 0,
        sigma: float | Literal["auto"] = "auto",
        noise: Noise = "gaussian",
        n_bins: NBins = 15,
        strategy: Strategy = "uniform",
        link: Link = "logistic",
        name: str | None = None,
        ax: Axes | None = None,
        color: str | None = None,
        **rows: Unpack[OneViewOptions],
    ) -> ReliabilityDisplay:
        """Compute the curve of these predictions and draw it.

        Parameters
        ----------
        kind : {"smoothed", "binned", "corp"}
            Which curve.
        band : {"auto", "consistency", "confidence"} or None
            "consistency": where the curve of a calibrated model would lie. "confidence", for "corp"
            alone: where the true rates may lie. "auto" is "consistency", but nothing for bins of
            weighted rows, which have no band.
        level : float
            Of the band, at each place.
        """
        if kind not in ("smoothed", "binned", "corp"):
            raise ValueError(f"kind must be 'smoothed', 'binned' or 'corp', got {kind!r}")
        possible = ("consistency", "confidence") if kind == "corp" else ("consistency",)
        if band not in ("auto", None, *possible):
            raise ValueError(f"band of kind {kind!r} must be {_listed('auto', None, *possible)}, got {band!r}")
        predictions = read(ReliabilityDisplay.from_predictions, y_true, y_prob, rows)
        if kind == "binned" and predictions.columns.weights is not None:
            if band == "consistency":
                raise ValueError("band of kind 'binned' must be 'auto' or None with sample_weight, got 'consistency'")
            band = None
        drawn = {"level": level, "n_resamples": n_resamples, "random_state": random_state}
        with_band: dict[str, Any] = {"band": "consistency" if band == "auto" else band, **drawn}
        curve: Curve
        if kind == "binned":
            binned = {"n_bins": n_bins, "strategy": strategy, "norm": "l1", "compat": None, "link": link}
            curve = [Bin(*row) for row in predictions.ask(_core.calibration_bins, **binned)]
            error: float = predictions.estimate(expected_calibration_error.__name__, **binned)
            drawn_band = None if band is None else _band_of_bins(curve, level, n_resamples, random_state)
            return cls(curve, band=drawn_band, estimate=error, name=name).plot(ax=ax, color=color)
        walk = CumulativeCurve._of(predictions.ask(_core.cumulative_curve, link=link))
        if kind == "smoothed":
            smoothing = {"sigma": sigma, "noise": noise, "link": link, "tolerance": 1e-6, "clip": 1e-6}
            error = predictions.estimate(ls_ece.__name__, **smoothing)
            at = _places(walk, error.settings["sigma"])
            curve = LsCurve._of(predictions.ask(_core.ls_curve, at=at, **smoothing, **with_band))
        else:
            error = predictions.ask(_core.corp, score="brier", link=link)["miscalibration"]
            curve = IsotonicCurve._of(predictions.ask(_core.corp_curve, link=link, **with_band))
        shares, edges = np.histogram(walk.probabilities[1:], bins=50, range=(0.0, 1.0), weights=np.diff(walk.shares))
        return cls(curve, shares=(edges, shares), estimate=error, name=name).plot(ax=ax, color=color)

    @documented
    def plot(self, *, ax: Axes | None = None, name: str | None = None, color: str | None = None) -> ReliabilityDisplay:
        """Draw the diagram; further displays may be drawn on the same axes."""
        own = ax is None
        ax, beside = canvas.axes_for(ax)
        color = canvas.free_colors(ax, 1)[0] if color is None else color
        if not canvas.marked(ax, _DIAGONAL):
            _draw_frame(ax, square=own)
        name = self.name if name is None else name
        curve = self.curve
        if isinstance(curve, LsCurve):
            text = self._label(name, "LS-ECE", "smoothed on logits")
            _draw_smoothed(ax, curve, color, text)
        elif isinstance(curve, IsotonicCurve):
            text = self._label(name, "miscalibration", "isotonic (CORP)")
            _draw_isotonic(ax, curve, color, text)
        else:
            text = self._label(name, "ECE", f"{len(curve)} bins")
            _draw_bins(ax, curve, self.band, color, text)
        if self.shares is not None:
            _draw_shares(ax, self.shares, color, f"Predictions, highest bar {canvas.percent(self.shares.shares.max())}")
        elif not isinstance(curve, (LsCurve, IsotonicCurve)):
            most = max(each.n for each in curve)
            weights = [each.weight for each in curve]
            _draw_shares(ax, _shares(_edges(curve), weights), color, f"Rows by bin, at most {most:,}")
        canvas.draw_legend(ax, beside, last=(*([] if self.band is None else [_band_text(self.band)]), _DIAGONAL_TEXT))
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _label(self, name: str | None, measure: str, otherwise: str) -> str:
        return canvas.label(
            name, otherwise if self.estimate is None else f"{measure} {canvas.value_text(self.estimate)}"
        )


def _draw_frame(ax: Axes, square: bool) -> None:
    """Axes, diagonal and labels: what all curves have in common."""
    (diagonal,) = ax.plot(
        [0, 1], [0, 1], color=canvas.REFERENCE, linewidth=1.0, linestyle="--", zorder=2, label=_DIAGONAL_TEXT
    )
    canvas.mark(diagonal, _DIAGONAL)
    canvas.plain_frame(ax)
    if square:
        ax.set_aspect("equal")
    ax.set_xlim(-0.02, 1.02)
    ax.set_ylim(_FLOOR, 1.03)
    ticks = np.linspace(0.0, 1.0, 6)
    ax.set_xticks(ticks)
    ax.set_yticks(ticks)
    ax.set_xlabel("Predicted probability")
    ax.set_ylabel("Observed frequency")


def _draw_smoothed(ax: Axes, curve: LsCurve, color: str, text: str) -> None:
    """The curve where there are predictions; where they are all in one place, a dot."""
    x = curve.probabilities
    shown = (curve.densities >= _LEAST_DENSITY) & np.isfinite(curve.outcome_rates)
    rates = np.where(shown, curve.outcome_rates, np.nan)
    (line,) = ax.plot(x, rates, color=color, linewidth=2.2, solid_capstyle="round", label=text, zorder=4)
    canvas.mark(line)
    edges = np.flatnonzero(np.diff(shown, prepend=False, append=False))
    for start, end in zip(edges[::2], edges[1::2], strict=True):
        if x[end - 1] - x[start] < _DOT:
            middle = start + int(np.argmax(curve.densities[start:end]))
            ax.plot(x[middle], rates[middle], "o", color=color, markersize=7, zorder=4)
    if curve.band is not None:
        # Gaps between pieces of the curve stay open.
        lower, upper = np.where(shown, (curve.band.lower, curve.band.upper), np.nan)
        _draw_band(ax, x, lower, upper, curve.band, color)


def _draw_isotonic(ax: Axes, curve: IsotonicCurve, color: str, text: str) -> None:
    """Levels, joined by straight lines; distinct probabilities as dots where they are few."""
    x, rates = curve.probabilities, curve.outcome_rates
    # Of a level its two ends.
    ends = np.diff(rates, prepend=np.nan) != 0
    corners = ends | np.append(ends[1:], True)
    (line,) = ax.plot(x[corners], rates[corners], color=color, linewidth=2.2, label=text, zorder=4)
    canvas.mark(line)
    if x.size <= 30:
        ax.plot(x, rates, "o", color=color, markersize=6, zorder=4)
    if curve.band is not None:
        kept = canvas.thinned(x)
        _draw_band(ax, x[kept], curve.band.lower[kept], curve.band.upper[kept], curve.band, color)


def _draw_band(
    ax: Axes,
    x: NDArray[np.float64],
    lower: NDArray[np.float64],
    upper: NDArray[np.float64],
    band: Band,
    color: str,
) -> None:
    """Where chance takes the curve; over a single place, a bar."""
    there = np.flatnonzero(np.isfinite(lower))
    if there.size and x[there[-1]] - x[there[0]] < _DOT:
        middle = (x[there[0]] + x[there[-1]]) / 2
        x = np.array([middle - _DOT / 2, middle + _DOT / 2])
        lower, upper = np.full(2, np.nanmin(lower)), np.full(2, np.nanmax(upper))
    ax.fill_between(x, lower, upper, color=color, alpha=0.18, linewidth=0, label=_band_label(ax, band), zorder=1)


def _band_label(ax: Axes, band: Band) -> str | None:
    """The label of a band in the legend, once for all displays."""
    text = _band_text(band)
    return None if text in ax.get_legend_handles_labels()[1] else text


def _band_text(band: Band) -> str:
    what = "range if calibrated" if band.kind == "consistency" else "confidence band"
    return f"{canvas.percent(band.level)} {what}"


def _draw_bins(ax: Axes, bins: Sequence[Bin], band: Band | None, color: str, text: str) -> None:
    """A point for each bin that has rows, with its band or else its gap to the diagonal."""
    held = np.array([each.weight > 0 for each in bins])
    x = np.array([each.mean_probability for each in bins])[held]
    rates = np.array([each.outcome_rate for each in bins])[held]
    if band is None:
        ax.vlines(x, np.minimum(x, rates), np.maximum(x, rates), color=color, alpha=0.45, linewidth=2.0, zorder=3)
    else:
        text_of_band = _band_label(ax, band) or ""
        lower, upper = band.lower[held], band.upper[held]
        ax.vlines(x, lower, upper, color=color, alpha=0.22, linewidth=8.0, label=text_of_band, zorder=1)
    (line,) = ax.plot(x, rates, "-o", color=color, linewidth=1.0, markersize=5.5, label=text, zorder=4)
    canvas.mark(line)


def _band_of_bins(bins: Sequence[Bin], level: float, n_resamples: int, random_state: int) -> Band:
    """Rates of each bin if outcomes had its mean probability: a little too wide a band."""
    draw = np.random.default_rng(random_state)
    if not 0.0 < level < 1.0:
        raise ValueError(f"level must be inside (0, 1), got {level}")
    if n_resamples < 1:
        raise ValueError(f"n_resamples must be at least 1, got {n_resamples}")
    tails = [(1.0 - level) / 2.0, (1.0 + level) / 2.0]
    ends = [
        np.quantile(draw.binomial(each.n, each.mean_probability, n_resamples) / each.n, tails, method="inverted_cdf")
        if each.n > 0
        else np.full(2, np.nan)
        for each in bins
    ]
    lower, upper = np.array(ends).T
    return Band("consistency", lower, upper, level, n_resamples, random_state)


def _draw_shares(ax: Axes, shares: Shares, color: str, text: str) -> None:
    """The predictions as bars in the strip below, the highest as high as the strip."""
    known = canvas.marked(ax, _SHARES_TEXT)
    heights = shares.shares / shares.shares.max() * (_CEILING - _FLOOR)
    if known:
        # Outlines, since several areas on each other cannot be told apart.
        ax.stairs(_FLOOR + heights, shares.edges, baseline=_FLOOR, color=color, linewidth=1.3, zorder=3)
        # The height of the highest bar would be that of one display.
        known[0].set(text="Predictions, each to its highest bar")
    else:
        ax.stairs(_FLOOR + heights, shares.edges, baseline=_FLOOR, fill=True, color=color, alpha=0.45, zorder=2)
        if shares.edges.size < 50:
            # Bins are seen apart where they are not too narrow for it.
            ax.vlines(shares.edges[1:-1], _FLOOR, _CEILING, color=ax.get_facecolor(), linewidth=0.8, zorder=2.5)
        ax.axhline(0.0, color=canvas.REFERENCE, linewidth=0.6, zorder=1)
        canvas.mark(ax.text(0.5, -0.03, text, ha="center", va="top", fontsize=canvas.SMALL), _SHARES_TEXT)


def _places(walk: CumulativeCurve, sigma: float) -> NDArray[np.float64]:
    """Where a smoothed curve is evaluated.

    Evenly, and about the predictions as finely as the noise is wide.
    """
    even = np.linspace(0.0, 1.0, 203)[1:-1]
    reached = np.searchsorted(walk.shares[1:], np.linspace(0.0, 1.0, 41))
    p = np.clip(np.unique(walk.probabilities[1:][np.minimum(reached, walk.shares.size - 2)]), 1e-6, 1 - 1e-6)
    logits = (np.log(p) - np.log1p(-p))[:, None] + sigma * np.linspace(-3.0, 3.0, 13)
    about = 1.0 / (1.0 + np.exp(-logits.ravel()))
    return np.unique(np.concatenate([even, np.clip(about, 1e-7, 1 - 1e-7)]))


def _shares(edges: ArrayLike, shares: ArrayLike) -> Shares:
    found = Shares(np.asarray(edges, dtype=np.float64), np.asarray(shares, dtype=np.float64))
    if found.edges.ndim != 1 or found.shares.shape != (found.edges.size - 1,):
        raise ValueError(
            f"shares must have one value for each two edges, got shapes {found.edges.shape} and {found.shares.shape}"
        )
    # Written so that NaN fails.
    if not (np.all(found.shares >= 0) and found.shares.sum() > 0):
        raise ValueError("shares must be at least 0 and have a sum above 0")
    return found


def _edges(bins: Sequence[Bin]) -> list[float]:
    return [bins[0].lower, *(each.upper for each in bins)]


def _listed(*words: str | None) -> str:
    *others, last = map(repr, words)
    return f"{', '.join(others)} or {last}"
