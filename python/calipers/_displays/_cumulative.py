"""The chart of cumulative differences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from calipers import _core
from calipers._assess import Clusters
from calipers._cumulative import CumulativeCurve, ecce_r
from calipers._displays import _canvas as canvas
from calipers._displays._estimator import OfEstimator
from calipers._displays._models import ModelOutcomes, Models, ModelsDisplay, check_one_model, compared_models
from calipers._documented import documented
from calipers._estimate import Estimate
from calipers._inputs import Link
from calipers._predictions import Outcomes, Probabilities, Rows, read
from calipers._row_options import OneViewOptions, Unpack

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

_BAND = "calipers-band"
_BAND_TEXT = "2 standard deviations\nif calibrated"
_ZERO = "calipers-zero"
_SCALE = "calipers-probabilities"


class CumulativeDisplay(OfEstimator):
    """Chart of cumulative differences: outcomes less predictions, by rising probability.

    Use it to see where predictions are too high or too low, without any bins.

        C_k = Σ_(i: p_i <= p_(k)) s_i (y_i - p_i)

    There are no bins and no smoothing. The slope is what counts: where the line rises, outcomes are
    more frequent than predicted, and by the slope itself; where it falls, less frequent; where it
    is level, predictions are right. The shaded band is what chance does to a calibrated model: two
    standard deviations of C_k to either side,

        sd_k² = Σ_(i: p_i <= p_(k)) s_i² p_i (1 - p_i)

    Use `from_predictions` or `from_estimator`; they take what `cumulative_curve` takes.

    Parameters
    ----------
    curve : CumulativeCurve
        What is drawn.
    deviations : array, optional
        sd_k at each point of the curve; no band is drawn without.
    estimate : float, optional
        ECCE-R, the range of the curve, for the legend.
    name : str, optional
        What the legend calls it.

    References
    ----------
    Tygert, "Plots of the cumulative differences between observed and expected values of ordered
    Bernoulli variates", 2020; Arrieta-Ibarra, Gujral, Tannen, Tygert, Xu, "Metrics of calibration
    for probabilistic predictions", JMLR 23, 2022.

    Examples
    --------
    >>> import calipers as cal
    >>> display = cal.CumulativeDisplay.from_predictions([0, 1, 0], [0.3, 0.4, 0.6], name="model")
    >>> display.curve.differences.round(12).tolist()
    [0.0, -0.1, 0.1, -0.1]
    >>> display.ax_.get_xlabel()
    'Share of rows, by rising probability'
    """

    def __init__(
        self,
        curve: CumulativeCurve,
        *,
        deviations: NDArray[np.float64] | None = None,
        estimate: float | None = None,
        name: str | None = None,
    ) -> None:
        if deviations is not None and deviations.shape != curve.shares.shape:
            raise ValueError(
                f"deviations must have the shape of the curve {curve.shares.shape}, got {deviations.shape}"
            )
        self.curve = curve
        self.deviations = deviations
        self.estimate = estimate
        self.name = name

    @classmethod
    @documented
    def from_predictions(
        cls,
        y_true: Outcomes,
        y_prob: Probabilities = None,
        *,
        link: Link = "logistic",
        name: str | None = None,
        ax: Axes | None = None,
        color: str | None = None,
        **rows: Unpack[OneViewOptions],
    ) -> CumulativeDisplay:
        """Compute the curve of these predictions and draw it."""
        check_one_model(y_prob)
        display = cls._of_rows(read(CumulativeDisplay.from_predictions, y_true, y_prob, rows), link)
        display.name = name
        return display.plot(ax=ax, color=color)

    @classmethod
    @documented
    def from_models(
        cls,
        y_true: ModelOutcomes,
        y_prob: Models = None,
        *,
        link: Link = "logistic",
        level: float = 0.95,
        n_resamples: int = 999,
        cluster: Clusters = None,
        random_state: int = 0,
        ax: Axes | None = None,
        colors: Mapping[str, str] | None = None,
        **rows: Unpack[OneViewOptions],
    ) -> ModelsDisplay:
        """Draw the curves of several models for the same rows.

        The band of each model is an outline in its colour. The legend has ECCE-R of each model with
        its interval.

        Parameters
        ----------
        level : float
            Of the intervals.
        """
        options = {"link": link, "level": level, "n_resamples": n_resamples, "random_state": random_state}
        models, comparison = compared_models(
            CumulativeDisplay.from_models, y_true, y_prob, rows, cluster, ecce_r.__name__, options
        )
        displays = {name: cls._of_rows(each, link) for name, each in models.items()}
        return ModelsDisplay(displays, comparison).plot(ax=ax, colors=colors)

    @classmethod
    def _of_rows(cls, rows: Rows, link: Link) -> CumulativeDisplay:
        """The display of these rows, not drawn."""
        curve = CumulativeCurve._of(rows.ask(_core.cumulative_curve, link=link))
        estimate = rows.estimate(ecce_r.__name__, link=link)
        return cls(curve, deviations=_deviations(rows, curve, estimate, link), estimate=estimate)

    @documented
    def plot(self, *, ax: Axes | None = None, name: str | None = None, color: str | None = None) -> CumulativeDisplay:
        """Draw the curve with its band; further displays may be drawn on the same axes."""
        ax, beside = canvas.axes_for(ax)
        first = not canvas.marked(ax, _ZERO)
        color = canvas.free_colors(ax, 1)[0] if color is None else color
        shares = self.curve.shares
        name = self.name if name is None else name
        range_text = "" if self.estimate is None else f"ECCE-R {canvas.percent(self.estimate)}"
        few = shares.size <= 30
        (line,) = ax.plot(
            *self._corners(),
            color=color,
            linewidth=1.6,
            marker="o" if few else None,
            markersize=4,
            label=canvas.label(name, range_text) if name or range_text else "outcomes less predictions",
            zorder=3,
        )
        canvas.mark(line)
        if self.deviations is not None:
            band = 2.0 * self.deviations
            places = _every(shares.size)
            area = ax.fill_between(
                shares[places],
                -band[places],
                band[places],
                color=color,
                alpha=0.18,
                linewidth=0,
                label=None if canvas.marked(ax, _BAND) else _BAND_TEXT,
                zorder=1,
            )
            canvas.mark(area, _BAND)
        if first:
            _draw_frame(ax)
            self._draw_probabilities(ax)
        else:
            # The second scale is that of one model alone.
            for scale in [child for child in ax.child_axes if child.get_gid() == _SCALE]:
                scale.remove()
        canvas.draw_legend(ax, beside, last=(_BAND_TEXT,))
        self.ax_, self.figure_ = ax, ax.figure
        return self

    @classmethod
    def _draw_together(
        cls, ax: Axes, displays: Sequence[CumulativeDisplay], colors: Sequence[str], square: bool
    ) -> list[Line2D]:
        """A line for each model, and two thin ones about its band."""
        del square
        if not canvas.marked(ax, _ZERO):
            _draw_frame(ax)
        lines = []
        for each, color in zip(displays, colors, strict=True):
            lines += ax.plot(*each._corners(), color=color, linewidth=2.4, zorder=3)
            canvas.mark(lines[-1])
            if each.deviations is not None:
                places = _every(each.curve.shares.size)
                for side in (-2.0, 2.0):
                    ends = each.curve.shares[places], side * each.deviations[places]
                    ax.plot(*ends, color=color, linewidth=canvas.THIN, linestyle=":", zorder=2)
        return lines

    def _unnamed(self, ax: Axes) -> tuple[list[Line2D], float]:
        own = canvas.marked(ax)
        return [line for line in ax.get_lines() if line not in own and np.size(line.get_xdata()) > 0], -np.inf

    def _references(self) -> list[str]:
        return []

    def _notes(self) -> list[tuple[dict[str, Any], str]]:
        if self.deviations is None:
            return []
        return [({"linewidth": canvas.THIN, "linestyle": ":"}, _BAND_TEXT)]

    def _corners(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The curve with as many points as paper shows.

        Of each stretch the ends, the lowest and the highest.
        """
        shares, differences = self.curve.shares, self.curve.differences
        if shares.size <= 4000:
            return shares, differences
        edges = np.linspace(0, shares.size - 1, 1001).astype(np.intp)
        places = [
            place
            for start, end in pairwise(edges)
            for stretch in [differences[start : end + 1]]
            for place in (start, start + stretch.argmin(), start + stretch.argmax(), end)
        ]
        kept = np.unique(places)
        return shares[kept], differences[kept]

    def _draw_probabilities(self, ax: Axes) -> None:
        """At the top: the probability at each share."""
        scale = ax.secondary_xaxis("top")
        canvas.mark(scale, _SCALE)
        at = np.linspace(0.0, 1.0, 6)
        # The row at a share is the first that reaches it.
        reached = np.minimum(np.searchsorted(self.curve.shares, at), self.curve.shares.size - 1)
        scale.set_xticks(at, [_short(value) for value in self.curve.probabilities[reached]], fontsize=canvas.SMALL)
        scale.set_xlabel("Predicted probability", fontsize=canvas.SMALL)
        scale.spines["top"].set_visible(False)


