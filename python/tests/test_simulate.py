"""Samples of known families: what is known of their figures."""

from __future__ import annotations

import json
import math

import calipers as cal
import pytest


def test_every_family_has_its_true_ece() -> None:
    families = cal.families()
    assert len({family.name for family in families}) == len(families) == 42
    for family in families:
        assert (family.ece == 0.0) == family.calibrated
    # ∫ |rho(0.6 h) - rho(h)| dN(h; 1, 2) by the midpoint rule.
    heights = [-20 + 42 * (k + 0.5) / 100_000 for k in range(100_000)]

    def rho(h: float) -> float:
        return 1 / (1 + math.exp(-h))

    def density(h: float) -> float:
        return math.exp(-(((h - 1) / 2) ** 2) / 2) / (2 * math.sqrt(2 * math.pi))

    integral = sum(abs(rho(0.6 * h) - rho(h)) * density(h) for h in heights) * 42 / 100_000
    [overconfident] = [family for family in families if family.name == "overconfident"]
    assert overconfident.ece == pytest.approx(integral, abs=1e-9)


def test_bias_and_error_are_those_of_the_figures_against_the_truth() -> None:
    found = cal.simulate("overconfident", 2000, runs=100, measures={"ls_ece": {"sigma": 0.3}, "brier_score": {}})
    assert list(found.measures) == ["ls_ece", "brier_score"]
    ls_ece = found.measures["ls_ece"]
    assert ls_ece.of_ece.truth == found.family.ece
    assert ls_ece.of_ece.bias.value == pytest.approx(ls_ece.mean.value - found.family.ece)
    assert ls_ece.of_ece.rmse.value >= abs(ls_ece.of_ece.bias.value)
    # Of its own target it has little bias.
    assert ls_ece.of_ls_ece is not None
    assert abs(ls_ece.of_ls_ece.bias.value) < 0.005
    assert found.measures["brier_score"].of_ls_ece is None
    assert (ls_ece.n_runs, ls_ece.n_failed) == (100, 0)


def test_intervals_hold_the_truth_and_calibrated_models_are_not_rejected_too_often() -> None:
    found = cal.simulate(
        "calibrated",
        500,
        measures=(),
        coverage={"ls_ece": {"sigma": 0.5}},
        tests=["spiegelhalter", "cox", "ls_ece_floor"],
        runs=100,
        n_resamples=100,
    )
    assert found.measures == {}
    intervals = found.coverage["ls_ece"]
    assert intervals.level == 0.95
    assert intervals.covers_ls_ece is not None
    assert intervals.covers_ls_ece.value > 0.85
    # The residual form, which decides, is held against its own truth.
    residual = intervals.residual
    assert residual is not None
    assert residual.covers_ls_ece is not None
    assert residual.covers_ls_ece.value > 0.85
    assert (residual.name, residual.residual) == ("residual_ls_ece", None)
    assert 0 < intervals.oracle_width < 4 * intervals.width.value
    assert intervals.sigma == pytest.approx(0.5)
    shares = (intervals.covers_ece, intervals.above_ece, intervals.below_ece)
    assert sum(share.value for share in shares) == pytest.approx(1.0)
    for test in found.tests.values():
        assert test.alpha == 0.05
        assert test.rejected.value <= 0.15
        assert test.rejected.standard_error > 0.0


def test_the_same_seed_gives_the_same_figures_and_another_one_others() -> None:
    def figures(seed: int) -> object:
        return cal.simulate("shifted", 300, runs=20, tests=["cox"], random_state=seed).to_dict()["measures"]

    assert figures(1) == figures(1)
    assert figures(1) != figures(2)


def test_a_simulation_prints_as_tables_and_becomes_a_dict() -> None:
    found = cal.simulate("shifted", 300, runs=20, coverage=["brier_score"], tests=["cox"], n_resamples=50)
    lines = repr(found).splitlines()
    assert lines[0].startswith("shifted: 20 samples of 300 rows, true ECE 0.0")
    for start in ("  measure ", "  ls_ece ", "  interval ", "  brier_score ", "  test ", "  cox "):
        assert any(line.startswith(start) for line in lines), start
    parts = json.loads(json.dumps(found.to_dict()))
    assert parts["family"] == {"name": "shifted", "ece": found.family.ece, "calibrated": False}
    assert parts["measures"]["ls_ece"]["mean"]["value"] == found.measures["ls_ece"].mean.value
    html = found._repr_html_()
    assert html.count("<table>") == 3


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"family": "unknown"}, "family must be one of calibrated, "),
        ({"n": 0}, "n must be positive, got 0"),
        ({"runs": 1}, "runs must be from 2 to 100000000, got 1"),
        ({"tests": ["unknown"]}, "tests must be some of ls_ece_floor, spiegelhalter, "),
        ({"tests": ["cox"], "level": 1.0}, "alpha must be in (0, 1), got 0"),
        ({"coverage": ["ls_ece"], "n_resamples": 1}, "n_resamples must be from 20 to 10000000 at this level, got 1"),
        ({"measures": ["unknown"]}, "measure must be a name from the list of measures"),
        ({"measures": (), "family": "unknown"}, "family must be one of calibrated, "),
    ],
)
def test_what_cannot_be_simulated_is_refused(options: dict[str, object], text: str) -> None:
    with pytest.raises(cal.CalipersError) as refused:
        cal.simulate(**{"family": "calibrated", "n": 50, "runs": 2, **options})  # type: ignore[arg-type]
    assert str(refused.value).startswith(text)


@pytest.mark.parametrize("options", [{"family": 1}, {"measures": "ls_ece"}, {"tests": "cox"}, {"n": 2.5}])
def test_wrong_types_are_type_errors(options: dict[str, object]) -> None:
    with pytest.raises(TypeError):
        cal.simulate(**{"family": "calibrated", "n": 50, "runs": 2, **options})  # type: ignore[arg-type]
