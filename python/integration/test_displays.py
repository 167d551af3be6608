"""Displays: what is drawn, that all text can be read, and that nothing else of matplotlib is touched."""

from __future__ import annotations

import doctest
import importlib
import itertools
import pkgutil
import runpy
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

import calipers as cal
import calipers._displays
import matplotlib as mpl
import numpy as np
import pytest

mpl.use("Agg")

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.text import Text
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC

pytestmark = pytest.mark.filterwarnings("error")

FIGURES = Path(__file__).parents[2] / "docs" / "figures"
Sample: TypeAlias = tuple[Any, Any]
Draw: TypeAlias = Callable[..., Any]


def many() -> Sample:
    rng = np.random.default_rng(1)
    logits = rng.normal(-0.5, 2.0, 100_000)
    return (rng.random(logits.size) < 1 / (1 + np.exp(-0.7 * logits))).astype(int), 1 / (1 + np.exp(-logits))


def some(n: int = 300) -> Sample:
    rng = np.random.default_rng(2)
    p = rng.random(n)
    return (rng.random(n) < p**1.3).astype(int), p


SAMPLES: dict[str, Sample] = {
    "one row": ([1], [0.7]),
    "one row at 0": ([1], [0.0]),
    "100,000 rows": many(),
    "no outcome 1": (np.zeros(300, dtype=int), some()[1]),
    "no outcome 0": (np.ones(300, dtype=int), some()[1]),
    "all probabilities equal": (some()[0], np.full(300, 0.3)),
    "all probabilities 1": (np.ones(300, dtype=int), np.ones(300)),
    "two probabilities": ([0, 1, 0, 1, 1], [0.2, 0.2, 0.2, 0.9, 0.9]),
    "rare": (np.arange(2000) % 500 == 0, np.linspace(1e-5, 4e-3, 2000)),
}
KINDS = ("smoothed", "binned", "corp")
DRAW: dict[str, Draw] = {
    **{
        kind: lambda *rows, kind=kind, **options: cal.ReliabilityDisplay.from_predictions(*rows, kind=kind, **options)
        for kind in KINDS
    },
    "sweep": cal.SweepDisplay.from_predictions,
    "cumulative": cal.CumulativeDisplay.from_predictions,
}
DISPLAYS = (cal.ReliabilityDisplay, cal.SweepDisplay, cal.CumulativeDisplay)


@pytest.fixture(autouse=True)
def no_setting_is_changed() -> Iterator[None]:
    before = dict(mpl.rcParams)
    yield
    plt.close("all")
    assert dict(mpl.rcParams) == before


@pytest.fixture(params=DRAW)
def draw(request: pytest.FixtureRequest) -> Draw:
    return DRAW[request.param]


@pytest.fixture
def check_text(monkeypatch: pytest.MonkeyPatch) -> Callable[[Figure], list[str]]:
    """Draw a figure; the boxes of all text that is drawn lie inside it and not on each other."""
    drawn: list[Text] = []
    draw_text = Text.draw

    def remember(self: Text, *args: Any, **kwargs: Any) -> None:
        if self.get_visible() and self.get_text().strip():
            drawn.append(self)
        draw_text(self, *args, **kwargs)

    monkeypatch.setattr(Text, "draw", remember)

    def check(figure: Figure) -> list[str]:
        # The first drawing lays out, the second is looked at.
        figure.canvas.draw()
        drawn.clear()
        figure.canvas.draw()
        boxes = [(text.get_text(), text.get_window_extent()) for text in drawn]
        assert boxes
        for text, box in boxes:
            inside = figure.bbox.x0 <= box.x0 and box.x1 <= figure.bbox.x1
            assert inside and figure.bbox.y0 <= box.y0 and box.y1 <= figure.bbox.y1, (text, box)
        for (text, box), (other, other_box) in itertools.combinations(boxes, 2):
            apart = box.x1 <= other_box.x0 or other_box.x1 <= box.x0 or box.y1 <= other_box.y0 or other_box.y1 <= box.y0
            assert apart, (text, box, other, other_box)
        return [text for text, _ in boxes]

    return check


