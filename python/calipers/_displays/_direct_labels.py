"""Names at the lines themselves, where there is room, so that no one has to look up a colour."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from calipers._displays._canvas import enlarge

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D
    from matplotlib.text import Annotation
    from matplotlib.transforms import Bbox

Points = NDArray[np.float64]

# In pixels of a figure with 100 dots to the inch: between a name and its line, between a name and
# another line or name, and the distance of other lines beyond which more is no better.
_TO_OWN, _TO_OTHERS, _FAR = 6.0, 14.0, 60.0
# Where a name may stand around a point of its line, in halves of its width and height.
_SIDES = ((0, 1), (0, -1), (1, 1), (-1, 1), (1, -1), (-1, -1), (1, 0), (-1, 0))


class Label(NamedTuple):
    """A name, and the line that it belongs to."""

    name: str
    line: Line2D


class _Place(NamedTuple):
    """Where a name stands: its middle, the point of the line next to it, and how good that is."""

    middle: Points
    point: Points
    room: float


def draw_labels(
    ax: Axes, labels: Sequence[Label], others: Sequence[Line2D], lowest: float, scale: float = 1.0
) -> list[Annotation]:
    """Write each name next to its line, if that is clearly nearer than all other lines.

    `others` are lines without a name, and `lowest` is the least y at which a name may stand.
    """
    from matplotlib.patheffects import withStroke

    figure: Figure = ax.figure.canvas.figure
    # What is where is known when the figure has been laid out.
    figure.draw_without_rendering()
    pixel = figure.dpi / 100.0
    lines = [_pixels(each.line) for each in labels]
    unnamed = [_pixels(line) for line in others]
    area = np.array(ax.bbox.padded(-_TO_OWN * pixel).extents)
    if np.isfinite(lowest):
        area[1] = max(area[1], ax.transData.transform((0.0, lowest))[1])
    legend = ax.get_legend()
    taken = [] if legend is None else [_middle_and_half(legend.get_window_extent())]
    drawn = []
    for index, (name, line) in enumerate(labels):
        text = ax.annotate(
            name,
            # Moved below; outside the axes it would have no size.
            (0.5, 0.5),
            (0.0, 0.0),
            xycoords="axes fraction",
            textcoords="offset points",
            ha="center",
            va="center",
            color=line.get_color(),
            fontweight="bold",
            path_effects=[withStroke(linewidth=3.0, foreground=ax.get_facecolor())],
            zorder=6,
        )
        enlarge(text, scale)
        # A name inside the axes needs no room beside them.
        text.set_in_layout(False)
        _, half = _middle_and_half(text.get_window_extent())
        away = [points for place, points in enumerate(lines) if place != index]
        place = _best(lines[index], [*away, *unnamed], taken, half, area, pixel)
        if place is None:
            text.remove()
            continue
        text.xycoords = "data"
        text.xy = tuple(ax.transData.inverted().transform(place.point))
        text.set_position(tuple((place.middle - place.point) * 72.0 / figure.dpi))
        taken.append((place.middle, half))
        drawn.append(text)
    return drawn


def _middle_and_half(box: Bbox) -> tuple[Points, Points]:
    """Where a box is, and half of its width and height."""
    return np.array([box.x0 + box.x1, box.y0 + box.y1]) / 2.0, np.array([box.width, box.height]) / 2.0


def _best(
    own: Points,
    others: Sequence[Points],
    taken: Sequence[tuple[Points, Points]],
    half: Points,
    area: Points,
    pixel: float,
) -> _Place | None:
    """The place of a name with the most room; None where there is none."""
    best: _Place | None = None
    for point in own[:: max(1, len(own) // 80)]:
        for side in np.array(_SIDES):
            middle = point + side * (half + _TO_OWN * pixel)
            if np.any(middle - half < area[:2]) or np.any(middle + half > area[2:]):
                continue
            if any(np.all(np.abs(middle - its) < half + its_half + _TO_OTHERS * pixel) for its, its_half in taken):
                continue
            if _distance(own, middle, half) < 0.5 * _TO_OWN * pixel:
                continue
            room = min((_distance(each, middle, half) for each in others), default=np.inf)
            if room < _TO_OTHERS * pixel:
                continue
            room = min(room, _FAR * pixel)
            if best is None or room > best.room:
                best = _Place(middle, point, room)
    return best


def _distance(points: Points, middle: Points, half: Points) -> float:
    """From a box to the nearest of the points; 0 if one is inside."""
    if not len(points):
        return float("inf")
    beyond = np.maximum(np.abs(points - middle) - half, 0.0)
    return float(np.sqrt((beyond**2).sum(axis=1).min()))


def _pixels(line: Line2D) -> Points:
    """Points of a line at most a few pixels apart; none where it is not drawn."""
    points = line.get_transform().transform(np.asarray(line.get_xydata(), dtype=np.float64))
    points = points[:: max(1, len(points) // 2000)]
    starts, ends = points[:-1], points[1:]
    joined = np.isfinite(starts).all(axis=1) & np.isfinite(ends).all(axis=1)
    pieces = [points[np.isfinite(points).all(axis=1)]]
    for start, end in zip(starts[joined], ends[joined], strict=True):
        steps = int(np.hypot(*(end - start)) // 4.0)
        if steps > 0:
            pieces.append(start + np.linspace(0.0, 1.0, steps + 2)[1:-1, None] * (end - start))
    return np.concatenate(pieces)
