"""Recalibration maps through Python: golden values, shapes, dtypes, errors, and files."""

from __future__ import annotations

import copy
import json
import pickle
from pathlib import Path
from typing import Any

import calipers as cal
import numpy as np
import pytest
from cases import Doubles
from numpy.typing import NDArray

# Fixtures of whole numbers, so that every language makes the same doubles. The values were made by
# solvers that share no code with calipers.
ROW = np.arange(400)
K = (37 * ROW) % 101 - 50
H: Doubles = K / 16
Y = (97 * (128 + np.where(K < 0, K, 2 * K)) > 256 * ((61 * ROW + 17) % 97)).astype(np.int64)
P: Doubles = 1 / (1 + np.exp(-H))
W = 1 + ROW % 3

J = np.arange(300)
Z = np.stack([(29 * J) % 83 - 41, (47 * J + 11) % 89 - 44, (53 * J + 5) % 79 - 39], axis=1)
NOISE = np.stack([(71 * J + 13) % 127 - 63, (59 * J + 29) % 131 - 65, (67 * J + 41) % 113 - 56], axis=1)
LABELS = (Z + NOISE + np.stack([0 * J, Z[:, 0] // 4 + 6, 0 * J - 10], axis=1)).argmax(axis=1)
SCORES: Doubles = Z / 16
CLASSES: Doubles = np.exp(SCORES) / np.exp(SCORES).sum(axis=1, keepdims=True)


def log_loss(y: NDArray[Any], p: Doubles) -> float:
    rows = p[np.arange(len(y)), y] if p.ndim == 2 else np.where(y == 1, p, 1 - p)
    return float(-np.log(rows).mean())


def test_fixtures_are_those_of_the_golden_values() -> None:
    assert Y.sum() == 219 and W.sum() == 799 and (W * Y).sum() == 436
    assert Y[:20].tolist() == [1, 0, 1, 1, 0, 1, 0, 0, 1, 0, 1, 1, 0, 1, 0, 0, 1, 0, 1, 1]
    assert np.bincount(LABELS).tolist() == [102, 116, 82]
    assert LABELS[:20].tolist() == [2, 2, 2, 1, 2, 0, 1, 1, 1, 1, 1, 2, 0, 1, 0, 1, 2, 0, 1, 0]


BINARY = [
    ("shift", {}, {"shift": 0.334130145257}, 0.715668111219),
    ("temperature", {}, {"slope": 0.406516440395}, 0.631883903029),
    ("platt", {"ridge": 0}, {"slope": 0.411418849259, "intercept": 0.219038405859}, 0.626638341740),
    ("platt", {}, {"slope": 0.419952469054, "intercept": 0.210461716938}, 0.626672166416),
    ("beta", {"ridge": 0.0}, {"a": 0.264060700866, "b": 0.567673675708, "c": -0.085319324463}, 0.625881657473),
    ("beta", {}, {"a": 0.314795884284, "b": 0.550130229857, "c": -0.013393470644}, 0.626021304992),
    ("isotonic", {"mixture": 0.0}, {}, 0.616883349862),
    ("isotonic", {}, {}, 0.616896437286),
]
WEIGHTED = [
    ("temperature", {}, {"slope": 0.425958458460}, 0.626838108238),
    ("platt", {"ridge": 0}, {"slope": 0.430782293657, "intercept": 0.213560510838}, 0.621903184600),
    ("platt", {}, {"slope": 0.440622455551, "intercept": 0.203770867172}, 0.621947031889),
    ("beta", {}, {"a": 0.341304659206, "b": 0.567990699767, "c": -0.009038409645}, 0.621349779174),
    ("beta", {"counts": True}, {"a": 0.315880225103, "b": 0.571484054732, "c": -0.039345007343}, 0.621216366606),
]


@pytest.mark.parametrize(("method", "options", "parameters", "after"), BINARY)
@pytest.mark.parametrize("from_logits", [False, True])
def test_golden_values_of_binary_maps(
    method: str, options: dict[str, Any], parameters: dict[str, float], after: float, from_logits: bool
) -> None:
    scores = H if from_logits else P
    found = cal.Recalibrator(method, **options, from_logits=from_logits).fit(Y, scores)
    assert found.parameters == pytest.approx(parameters, abs=1e-10)
    assert found.log_loss_before == pytest.approx(0.723760622332, abs=1e-11)
    assert found.log_loss_after == pytest.approx(after, abs=1e-11)
    assert log_loss(Y, found.predict_proba(scores)) == pytest.approx(after, abs=1e-11)
    assert found.bound is not None and found.bound.standard_errors < 1e-8
    assert found.chosen == method and found.n == 400


@pytest.mark.parametrize(("method", "options", "parameters", "after"), WEIGHTED)
def test_golden_values_with_weights(
    method: str, options: dict[str, Any], parameters: dict[str, float], after: float
) -> None:
    found = cal.recalibrate(Y, P, method=method, sample_weight=W, **options)
    assert found.parameters == pytest.approx(parameters, abs=1e-10)
    assert found.log_loss_after == pytest.approx(after, abs=1e-11)


def test_standard_errors_are_those_of_the_sandwich() -> None:
    found = cal.recalibrate(Y, P, method="platt", ridge=0)
    assert found.standard_errors == pytest.approx({"slope": 0.00375258**0.5, "intercept": 0.0114988**0.5}, rel=1e-5)


@pytest.mark.parametrize("from_logits", [False, True])
def test_golden_values_of_a_temperature_of_classes(from_logits: bool) -> None:
    scores = SCORES if from_logits else CLASSES
    found = cal.Recalibrator("temperature", mixture=0, from_logits=from_logits).fit(LABELS, scores)
    assert found.parameters == pytest.approx({"slope": 0.470814919031}, abs=1e-10)
    assert found.log_loss_before == pytest.approx(1.071018197590, abs=1e-11)
    assert log_loss(LABELS, found.predict_proba(scores)) == pytest.approx(0.959618562254, abs=1e-11)
    mixed = cal.Recalibrator("temperature", from_logits=from_logits).fit(LABELS, scores)
    assert mixed.log_loss_after == pytest.approx(0.959642024317, abs=1e-11)
    weighted = cal.recalibrate(LABELS, scores, method="temperature", sample_weight=1 + J % 3, from_logits=from_logits)
    assert weighted.parameters == pytest.approx({"slope": 0.458603038281}, abs=1e-10)


OF_CLASSES: list[tuple[str, dict[str, Any], dict[str, Any], float]] = [
    (
        "bias_corrected_temperature",
        {"ridge": 0},
        {"scale": 0.473363477953, "bias": [0.0444290266, 0.1714158681, -0.2158448947]},
        0.948833055665,
    ),
    (
        "vector",
        {"ridge": 0},
        {"scale": [0.3512919807, 0.3919540987, 0.7871887802], "bias": [-0.1552575535, 0.0256259082, 0.1296316453]},
        0.940457731619,
    ),
    (
        "vector",
        {},
        {"scale": [0.9099437564, 0.8547758251, 1.3349181290], "bias": [-0.0782731687, -0.0206761547, 0.0989493234]},
        0.942903360173,
    ),
    (
        "matrix",
        {},
        {
            "matrix": [
                [0.929991341454, 0.009093263198, -0.085760426427],
                [0.103069021902, 0.887501353160, -0.058967709611],
                [-0.068064692629, 0.047156060221, 1.289456272076],
            ],
            "bias": [-0.125742593427, 0.099143548623, 0.026599044804],
        },
        0.941022637798,
    ),
    ("matrix", {"ridge": 0}, {"bias": [-0.609257761762, 0.357407877334, 0.251849884428]}, 0.935763058567),
    ("ensemble_temperature", {}, {"weights": [1.0, 0.0, 0.0]}, 0.959618562254),
]


@pytest.mark.parametrize(("method", "options", "parameters", "after"), OF_CLASSES)
@pytest.mark.parametrize("from_logits", [False, True])
def test_golden_values_of_maps_of_classes(
    method: str, options: dict[str, Any], parameters: dict[str, Any], after: float, from_logits: bool
) -> None:
    scores = SCORES if from_logits else CLASSES
    found = cal.Recalibrator(method, mixture=0, from_logits=from_logits, **options).fit(LABELS, scores)
    for name, values in parameters.items():
        np.testing.assert_allclose(found.parameters[name], values, atol=1e-7)
    assert found.log_loss_after == pytest.approx(after, abs=1e-10)
    assert log_loss(LABELS, found.predict_proba(scores)) == pytest.approx(after, abs=1e-10)
    assert set(found.standard_errors) == set(found.parameters)
    for name, errors in found.standard_errors.items():
        assert errors is None or np.shape(errors) == np.shape(found.parameters[name])


def test_a_map_of_classes_serves_two_columns() -> None:
    two = np.stack([1 - P, P], axis=1)
    found = cal.recalibrate(Y, two, method="vector", ridge=0)
    assert found.n_classes == 2 and np.shape(found.parameters["scale"]) == (2,)
    assert found.predict_proba(two).shape == (400, 2)


def test_one_vs_rest_is_a_map_for_each_class() -> None:
    found = cal.recalibrate(LABELS, CLASSES, method="beta", one_vs_rest=True)
    given = found.predict_proba(CLASSES)
    np.testing.assert_allclose(given.sum(axis=1), 1, atol=1e-12)
    each = [
        cal.recalibrate((place == LABELS).astype(int), CLASSES[:, place], method="beta").predict_proba(
            CLASSES[:, place]
        )
        for place in range(3)
    ]
    together = np.stack(each, axis=1)
    np.testing.assert_allclose(given, together / together.sum(axis=1, keepdims=True), atol=1e-9)
    with pytest.raises(cal.CalipersError, match="one_vs_rest"):
        cal.recalibrate(LABELS, CLASSES, method="beta")


VENN_ABERS = [
    (-4, 0, 3 / 13),
    (-3.125, 2 / 13, 3 / 13),
    (-2, 0.352941176471, 0.409090909091),
    (-1.03125, 0.466666666667, 0.488888888889),
    (0, 0.489795918367, 0.525),
    (0.5, 0.5, 0.555555555556),
    (1, 0.607142857143, 0.636363636364),
    (2.03125, 0.764705882353, 0.816666666667),
    (3.125, 0.823529411765, 1),
    (4, 0.823529411765, 1),
]


def test_golden_values_of_venn_abers() -> None:
    h, lower, upper = (np.array(column, float) for column in zip(*VENN_ABERS, strict=True))
    found = cal.recalibrate(Y, H, method="venn_abers", mixture=0, from_logits=True)
    intervals = found.predict_interval(h)
    np.testing.assert_allclose(intervals.lower, lower, atol=1e-11)
    np.testing.assert_allclose(intervals.upper, upper, atol=1e-11)
    np.testing.assert_allclose(intervals.values, upper / (1 - lower + upper), atol=1e-11)
    np.testing.assert_array_equal(intervals.values, found.predict_proba(h))
    low, high = intervals
    assert (low <= high).all()
    assert found.log_loss_after == pytest.approx(0.619369673816, abs=1e-10)
    with pytest.raises(cal.CalipersError) as raised:
        fitted().predict_interval(P)
    assert str(raised.value) == 'method must be "venn_abers", which alone has intervals, got "beta"'


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, np.int64])
@pytest.mark.parametrize("shape", [(5,), (5, 1), (5, 2)])
def test_results_are_doubles_in_the_shape_of_the_input(dtype: Any, shape: tuple[int, ...]) -> None:
    found = cal.recalibrate(Y, H, method="platt", from_logits=True)
    scores = np.arange(np.prod(shape)).reshape(shape).astype(dtype)
    given = found.predict_proba(scores)
    assert given.dtype == np.float64 and given.shape == shape
    np.testing.assert_array_equal(given, found.predict_proba(scores.astype(np.float64)))
    np.testing.assert_array_equal(given, found.transform(scores))
    if shape == (5, 2):
        np.testing.assert_allclose(given.sum(axis=1), 1, atol=1e-15)
        logits = (scores[:, 1] - scores[:, 0]).astype(np.float64)
        np.testing.assert_allclose(given[:, 1], found.predict_proba(logits), atol=1e-15)


def test_two_columns_and_one_give_the_same_map() -> None:
    one = cal.recalibrate(Y, P, method="beta")
    two = cal.recalibrate(Y, np.stack([1 - P, P], axis=1), method="beta")
    assert one.parameters == two.parameters and two.n_classes == 2


def test_float32_is_read_as_the_numbers_that_it_holds() -> None:
    single = P.astype(np.float32)
    assert (
        cal.recalibrate(Y, single, method="beta").parameters
        == cal.recalibrate(Y, single.astype(np.float64), method="beta").parameters
    )


def test_text_labels_and_names_of_classes() -> None:
    names = np.array(["ant", "bee", "cat"])
    found = cal.recalibrate(names[LABELS].tolist(), CLASSES, method="temperature")
    assert found.classes == ["ant", "bee", "cat"] and found.n_classes == 3
    assert found.parameters == cal.recalibrate(LABELS, CLASSES, method="temperature").parameters
    words = np.where(Y == 1, "yes", "no").tolist()
    assert cal.recalibrate(words, P, method="platt").parameters == cal.recalibrate(Y, P, method="platt").parameters
    flipped = cal.recalibrate(words, 1 - P, method="platt", pos_label="no")
    assert flipped.parameters["slope"] == pytest.approx(cal.recalibrate(Y, P, method="platt").parameters["slope"])


def test_predictions_stand_for_rows() -> None:
    rows = cal.Predictions(Y, H, from_logits=True, sample_weight=W)
    direct = cal.recalibrate(Y, P, method="platt", sample_weight=W)
    found = cal.recalibrate(rows, method="platt")
    assert found.parameters == pytest.approx(direct.parameters, abs=1e-12) and found.from_logits
    assert cal.Recalibrator("platt", from_logits=True).fit(rows).parameters == found.parameters
    with pytest.raises(cal.CalipersError, match="from_logits must be that of the Predictions, True, got False"):
        cal.Recalibrator("platt").fit(rows)


def test_clusters_change_standard_errors_alone() -> None:
    alone = cal.recalibrate(Y, P, method="platt")
    clustered = cal.recalibrate(Y, P, method="platt", cluster=ROW // 20)
    assert clustered.parameters == alone.parameters
    assert clustered.standard_errors != alone.standard_errors


def test_a_curve_has_its_band() -> None:
    found = cal.recalibrate(Y, P, method="beta")
    curve = found.curve([0.1, 0.5, 0.9])
    np.testing.assert_array_equal(curve.values, found.predict_proba([0.1, 0.5, 0.9]))
    assert curve.lower is not None and curve.upper is not None
    assert (curve.lower < curve.values).all() and (curve.values < curve.upper).all()
    wide = found.curve([0.1, 0.5, 0.9], level=0.99)
    assert wide.lower is not None and (wide.lower < curve.lower).all()
    assert len(found.curve().probabilities) == 201
    assert cal.recalibrate(Y, P, method="isotonic").curve([0.5]).lower is None


def fitted(method: str = "beta") -> cal.Recalibrator:
    rows = (LABELS, CLASSES) if method == "temperature" else (Y, P)
    return cal.recalibrate(*rows, method=method)


UNFITTED = "the Recalibrator must be fitted first: call fit(y_true, y_prob)"
SEPARABLE = ([0, 0, 1, 1], [-2, -1, 1, 2])
HINT = "; pass from_logits=True if these are raw scores"
ERRORS: list[tuple[Any, str]] = [
    (lambda: cal.Recalibrator("platt").predict_proba([0.5]), UNFITTED),
    (lambda: cal.Recalibrator("platt").parameters, UNFITTED),
    (
        lambda: cal.recalibrate([1, 1], [0.5, 0.6], method="platt"),
        "rows must be of both outcomes, got 2 rows of outcome 1",
    ),
    (lambda: cal.recalibrate(Y, P, method="platt", ridge=-1), "ridge must be finite and not negative, got -1"),
    (lambda: cal.recalibrate(Y, P, method="platt", mixture=1), "mixture must be in [0, 1), got 1"),
    (lambda: cal.recalibrate(Y, P, method="platt", clip=0), "clip must be above 0 and below 1/2, got 0"),
    (lambda: fitted().curve([0.5], level=1), "level must be above 0 and below 1, got 1"),
    (lambda: fitted().curve([1.5]), "at must be in [0, 1], got 1.5"),
    (
        lambda: fitted("temperature").predict_proba(P),
        "columns must be those of the 3 classes that the map is for, got 1",
    ),
    (lambda: fitted("temperature").curve(), "curve must be of a map of a binary outcome, got one of 3 classes"),
    (lambda: fitted().predict_proba([0.5, 1.5]), f"probability in row 1 must be in [0, 1], got 1.5{HINT}"),
    (lambda: fitted().predict_proba([0.5, float("nan")]), "probability in row 1 must be in [0, 1], got NaN"),
    (
        lambda: cal.recalibrate(*SEPARABLE, method="platt", ridge=0, from_logits=True),
        "rows must be of outcomes whose scores overlap where ridge is 0, since there is no finite slope else, "
        "got outcome 0 up to logit -1 and outcome 1 from 1",
    ),
]


@pytest.mark.parametrize(("call", "text"), ERRORS)
def test_errors_have_their_text(call: Any, text: str) -> None:
    with pytest.raises(cal.CalipersError) as raised:
        call()
    assert str(raised.value) == text


def test_names_of_methods_are_those_of_the_core() -> None:
    listed = [each.name for each in cal.recalibration_methods()]
    with pytest.raises(cal.CalipersError, match="method must be") as raised:
        cal.recalibrate(Y, P, method="plat")
    assert all(f'"{name}"' in str(raised.value) for name in listed)
    for each in cal.recalibration_methods():
        try:
            found = cal.recalibrate(Y, P, method=each.name)
        except cal.CalipersError as refused:
            assert "method must be a method for a binary outcome" in str(refused), each.name
            assert cal.recalibrate(LABELS, CLASSES, method=each.name).chosen == each.name
            continue
        # A spline has as many knots as the rows need.
        assert tuple(found.parameters) == each.parameters[: len(found.parameters)]


def test_wrong_options_are_type_errors() -> None:
    with pytest.raises(TypeError, match="unexpected keyword argument 'from_logits'"):
        cal.Recalibrator("platt").fit(Y, P, from_logits=True)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="ridge must be a number, got str"):
        cal.recalibrate(Y, P, method="platt", ridge="much")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="y_prob beside Predictions"):
        cal.recalibrate(cal.Predictions(Y, P), P, method="platt")
    with pytest.raises(TypeError, match="unexpected keyword argument 'folds'"):
        cal.improvement(Y, P, folds=3)  # type: ignore[call-arg]