@pytest.mark.parametrize("rows", SAMPLES.values(), ids=SAMPLES)
@pytest.mark.parametrize("name", [None, "Histogram gradient boosting, isotonic, on the second half of 2024"])
def test_text_can_be_read(
    draw: Draw, rows: Sample, name: str | None, check_text: Callable[[Figure], list[str]]
) -> None:
    display = draw(*rows, name=name)
    check_text(display.figure_)
    assert tuple(display.figure_.get_size_inches()) == tuple(mpl.rcParams["figure.figsize"])
    # Beside the chart, so that no data can be below it.
    legend = display.ax_.get_legend().get_window_extent()
    assert legend.x0 >= display.ax_.get_window_extent().x1


@pytest.mark.parametrize("rows", SAMPLES.values(), ids=SAMPLES)
def test_text_can_be_read_on_given_axes(draw: Draw, rows: Sample, check_text: Callable[[Figure], list[str]]) -> None:
    figure, ax = plt.subplots()
    display = draw(*rows, name="model", ax=ax)
    assert display.ax_ is ax and display.figure_ is figure
    assert plt.get_fignums() == [figure.number]
    check_text(figure)


def test_text_can_be_read_in_a_row_of_charts(draw: Draw, check_text: Callable[[Figure], list[str]]) -> None:
    figure, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    for ax in axes:
        draw(*some(), name="model", ax=ax)
    check_text(figure)


def test_several_displays_share_axes(draw: Draw, check_text: Callable[[Figure], list[str]]) -> None:
    y, p = some()
    display = draw(y, p, name="first")
    own = len(display.ax_.get_legend().get_texts())
    for name in ("second", "third"):
        assert draw(y, p**2, name=name, ax=display.ax_).ax_ is display.ax_
    texts = check_text(display.figure_)
    assert all(any(text.startswith(name) for text in texts) for name in ("first", "second", "third"))
    # What displays share is said once.
    labels = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert len(labels) < 3 * own
    assert sum("calibrated" in text or "chance" in text for text in labels) <= 2
    colors = {line.get_color() for line in display.ax_.get_lines() if line.get_gid() == "calipers-curve"}
    assert len(colors) >= 3


def test_what_is_drawn_is_the_smoothed_curve() -> None:
    y, p = some()
    display = cal.ReliabilityDisplay.from_predictions(y, p, sigma=0.4)
    (line,) = curves(display.ax_)
    curve = cal.ls_curve(y, p, at=line.get_xdata(), sigma=0.4)
    shown = curve.densities >= 0.01
    assert np.array_equal(np.isfinite(line.get_ydata()), shown) and shown.any()
    np.testing.assert_allclose(line.get_ydata()[shown], curve.outcome_rates[shown])
    assert display.estimate == cal.ls_ece(y, p, sigma=0.4)
    assert display.band is not None and display.band.kind == "consistency" and display.band.level == 0.95
    assert display.shares is not None and abs(display.shares.shares.sum() - 1) < 1e-12


def test_what_is_drawn_is_the_isotonic_curve() -> None:
    y, p = some()
    display = cal.ReliabilityDisplay.from_predictions(y, p, kind="corp", band="confidence", level=0.9, n_resamples=99)
    (line,) = curves(display.ax_)
    curve = cal.corp_curve(y, p, band="confidence", level=0.9, n_resamples=99)
    # Corners alone, which is the same line.
    np.testing.assert_allclose(
        np.interp(curve.probabilities, line.get_xdata(), line.get_ydata()), curve.outcome_rates, rtol=1e-12
    )
    assert display.estimate == cal.corp(y, p).miscalibration
    assert display.band is not None and curve.band is not None
    assert np.array_equal(display.band.lower, curve.band.lower)
    assert "90% confidence band" in [text.get_text() for text in display.ax_.get_legend().get_texts()]


def test_what_is_drawn_are_the_bins() -> None:
    y, p = some()
    display = cal.ReliabilityDisplay.from_predictions(y, p, kind="binned", n_bins=7, strategy="quantile")
    bins = cal.calibration_bins(y, p, n_bins=7, strategy="quantile")
    (line,) = curves(display.ax_)
    assert line.get_xydata().tolist() == [[each.mean_probability, each.outcome_rate] for each in bins]
    assert display.estimate == cal.expected_calibration_error(y, p, n_bins=7, strategy="quantile")


