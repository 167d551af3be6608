"""The reliability diagram: how often it happened, against how often it was said to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calipers import _core
from calipers._assess import Clusters
from calipers._binned import expected_calibration_error
from calipers._cumulative import CumulativeCurve
from calipers._curve import Band, Bin, IsotonicCurve, LsCurve
from calipers._displays import _canvas as canvas
from calipers._displays import _diagram as diagram
from calipers._displays._diagram import Curve, Shares
from calipers._displays._estimator import OfEstimator
from calipers._displays._models import ModelOutcomes, Models, ModelsDisplay, check_one_model, compared_models
from calipers._documented import documented
from calipers._inputs import Link, NBins, Noise, Strategy
from calipers._predictions import Outcomes, Probabilities, Rows, read
from calipers._row_options import OneViewOptions, Unpack
from calipers._scores import corp
from calipers._smoothed import ls_ece

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D
# Unions of words, since stubtest takes an alias of one Literal with several for no union at all.
Kind: TypeAlias = Literal["smoothed"] | Literal["binned"] | Literal["corp"]
BandChoice: TypeAlias = Literal["auto", "consistency", "confidence"] | None

# The measure that each kind of curve shows; that of CORP is one of its parts.
_MEASURES = {
    "smoothed": ls_ece.__name__,
    "binned": expected_calibration_error.__name__,
    "corp": f"{corp.__name__}_miscalibration",
}


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
        check_one_model(y_prob)
        _check_choices(kind, band)
        predictions = read(ReliabilityDisplay.from_predictions, y_true, y_prob, rows)
        drawn = {"level": level, "n_resamples": n_resamples, "random_state": random_state}
        options = _options(kind, sigma=sigma, noise=noise, n_bins=n_bins, strategy=strategy, link=link)
        display = cls._of_rows(predictions, kind, band, options, drawn)
        display.name = name
        return display.plot(ax=ax, color=color)

    @classmethod
    @documented
    def from_models(
        cls,
        y_true: ModelOutcomes,
        y_prob: Models = None,
        *,
        kind: Kind = "smoothed",
        band: BandChoice = "auto",
        level: float = 0.95,
        n_resamples: int = 999,
        cluster: Clusters = None,
        random_state: int = 0,
        sigma: float | Literal["auto"] = "auto",
        noise: Noise = "gaussian",
        n_bins: NBins = 15,
        strategy: Strategy = "uniform",
        link: Link = "logistic",
        ax: Axes | None = None,
        colors: Mapping[str, str] | None = None,
        **rows: Unpack[OneViewOptions],
    ) -> ModelsDisplay:
        """Draw the curves of several models for the same rows, at one sigma.

        A curve is bold where chance does not explain its gap: outside the range of a calibrated
        model with these predictions. The legend has the value of each model with its interval.

        Parameters
        ----------
        kind : {"smoothed", "binned", "corp"}
            Which curve.
        band : {"auto", "consistency", "confidence"} or None
            Which range decides where a curve is bold. "consistency": where the curve of a
            calibrated model would lie. "confidence", for "corp" alone: where the true rates may
            lie. "auto" is "consistency", but nothing for bins of weighted rows.
        level : float
            Of the range at each place, and of the intervals.
        sigma : float or "auto"
            Scale of the noise, one for all models: "auto" is the geometric mean of theirs, the
            sigma of `compare`.
        """
        _check_choices(kind, band)
        drawn = {"level": level, "n_resamples": n_resamples, "random_state": random_state}
        options = _options(kind, sigma=sigma, noise=noise, n_bins=n_bins, strategy=strategy, link=link)
        models, comparison = compared_models(
            ReliabilityDisplay.from_models, y_true, y_prob, rows, cluster, _MEASURES[kind], {**options, **drawn}
        )
        if kind == "smoothed":
            # One sigma for all models.
            options["sigma"] = next(iter(comparison.models.values())).settings["sigma"]
        displays = {name: cls._of_rows(each, kind, band, options, drawn) for name, each in models.items()}
        return ModelsDisplay(displays, comparison).plot(ax=ax, colors=colors)

    @classmethod
    def _of_rows(
        cls, rows: Rows, kind: Kind, band: BandChoice, options: dict[str, Any], drawn: dict[str, Any]
    ) -> ReliabilityDisplay:
        """The display of these rows, not drawn."""
        link = options["link"]
        if kind == "binned":
            weighted = rows.columns.weights is not None
            if weighted and band == "consistency":
                raise ValueError("band of kind 'binned' must be 'auto' or None with sample_weight, got 'consistency'")
            bins = [Bin(*row) for row in rows.ask(_core.calibration_bins, **options)]
            range_of_bins = None if band is None or weighted else _band_of_bins(bins, **drawn)
            return cls(bins, band=range_of_bins, estimate=rows.estimate(_MEASURES[kind], **options))
        walk = CumulativeCurve._of(rows.ask(_core.cumulative_curve, link=link))
        with_band: dict[str, Any] = {"band": "consistency" if band == "auto" else band, **drawn}
        error: float
        curve: Curve
        if kind == "smoothed":
            error = found = rows.estimate(_MEASURES[kind], **options)
            at = _places(walk, found.settings["sigma"])
            curve = LsCurve._of(rows.ask(_core.ls_curve, at=at, **options, **with_band))
        else:
            error = rows.ask(_core.corp, **options)["miscalibration"]
            curve = IsotonicCurve._of(rows.ask(_core.corp_curve, link=link, **with_band))
        shares, edges = np.histogram(walk.probabilities[1:], bins=50, range=(0.0, 1.0), weights=np.diff(walk.shares))
        return cls(curve, shares=(edges, shares), estimate=error)

    @documented
    def plot(self, *, ax: Axes | None = None, name: str | None = None, color: str | None = None) -> ReliabilityDisplay:
        """Draw the diagram; further displays may be drawn on the same axes."""
        own = ax is None
        ax, beside = canvas.axes_for(ax)
        color = canvas.free_colors(ax, 1)[0] if color is None else color
        diagram.draw_frame(ax, square=own)
        name = self.name if name is None else name
        measure, otherwise = self._words()
        what = otherwise if self.estimate is None else f"{measure} {canvas.value_text(self.estimate)}"
        diagram.draw_curve(ax, self.curve, self.band, color, canvas.label(name, what))
        shares, text = self._bars()
        if shares is not None:
            diagram.draw_shares(ax, shares, color, text)
        bands = [] if self.band is None else [diagram.band_text(self.band)]
        canvas.draw_legend(ax, beside, last=(*bands, diagram.DIAGONAL_TEXT))
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _words(self) -> tuple[str, str]:
        """What the value of the curve is called, and the curve itself."""
        if isinstance(self.curve, LsCurve):
            return "LS-ECE", "smoothed on logits"
        if isinstance(self.curve, IsotonicCurve):
            return "miscalibration", "isotonic (CORP)"
        return "ECE", f"{len(self.curve)} bins"

    def _bars(self) -> tuple[Shares | None, str]:
        """Where the predictions are, if that is known, and how high the highest bar is."""
        if self.shares is not None:
            return self.shares, f"Predictions, highest bar {canvas.percent(self.shares.shares.max())}"
        if isinstance(self.curve, (LsCurve, IsotonicCurve)):
            return None, ""
        bins = self.curve
        most = max(each.n for each in bins)
        edges = [bins[0].lower, *(each.upper for each in bins)]
        return _shares(edges, [each.weight for each in bins]), f"Rows by bin, at most {most:,}"

    @classmethod
    def _draw_together(
        cls, ax: Axes, displays: Sequence[ReliabilityDisplay], colors: Sequence[str], square: bool
    ) -> list[Line2D]:
        diagram.draw_frame(ax, square)
        together = list(zip(displays, colors, strict=True))
        lines = [diagram.draw_beyond_chance(ax, each.curve, each.band, color) for each, color in together]
        bars = [(each._bars()[0], color) for each, color in together]
        diagram.draw_rows_of_shares(ax, [(shares, color) for shares, color in bars if shares is not None])
        return lines

    def _unnamed(self, ax: Axes) -> tuple[list[Line2D], float]:
        return diagram.diagonals(ax), 0.0

    def _references(self) -> list[str]:
        return [diagram.DIAGONAL_TEXT]

    def _notes(self) -> list[tuple[dict[str, Any], str]]:
        if self.band is None:
            return []
        texts = f"gap beyond chance ({canvas.percent(self.band.level)})", "gap within chance"
        return list(zip(diagram.styles(self.curve), texts, strict=True))


def _check_choices(kind: Kind, band: BandChoice) -> None:
    if kind not in _MEASURES:
        raise ValueError(f"kind must be 'smoothed', 'binned' or 'corp', got {kind!r}")
    possible = ("consistency", "confidence") if kind == "corp" else ("consistency",)
    if band not in ("auto", None, *possible):
        raise ValueError(f"band of kind {kind!r} must be {_listed('auto', None, *possible)}, got {band!r}")


def _options(
    kind: Kind, *, sigma: object, noise: Noise, n_bins: NBins, strategy: Strategy, link: Link
) -> dict[str, Any]:
    """The options of the measure that this kind of curve shows."""
    if kind == "smoothed":
        return {"sigma": sigma, "noise": noise, "link": link, "tolerance": 1e-6, "clip": 1e-6}
    if kind == "binned":
        return {"n_bins": n_bins, "strategy": strategy, "norm": "l1", "compat": None, "link": link}
    return {"score": "brier", "link": link}


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


def _listed(*words: str | None) -> str:
    *others, last = map(repr, words)
    return f"{', '.join(others)} or {last}"
