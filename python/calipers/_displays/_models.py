"""Several models on one chart, made to be read on a slide."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from calipers._arrays import ArrayLike
from calipers._assess import Clusters
from calipers._assessment import Assessment
from calipers._compare import Comparison, compare_rows
from calipers._displays import _canvas as canvas
from calipers._displays._direct_labels import Label, draw_labels
from calipers._documented import documented
from calipers._inputs import cluster_column
from calipers._measures import LISTED
from calipers._predictions import Predictions, Rows, models_of, read_models

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure
    from matplotlib.lines import Line2D

ModelOutcomes: TypeAlias = ArrayLike | Mapping[str, Predictions]
# A table is anything with named columns: pandas, polars, pyarrow.
Models: TypeAlias = Mapping[str, ArrayLike] | Any | None

# Inches, and how much larger text is than in other charts: as wide as a slide of 16:9 it is as
# large as the text of the slide.
_SIZE = (10.0, 5.625)
_SCALE = 1.35
# How large the legend is beside axes of others, whose room it takes.
_SMALL = 0.85
# Letters of a line in the legend beside the chart.
_LEGEND_WIDTH = 30


class OneOfSeveral(Protocol):
    """A display that can be drawn with others."""

    def _draw_together(self, ax: Axes, displays: Sequence[Any], colors: Sequence[str], square: bool) -> list[Line2D]:
        """Draw all displays on empty or used axes; the line of each, for its name."""

    def _unnamed(self, ax: Axes) -> tuple[list[Line2D], float]:
        """Lines that no name may touch, and the least y at which a name may stand."""

    def _notes(self) -> list[tuple[dict[str, Any], str]]:
        """What the end of the legend explains: the style of a line, and its text."""

    def _references(self) -> list[str]:
        """Texts of lines that are drawn already, which end the legend."""


@documented
class ModelsDisplay:
    """Several models on one chart, with their values and intervals in the legend.

    Use `ReliabilityDisplay.from_models` or `CumulativeDisplay.from_models`, which make it. All
    models have one sigma. A new figure has the shape of a slide (16:9) and text that can be read
    on one; a figure of yours keeps its size and its text. Names stand at the lines where there is
    room.

    Parameters
    ----------
    models : dict
        The display of each model by its name.
    comparison : Comparison
        Values, intervals and differences of the same models, as `compare` finds them.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes that were drawn on last.
    figure_ : matplotlib Figure
        Their figure.

    Examples
    --------
    >>> import calipers as cal
    >>> y_true = [0, 1, 1, 0, 1] * 20
    >>> models = {"sure": [0.1, 0.9, 0.8, 0.2, 0.9] * 20, "careful": [0.4, 0.6, 0.7, 0.4, 0.6] * 20}
    >>> display = cal.ReliabilityDisplay.from_models(y_true, models, n_resamples=99)
    >>> list(display.models)
    ['sure', 'careful']
    >>> display.comparison.models["sure"].settings["sigma"] == display.models["careful"].curve.sigma
    True
    """

    ax_: Axes
    figure_: Figure | SubFigure

    def __init__(self, models: Mapping[str, OneOfSeveral], comparison: Comparison) -> None:
        self.models = dict(models)
        self.comparison = comparison

    @documented
    def plot(self, *, ax: Axes | None = None, colors: Mapping[str, str] | None = None) -> ModelsDisplay:
        """Draw all models."""
        from matplotlib.lines import Line2D

        if colors is not None and not isinstance(colors, Mapping):
            raise TypeError(f"colors must be a dict with the colour of each model, got {type(colors).__name__}")
        missing = [] if colors is None else [name for name in self.models if name not in colors]
        if missing:
            raise ValueError(f"colors must have every model, {missing[0]!r} is missing")
        own = ax is None
        ax, beside = canvas.axes_for(ax, _SIZE)
        # The legend of several models is large: it stands beside axes that make room for it.
        figure = ax.figure.canvas.figure
        beside = beside or figure.get_layout_engine() is not None
        scale = _SCALE if own else 1.0
        chosen = canvas.free_colors(ax, len(self.models)) if colors is None else [colors[name] for name in self.models]
        displays = list(self.models.values())
        first = displays[0]
        lines = first._draw_together(ax, displays, chosen, own)
        for (name, found), color in zip(self.comparison.models.items(), chosen, strict=True):
            text = canvas.label(name, value_and_interval(found), _LEGEND_WIDTH)
            ax.add_line(Line2D([], [], color=color, linewidth=canvas.BOLD, label=text))
        notes = first._notes()
        for style, text in notes:
            ax.add_line(Line2D([], [], color=canvas.REFERENCE, label=text, **style))
        if own:
            canvas.enlarge_text(ax, scale)
        last = [*(text for _, text in notes), *first._references()]
        canvas.draw_legend(ax, beside, last=last, scale=_SCALE if own else _SMALL)
        # Axes that make room for the legends of others change their shape, and names their places.
        if len(figure.axes) == 1 or not beside:
            labels = [Label(name, line) for name, line in zip(self.models, lines, strict=True)]
            unnamed, lowest = first._unnamed(ax)
            draw_labels(ax, labels, unnamed, lowest, scale)
        self.ax_, self.figure_ = ax, ax.figure
        return self


def value_and_interval(found: Assessment) -> str:
    """A value with its interval in a line or two, as many digits as the interval knows.

    A value that chance explains has an upper limit, which is about the population and may be below
    the value: what chance adds to the value is not in it.
    """
    interval = found.interval
    width = interval.upper - interval.lower
    digits = 3 if width <= 0 else min(max(1 - math.floor(math.log10(width)), 2), 6)
    title = LISTED[found.estimate.measure].title
    text = f"{title} {found.value:.{digits}f}"
    if interval.is_upper_limit:
        return f"{text}, no more than chance;\ntrue value below {interval.upper:.{digits}f}"
    return f"{text} ({interval.lower:.{digits}f} to {interval.upper:.{digits}f})"


def compared_models(
    function: Callable[..., Any],
    y_true: ModelOutcomes,
    y_prob: Models,
    rows: Mapping[str, object],
    cluster: Clusters,
    measure: str,
    options: Mapping[str, object],
) -> tuple[dict[str, Rows], Comparison]:
    """The rows of each model by its name, and what `compare` finds."""
    given = models_of(y_prob)
    if not isinstance(y_true if y_prob is None else given, Mapping):
        raise TypeError(f"y_prob must be a dict or a data frame of models by name, got {type(y_prob).__name__}")
    models = read_models(function, y_true, given, rows)
    return models, compare_rows(models, measure, {**options, "cluster": cluster_column(cluster), "progress": None})


def check_one_model(y_prob: object) -> None:
    """An error for several models where one is drawn."""
    if isinstance(y_prob, Mapping):
        raise TypeError("y_prob must be the probabilities of one model, got a dict; use from_models for several")