def test_the_range_of_bins_covers_at_its_level() -> None:
    rng = np.random.default_rng(3)
    p = rng.random(400)
    inside = []
    for draw in range(60):
        y = (rng.random(p.size) < p).astype(int)
        display = cal.ReliabilityDisplay.from_predictions(y, p, kind="binned", n_bins=10, random_state=draw)
        rates = np.array([each.outcome_rate for each in display.curve])
        inside += ((display.band.lower <= rates) & (rates <= display.band.upper)).tolist()
        plt.close("all")
    # 600 bins, and a range that is discrete and a little wide.
    assert 0.93 <= np.mean(inside) <= 0.995


def test_what_is_drawn_is_the_sweep() -> None:
    y, p = some()
    display = cal.SweepDisplay.from_predictions(y, p, bins=[5, 10, 40])
    result = cal.sweep(y, p, bins=[5, 10, 40])
    drawn = [line.get_ydata() for line in display.ax_.get_lines() if len(line.get_xdata()) == 3]
    for expected in (result.ece_uniform, result.ece_quantile, result.ls_ece):
        assert any(np.array_equal(expected, values) for values in drawn)
    assert display.ax_.get_ylim()[0] == 0


def test_what_is_drawn_is_the_walk_with_its_weighted_deviations() -> None:
    y, p = some()
    p = np.round(p, 1)
    weights = np.random.default_rng(4).random(p.size)
    display = cal.CumulativeDisplay.from_predictions(y, p, sample_weight=weights)
    (line,) = curves(display.ax_)
    shares = weights / weights.sum()
    walk = [0.0, *(np.sum((shares * (y - p))[p <= end]) for end in np.unique(p))]
    variances = [0.0, *(np.sum((shares**2 * p * (1 - p))[p <= end]) for end in np.unique(p))]
    np.testing.assert_allclose(line.get_ydata(), walk, atol=1e-14)
    np.testing.assert_allclose(display.deviations, np.sqrt(variances), atol=1e-14)
    unweighted = cal.CumulativeDisplay.from_predictions(y, p)
    equal = cal.CumulativeDisplay.from_predictions(y, p, sample_weight=np.full(p.size, 7.0))
    np.testing.assert_allclose(unweighted.deviations, equal.deviations, atol=1e-14)


def test_a_long_walk_keeps_its_extremes() -> None:
    display = cal.CumulativeDisplay.from_predictions(*many())
    (line,) = curves(display.ax_)
    assert line.get_xdata().size < 5000
    assert np.ptp(line.get_ydata()) == np.ptp(display.curve.differences)
    assert line.get_ydata()[-1] == display.curve.differences[-1]


@pytest.mark.parametrize("Display", DISPLAYS)
@pytest.mark.parametrize(
    ("n_classes", "options"),
    [
        (2, {}),
        (2, {"pos_label": "setosa"}),
        (2, {"from_logits": True}),
        (2, {"from_logits": True, "pos_label": "setosa"}),
        (3, {}),
        (3, {"multiclass": "top_class"}),
        (3, {"multiclass": 1}),
        (3, {"multiclass": 1, "from_logits": True}),
    ],
)
def test_from_estimator_is_from_predictions(Display: Any, n_classes: int, options: dict[str, Any]) -> None:
    data = load_iris()
    kept = data.target < n_classes
    X, y = data.data[kept, :2], data.target_names[data.target[kept]]
    model = LogisticRegression(max_iter=1000).fit(X, y)
    weights = np.linspace(1, 2, y.size)
    logits = options.get("from_logits", False)
    scores = model.decision_function(X) if logits else model.predict_proba(X)
    if n_classes == 2:
        first = "pos_label" in options
        outcomes = y == ("setosa" if first else "versicolor")
        scores = (-scores if first else scores) if logits else scores[:, 0 if first else 1]
        expected = Display.from_predictions(outcomes, scores, from_logits=logits, sample_weight=weights)
    else:
        labels = data.target[kept]
        expected = Display.from_predictions(labels, scores, sample_weight=weights, **options)
    display = Display.from_estimator(model, X, y, sample_weight=weights, **options)
    assert display.name == "LogisticRegression"
    for line, other in zip(display.ax_.get_lines(), expected.ax_.get_lines(), strict=True):
        np.testing.assert_array_equal(line.get_xydata(), other.get_xydata())


@pytest.mark.parametrize("Display", DISPLAYS)
def test_a_class_may_be_missing_from_what_an_estimator_is_drawn_on(Display: Any) -> None:
    data = load_iris()
    X, y = data.data[:100], data.target_names[data.target[:100]]
    model = LogisticRegression(max_iter=1000).fit(X, y)
    for part in (slice(0, 50), slice(50, 100)):
        assert Display.from_estimator(model, X[part], y[part]).ax_ is not None


