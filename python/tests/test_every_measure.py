"""What all measures have in common, and what they refuse."""

from __future__ import annotations

import inspect
import math
from typing import Any

import calipers
import numpy as np
import pytest
from cases import Doubles, case
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import special

CURVES = {"ls_curve", "corp_curve", "cumulative_curve", "spline_curve"}
TESTS = {name for name in calipers.__all__ if name.endswith(("_test", "_tests"))}
WHOLE = {"assess", "by", "compare", "drift", "monitor", "report", "sweep"}
FILES = {"read_sketches", "write_sketches"}
SKIPPED = CURVES | TESTS | WHOLE | FILES | {"calibration_bins", "families", "measures", "ls_ece_sampled"}
SKIPPED |= {"set_threads", "simulate", "threads", *calipers.recalibration.__all__}
OF_CLASSES = {"canonical_kde_ece", "top_label_calibration_error"}
NAMES = [name for name in calipers.__all__ if inspect.isfunction(getattr(calipers, name)) and name not in SKIPPED]
BINARY = [name for name in NAMES if name not in OF_CLASSES]
# A row is compared with others, or with chance: twice its weight is not the row twice.
BY_ROW = {"beta_kde_ece", "debiased_ece", "tcal_squared_error", "sweep_ece"}
# Widths by rule depend on the number of rows.
FIXED: dict[str, dict[str, Any]] = {
    "ls_ece": {"sigma": 0.3},
    "residual_ls_ece": {"sigma": 0.3},
    "kde_ece": {"bandwidth": 0.1},
    "calibration_indices": {"sigma": 0.3},
    "beta_kde_ece": {"bandwidth": 0.05},
}


def figures(name: str, *arguments: Any, **options: Any) -> list[float]:
    """The value, or the parts of a result that has several."""
    found = getattr(calipers, name)(*arguments, **FIXED.get(name, {}), **options)
    if isinstance(found, calipers.Estimate):
        return [float(found)]
    others = ("n", "n_clipped", "left_out", "smoother")
    return [value for key, value in vars(found).items() if key not in others and not key.endswith("_bound")]


def near(expected: list[float], within: float = 1e-8) -> Any:
    return pytest.approx(expected, abs=within, rel=within)


@pytest.mark.parametrize("name", [name for name in BINARY if name not in BY_ROW])
def test_a_weight_is_a_number_of_rows(name: str) -> None:
    y, p, weight = case(21, 120)
    copies = weight.astype(int)
    assert figures(name, y, p, sample_weight=weight) == near(figures(name, np.repeat(y, copies), np.repeat(p, copies)))


@pytest.mark.parametrize("name", BINARY)
def test_neither_order_nor_scale_of_weights_matters(name: str) -> None:
    y, p, weight = case(22, 120)
    order = np.random.default_rng(0).permutation(120)
    expected = figures(name, y, p, sample_weight=weight)
    assert figures(name, y[order], p[order], sample_weight=weight[order]) == near(expected, 1e-12)
    if name != "cox_calibration":  # its standard errors count rows
        assert figures(name, y, p, sample_weight=7 * weight) == near(expected)


@pytest.mark.parametrize("name", BINARY)
def test_raw_scores_are_probabilities_by_their_link(name: str) -> None:
    y, p, _ = case(23, 120, ties=False)
    links: dict[str, Any] = {"logistic": special.logit, "probit": special.ndtri}
    for link, inverse in links.items():
        if link != "logistic" and (name == "cox_calibration" or name in FIXED):
            continue  # these work on the logits themselves, or the width belongs to the link
        by_scores = figures(name, y, inverse(p), from_logits=True, **({} if link == "logistic" else {"link": link}))
        assert by_scores == near(figures(name, y, p), 1e-7)


