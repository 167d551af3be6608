"""The reliability diagram: how often it happened, against how often it was said to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calipers._binned import expected_calibration_error
from calipers._cumulative import CumulativeCurve, cumulative_curve
from calipers._curve import Band, Bin, IsotonicCurve, LsCurve, calibration_bins, corp_curve, ls_curve
from calipers._displays._canvas import (
    REFERENCE,
    SMALL,
    axes_for,
    draw_legend,
    figure_text,
    free_colors,
    label,
    mark,
    marked,
    percent,
    plain_frame,
    thinned,
)
from calipers._displays._estimator import predictions_of
from calipers._inputs import Link, NBins, Noise, OneView, PosLabel, Strategy, Ties
from calipers._ls_ece import ls_ece
from calipers._scores import corp

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

# Unions of words, since stubtest takes an alias of one Literal with several for no union at all.
Kind: TypeAlias = Literal["smoothed"] | Literal["binned"] | Literal["corp"]
BandChoice: TypeAlias = Literal["auto", "consistency", "confidence"] | None
Curve: TypeAlias = LsCurve | IsotonicCurve | Sequence[Bin]

_DIAGONAL = "calipers-diagonal"
_SHARES = "calipers-shares"
_SHARES_TEXT = "calipers-shares-text"
# The strip of the predictions, below the rates: from its floor up to the height of its highest bar.
_FLOOR, _CEILING = -0.27, -0.09
# A smoothed curve is drawn where the density is at least this; it is 1 where predictions are spread evenly.
_LEAST_DENSITY = 0.01
# A piece of a curve that is narrower than this is a dot.
_DOT = 0.02


class Shares(NamedTuple):
    """The predictions as bars: edges, and the share of the weight between each edge and the next."""

    edges: NDArray[np.float64]
    shares: NDArray[np.float64]


class ReliabilityDisplay:
    """Reliability diagram: the outcome rate at each predicted probability, and below it where predictions are.

    On the diagonal, what is predicted with 30% happens in 30% of cases. Below it predictions are too high, above it
    too low. The curve is one of three kinds: `ls_curve` (smoothed on the scale of the logits; its mean gap is
    LS-ECE), `corp_curve` (isotonic), or the points of `calibration_bins`. The shaded band is where the curve of a
    calibrated model with these predictions would lie, place by place.

    Use `from_predictions` or `from_estimator`.

    Parameters
    ----------
    curve : LsCurve, IsotonicCurve or list of Bin
        What is drawn; its band, too, if it has one.
    shares : tuple of two arrays, optional
        Edges and shares of the predictions between them, for the bars below.
    estimate : float, optional
        LS-ECE, miscalibration or ECE, for the legend.
    name : str, optional
        What the legend calls it.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes that were drawn on last.
    figure_ : matplotlib Figure
        Their figure.

    Notes
    -----
    A smoothed curve is drawn where the density of smoothed predictions is at least 1/100 of an even spread.

    References
    ----------
    Chidambaram, Lee, McSwiggen, Rezchikov, "How Flawed Is ECE? An Analysis via Logit Smoothing", 2024 (smoothed);
    Dimitriadis, Gneiting, Jordan, "Stable reliability diagrams for probabilistic classifiers", PNAS 118, 2021 (corp);
    Bröcker, Smith, "Increasing the reliability of reliability diagrams", Weather and Forecasting 22, 2007 (bands).

    Examples
    --------
    >>> import calipers as cal
    >>> display = cal.ReliabilityDisplay.from_predictions([0, 1, 1], [0.2, 0.2, 0.9], kind="binned", n_bins=2)
    >>> display.curve[0].outcome_rate, round(display.estimate, 12)
    (0.5, 0.233333333333)
    >>> display.ax_.get_ylabel()
    'Observed frequency'
    """

    ax_: Axes
    figure_: Figure | SubFigure

    def __init__(
        self,
        curve: Curve,
        *,
        shares: tuple[ArrayLike, ArrayLike] | None = None,
        estimate: float | None = None,
        name: str | None = None,
    ) -> None:
        self.curve = curve
        self.shares = None if shares is None else _shares(*shares)
        self.estimate = estimate
        self.name = name

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        y_prob: ArrayLike,
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
        sample_weight: ArrayLike | None = None,
        from_logits: bool = False,
        multiclass: OneView = None,
        ties: Ties = "first",
        pos_label: PosLabel = None,
        sum_tolerance: float = 1e-3,
        name: str | None = None,
        ax: Axes | None = None,
        color: str | None = None,
    ) -> ReliabilityDisplay:
        """Compute the curve of these predictions and draw it.

        Parameters
        ----------
        y_true, y_prob
            As for `ls_ece`, and so are the options that are not named here.
        kind : {"smoothed", "binned", "corp"}
            Which curve.
        band : {"auto", "consistency", "confidence"} or None
            "consistency": where the curve of a calibrated model would lie. "confidence", for "corp" alone: where the
            true rates may lie. "auto" is "consistency" where there is one; bins have none.
        level, n_resamples, random_state
            Of the band, as for `ls_curve` and `corp_curve`.
        sigma, noise
            Of the smoothed curve, as for `ls_ece`.
        n_bins, strategy
            Of the bins, as for `expected_calibration_error`.
        name : str, optional
            What the legend calls it.
        ax : matplotlib Axes, optional
            Where to draw; a new figure unless given.
        color : str, optional
            Of the curve; the next of a colour-blind-safe palette unless given.

        Returns
        -------
        ReliabilityDisplay
            The display, drawn.
        """
        if kind not in ("smoothed", "binned", "corp"):
            raise ValueError(f"kind must be 'smoothed', 'binned' or 'corp', got {kind!r}")
        possible = {"smoothed": ("consistency",), "binned": (), "corp": ("consistency", "confidence")}[kind]
        if band not in ("auto", None, *possible):
            raise ValueError(f"band of kind {kind!r} must be {_listed('auto', None, *possible)}, got {band!r}")
        rows: dict[str, Any] = {
            "link": link,
            "sample_weight": sample_weight,
            "from_logits": from_logits,
            "multiclass": multiclass,
            "ties": ties,
            "pos_label": pos_label,
            "sum_tolerance": sum_tolerance,
        }
        drawn: dict[str, Any] = {
            "band": "consistency" if band == "auto" else band,
            "level": level,
            "n_resamples": n_resamples,
            "random_state": random_state,
        }
        curve: Curve
        if kind == "binned":
            curve = calibration_bins(y_true, y_prob, n_bins=n_bins, strategy=strategy, **rows)
            error: float = expected_calibration_error(y_true, y_prob, n_bins=n_bins, strategy=strategy, **rows)
            return cls(curve, estimate=error, name=name).plot(ax=ax, color=color)
        walk = cumulative_curve(y_true, y_prob, **rows)
        if kind == "smoothed":
            error = ls_ece(y_true, y_prob, sigma=sigma, noise=noise, **rows)
            at = _places(walk, error.settings["sigma"])
            curve = ls_curve(y_true, y_prob, at=at, sigma=sigma, noise=noise, **rows, **drawn)
        else:
            error = corp(y_true, y_prob, **rows).miscalibration
            curve = corp_curve(y_true, y_prob, **rows, **drawn)
        shares, edges = np.histogram(walk.probabilities[1:], bins=50, range=(0.0, 1.0), weights=np.diff(walk.shares))
        return cls(curve, shares=(edges, shares), estimate=error, name=name).plot(ax=ax, color=color)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: ArrayLike,
        *,
        from_logits: bool = False,
        multiclass: OneView = None,
        pos_label: PosLabel = None,
        name: str | None = None,
        **options: Any,
    ) -> ReliabilityDisplay:
        """Draw the curve of what a fitted classifier says of these data.

        Parameters
        ----------
        estimator : fitted classifier
            It is asked for `predict_proba`, or with `from_logits` for `decision_function`.
        X, y : array-like
            Data and labels; labels are those of ``estimator.classes_``.
        from_logits, multiclass, pos_label
            As for `ls_ece`; of two classes the last is positive unless `pos_label` says otherwise.
        name : str, optional
            The class of the estimator unless given.
        **options
            As for `from_predictions`.

        Returns
        -------
        ReliabilityDisplay
            The display, drawn.
        """
        labels, scores = predictions_of(
            estimator, X, y, from_logits=from_logits, multiclass=multiclass, pos_label=pos_label
        )
        name = type(estimator).__name__ if name is None else name
        return cls.from_predictions(
            labels, scores, from_logits=from_logits, multiclass=multiclass, name=name, **options
        )

    def plot(self, *, ax: Axes | None = None, name: str | None = None, color: str | None = None) -> ReliabilityDisplay:
        """Draw the diagram; further displays may be drawn on the same axes.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure unless given.
        name, color : str, optional
            As for `from_predictions`.

        Returns
        -------
        ReliabilityDisplay
            This display, with `ax_` and `figure_`.
        """
        own = ax is None
        ax, beside = axes_for(ax)
        color = free_colors(ax, 1)[0] if color is None else color
        if not marked(ax, _DIAGONAL):
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
            _draw_bins(ax, curve, color, text)
        if self.shares is not None:
            _draw_shares(ax, self.shares, color, f"Predictions, highest bar {percent(self.shares.shares.max())}")
        elif not isinstance(curve, (LsCurve, IsotonicCurve)):
            most = max(each.n for each in curve)
            weights = [each.weight for each in curve]
            _draw_shares(ax, _shares(_edges(curve), weights), color, f"Rows by bin, at most {most:,}")
        draw_legend(ax, beside)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _label(self, name: str | None, measure: str, otherwise: str) -> str:
        return label(name, otherwise if self.estimate is None else f"{measure} {figure_text(self.estimate)}")


def _draw_frame(ax: Axes, square: bool) -> None:
    """Axes, diagonal and labels: what all curves have in common."""
    (diagonal,) = ax.plot(
        [0, 1], [0, 1], color=REFERENCE, linewidth=1.0, linestyle="--", zorder=2, label="perfectly calibrated"
    )
    mark(diagonal, _DIAGONAL)
    plain_frame(ax)
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
    mark(line)
    edges = np.flatnonzero(np.diff(shown, prepend=False, append=False))
    for start, end in zip(edges[::2], edges[1::2], strict=True):
        if x[end - 1] - x[start] < _DOT:
            middle = start + int(np.argmax(curve.densities[start:end]))
            ax.plot(x[middle], rates[middle], "o", color=color, markersize=7, zorder=4)
    if curve.band is not None:
        _draw_band(ax, x, curve.band, shown, color)


def _draw_isotonic(ax: Axes, curve: IsotonicCurve, color: str, text: str) -> None:
    """Levels, joined by straight lines; distinct probabilities as dots where they are few."""
    x, rates = curve.probabilities, curve.outcome_rates
    # Of a level its two ends.
    ends = np.diff(rates, prepend=np.nan) != 0
    corners = ends | np.append(ends[1:], True)
    (line,) = ax.plot(x[corners], rates[corners], color=color, linewidth=2.2, label=text, zorder=4)
    mark(line)
    if x.size <= 30:
        ax.plot(x, rates, "o", color=color, markersize=6, zorder=4)
    if curve.band is not None:
        kept = thinned(x)
        shown = np.zeros(x.size, dtype=bool)
        shown[kept] = True
        _draw_band(ax, x, curve.band, shown, color)


def _draw_band(ax: Axes, x: NDArray[np.float64], band: Band, shown: NDArray[np.bool_], color: str) -> None:
    """Where chance takes the curve; over a single place, a bar."""
    text = f"{percent(band.level)} range if calibrated" if band.kind == "consistency" else None
    text = f"{percent(band.level)} confidence band" if text is None else text
    known = ax.get_legend_handles_labels()[1]
    text = "_" + text if text in known else text
    at, lower, upper = x[shown], band.lower[shown], band.upper[shown]
    if at.size and at[-1] - at[0] < _DOT:
        at = np.array([at.mean() - _DOT / 2, at.mean() + _DOT / 2])
        lower, upper = np.full(2, lower.min()), np.full(2, upper.max())
    elif at.size < x.size:
        # Gaps between pieces of a smoothed curve stay open.
        at, lower, upper = x, np.where(shown, band.lower, np.nan), np.where(shown, band.upper, np.nan)
    ax.fill_between(at, lower, upper, color=color, alpha=0.18, linewidth=0, label=text, zorder=1)


def _draw_bins(ax: Axes, bins: Sequence[Bin], color: str, text: str) -> None:
    """A point for each bin that has rows, tied to the diagonal by its gap."""
    held = [each for each in bins if each.weight > 0]
    x = np.array([each.mean_probability for each in held])
    rates = np.array([each.outcome_rate for each in held])
    ax.vlines(x, np.minimum(x, rates), np.maximum(x, rates), color=color, alpha=0.45, linewidth=2.0, zorder=3)
    (line,) = ax.plot(x, rates, "-o", color=color, linewidth=1.0, markersize=6, label=text, zorder=4)
    mark(line)


def _draw_shares(ax: Axes, shares: Shares, color: str, text: str) -> None:
    """The predictions as bars in the strip below, the highest as high as the strip."""
    known = marked(ax, _SHARES_TEXT)
    heights = shares.shares / shares.shares.max() * (_CEILING - _FLOOR)
    bars = ax.stairs(_FLOOR + heights, shares.edges, baseline=_FLOOR, fill=True, color=color, alpha=0.45, zorder=2)
    mark(bars, _SHARES)
    if known:
        # The height of the highest bar would be that of one display.
        known[0].set(text="Predictions, each to its highest bar")
    else:
        ax.axhline(0.0, color=REFERENCE, linewidth=0.6, zorder=1)
        mark(ax.text(0.5, -0.015, text, ha="center", va="top", fontsize=SMALL), _SHARES_TEXT)


def _places(walk: CumulativeCurve, sigma: float) -> NDArray[np.float64]:
    """Where a smoothed curve is evaluated: evenly, and about the predictions as finely as the noise is wide."""
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
