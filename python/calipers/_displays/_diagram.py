"""The parts of a reliability diagram on paper: frame, curves, bands, bars of the predictions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from calipers._curve import Band, Bin, IsotonicCurve, LsCurve
from calipers._displays import _canvas as canvas

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

Curve: TypeAlias = LsCurve | IsotonicCurve | Sequence[Bin]

DIAGONAL_TEXT = "observed = predicted"
_DIAGONAL = "calipers-diagonal"
_SHARES_TEXT = "calipers-shares-text"
# The strip of the predictions, below the rates: from its floor up to the height of its highest bar.
_FLOOR, _CEILING = -0.28, -0.1
# A smoothed curve is drawn where the density is at least this; it is 1 where predictions are spread
# evenly.
_LEAST_DENSITY = 0.01
# A piece of a curve that is narrower than this is a dot, if it has this share of the predictions: a
# row or two say nothing.
_DOT = 0.02
_DOT_SHARE = 0.005


class Shares(NamedTuple):
    """The predictions as bars: edges, and the share of the weight between them."""

    edges: NDArray[np.float64]
    shares: NDArray[np.float64]


def draw_frame(ax: Axes, square: bool) -> None:
    """Axes, diagonal and labels: what all curves have in common, once."""
    if canvas.marked(ax, _DIAGONAL):
        return
    (diagonal,) = ax.plot(
        [0, 1], [0, 1], color=canvas.REFERENCE, linewidth=1.0, linestyle="--", zorder=2, label=DIAGONAL_TEXT
    )
    canvas.mark(diagonal, _DIAGONAL)
    canvas.plain_frame(ax)
    if square:
        # At the left of its place, so that there is room for the legend.
        ax.set_aspect("equal", anchor="W")
    ax.set_xlim(-0.02, 1.02)
    ax.set_ylim(_FLOOR, 1.03)
    ticks = np.linspace(0.0, 1.0, 6)
    ax.set_xticks(ticks)
    ax.set_yticks(ticks)
    ax.set_xlabel("Predicted probability")
    ax.set_ylabel("Observed frequency")


def diagonals(ax: Axes) -> list[Line2D]:
    """The line of a perfect model."""
    return [line for line in ax.get_lines() if line.get_gid() == _DIAGONAL]


def draw_curve(ax: Axes, curve: Curve, band: Band | None, color: str, text: str) -> None:
    """The curve of one model, with its band."""
    if isinstance(curve, LsCurve):
        _draw_smoothed(ax, curve, color, text)
    elif isinstance(curve, IsotonicCurve):
        _draw_isotonic(ax, curve, color, text)
    else:
        _draw_bins(ax, curve, band, color, text)


def draw_beyond_chance(ax: Axes, curve: Curve, band: Band | None, color: str) -> Line2D:
    """The curve of one of several models: bold where chance does not explain its gap.

    That takes the place of a band, since several bands on each other cannot be told apart.
    """
    x, rates = _points(curve)
    beyond = np.ones(x.size, dtype=bool) if band is None else _is_beyond(x, rates, band)
    strong = np.where(beyond, rates, np.nan)
    if isinstance(curve, (LsCurve, IsotonicCurve)):
        (line,) = ax.plot(x, rates, color=color, linewidth=canvas.THIN, zorder=4)
        ax.plot(x, strong, color=color, linewidth=canvas.BOLD, solid_capstyle="round", zorder=5)
        if isinstance(curve, LsCurve):
            _draw_dots(ax, curve, rates, color)
    else:
        (line,) = ax.plot(x, rates, "-o", color=color, linewidth=1.0, markerfacecolor=ax.get_facecolor(), zorder=4)
        ax.plot(x, strong, "o", color=color, markersize=8, zorder=5)
    canvas.mark(line)
    return line


def styles(curve: Curve) -> tuple[dict[str, Any], dict[str, Any]]:
    """How a gap beyond chance looks, and one within it: bold and thin, or filled and open."""
    if isinstance(curve, (LsCurve, IsotonicCurve)):
        return {"linewidth": canvas.BOLD}, {"linewidth": canvas.THIN}
    points = {"linestyle": "none", "marker": "o"}
    return {**points, "markersize": 8}, {**points, "markerfacecolor": "none"}


def _points(curve: Curve) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Where the curve is, with NaN where it is not shown."""
    if isinstance(curve, LsCurve):
        return curve.probabilities, np.where(_is_shown(curve), curve.outcome_rates, np.nan)
    if isinstance(curve, IsotonicCurve):
        return curve.probabilities, curve.outcome_rates
    x = np.array([each.mean_probability for each in curve])
    return x, np.array([each.outcome_rate for each in curve])


