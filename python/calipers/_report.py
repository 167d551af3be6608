"""Reports: one self-contained HTML page about one or more models."""

from __future__ import annotations

import errno
import os
import uuid
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any, Literal, cast

import numpy as np

from calipers import _core
from calipers._arrays import ArrayLike
from calipers._assess import Clusters
from calipers._documented import documented
from calipers._drift import DriftSample, Side, side
from calipers._inputs import Link, NBins, Noise, Strategy, cluster_column, label_column
from calipers._predictions import Outcomes, Predictions, ask_models, check_keywords, read_models
from calipers._progress import shown
from calipers._row_options import RowOptions, Unpack
from calipers._sketch import Sketch

# Of the frame that a notebook shows, in pixels; the page scrolls inside.
FRAME_HEIGHT = 720


@dataclass(frozen=True, repr=False)
class ReportPage:
    """A page about one or more models: it opens in any browser, without a network.

    Notebooks show it.

    Attributes
    ----------
    title : str
        What the page is called.
    html : str
        The whole page.
    charts : dict of str
        The charts of the page as SVG, by the names of files for them.
    """

    title: str
    html: str
    charts: dict[str, str]

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Writes the page, all of it or nothing, and returns its path.

        Parameters
        ----------
        path : str or path
            The file, in a folder that is there.
        """
        return _write(Path(path), self.html)

    def save_charts(self, folder: str | os.PathLike[str]) -> list[Path]:
        """Writes each chart as an SVG file, and returns their paths.

        Parameters
        ----------
        folder : str or path
            It is made if it is not there.
        """
        Path(folder).mkdir(parents=True, exist_ok=True)
        return [_write(Path(folder) / name, chart) for name, chart in self.charts.items()]

    def __repr__(self) -> str:
        return f"ReportPage({self.title!r}, {len(self.html):,} bytes; .save(path) writes it)"

    def _repr_html_(self) -> str:
        # A page of its own, since its style and script are no business of the notebook's.
        return (
            f'<iframe srcdoc="{escape(self.html)}" title="{escape(self.title)}" sandbox="allow-scripts" '
            f'style="width: 100%; height: {FRAME_HEIGHT}px; border: 1px solid #ccc"></iframe>'
        )


def _write(path: Path, text: str) -> Path:
    """By a neighbour that takes the name at the end: nobody sees half of a file."""
    if not path.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "there is no such folder", str(path.parent))
    neighbour = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    try:
        neighbour.write_text(text, encoding="utf-8", newline="\n")
        neighbour.replace(path)
    except BaseException:
        neighbour.unlink(missing_ok=True)
        raise
    return path


@documented
def report(
    y_true: Outcomes | Sketch | Mapping[str, Sketch | Predictions],
    y_prob: ArrayLike | Mapping[str, ArrayLike] | None = None,
    *,
    title: str | None = None,
    groups: ArrayLike | Sequence[Hashable] | None = None,
    by: str = "group",
    against: DriftSample | Sequence[DriftSample] | None = None,
    sigma: float | Literal["auto"] = "auto",
    noise: Noise = "gaussian",
    link: Link = "logistic",
    tolerance: float = 1e-6,
    clip: float = 1e-6,
    n_bins: NBins = 15,
    strategy: Strategy = "uniform",
    level: float = 0.95,
    n_resamples: int = 1000,
    cluster: Clusters = None,
    random_state: int = 0,
    progress: bool = False,
    **rows: Unpack[RowOptions],
) -> ReportPage:
    r"""A self-contained HTML page about one or more models.

    Use it to look at everything at once, or to share it: verdict, measures with floors and
    intervals, diagrams, sweep and groups. The page is that of the command ``calipers report``.

    Parameters
    ----------
    y_true : array-like of shape (n,) or one-hot (n, k), Predictions, Sketch, or dict of either
        Outcomes 0 and 1 (or see `pos_label`), or class labels from 0 to k - 1 (or see `classes`).
        `Predictions` or a `Sketch`, or a dict of either by the names of models, stand for `y_true`,
        `y_prob` and the options of rows.
    y_prob : array-like or dict of array-like, optional
        Probabilities, or those of each model by its name: row i of each is about outcome i.
    title : str, optional
        What the page is called; the names of the models, unless given.
    groups : array-like, optional
        The group of each row: each group is measured on its own, and the worst are drawn.
    by : str
        What the groups are called.
    against : Predictions, Sketch, tuple of y_true and y_prob, or list of these, optional
        An earlier sample, which shares no rows with the model: the page shows what has changed
        since, as `drift` finds it. For several models, a list with a sample for each.

    Returns
    -------
    ReportPage
        Its `save` writes the page; a notebook shows it.

    Notes
    -----
    Rows of several classes are looked at by their top class first, then class by class.

    Cost: an assessment of each measure, a sweep, and bands. Charts of more than 20,000 rows are
    drawn from a sketch of them. Accuracy: that of the function of each value.

    References
    ----------
    Those of the functions whose values the page has.

    Examples
    --------
    >>> import calipers as cal
    >>> models = {"sure": [0.9] * 200, "careful": [0.75] * 200}
    >>> page = cal.report([1, 1, 1, 0] * 50, models, n_resamples=100)
    >>> page.title, page.html.startswith("<!DOCTYPE html>")
    ('sure, careful', True)
    >>> "reliability" in " ".join(page.charts)
    True
    """
    measured = {"sigma": sigma, "noise": noise, "link": link, "tolerance": tolerance, "clip": clip}
    binned = {"n_bins": n_bins, "strategy": strategy, "norm": "l1", "compat": None}
    drawn = {"level": level, "n_resamples": n_resamples, "random_state": random_state}
    how: dict[str, Any] = {"title": title, **measured, **binned, **drawn, "against": _against(against)}
    sketches = _sketches(y_true, y_prob)
    if sketches is not None:
        check_keywords(report, rows)
        for name, given in {"groups": groups, "cluster": cluster, "sample_weight": rows.get("sample_weight")}.items():
            if given is not None:
                raise TypeError(f"{name} is an option of rows, which a sketch has lost")
        how["clip"] = next((sketch.clip for sketch in sketches.values()), clip)
        with shown(progress, "report") as show:
            held = [(name, sketch._held) for name, sketch in sketches.items()]
            return _page(_core.report_of_sketches(held, {**how, "progress": show}))
    if y_prob is None and not isinstance(y_true, (Predictions, Mapping)):
        raise TypeError("outcomes must come with y_prob; only sketches and predictions stand alone")
    models = read_models(report, y_true, y_prob, rows)
    how |= {"cluster": cluster_column(cluster), "groups": _groups(groups, by)}
    with shown(progress, "report") as show:
        return _page(ask_models(_core.report, models, **how, progress=show))


def _sketches(y_true: object, y_prob: object) -> dict[str, Sketch] | None:
    """The sketches by name, if it is sketches that were given."""
    if isinstance(y_true, Sketch):
        y_true = {"model": y_true}
    if not isinstance(y_true, Mapping) or not all(isinstance(sketch, Sketch) for sketch in y_true.values()):
        return None
    if y_prob is not None:
        raise TypeError("y_prob must be left out where sketches are given")
    for name in y_true:
        if not isinstance(name, str):
            raise TypeError(f"the name of a model must be text, got {type(name).__name__}")
    return dict(y_true)


def _against(against: DriftSample | Sequence[DriftSample] | None) -> list[Side]:
    """Earlier samples as the core takes them."""
    if against is None:
        return []
    return [side(sample) for sample in against] if isinstance(against, list) else [side(cast("DriftSample", against))]


def _groups(groups: ArrayLike | Sequence[Hashable] | None, by: str) -> tuple[str, list[str], Any] | None:
    """Names of groups, and the place of each row's among them."""
    if not isinstance(by, str):
        raise TypeError(f"by must be text, got {type(by).__name__}")
    if groups is None:
        return None
    values, missing = label_column(groups)  # type: ignore[arg-type]
    texts = np.asarray(values, dtype=object) if isinstance(values, list) else values.ravel()
    keys, numbers = np.unique(texts.astype(str), return_inverse=True)
    names = keys.tolist()
    if missing is not None:
        # Shown as (none). What stands there for a missing value may be no other row's; groups
        # without rows are none.
        numbers = np.where(missing.ravel(), len(names), numbers)
        names.append("")
    return by, names, np.ascontiguousarray(numbers, dtype=np.uint32)


def _page(found: dict[str, Any]) -> ReportPage:
    return ReportPage(title=found["title"], html=found["html"], charts=dict(found["charts"]))
