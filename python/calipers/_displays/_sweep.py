"""The chart of a sweep: ECE over numbers of bins beside LS-ECE over sigma."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from calipers._displays._canvas import axes_for, draw_legend, free_colors, label, mark, marked, plain_frame
from calipers._displays._estimator import OfEstimator
from calipers._documented import documented
from calipers._inputs import Compat, Link, Noise
from calipers._predictions import Outcomes, Probabilities, check_keywords
from calipers._row_options import OneViewOptions, Unpack
from calipers._sweep import Bins, SweepResult, sweep

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_CHANCE = "calipers-chance"
_CHANCE_TEXT = "range of ECE by\nchance alone"
_WORDS = {"uniform": "equal width", "quantile": "equal mass"}


class SweepDisplay(OfEstimator):
    """Chart of a sweep: ECE over numbers of bins and LS-ECE over sigma.

    Use it to see how much the choice of bins decides.

    At a number of bins B stand ECE with B bins of equal width and of equal mass, and LS-ECE at
    sigma = 1/B. A line that goes up and down shows that the value is one of the bins, and not of
    the model. The bars at the right are as long as the ranges of both ECEs over 10 to 100 bins that
    chance alone makes, were the model calibrated; the legend has the verdict of `sweep`.

    Use `from_predictions` or `from_estimator`; they take what `sweep` takes.

    Parameters
    ----------
    result : SweepResult
        What is drawn.
    name : str, optional
        What the legend calls it.

    References
    ----------
    The paper of LS-ECE: see `ls_ece`.

    Examples
    --------
    >>> import calipers as cal
    >>> y_true, y_prob = [0, 1, 0, 1], [0.2, 0.4, 0.6, 0.9]
    >>> display = cal.SweepDisplay.from_predictions(y_true, y_prob, bins=[10, 20])
    >>> display.result.verdict
    'stable'
    >>> display.ax_.get_xlabel()
    'Number of bins; 1 / sigma of LS-ECE'
    """

    def __init__(self, result: SweepResult, *, name: str | None = None) -> None:
        self.result = result
        self.name = name

    @classmethod
    @documented
    def from_predictions(
        cls,
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
        name: str | None = None,
        ax: Axes | None = None,
        colors: tuple[str, str] | None = None,
        **rows: Unpack[OneViewOptions],
    ) -> SweepDisplay:
        """Compute the sweep of these predictions and draw it.

        Parameters
        ----------
        random_state : int
            Seed of the sampling noise.
        """
        check_keywords(SweepDisplay.from_predictions, rows)
        smoothing: dict[str, Any] = {"noise": noise, "link": link, "tolerance": tolerance, "clip": clip}
        result = sweep(y_true, y_prob, bins=bins, **smoothing, compat=compat, random_state=random_state, **rows)
        return cls(result, name=name).plot(ax=ax, colors=colors)

    @documented
    def plot(
        self, *, ax: Axes | None = None, name: str | None = None, colors: tuple[str, str] | None = None
    ) -> SweepDisplay:
        """Draw the sweep; further displays may be drawn on the same axes."""
        ax, beside = axes_for(ax)
        first = not marked(ax)
        of_ece, of_ls_ece = free_colors(ax, 2) if colors is None else colors
        name = self.name if name is None else name
        result = self.result
        heading = label(name, self._verdict())
        if heading:
            ax.plot([], [], " ", label=heading)
        # LS-ECE is wide and below, so that it is seen under an ECE that agrees; marks tell lines
        # apart without colour.
        open_squares = {"marker": "s", "markerfacecolor": "white", "linestyle": "--"}
        lines: list[tuple[NDArray[np.float64] | None, str, dict[str, Any]]] = [
            (result.ece_uniform, f"ECE, {_WORDS['uniform']}", {"color": of_ece, "marker": "o", "zorder": 4}),
            (result.ece_quantile, f"ECE, {_WORDS['quantile']}", {"color": of_ece, **open_squares}),
            (result.ls_ece, "LS-ECE", {"color": of_ls_ece, "linewidth": 4.0, "zorder": 2}),
        ]
        drawn = []
        for values, what, style in lines:
            if values is not None:
                style = {"linewidth": 1.4, "markersize": 5, "zorder": 3, "solid_capstyle": "round", **style}
                drawn += ax.plot(result.bins, values, label=what, **style)
        # Two colours are used up, whatever the number of lines.
        for line in (drawn[0], drawn[-1]):
            mark(line)
        self._draw_chance(ax, result.range_uniform, result.sampling_noise_uniform, of_ece, "-")
        self._draw_chance(ax, result.range_quantile, result.sampling_noise_quantile, of_ece, "--")
        if first:
            plain_frame(ax)
            ax.set_xlabel("Number of bins; 1 / sigma of LS-ECE")
            ax.set_ylabel("Calibration error")
        # The highest of all displays on these axes.
        highest = ax.dataLim.y1
        ax.set_ylim(0.0, 1.06 * highest if highest > 0 else 1.0)
        draw_legend(ax, beside, last=(_CHANCE_TEXT,))
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _verdict(self) -> str:
        """The verdict in a line, with the bins that it is about if it is not about both."""
        result = self.result
        if result.verdict == "undecided":
            return ""
        with_some = len(result.brittle_with) == 1 and result.ece_quantile is not None
        return f"ECE is {result.verdict}" + (f"\nwith {_WORDS[result.brittle_with[0]]}" if with_some else "")

    def _draw_chance(
        self, ax: Axes, seen: tuple[float, float] | None, noise: float | None, color: str, linestyle: Literal["-", "--"]
    ) -> None:
        """A bar at the right: the range that ECE has by chance alone, from its least value up."""
        if seen is None or noise is None:
            return
        drawn = len(marked(ax, _CHANCE))
        x = float(self.result.bins[-1]) * (1.05 + 0.03 * drawn)
        text = None if drawn else _CHANCE_TEXT
        bar = ax.errorbar(x, seen[0] + noise / 2, noise / 2, fmt="none", ecolor=color, capsize=3, label=text)
        (stem,) = bar.lines[2]
        stem.set_linestyle(linestyle)
        mark(stem, _CHANCE)