def test_it_prints_its_parameters_and_notes() -> None:
    assert repr(cal.Recalibrator("beta")) == "Recalibrator('beta'), not fitted"
    text = repr(cal.recalibrate([0, 1, 0, 1], [0.1, 0.9, 0.6, 0.4], method="platt"))
    assert text.startswith("Recalibrator: platt, fitted to 4 rows\n  slope      ")
    assert "(in sample)" in text and "Few rows of the rarer outcome" in text
    assert "<table>" in cal.recalibrate(Y, P, method="beta")._repr_html_()


# Gains of folds of i mod 5; the folds here come from a hash of the rows.
@pytest.mark.parametrize(("method", "gain"), [("temperature", 0.0917), ("platt", 0.0965), ("beta", 0.0969)])
def test_improvement_says_that_it_helps(method: str, gain: float) -> None:
    found = cal.improvement(Y, P, method=method, n_folds=5)
    assert found.verdict == "helps" and found.is_advised
    low, high = found.interval
    assert 0 < low < found.gain < high and low < gain < high and found.interval.level == 0.95
    assert found.p_value == found.floor.p_value < 0.01  # type: ignore[union-attr]
    assert found.recalibrator.parameters == cal.recalibrate(Y, P, method=method).parameters
    assert found.log_loss_before - found.log_loss_after == pytest.approx(found.gain)
    assert found.n_folds == 5 and found.n == 400 and found.n_clusters is None
    assert str(found) == found.sentence and repr(found).startswith(found.sentence)
    assert "helps" in found.sentence


