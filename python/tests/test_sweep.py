"""The sweep: its figures are those of the functions, its verdict and chart say what they should."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET

import calipers
import numpy as np
import pytest
from numpy.typing import NDArray


def rows(n: int = 2000) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    rng = np.random.default_rng(3)
    p = np.round(rng.random(n), 3)
    return (rng.random(n) < p**1.3).astype(np.int64), p


@pytest.mark.parametrize("weighted", [False, True])
def test_figures_are_those_of_the_functions(weighted: bool) -> None:
    y, p = rows()
    weight = np.random.default_rng(5).random(len(y)) if weighted else None
    result = calipers.sweep(y, p, sample_weight=weight)
    assert result.bins.tolist() == [1, *range(10, 101, 10)]
    assert result.ece_quantile is not None
    for index, n_bins in enumerate(result.bins.tolist()):
        ece = {
            strategy: calipers.expected_calibration_error(y, p, n_bins=n_bins, strategy=strategy, sample_weight=weight)
            for strategy in ("uniform", "quantile")
        }
        assert result.ece_uniform[index] == ece["uniform"]
        assert result.ece_quantile[index] == pytest.approx(ece["quantile"], abs=1e-15)
        ls_ece = calipers.ls_ece(y, p, sigma=1 / n_bins, sample_weight=weight)
        assert (result.ls_ece[index], result.ls_ece_bounds[index]) == (ls_ece, ls_ece.numerical_bound)
    assert result.smooth_ece == calipers.smooth_ece(y, p, sample_weight=weight)
    assert result.settings["weighted"] is weighted


def test_the_tied_jump_is_that_of_its_definition() -> None:
    y, p = rows()
    result = calipers.sweep(y, p)
    jump, ece, tied = 0.0, 0.0, 0
    for value in np.unique(p):
        inside = p == value
        above = np.sum(1 - p[inside & (y == 1)])
        below = np.sum(p[inside & (y == 0)])
        ece += abs(above - below) / len(p)
        if np.sum(inside) > 1:
            jump += 2 * min(above, below) / len(p)
            tied += int(np.sum(inside))
    assert result.jump == pytest.approx(jump, abs=1e-14)
    assert result.tied_ece == pytest.approx(ece, abs=1e-14)
    assert result.n_tied == tied


def test_a_brittle_and_a_stable_model_are_told_apart() -> None:
    n = 20_000
    p = (np.arange(n) + 0.5) / n
    striped = calipers.sweep((p * 40 % 1 < 0.5).astype(int), p)
    assert striped.brittle is True
    assert striped.brittle_with == ("uniform", "quantile")
    assert striped.sentence.startswith("brittle: ECE with equal-width bins moves by ")
    calibrated = calipers.sweep((np.random.default_rng(0).random(n) < p).astype(int), p)
    assert (calibrated.brittle, calibrated.verdict) == (False, "stable")
    assert calibrated.n_tied == 0
    few = calipers.sweep([0, 1], [0.2, 0.7], bins=[15])
    assert (few.brittle, few.verdict) == (None, "undecided")


def test_what_it_shows() -> None:
    y, p = rows()
    result = calipers.sweep(y, p, bins=np.array([20, 10]))
    lines = repr(result).splitlines()
    assert lines[0].startswith("SweepResult, 2,000 rows: stable: ECE with equal-")
    assert lines[1].split() == ["bins", "ECE", "equal-width", "ECE", "equal-mass", "LS-ECE"]
    assert [line.split()[0] for line in lines[2:4]] == ["10", "20"]
    plain = result.to_dict()
    assert json.loads(json.dumps(plain)) == plain
    assert plain["bins"] == [10, 20]
    root = ET.fromstring(result.to_svg())
    assert root.tag == "{http://www.w3.org/2000/svg}svg"


def test_options_are_taken_and_refused() -> None:
    y, p = rows(300)
    other = calipers.sweep(y, p, compat="relplot", noise="uniform", random_state=7, bins=(10, 30))
    assert other.ece_quantile is None
    assert other.settings["compat"] == "relplot"
    assert other.settings["random_state"] == 7
    assert "equal-mass" not in repr(other)
    rule = "bins must be 1 to 1000 numbers of bins, each from 1 to 1000000, got 0"
    with pytest.raises(calipers.CalipersError, match=rule):
        calipers.sweep(y, p, bins=[0, 10])
    with pytest.raises(TypeError, match="bins"):
        calipers.sweep(y, p, bins=[1.5])  # type: ignore[list-item]
    with pytest.raises(calipers.CalipersError, match="classwise"):
        calipers.sweep(y, np.column_stack([1 - p, p]), multiclass="classwise")  # type: ignore[arg-type]


def test_rows_of_classes_are_swept_on_the_top_class() -> None:
    rng = np.random.default_rng(1)
    probabilities = rng.dirichlet(np.ones(4), 500)
    labels = np.array([rng.choice(4, p=row) for row in probabilities])
    result = calipers.sweep(labels, probabilities, bins=[10, 20])
    assert result.settings["multiclass"] == "top_class"
    assert result.ece_uniform[0] == calipers.expected_calibration_error(labels, probabilities, n_bins=10)