def _draw_frame(ax: Axes) -> None:
    """Axes, zero and labels: what all curves have in common."""
    canvas.mark(ax.axhline(0.0, color=canvas.REFERENCE, linewidth=1.0, linestyle="--", zorder=2), _ZERO)
    canvas.plain_frame(ax)
    ax.set_xlim(-0.02, 1.02)
    ax.set_xlabel("Share of rows, by rising probability")
    ax.set_ylabel("Outcomes less predictions (% of rows)")
    # In percent, because small shares have labels that are too long for the usual margin.
    ax.yaxis.set_major_formatter(lambda value, _: f"{100 * value:.6g}".replace("-", "\N{MINUS SIGN}"))


def _deviations(rows: Rows, curve: CumulativeCurve, estimate: Estimate, link: Link) -> NDArray[np.float64] | None:
    """Standard deviations of the curve of a calibrated model.

    None where the weights of valid rows are not known.
    """
    steps, effective = np.diff(curve.shares), float(estimate.n)
    if rows.columns.weights is not None:
        if estimate.left_out:
            return None
        # Chance goes with the squares of weights, whose shares are those of a curve that has them
        # as weights.
        weights = rows.columns.weights.astype(np.float64).ravel()
        squares = (weights / weights.max()) ** 2
        steps = np.diff(rows.with_weights(squares).ask(_core.cumulative_curve, link=link)["shares"])
        effective = float((weights / weights.max()).sum() ** 2 / squares.sum())
    spread = curve.probabilities[1:] * (1.0 - curve.probabilities[1:])
    variances = np.concatenate([[0.0], np.cumsum(steps * spread)]) / effective
    return np.asarray(np.sqrt(variances))


def _short(probability: float) -> str:
    """A probability with two digits, and none that is not 0 or 1 as 0 or 1."""
    if 0.0 < probability < 0.001:
        return "<0.001"
    if 0.99 < probability < 1.0:
        return ">0.99" if probability < 0.999 else ">0.999"
    return f"{probability:.2g}"


def _every(size: int) -> NDArray[np.intp]:
    """At most 1,000 places with both ends: enough for a band, which is smooth."""
    return np.unique(np.linspace(0, size - 1, min(size, 1000)).astype(np.intp))