@pytest.mark.parametrize("Display", DISPLAYS)
def test_an_estimator_that_cannot_be_drawn_is_refused(Display: Any) -> None:
    data = load_iris()
    X, y = data.data[:100], data.target[:100]
    with pytest.raises(TypeError, match=r"^estimator must be a fitted classifier with predict_proba, got SVC$"):
        Display.from_estimator(SVC().fit(X, y), X, y)
    with pytest.raises(TypeError, match=r"^estimator must be a fitted classifier with classes_, got Logistic"):
        Display.from_estimator(LogisticRegression(), X, y)
    model = LogisticRegression(max_iter=1000).fit(X, y)
    with pytest.raises(ValueError, match=r"^label in row 2 must be one of the classes \[0, 1\], got 5$"):
        Display.from_estimator(model, X[:3], [0, 1, 5])
    with pytest.raises(ValueError, match=r"^pos_label must be one of the classes \[0, 1\], got 'a'$"):
        Display.from_estimator(model, X, y, pos_label="a")
    three = LogisticRegression(max_iter=1000).fit(data.data, data.target)
    with pytest.raises(
        ValueError, match=r"^pos_label must be left out unless one of two classes is the outcome, got 1; "
    ):
        Display.from_estimator(three, data.data, data.target, pos_label=1)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kind": "lowess"}, "kind must be 'smoothed', 'binned' or 'corp', got 'lowess'"),
        ({"band": "confidence"}, "band of kind 'smoothed' must be 'auto', None or 'consistency', got 'confidence'"),
        (
            {"kind": "corp", "band": "prediction"},
            "band of kind 'corp' must be 'auto', None, 'consistency' or 'confidence', got 'prediction'",
        ),
        (
            {"kind": "binned", "band": "consistency", "sample_weight": [1, 2]},
            "band of kind 'binned' must be 'auto' or None with sample_weight, got 'consistency'",
        ),
        ({"kind": "binned", "level": float("nan")}, "level must be inside (0, 1), got nan"),
        ({"kind": "binned", "n_resamples": 0}, "n_resamples must be at least 1, got 0"),
    ],
)
def test_wrong_options_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError) as refused:
        cal.ReliabilityDisplay.from_predictions([0, 1], [0.2, 0.7], **options)
    assert str(refused.value) == message
    assert plt.get_fignums() == []


def test_wrong_rows_are_refused_before_a_figure_is_made(draw: Draw) -> None:
    with pytest.raises(cal.CalipersError, match="row 1"):
        draw([0, 1], [0.2, 1.5])
    assert plt.get_fignums() == []


def test_computed_data_can_be_drawn() -> None:
    y, p = some()
    for curve in (cal.ls_curve(y, p), cal.corp_curve(y, p), cal.calibration_bins(y, p)):
        display = cal.ReliabilityDisplay(curve, name="model")
        assert not hasattr(display, "ax_")
        assert display.plot() is display
        assert isinstance(display.ax_, Axes) and display.figure_ is display.ax_.figure
    assert cal.SweepDisplay(cal.sweep(y, p)).plot(colors=("k", "r")).ax_.get_lines()
    assert cal.CumulativeDisplay(cal.cumulative_curve(y, p)).plot(color="k", name="model").ax_.get_lines()
    with pytest.raises(ValueError, match=r"^deviations must have the shape of the curve \(301,\), got \(2,\)$"):
        cal.CumulativeDisplay(cal.cumulative_curve(y, p), deviations=np.zeros(2))
    with pytest.raises(ValueError, match=r"^shares must have one value for each two edges, got shapes \(2,\) and"):
        cal.ReliabilityDisplay(cal.ls_curve(y, p), shares=([0, 1], [1, 2]))


def test_charts_can_be_made_in_any_style(draw: Draw) -> None:
    with mpl.rc_context({"axes.grid": True, "figure.constrained_layout.use": True, "axes.facecolor": "black"}):
        draw(*some()).figure_.canvas.draw()


def test_importing_calipers_imports_neither_matplotlib_nor_sklearn() -> None:
    code = "import calipers, sys; sys.exit(bool({'matplotlib', 'sklearn', 'pandas'} & set(sys.modules)))"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("name", [module.name for module in pkgutil.iter_modules(calipers._displays.__path__)])