def test_improvement_of_calibrated_rows_finds_nothing_to_fix() -> None:
    p = np.repeat([0.2, 0.5, 0.8], 100)
    y = np.concatenate([np.arange(100) < 20, np.arange(100) < 50, np.arange(100) < 80])
    found = cal.improvement(y, p, method="platt")
    assert found.verdict == "nothing to fix" and not found.is_advised
    assert found.p_value is not None and found.p_value > 0.5


def test_improvement_of_classes_and_of_clusters() -> None:
    found = cal.improvement(LABELS, CLASSES, method="temperature")
    assert found.verdict == "helps" and found.n_scores is None and found.top_class_changed == 0
    clustered = cal.improvement(Y, P, method="platt", cluster=ROW // 20)
    assert clustered.n_clusters == 20
    without = cal.improvement(Y, P, method="platt", n_resamples=0)
    assert without.floor is None and without.p_value is None
    assert cal.improvement(Y, P, method="platt", n_folds=7).n_folds == 7


def test_results_become_plain_objects() -> None:
    found = cal.improvement(Y, P, method="platt")
    assert json.loads(json.dumps(found.to_dict()))["verdict"] == "helps"
    assert json.loads(json.dumps(found.recalibrator.to_dict()))["fit"]["method"] == "platt"
    assert json.dumps(found.recalibrator.curve().to_dict())


def test_same_bits_for_any_order_of_rows() -> None:
    order = np.random.default_rng(0).permutation(400)
    found = cal.improvement(Y[order], P[order], method="beta")
    same = cal.improvement(Y, P, method="beta")
    assert found.to_dict() == same.to_dict()


def test_threads_change_no_bit() -> None:
    with cal.threads(1):
        one = cal.improvement(LABELS, SCORES, method="temperature", from_logits=True)
    assert one.to_dict() == cal.improvement(LABELS, SCORES, method="temperature", from_logits=True).to_dict()


TEXTS = [["a", "b", "c"][label] for label in LABELS]
FITTED = {
    "formula": lambda: cal.recalibrate(Y, P, method="beta", sample_weight=W),
    "table": lambda: cal.recalibrate(Y, H, method="isotonic", from_logits=True),
    "identity": lambda: cal.recalibrate(Y, P, method="identity"),
    "classes": lambda: cal.recalibrate(TEXTS, SCORES, method="temperature", from_logits=True),
    "notes": lambda: cal.recalibrate([0, 1, 0, 1], [0.1, 0.9, 0.6, 0.4], method="platt"),
    "improvement": lambda: cal.improvement(Y, P, method="platt").recalibrator,
}


@pytest.mark.parametrize("name", FITTED)
def test_copies_pickles_and_files_are_the_same_map(name: str, tmp_path: Path) -> None:
    found = FITTED[name]()
    scores = SCORES if name == "classes" else H if found.from_logits else P
    for same in (copy.copy(found), copy.deepcopy(found), pickle.loads(pickle.dumps(found))):
        assert same == found and repr(same) == repr(found) and same.to_dict() == found.to_dict()
        np.testing.assert_array_equal(same.predict_proba(scores), found.predict_proba(scores))
    path = tmp_path / "map.json"
    text = found.to_json(path)
    assert path.read_text() == text and [each.name for each in tmp_path.iterdir()] == ["map.json"]
    for source in (text, path, str(path)):
        read = cal.Recalibrator.from_json(source, from_logits=found.from_logits)
        assert read == found and read.fingerprint == found.fingerprint and read.classes == found.classes
        assert read.parameters == found.parameters and read.standard_errors == found.standard_errors
        np.testing.assert_array_equal(read.predict_proba(scores), found.predict_proba(scores))
        if name == "formula":
            np.testing.assert_array_equal(read.curve().lower, found.curve().lower)
            assert read.bound == found.bound and read.n == found.n
    written = json.loads(text)
    assert written["what"] == "calibrator" and written["formula"] == found.formula
    assert ("improvement" in written) == (name == "improvement")


def test_other_maps_are_different() -> None:
    found = fitted()
    assert found != cal.recalibrate(Y, P, method="beta", ridge=1) and found != "a map"
    assert found != cal.Recalibrator.from_json(found.to_json(), from_logits=True)
    assert cal.Recalibrator("beta") == cal.Recalibrator("beta") != cal.Recalibrator("platt")
    assert pickle.loads(pickle.dumps(cal.Recalibrator("beta", ridge=3))) == cal.Recalibrator("beta", ridge=3)
    assert found != cal.Recalibrator("beta")


def test_a_file_that_is_no_map_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(cal.CalipersError, match="must be a calipers map") as raised:
        cal.Recalibrator.from_json("{}")
    assert raised.value.code == "invalid_map"
    with pytest.raises(FileNotFoundError):
        cal.Recalibrator.from_json(tmp_path / "none.json")
    damaged = fitted().to_json().replace("0.3147", "0.3148", 1)
    with pytest.raises(cal.CalipersError, match="damaged"):
        cal.Recalibrator.from_json(damaged)


def test_json_is_evaluated_by_ten_lines_of_python() -> None:
    """The file alone is enough: no calipers, no numpy."""
    import math

    read = json.loads(fitted().to_json())
    a, b, c = (read["parameters"][name] for name in "abc")
    for h, p in zip(read["check"]["input"], read["check"]["output"], strict=True):
        u = -a * math.log1p(math.exp(-h)) + b * math.log1p(math.exp(h)) + c
        assert 1 / (1 + math.exp(-u)) == pytest.approx(p, abs=1e-12)


SQL = [
    "identity",
    "shift",
    "temperature",
    "platt",
    "beta",
    "isotonic",
    "centred_isotonic",
    "bins",
    "spline",
    "venn_abers",
]


@pytest.mark.parametrize("method", SQL)
@pytest.mark.parametrize("from_logits", [False, True])
def test_sql_has_the_values_of_the_map(method: str, from_logits: bool) -> None:
    import math
    import sqlite3

    scores = H if from_logits else P
    found = cal.recalibrate(Y, scores, method=method, from_logits=from_logits)
    with sqlite3.connect(":memory:") as database:
        database.create_function("exp", 1, math.exp)
        database.create_function("ln", 1, math.log)
        database.execute('create table t ("a ""p" real)')
        database.executemany("insert into t values (?)", [(float(score),) for score in scores])
        expression = found.to_sql('a "p')
        rows = database.execute(f"select {expression} from t").fetchall()
    np.testing.assert_allclose(np.ravel(rows), found.predict_proba(scores), atol=1e-12)


def test_sql_quotes_as_its_dialect_does() -> None:
    assert "`p`" in fitted().to_sql("p", dialect="spark") and '"p"' in fitted().to_sql("p")
    with pytest.raises(cal.CalipersError, match="dialect must be"):
        fitted().to_sql("p", dialect="t-sql")  # type: ignore[arg-type]
    with pytest.raises(cal.CalipersError, match="map must be of a binary outcome for SQL, got one of 3 classes"):
        fitted("temperature").to_sql("p")


def test_auto_chooses_and_says_what_it_has_tried() -> None:
    found = cal.improvement(Y, P)
    assert found.verdict == "helps" and found.candidates is not None
    tried = [each.name for each in found.candidates]
    assert tried[0] == "identity" and found.method in tried
    assert found.recalibrator.method == "auto" and found.recalibrator.chosen == found.method
    assert cal.recalibrate(Y, P).chosen == found.method
    assert cal.Recalibrator().fit(Y, P).parameters == found.recalibrator.parameters
    losses = {each.name: each.loss for each in found.candidates}
    assert losses["identity"] == pytest.approx(found.log_loss_before, abs=1e-12)
    assert f"{found.method} (auto)" in repr(found.recalibrator) and "above the best" in repr(found)


def test_auto_leaves_calibrated_predictions_as_they_are() -> None:
    p = np.repeat([0.2, 0.5, 0.8], 100)
    y = np.concatenate([np.arange(100) < 20, np.arange(100) < 50, np.arange(100) < 80])
    found = cal.improvement(y, p)
    assert found.method == "identity" and found.verdict == "nothing to fix"
    np.testing.assert_allclose(found.recalibrator.predict_proba(p), p, atol=1e-15)


def test_auto_chooses_for_classes() -> None:
    found = cal.improvement(LABELS, CLASSES)
    assert found.verdict == "helps" and found.method != "identity"


def test_what_is_left_is_measured_where_it_is_asked_for() -> None:
    assert cal.improvement(Y, P, method="platt").left is None
    left = cal.improvement(Y, P, method="platt", left=True, n_resamples=99).left
    assert left is not None and left.before.value > left.after.value and left.change < 0
    assert left.before.significant and str(left) == left.sentence


def test_gains_on_held_out_rows() -> None:
    found = cal.improvement_on(Y[1::2], P[1::2], cal.recalibrate(Y[::2], P[::2], method="platt"))
    assert found.verdict == "helps" and found.n == 200 and str(found) == found.sentence
    before, after = found.log_loss_before, found.log_loss_after
    assert before == pytest.approx(log_loss(Y[1::2], P[1::2]), abs=1e-12)
    recalibrator = cal.recalibrate(Y[::2], P[::2], method="platt")
    assert after == pytest.approx(log_loss(Y[1::2], recalibrator.predict_proba(P[1::2])), abs=1e-12)
    assert found.gain == pytest.approx(before - after, abs=1e-12)
    low, high = found.interval
    assert high - low == pytest.approx(2 * 1.959964 * found.standard_error, rel=1e-6)
    of_classes = cal.improvement_on(LABELS, CLASSES, cal.recalibrate(LABELS, CLASSES, method="temperature"))
    assert of_classes.verdict == "helps"
    clustered = cal.improvement_on(Y, P, fitted(), cluster=ROW // 20, left=True, n_resamples=20)
    assert clustered.n_clusters == 20 and clustered.left is not None
    with pytest.raises(TypeError, match="recalibrator must be a Recalibrator, got NoneType"):
        cal.improvement_on(Y, P)
    with pytest.raises(cal.CalipersError, match="rows must be of a binary outcome, got 3 classes"):
        cal.improvement_on(LABELS, CLASSES, fitted())


@pytest.mark.parametrize("loss", ["log", "brier"])
def test_a_loss_is_the_sum_of_its_parts(loss: Any) -> None:
    found = cal.decompose(Y, P, loss=loss, method="platt")
    assert found.calibration + found.refinement == pytest.approx(found.value, abs=1e-12)
    expected = 0.723760622332 if loss == "log" else 0.245178513834
    assert found.value == pytest.approx(expected, abs=1e-10)
    assert found.interval.lower > 0 and found.method == "platt" and str(found) == found.sentence
    assert cal.decompose(LABELS, CLASSES, loss=loss).n == 300


@pytest.mark.parametrize("method", ["temperature", "platt", "beta", "isotonic"])
def test_a_sketch_gives_the_map_of_its_rows(method: str) -> None:
    whole = cal.recalibrate(Y, P, method=method, clip=1e-6)
    parts = [cal.Sketch().update(Y[part::7], P[part::7]) for part in range(7)]
    merged = parts[0].copy()
    for part in parts[1:]:
        merged.merge(part)
    found = merged.recalibrate(method)
    assert found == cal.Sketch().update(Y, P).recalibrate(method)
    np.testing.assert_allclose(found.predict_proba(P), whole.predict_proba(P), atol=1e-3)
    if method != "isotonic":
        assert list(found.parameters) == list(whole.parameters)
        np.testing.assert_allclose(list(found.parameters.values()), list(whole.parameters.values()), atol=1e-6)


def grouped_rows() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows of three groups, of which two differ and one is small."""
    random = np.random.default_rng(5)
    groups = np.repeat(["north", "south", "west"], [600, 600, 15])
    h = 1.5 * random.standard_normal(groups.size)
    shift = np.select([groups == "north", groups == "south"], [0.8, -0.8], 0.0)
    y = random.random(groups.size) < 1 / (1 + np.exp(-(h + shift)))
    return y.astype(int), 1 / (1 + np.exp(-h)), groups


def test_each_group_has_a_map_drawn_to_the_pooled_one() -> None:
    y, p, groups = grouped_rows()
    recalibrator = cal.Recalibrator("platt").fit(y, p, groups=groups)
    assert recalibrator.groups is not None
    assert recalibrator.spread is not None
    assert list(recalibrator.groups) == ["north", "south", "west"]
    north, south, west = recalibrator.groups.values()
    assert north.parameters["intercept"] > 0.5 > -0.5 > south.parameters["intercept"]
    assert north.own_share > west.own_share
    assert (north.n, south.n, west.n) == (600, 600, 15)
    assert recalibrator.spread["intercept"] > 0.3
    after = recalibrator.predict_proba([0.5, 0.5, 0.5, 0.5], groups=["north", "south", "east", None])
    assert after[0] > 0.6 > 0.4 > after[1]
    assert after[2] == after[3] == recalibrator.of_group("east").predict_proba([0.5])[0]
    two = recalibrator.predict_proba([[0.5, 0.5]], groups=["north"])
    assert two[0, 1] == after[0]
    curve = recalibrator.of_group("north").curve([0.5])
    assert curve.values[0] == after[0]
    assert "3, each with a map of its own in .groups" in repr(recalibrator)


def test_maps_by_group_are_one_file_and_one_expression() -> None:
    y, p, groups = grouped_rows()
    recalibrator = cal.recalibrate(y, p, method="beta", groups=groups)
    same = cal.Recalibrator.from_json(recalibrator.to_json())
    assert same == recalibrator == pickle.loads(pickle.dumps(recalibrator))
    assert json.loads(recalibrator.to_json())["format"] == 2
    assert (same.predict_proba(p, groups=groups) == recalibrator.predict_proba(p, groups=groups)).all()
    assert "WHEN 'north' THEN" in recalibrator.to_sql("p", by="region")
    with pytest.raises(cal.CalipersError, match="the name of the column of groups"):
        recalibrator.to_sql("p")
    # Numbers are named as they are written.
    numbered = cal.Recalibrator("shift").fit(y, p, groups=np.where(groups == "west", 2.0, 10.0))
    assert list(numbered.groups or {}) == ["10", "2"]
    assert numbered.predict_proba([0.5], groups=[2]) == numbered.of_group(2).predict_proba([0.5])


def test_groups_are_given_where_there_are_maps_of_groups_and_else_not() -> None:
    y, p, groups = grouped_rows()
    by_group = cal.Recalibrator("platt").fit(y, p, groups=groups)
    with pytest.raises(cal.CalipersError, match="groups must be given"):
        by_group.predict_proba(p)
    with pytest.raises(cal.CalipersError, match="groups must be left out"):
        cal.Recalibrator("platt").fit(y, p).predict_proba(p, groups=groups)
    with pytest.raises(cal.CalipersError, match="groups must have one value for each row"):
        by_group.predict_proba(p, groups=groups[1:])
    with pytest.raises(cal.CalipersError, match="for maps by group"):
        cal.Recalibrator("isotonic").fit(y, p, groups=groups)
    with pytest.raises(cal.CalipersError, match="maps by group; of_group has the one of a group"):
        by_group.curve()


def test_improvement_compares_ways_to_use_groups() -> None:
    y, p, groups = grouped_rows()
    found = cal.improvement(y, p, groups=groups)
    assert found.method == "beta"
    assert found.verdict == "helps"
    assert found.floor is None
    assert found.pooling is not None
    assert [way.pooling for way in found.pooling] == ["unchanged", "one map", "partially pooled", "one map a group"]
    one = found.pooling[1]
    assert one.difference > 3 * one.standard_error
    one_map = found.pooling[1].difference
    assert f"One map for all rows is {'worse' if one_map >= 0 else 'better'} by " in found.sentence
    new = cal.improvement_on(y, p, found.recalibrator, groups=groups)
    assert new.verdict == "helps"
    left_out = cal.improvement(np.append(y, 1), np.append(p, np.nan), groups=[*groups, "east"], invalid="count")
    assert left_out.gain == found.gain


def test_clusters_of_rows_of_classes() -> None:
    random = np.random.default_rng(1)
    z = random.standard_normal((200, 3)) * 2
    y = [random.choice(3, p=np.exp(row / 2) / np.exp(row / 2).sum()) for row in z]
    rows, clusters = np.repeat(np.arange(200), 3), np.repeat(np.arange(200), 3)
    of_rows = cal.improvement(np.array(y)[rows], z[rows], method="temperature", from_logits=True)
    found = cal.improvement(np.array(y)[rows], z[rows], method="temperature", from_logits=True, cluster=clusters)
    assert found.n_clusters == 200
    assert found.floor is None
    width = found.interval.upper - found.interval.lower
    assert width > 1.4 * (of_rows.interval.upper - of_rows.interval.lower)
    fitted = cal.recalibrate(np.array(y)[rows], z[rows], method="temperature", from_logits=True, cluster=clusters)
    assert fitted.standard_errors == {"slope": None}
    new = cal.improvement_on(np.array(y)[rows], z[rows], fitted, cluster=clusters)
    assert new.n_clusters == 200


def test_sketches_are_folds() -> None:
    y, p, _ = grouped_rows()
    folds = [cal.Sketch().update(y[fold::5], p[fold::5] ** 2) for fold in range(5)]
    found = cal.improvement_from_sketches(folds, method="platt")
    assert found.verdict == "helps"
    assert found.bound is not None
    assert found.bound < 1e-6
    exact = cal.improvement(y, p**2, method="platt")
    assert found.interval.lower == pytest.approx(exact.interval.lower, abs=1e-4)
    assert found.recalibrator.predict_proba([0.3]) == pytest.approx(exact.recalibrator.predict_proba([0.3]), abs=1e-6)
    with pytest.raises(cal.CalipersError, match="at least 2, one for each fold"):
        cal.improvement_from_sketches(folds[:1])


def test_a_temperature_sketch_is_merged_and_pickled() -> None:
    random = np.random.default_rng(2)
    z = 3 * random.standard_normal((300, 4))
    y = [random.choice(4, p=np.exp(row / 2) / np.exp(row / 2).sum()) for row in z]
    parts = [cal.TemperatureSketch(4).update(y[part::3], z[part::3], from_logits=True) for part in range(3)]
    merged = parts[0].copy().merge(pickle.loads(pickle.dumps(parts[1]))).merge(parts[2])
    whole = cal.TemperatureSketch(4).update(y, z, from_logits=True)
    assert merged == whole
    read = cal.TemperatureSketch.from_bytes(whole.to_bytes())
    assert read == whole and read.fit().parameters == whole.fit().parameters
    assert (whole.n, whole.n_classes, whole.left_out) == (300, 4, {})
    fitted = whole.fit(from_logits=True)
    exact = cal.recalibrate(y, z, method="temperature", from_logits=True)
    assert fitted.parameters["slope"] == pytest.approx(exact.parameters["slope"], rel=1e-6)
    assert fitted.predict_proba(z) == pytest.approx(exact.predict_proba(z), abs=1e-6)
    before = whole.to_bytes()
    with pytest.raises(cal.CalipersError, match="row 301"):
        whole.update([0, 1], [[0.0, 0, 0, 0], [np.nan, 0, 0, 0]], from_logits=True)
    assert whole.to_bytes() == before
    with pytest.raises(TypeError, match="must be a TemperatureSketch"):
        whole.merge(cal.Sketch())  # type: ignore[arg-type]
