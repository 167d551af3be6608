"""What all displays share on paper: axes, colours, the legend.

No setting of matplotlib is changed.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.text import Text

# Okabe and Ito's colours in the order of the core's charts: told apart with any colour vision.
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
# The line of a perfect model; it can be seen on white and on black.
REFERENCE = "#777777"
SMALL = "small"
# Widths of the line of one of several models: where chance explains its gap, and where it does not.
THIN, BOLD = 1.2, 3.6

_CURVE = "calipers-curve"
_BESIDE = "calipers-legend-beside"
# Letters of a line in the legend: as many as stand beside a square chart in a figure of the default
# size.
_LEGEND_WIDTH = 22


def axes_for(ax: Axes | None, size: tuple[float, float] | None = None) -> tuple[Axes, bool]:
    """The axes to draw on, and whether the legend stands beside them.

    It does in a figure that is made here, of this size in inches or of matplotlib's.
    """
    if ax is None:
        import matplotlib.pyplot as plt
        from matplotlib.layout_engine import ConstrainedLayoutEngine

        # Inches; with the usual ones text touches the edge.
        _, ax = plt.subplots(figsize=size, layout=ConstrainedLayoutEngine(w_pad=0.08, h_pad=0.08))
        return ax, True
    legend = ax.get_legend()
    return ax, legend is not None and legend.get_gid() == _BESIDE


def mark(artist: Artist, kind: str = _CURVE) -> None:
    """Remember what an artist is, for the next display on these axes."""
    artist.set_gid(kind)


def marked(ax: Axes, kind: str = _CURVE) -> list[Artist]:
    """What displays have drawn of this kind."""
    return [artist for artist in ax.get_children() if artist.get_gid() == kind]


def free_colors(ax: Axes, n: int) -> list[str]:
    """The next n colours that no display has used on these axes.

    They begin again after the last.
    """
    used = len(marked(ax))
    return [PALETTE[(used + index) % len(PALETTE)] for index in range(n)]


def label(name: str | None, what: str, width: int = _LEGEND_WIDTH) -> str:
    """A name over what belongs to it, in lines that fit a legend."""
    lines = [] if name is None else textwrap.wrap(name, width, max_lines=3)
    return "\n".join([*lines, what] if what else lines)


def value_text(value: float) -> str:
    """A value with three digits."""
    return f"{value:.3g}" if abs(value) >= 1e-4 or value == 0 else f"{value:.0e}"


def percent(share: float) -> str:
    """A share as a percentage."""
    return f"{100 * share:.3g}%"


def draw_legend(ax: Axes, beside: bool, last: Sequence[str] = (), scale: float = 1.0) -> None:
    """The legend: to the right of the axes, or inside where it covers least.

    The labels in `last` end it.
    """
    from matplotlib import rcParams
    from matplotlib.font_manager import FontProperties

    entries = list(zip(*ax.get_legend_handles_labels(), strict=True))
    entries.sort(key=lambda entry: last.index(entry[1]) if entry[1] in last else -1)
    handles, labels = zip(*entries, strict=True)
    if beside:
        legend = ax.legend(
            handles,
            labels,
            loc="upper left",
            fontsize=scale * FontProperties(size=rcParams["legend.fontsize"]).get_size_in_points(),
            bbox_to_anchor=(1.02, 1.0),
            borderaxespad=0.0,
            frameon=False,
            labelspacing=0.9,
            handlelength=1.6,
        )
        mark(legend, _BESIDE)
    else:
        ax.legend(handles, labels, loc="best", fontsize=SMALL, framealpha=0.85, handlelength=1.6)


def enlarge(text: Text, scale: float) -> None:
    """A text of another size."""
    text.set_fontsize(scale * float(text.get_fontsize()))


def enlarge_text(ax: Axes, scale: float) -> None:
    """All text of the axes but the legend: labels, numbers at the ticks, and what is written."""
    for axis, ticks in ((ax.xaxis, ax.get_xticklabels()), (ax.yaxis, ax.get_yticklabels())):
        enlarge(axis.label, scale)
        axis.set_tick_params(labelsize=scale * float(ticks[0].get_fontsize()))
    for text in ax.texts:
        enlarge(text, scale)


def plain_frame(ax: Axes) -> None:
    """Two of four sides, and a faint grid behind the data."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(True, color=REFERENCE, alpha=0.18, linewidth=0.6)
    ax.set_axisbelow(True)


def thinned(x: NDArray[np.float64], n: int = 600) -> NDArray[np.intp]:
    """Places of at most about n points that look like all of an ascending x.

    No two within a pixel, both ends kept.
    """
    if x.size <= n:
        return np.arange(x.size)
    cells = np.floor((x - x[0]) / max(x[-1] - x[0], 1e-300) * n)
    first = np.flatnonzero(np.diff(cells, prepend=-1.0))
    return np.union1d(first, [x.size - 1])