def test_examples_run(name: str) -> None:
    failed, _ = doctest.testmod(importlib.import_module(f"calipers._displays.{name}"))
    assert failed == 0


def test_pictures_of_the_docs_are_what_their_script_draws(tmp_path: Path) -> None:
    script = runpy.run_path(str(FIGURES / "displays.py"))
    script["main"](tmp_path)
    # report.py takes the picture of the report in a browser.
    names = {path.name for path in FIGURES.glob("*.png")} - {"report.png"}
    assert {path.name for path in tmp_path.iterdir()} == names
    for name in names:
        drawn, kept = plt.imread(tmp_path / name), plt.imread(FIGURES / name)
        # Not to the bit: another machine may round a pixel otherwise.
        assert drawn.shape == kept.shape and np.abs(drawn - kept).mean() < 1e-3, name


MODELS: dict[str, Draw] = {
    **{
        kind: lambda *rows, kind=kind, **options: cal.ReliabilityDisplay.from_models(*rows, kind=kind, **options)
        for kind in KINDS
    },
    "cumulative": cal.CumulativeDisplay.from_models,
}


@pytest.fixture(params=MODELS)
def draw_models(request: pytest.FixtureRequest) -> Draw:
    drawn = MODELS[request.param]
    return lambda *rows, **options: drawn(*rows, **{"n_resamples": 99, **options})


def models_of(rows: Sample, n: int = 3) -> dict[str, Any]:
    """Models that are ever less sure, under names of any length."""
    names = ("Logistic regression", "b", "Histogram gradient boosting, isotonic, on the second half of 2024", "d", "e")
    p = np.clip(np.asarray(rows[1], dtype=float), 1e-9, 1 - 1e-9)
    logits = np.log(p) - np.log1p(-p)
    return {name: 1 / (1 + np.exp(-logits * 0.7**power)) for power, name in enumerate(names[:n])}


@pytest.mark.parametrize("rows", [SAMPLES[name] for name in SAMPLES if "one row" not in name])
def test_text_of_several_models_can_be_read(
    draw_models: Draw, rows: Sample, check_text: Callable[[Figure], list[str]]
) -> None:
    display = draw_models(rows[0], models_of(rows))
    texts = check_text(display.figure_)
    # The shape of a slide, and letters that can be read on one.
    assert tuple(display.figure_.get_size_inches()) == (10.0, 5.625)
    written = [text for text in display.figure_.findobj(Text) if text.get_text().strip() and text.get_visible()]
    assert min(text.get_size() for text in written) > 11
    assert all(any(text.startswith(name[:10]) for text in texts) for name in display.models)
    legend = display.ax_.get_legend().get_window_extent()
    assert legend.x0 >= display.ax_.get_window_extent().x1


def test_several_models_respect_given_axes(draw_models: Draw, check_text: Callable[[Figure], list[str]]) -> None:
    y, p = some()
    for layout in ("constrained", None):
        figure, axes = plt.subplots(1, 2, figsize=(14, 6), layout=layout)
        for ax in axes:
            display = draw_models(y, {"Sure": p**3, "Logistic regression": p, "Timid": p**0.3}, ax=ax)
            assert display.ax_ is ax and display.figure_ is figure
            assert display.ax_.xaxis.label.get_size() == 10
        assert tuple(figure.get_size_inches()) == (14, 6)
        assert plt.get_fignums() == [figure.number]
        check_text(figure)
        plt.close(figure)


def test_several_models_have_one_sigma_and_the_intervals_of_compare() -> None:
    y, p = some(1000)
    models = models_of((y, p))
    display = cal.ReliabilityDisplay.from_models(y, models, n_resamples=99)
    expected = cal.compare(y, models, n_resamples=99)
    assert display.comparison.to_dict() == expected.to_dict()
    sigmas = {each.curve.sigma for each in display.models.values()}
    assert sigmas == {each.settings["sigma"] for each in expected.models.values()} and len(sigmas) == 1
    labels = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    for name, found in expected.models.items():
        (label,) = [each for each in labels if each.startswith(name[:15])]
        assert f"{found.interval.upper:.3f}" in label and f"LS-ECE {found.value:.3f}" in label, label
        assert display.models[name].estimate == found.value