@pytest.mark.parametrize("name", BINARY)
def test_class_by_class_is_the_mean_or_refused(name: str, classes: tuple[NDArray[np.int64], Doubles]) -> None:
    labels, scores = classes
    p = special.softmax(scores, axis=1)
    if name in ("corp", "calibration_indices", "cox_calibration"):
        with pytest.raises(calipers.CalipersError, match="multiclass must be"):
            figures(name, labels, p, multiclass="classwise")
        assert figures(name, labels, p, multiclass=1) == near(figures(name, labels == 1, p[:, 1]))
        return
    found = getattr(calipers, name)(labels, p, multiclass="classwise", **FIXED.get(name, {}))
    each = [getattr(calipers, name)(labels == k, p[:, k], **FIXED.get(name, {})) for k in range(4)]
    assert found == pytest.approx(np.mean(each), abs=1e-8)
    assert [float(of_class) for of_class in found.per_class] == near([float(of_class) for of_class in each])


@pytest.mark.parametrize("name", NAMES)
def test_bad_rows_are_refused_or_counted(name: str) -> None:
    y, p, _ = case(24, 50, ties=False)
    options: dict[str, Any] = {}
    if name in OF_CLASSES:
        p = np.stack([1 - p, p], axis=1)
        options = {"bandwidth": 0.1} if name == "canonical_kde_ece" else {}
    p[7] = np.nan
    with pytest.raises(calipers.CalipersError, match="row 7") as refused:
        getattr(calipers, name)(y, p, **options)
    assert refused.value.code == "invalid_probability"
    found = getattr(calipers, name)(y, p, invalid="count", **options)
    assert (found.n, found.left_out) == (49, {"invalid probability": 1})


@pytest.mark.parametrize(
    "name", [name for name in NAMES if name not in ("corp", "calibration_indices", "cox_calibration")]
)
def test_an_estimate_says_what_made_it(name: str) -> None:
    y, p, _ = case(25, 60, ties=False)
    options: dict[str, Any] = {}
    if name in OF_CLASSES:
        p = np.stack([1 - p, p], axis=1)
        options = {"bandwidth": 0.1} if name == "canonical_kde_ece" else {}
    found = getattr(calipers, name)(y, p, **options)
    assert found.n == 60
    assert 0 <= found.numerical_bound < 1e-6
    assert math.isfinite(found)
    signature = inspect.signature(getattr(calipers, name)).parameters
    assert set(found.settings) >= set(signature) & {"from_logits", "link", "ties", "sum_tolerance", "invalid"}


@pytest.mark.parametrize(
    ("name", "options", "text"),
    [
        ("smooth_ece", {"sigma": "wide"}, "sigma must be"),
        ("smooth_ece", {"sigma": -1}, "sigma must be"),
        ("smooth_ece", {"smoothing": "all"}, "smoothing must be"),
        ("smooth_ece", {"compat": "netcal"}, "must be"),
        ("smooth_ece", {"tolerance": -1}, "tolerance must be"),
        ("kde_ece", {"kernel": "cosine"}, "kernel must be"),
        ("kde_ece", {"bandwidth": 0}, "bandwidth must be"),
        ("beta_kde_ece", {"bandwidth": math.nan}, "bandwidth must be"),
        ("beta_kde_ece", {"norm": "max"}, "norm must be"),
        ("debiased_ece", {"norm": "max"}, "norm must be"),
        ("debiased_ece", {"n_bins": 0}, "n_bins must be"),
        ("sweep_ece", {"norm": "max"}, "norm must be"),
        ("sweep_ece", {"max_bins": 0}, "max_bins must be"),
        ("tcal_squared_error", {"n_bins": 0}, "n_bins must be"),
        ("kernel_calibration_error", {"length_scale": 0}, "length_scale must be"),
        ("lower_distance_to_calibration", {"n_nodes": 0}, "n_nodes must be"),
        ("corp", {"score": "spherical"}, "score must be"),
        ("cox_calibration", {"clip": 0.7}, "clip must be"),
        ("calibration_indices", {"sigma": 0}, "sigma must be"),
        ("canonical_kde_ece", {"bandwidth": 0.1}, "multiclass must be left out for a plain column"),
        ("top_label_calibration_error", {}, "multiclass must be left out for a plain column"),
    ],
)
def test_options_that_make_no_sense_are_refused(name: str, options: dict[str, Any], text: str) -> None:
    y, p, _ = case(26, 30)
    with pytest.raises(calipers.CalipersError, match=text) as refused:
        getattr(calipers, name)(y, p, **options)
    assert refused.value.code in ("invalid_setting", "tolerance_not_met")


