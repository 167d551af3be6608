"""The chart of a sweep: ECE over numbers of bins beside LS-ECE over sigma."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calipers._displays._canvas import axes_for, draw_legend, free_colors, label, mark, marked, plain_frame
from calipers._displays._estimator import predictions_of
from calipers._inputs import Compat, Link, Noise, OneView, PosLabel, Ties
from calipers._sweep import SweepResult, sweep

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure


class SweepDisplay:
    """ECE over numbers of bins and LS-ECE over sigma in one chart: how brittle is the figure?

    At a number of bins B stand ECE with B bins of equal width and of equal mass, and LS-ECE at sigma = 1/B. A line
    that goes up and down says that the figure is one of the bins, and not of the model.

    Use `from_predictions` or `from_estimator`; they take what `sweep` takes.

    Parameters
    ----------
    result : SweepResult
        What is drawn.
    name : str, optional
        What the legend calls it.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes that were drawn on last.
    figure_ : matplotlib Figure
        Their figure.

    References
    ----------
    Chidambaram, Lee, McSwiggen, Rezchikov, "How Flawed Is ECE? An Analysis via Logit Smoothing", 2024, section 5.

    Examples
    --------
    >>> import calipers as cal
    >>> display = cal.SweepDisplay.from_predictions([0, 1, 0, 1], [0.2, 0.4, 0.6, 0.9], bins=[10, 20])
    >>> display.result.verdict
    'stable'
    >>> display.ax_.get_xlabel()
    'Number of bins, and 1/σ of LS-ECE'
    """

    ax_: Axes
    figure_: Figure | SubFigure

    def __init__(self, result: SweepResult, *, name: str | None = None) -> None:
        self.result = result
        self.name = name

    @classmethod
    def from_predictions(
        cls,
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
        sample_weight: ArrayLike | None = None,
        from_logits: bool = False,
        multiclass: OneView = None,
        ties: Ties = "first",
        pos_label: PosLabel = None,
        sum_tolerance: float = 1e-3,
        name: str | None = None,
        ax: Axes | None = None,
        colors: tuple[str, str] | None = None,
    ) -> SweepDisplay:
        """Compute the sweep of these predictions and draw it.

        Parameters
        ----------
        y_true, y_prob
            As for `sweep`, and so are the options that are not named here.
        name : str, optional
            What the legend calls it.
        ax : matplotlib Axes, optional
            Where to draw; a new figure unless given.
        colors : tuple of two str, optional
            Of ECE and of LS-ECE; the next two of a colour-blind-safe palette unless given.

        Returns
        -------
        SweepDisplay
            The display, drawn.
        """
        result = sweep(
            y_true,
            y_prob,
            bins=bins,
            noise=noise,
            link=link,
            tolerance=tolerance,
            clip=clip,
            compat=compat,
            random_state=random_state,
            sample_weight=sample_weight,
            from_logits=from_logits,
            multiclass=multiclass,
            ties=ties,
            pos_label=pos_label,
            sum_tolerance=sum_tolerance,
        )
        return cls(result, name=name).plot(ax=ax, colors=colors)

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
    ) -> SweepDisplay:
        """Draw the sweep of what a fitted classifier says of these data.

        Parameters
        ----------
        estimator : fitted classifier
            It is asked for `predict_proba`, or with `from_logits` for `decision_function`.
        X, y : array-like
            Data and labels; labels are those of ``estimator.classes_``.
        from_logits, multiclass, pos_label
            As for `sweep`; of two classes the last is positive unless `pos_label` says otherwise.
        name : str, optional
            The class of the estimator unless given.
        **options
            As for `from_predictions`.

        Returns
        -------
        SweepDisplay
            The display, drawn.
        """
        labels, scores = predictions_of(
            estimator, X, y, from_logits=from_logits, multiclass=multiclass, pos_label=pos_label
        )
        name = type(estimator).__name__ if name is None else name
        return cls.from_predictions(
            labels, scores, from_logits=from_logits, multiclass=multiclass, name=name, **options
        )

    def plot(
        self, *, ax: Axes | None = None, name: str | None = None, colors: tuple[str, str] | None = None
    ) -> SweepDisplay:
        """Draw the sweep; further displays may be drawn on the same axes.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure unless given.
        name : str, optional
            What the legend calls it.
        colors : tuple of two str, optional
            As for `from_predictions`.

        Returns
        -------
        SweepDisplay
            This display, with `ax_` and `figure_`.
        """
        ax, beside = axes_for(ax)
        first = not marked(ax)
        of_ece, of_ls_ece = free_colors(ax, 2) if colors is None else colors
        name = self.name if name is None else name
        result = self.result
        # With three marks the lines can be told apart without colour, too.
        lines: list[tuple[NDArray[np.float64] | None, str, dict[str, Any]]] = [
            (result.ece_uniform, "ECE, equal width", {"color": of_ece, "marker": "o"}),
            (result.ece_quantile, "ECE, equal mass", {"color": of_ece, "marker": "s", "markerfacecolor": "white"}),
            (result.ls_ece, "LS-ECE, σ = 1/bins", {"color": of_ls_ece, "marker": "D", "linewidth": 2.2}),
        ]
        drawn = []
        for values, what, style in lines:
            if values is not None:
                drawn += ax.plot(
                    result.bins,
                    values,
                    label=label(name, what),
                    **{"linewidth": 1.4, "markersize": 4.5, "zorder": 3, **style},
                )
        # Two colours are used up, whatever the number of lines.
        for line in (drawn[0], drawn[-1]):
            mark(line)
        if first:
            plain_frame(ax)
            ax.set_xlabel("Number of bins, and 1/σ of LS-ECE")
            ax.set_ylabel("Calibration error")
        highest = max(float(np.max(line.get_ydata())) for line in ax.get_lines())
        ax.set_ylim(0.0, 1.08 * highest if highest > 0 else 1.0)
        draw_legend(ax, beside)
        self.ax_, self.figure_ = ax, ax.figure
        return self
