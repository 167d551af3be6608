"""Figures of others on the same 200 rows: fixtures/peers.py and the design notes."""

from __future__ import annotations

from typing import Any

import calipers
import pytest
from cases import golden

GOLDEN: list[tuple[str, dict[str, Any], float]] = [
    ("ecce_r", {}, 0.0684),
    ("ecce_mad", {}, 0.05335),
    ("brier_score", {}, 0.2213405),
    ("mmce", {}, 0.054448391),
    ("kernel_calibration_error", {}, 0.043062679),
    ("smooth_ece", {"compat": "relplot"}, 0.101947801),
    ("smooth_ece", {"compat": "relplot", "sigma": 0.02}, 0.118030127),
    ("smooth_ece", {"compat": "relplot", "sigma": 0.05}, 0.110646103),
    ("smooth_ece", {"compat": "relplot", "sigma": 0.2}, 0.08279313),
    ("debiased_ece", {"compat": "uncertainty-calibration"}, 0.065216592),
    ("expected_calibration_error", {"compat": "uncertainty-calibration"}, 0.11865),
    ("expected_calibration_error", {"compat": "uncertainty-calibration", "strategy": "quantile"}, 0.12775),
    ("expected_calibration_error", {"compat": "relplot", "n_bins": 10}, 0.11765),
]


@pytest.mark.parametrize(("name", "options", "expected"), GOLDEN)
def test_golden_figures(name: str, options: dict[str, Any], expected: float) -> None:
    assert getattr(calipers, name)(*golden(), **options) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(
    ("n_bins", "expected"), [(2, 0.009886959), (4, 0.007761995), (8, 0.008501878), (16, 0.001760308)]
)
def test_golden_figures_of_tcal(n_bins: int, expected: float) -> None:
    """T-Cal gives a probability of 1 a bin of its own. There is one, which has no pair and adds nothing but to n."""
    y, p = golden()
    found = calipers.tcal_squared_error(y[p < 1], p[p < 1], n_bins=n_bins)
    assert found * 199 / 200 == pytest.approx(expected, abs=1e-9)


def test_golden_parts_of_the_brier_score() -> None:
    parts = calipers.corp(*golden())
    assert parts.miscalibration == pytest.approx(0.023258874, abs=1e-9)
    assert parts.discrimination == pytest.approx(0.051818374, abs=1e-9)
    assert parts.uncertainty == pytest.approx(0.2499, abs=1e-12)