@pytest.mark.parametrize(
    ("name", "options", "text"),
    [
        ("smooth_ece", {"sigma": None}, 'sigma must be a number or "auto", got NoneType'),
        ("kde_ece", {"bandwidth": [1]}, 'bandwidth must be a number or "auto", got list'),
        ("sweep_ece", {"max_bins": 2.5}, "max_bins must be an integer, got float"),
        ("mmce", {"link": 3}, "link must be text, got int"),
        ("debiased_ece", {"compat": 1}, "compat must be text or None, got int"),
    ],
)
def test_options_of_a_wrong_type_are_type_errors(name: str, options: dict[str, Any], text: str) -> None:
    with pytest.raises(TypeError) as refused:
        getattr(calipers, name)([1, 0], [0.7, 0.2], **options)
    assert str(refused.value) == text


def test_too_many_products_are_refused_before_they_are_taken() -> None:
    with pytest.raises(calipers.CalipersError, match="limit must be at least 40 for 2 rows of 2 classes"):
        calipers.canonical_kde_ece([0, 1], [[0.6, 0.4], [0.2, 0.8]], bandwidth=0.1, limit=39)


def test_perfectly_separated_outcomes_have_no_cox_regression() -> None:
    with pytest.raises(calipers.CalipersError):
        calipers.cox_calibration([0, 0, 1, 1], [0.1, 0.2, 0.8, 0.9])


def test_every_listed_measure_has_a_function() -> None:
    y, p, _ = case(27, 200, ties=False)
    parts = {
        "corp_miscalibration": calipers.corp(y, p).miscalibration,
        **{name: getattr(calipers.calibration_indices(y, p), name) for name in ("ici", "e50", "e90", "emax")},
        "calibration_slope": calipers.cox_calibration(y, p).slope,
        "calibration_intercept": calipers.cox_calibration(y, p).intercept,
        "calibration_in_the_large": calipers.cox_calibration(y, p).in_the_large,
    }
    listed = calipers.measures()
    for measure in listed:
        assert measure.definition
        value = parts[measure.name] if measure.name in parts else getattr(calipers, measure.name)(y, p)
        assert math.isfinite(value)
    assert set(BINARY) - {measure.name for measure in listed} == {"corp", "calibration_indices", "cox_calibration"}


probabilities = st.one_of(st.floats(0, 1), st.sampled_from([0.0, 1.0, 0.5, 5e-324, 1e-300, 1 - 2**-53, 0.1, 0.3]))
weights = st.one_of(st.floats(0, 10), st.sampled_from([0.0, 1.0, 5e-324, 1e-300, 1e300]))
rows = st.lists(st.tuples(st.integers(0, 1), probabilities, weights), min_size=1, max_size=12)


@settings(deadline=None, derandomize=True, max_examples=20)
@given(rows, st.booleans())
@pytest.mark.parametrize("name", NAMES)
def test_hard_rows_are_measured_or_refused(name: str, rows: list[tuple[int, float, float]], weighted: bool) -> None:
    """A CalipersError or finite figures; no other exception, no warning and no panic."""
    y, p, weight = (np.array(column, dtype=float) for column in zip(*rows, strict=True))
    options: dict[str, Any] = {"sample_weight": weight} if weighted else {}
    if name in OF_CLASSES:
        p = np.stack([1 - p, p], axis=1)
    if name == "canonical_kde_ece":
        options["bandwidth"] = 0.1
    try:
        found = getattr(calipers, name)(y, p, **options)
    except calipers.CalipersError:
        return
    if isinstance(found, calipers.Estimate):
        assert math.isfinite(found)
        assert 0 <= found.numerical_bound < math.inf
        if name not in ("log_loss", "observed_expected", "canonical_kde_ece"):
            assert -1 - 1e-9 <= found <= 1 + 1e-6
    else:
        assert not any(isinstance(value, float) and math.isnan(value) for value in vars(found).values())
