"""Results in notebooks and as JSON."""

from __future__ import annotations

import json
from collections.abc import Callable
from html.parser import HTMLParser

import calipers as cal
import numpy as np
import pytest

P = np.linspace(0.05, 0.95, 60)
Y = (np.arange(60) * 37 % 60) / 60 < P

SHOWN: dict[str, Callable[[], object]] = {
    "Estimate": lambda: cal.ls_ece(Y, P, sigma=0.5),
    "Assessment": lambda: cal.assess(Y, P, n_resamples=50),
    "PerClass": lambda: cal.assess(Y * 2, THREE, multiclass="classwise", n_resamples=50).per_class,
    "Comparison": lambda: cal.compare(Y, {"a": P, "<b> & 'c'": P**2}, n_resamples=50),
    "SweepResult": lambda: cal.sweep(Y, P),
    "CalibrationTests": lambda: cal.calibration_tests(Y, P),
    "Simulation": lambda: cal.simulate("calibrated", 50, runs=5),
}

THREE = np.stack([P / 2, P / 2, 1 - P], axis=1)

OTHERS: dict[str, Callable[[], object]] = {
    "ClassAssessment": lambda: cal.assess(Y * 2, THREE, multiclass="classwise", n_resamples=50).per_class[0],  # type: ignore[index]
    "NoiseFloor": lambda: cal.assess(Y, P, n_resamples=50).floor,
    "Interval": lambda: cal.assess(Y, P, n_resamples=50).interval,
    "Pair": lambda: cal.compare(Y, {"a": P, "b": P**2}, n_resamples=50).pairs[0],
    "CalibrationTest": lambda: cal.spiegelhalter_test(Y, P),
    "CoxTest": lambda: cal.cox_test(Y, P),
    "CalibrationIndices": lambda: cal.calibration_indices(Y, P),
    "CoxCalibration": lambda: cal.cox_calibration(Y, P),
    "CorpDecomposition": lambda: cal.corp(Y, P),
    "CumulativeCurve": lambda: cal.cumulative_curve(Y, P),
    "IsotonicCurve": lambda: cal.corp_curve(Y, P, band="consistency"),
    "LsCurve": lambda: cal.ls_curve(Y, P, band="consistency"),
    "SplineCurve": lambda: cal.spline_curve(Y, P),
}


class Tags(HTMLParser):
    """Opening and closing tags, which must match."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append(tag)
        assert not any(name in ("src", "href", "onload") for name, _ in attrs), "nothing from outside"
        if tag not in ("br", "meta", "link"):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, _attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.mark.parametrize("name", SHOWN)
def test_notebooks_get_a_table_that_is_whole_and_escaped(name: str) -> None:
    result = SHOWN[name]()
    assert type(result).__name__ == name
    html = result._repr_html_()  # type: ignore[attr-defined]
    tags = Tags()
    tags.feed(html)
    assert tags.open == []
    assert "table" in tags.seen
    assert not {"script", "link", "img", "b"} & set(tags.seen)


def test_names_of_models_are_escaped() -> None:
    html = SHOWN["Comparison"]()._repr_html_()  # type: ignore[attr-defined]
    assert "&lt;b&gt; &amp; &#x27;c&#x27;" in html


@pytest.mark.parametrize("name", {**SHOWN, **OTHERS})
def test_every_result_becomes_json(name: str) -> None:
    result = {**SHOWN, **OTHERS}[name]()
    assert type(result).__name__ == name
    parts = result.to_dict()  # type: ignore[attr-defined]
    assert json.loads(json.dumps(parts)) == parts


def test_arrays_become_lists_and_bands_dicts() -> None:
    curve = cal.corp_curve(Y, P, band="consistency")
    parts = curve.to_dict()
    assert parts["outcome_rates"] == curve.outcome_rates.tolist()
    assert parts["band"]["lower"] == curve.band.lower.tolist()  # type: ignore[union-attr]