def _is_beyond(x: NDArray[np.float64], rates: NDArray[np.float64], band: Band) -> NDArray[np.bool_]:
    """Where a calibrated model's curve would not be, or where the true rate is not x."""
    inside = rates if band.kind == "consistency" else x
    return np.asarray((inside < band.lower) | (inside > band.upper))


def _is_shown(curve: LsCurve) -> NDArray[np.bool_]:
    return np.asarray((curve.densities >= _LEAST_DENSITY) & np.isfinite(curve.outcome_rates))


def _draw_smoothed(ax: Axes, curve: LsCurve, color: str, text: str) -> None:
    """The curve where there are predictions; where they are all in one place, a dot."""
    x, rates = _points(curve)
    (line,) = ax.plot(x, rates, color=color, linewidth=2.2, solid_capstyle="round", label=text, zorder=4)
    canvas.mark(line)
    _draw_dots(ax, curve, rates, color)
    if curve.band is not None:
        # Gaps between pieces of the curve stay open.
        lower, upper = np.where(_is_shown(curve), (curve.band.lower, curve.band.upper), np.nan)
        _draw_band(ax, x, lower, upper, curve.band, color)


def _draw_dots(ax: Axes, curve: LsCurve, rates: NDArray[np.float64], color: str) -> None:
    """Pieces of a smoothed curve that are too short for a line."""
    x = curve.probabilities
    shares = curve.densities * np.gradient(x)
    edges = np.flatnonzero(np.diff(_is_shown(curve), prepend=False, append=False))
    for start, end in zip(edges[::2], edges[1::2], strict=True):
        if x[end - 1] - x[start] < _DOT and shares[start:end].sum() >= _DOT_SHARE:
            middle = start + int(np.argmax(curve.densities[start:end]))
            ax.plot(x[middle], rates[middle], "o", color=color, markersize=7, zorder=4)


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
    text = band_text(band)
    return None if text in ax.get_legend_handles_labels()[1] else text


def band_text(band: Band) -> str:
    """What a band is, for the legend."""
    what = "range if calibrated" if band.kind == "consistency" else "confidence band"
    return f"{canvas.percent(band.level)} {what}"


def _draw_bins(ax: Axes, bins: Sequence[Bin], band: Band | None, color: str, text: str) -> None:
    """A point for each bin that has rows, with its band or else its gap to the diagonal."""
    held = np.array([each.weight > 0 for each in bins])
    x, rates = (values[held] for values in _points(bins))
    if band is None:
        ax.vlines(x, np.minimum(x, rates), np.maximum(x, rates), color=color, alpha=0.45, linewidth=2.0, zorder=3)
    else:
        text_of_band = _band_label(ax, band) or ""
        lower, upper = band.lower[held], band.upper[held]
        ax.vlines(x, lower, upper, color=color, alpha=0.22, linewidth=8.0, label=text_of_band, zorder=1)
    (line,) = ax.plot(x, rates, "-o", color=color, linewidth=1.0, markersize=5.5, label=text, zorder=4)
    canvas.mark(line)


def draw_shares(ax: Axes, shares: Shares, color: str, text: str) -> None:
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
        _draw_shares_text(ax, text)


def draw_rows_of_shares(ax: Axes, shares: Sequence[tuple[Shares, str]]) -> None:
    """The predictions of several models: a row of bars for each, one below the other."""
    height = min((_CEILING - _FLOOR) / 2, 0.3 / len(shares))
    for row, (each, color) in enumerate(shares, 1):
        floor = _CEILING - row * height
        bars = each.shares / each.shares.max() * 0.85 * height
        ax.stairs(floor + bars, each.edges, baseline=floor, fill=True, color=color, alpha=0.7, zorder=2)
        ax.plot([0, 1], [floor, floor], color=color, linewidth=0.8, zorder=2)
    ax.set_ylim(_CEILING - len(shares) * height, 1.03)
    _draw_shares_text(ax, "Predictions, each to its highest bar")


def _draw_shares_text(ax: Axes, text: str) -> None:
    ax.axhline(0.0, color=canvas.REFERENCE, linewidth=0.6, zorder=1)
    canvas.mark(ax.text(0.5, -0.03, text, ha="center", va="top", fontsize=canvas.SMALL), _SHARES_TEXT)