def test_a_line_of_several_is_bold_where_it_leaves_its_range() -> None:
    y, p = some(1000)
    display = cal.ReliabilityDisplay.from_models(y, models_of((y, p)), n_resamples=99)
    thin = curves(display.ax_)
    bold = [line for line in display.ax_.get_lines() if line.get_linewidth() > 3 and len(line.get_xdata())]
    n_bold = 0
    for each, line, strong in zip(display.models.values(), thin, bold, strict=True):
        rates = line.get_ydata()
        outside = (rates < each.band.lower) | (rates > each.band.upper)
        np.testing.assert_array_equal(np.isfinite(strong.get_ydata()), outside)
        n_bold += outside.sum()
    assert 0 < n_bold < sum(line.get_xdata().size for line in thin)
    # No band, which would cover those of others.
    assert not [child for child in display.ax_.collections if child.get_gid() == "calipers-band"]


def test_names_stand_at_their_lines_if_that_is_clear() -> None:
    y, p = many()
    logits = np.log(p) - np.log1p(-p)
    models = {"sure": 1 / (1 + np.exp(-1.4 * logits)), "timid": 1 / (1 + np.exp(-0.3 * logits))}
    display = cal.ReliabilityDisplay.from_models(y, models, n_resamples=99)
    names = [text.get_text() for text in display.ax_.texts]
    assert set(display.models) <= set(names)
    to_pixels = display.ax_.transData.transform
    for text in display.ax_.texts:
        if text.get_text() in display.models:
            distances = {
                name: np.nanmin(np.hypot(*(to_pixels(line.get_xydata()) - _middle(text)).T))
                for name, line in zip(display.models, curves(display.ax_), strict=True)
            }
            assert min(distances, key=distances.__getitem__) == text.get_text()
    # Where all lines are one, a name at one of them would be wrong.
    same = cal.ReliabilityDisplay.from_models(y, {"first": p, "second": p}, n_resamples=99)
    assert not {"first", "second"} & {text.get_text() for text in same.ax_.texts}


def _middle(text: Text) -> Any:
    box = text.get_window_extent()
    return (box.x0 + box.x1) / 2, (box.y0 + box.y1) / 2


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_models_are_the_columns_of_a_table(library: str) -> None:
    y, p = some()
    columns = {"a": p, "b": p**2}
    made = importlib.import_module(library)
    table = made.table(columns) if library == "pyarrow" else made.DataFrame(columns)
    display = cal.ReliabilityDisplay.from_models(y, table, n_resamples=99)
    expected = cal.ReliabilityDisplay.from_models(y, columns, n_resamples=99)
    assert display.comparison.to_dict() == expected.comparison.to_dict()
    predicted = {name: cal.Predictions(y, each) for name, each in columns.items()}
    assert list(cal.CumulativeDisplay.from_models(predicted, n_resamples=99).models) == ["a", "b"]


def test_wrong_models_are_refused_before_a_figure_is_made(draw_models: Draw) -> None:
    y, p = some()
    with pytest.raises(TypeError, match=r"^y_prob must be a dict or a data frame of models by name, got ndarray$"):
        draw_models(y, p)
    for Display in (cal.ReliabilityDisplay, cal.CumulativeDisplay):
        with pytest.raises(TypeError, match=r"^y_prob must be the probabilities of one model, got a dict; use from_"):
            Display.from_predictions(y, {"a": p, "b": p})
    with pytest.raises(cal.CalipersError, match="models must be"):
        draw_models(y, {"alone": p})
    with pytest.raises(ValueError, match=r"^colors must have every model, 'b' is missing$"):
        draw_models(y, {"a": p, "b": p}, colors={"a": "k"})
    assert plt.get_fignums() == []


def test_colours_of_models_can_be_given(draw_models: Draw) -> None:
    y, p = some()
    display = draw_models(y, {"a": p, "b": p**2}, colors={"b": "red", "a": "black"})
    assert [line.get_color() for line in curves(display.ax_)] == ["black", "red"]


def curves(ax: Axes) -> list[Any]:
    return [line for line in ax.get_lines() if line.get_gid() == "calipers-curve"]


def test_colours_are_those_of_the_core_s_charts() -> None:
    y, p = some()
    display = cal.SweepDisplay.from_predictions(y, p)
    svg = display.result.to_svg()
    assert all(line.get_color() in svg for line in curves(display.ax_))
