"""calipers.sklearn's recalibrated classifiers: scikit-learn's own checks, folds, weights, text and frames."""

from __future__ import annotations

import doctest
import importlib
import pickle
from typing import Any

import calipers as cal
import numpy as np
import pandas as pd
import pytest
from calipers.sklearn import RecalibratedClassifier, RecalibrationTransformer
from sklearn import config_context
from sklearn.base import clone
from sklearn.datasets import load_iris, make_classification
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, GroupKFold, StratifiedKFold, cross_val_predict
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import parametrize_with_checks

# Folds are of rows: two rows are not held out together as one row of weight 2 is.
OF_FOLDS = "a row that is repeated can be in two folds, and a row of weight 2 cannot"
# X of these checks has two columns, and y three classes.
NO_SCORES = "X and y of the check are features and labels, not raw scores of the classes of y"
EXPECTED = {
    "RecalibratedClassifier, auto": {
        "check_sample_weight_equivalence_on_dense_data": OF_FOLDS,
        "check_sample_weight_equivalence_on_sparse_data": OF_FOLDS,
    },
    "RecalibrationTransformer, identity": {
        "check_estimators_overwrite_params": NO_SCORES,
        "check_estimators_fit_returns_self": NO_SCORES,
        "check_readonly_memmap_input": NO_SCORES,
    },
}


@parametrize_with_checks(
    [
        RecalibratedClassifier(LogisticRegression()),
        RecalibratedClassifier(GaussianNB(), method="identity", cv=3),
        RecalibrationTransformer(method="identity", from_logits=True),
    ],
    expected_failed_checks=lambda each: EXPECTED.get(f"{type(each).__name__}, {each.method}", {}),
)
def test_scikit_learns_checks_pass(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.fixture(scope="module")
def binary() -> tuple[Any, Any]:
    return make_classification(600, n_informative=4, n_redundant=6, random_state=1)


@pytest.fixture(scope="module")
def three() -> tuple[Any, Any]:
    return make_classification(900, n_classes=3, n_informative=5, n_redundant=5, random_state=1)


def test_the_map_is_fitted_to_cross_validated_probabilities(binary: tuple[Any, Any]) -> None:
    X, y = binary
    folds = StratifiedKFold(4, shuffle=True, random_state=0)
    model = RecalibratedClassifier(GaussianNB(), method="beta", cv=folds).fit(X, y)
    p = cross_val_predict(GaussianNB(), X, y, cv=folds, method="predict_proba")
    assert model.recalibrator_ == cal.recalibrate(y, p, method="beta")
    fitted = GaussianNB().fit(X, y)
    np.testing.assert_array_equal(model.predict_proba(X), model.recalibrator_.predict_proba(fitted.predict_proba(X)))
    np.testing.assert_array_equal(model.predict(X), model.predict_proba(X).argmax(axis=1))
    assert cal.log_loss(y, model.predict_proba(X)) < cal.log_loss(y, fitted.predict_proba(X))


def test_decision_functions_are_raw_scores(binary: tuple[Any, Any], three: tuple[Any, Any]) -> None:
    X, y = binary
    model = RecalibratedClassifier(SVC(), method="platt").fit(X, y)
    scores = cross_val_predict(SVC(), X, y, cv=5, method="decision_function")
    expected = cal.recalibrate(y, scores, method="platt", from_logits=True)
    assert model.recalibrator_.parameters == pytest.approx(expected.parameters, abs=1e-12)
    np.testing.assert_allclose(
        model.predict_proba(X)[:, 1], expected.predict_proba(SVC().fit(X, y).decision_function(X)), atol=1e-12
    )
    X, y = three
    model = RecalibratedClassifier(SVC(), method="temperature").fit(X, y)
    assert model.predict_proba(X).shape == (900, 3) and model.recalibrator_.from_logits
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1, atol=1e-12)
    # Where an estimator has both, probabilities are what it says.
    assert not RecalibratedClassifier(LogisticRegression(), method="platt").fit(X, y == 1).recalibrator_.from_logits


def test_a_scale_that_the_estimator_does_not_have_is_an_error(binary: tuple[Any, Any]) -> None:
    X, y = binary
    with pytest.raises(TypeError, match="estimator must be a classifier with predict_proba, got SVC"):
        RecalibratedClassifier(SVC(), from_logits=False).fit(X, y)
    with pytest.raises(TypeError, match="with decision_function, got GaussianNB"):
        RecalibratedClassifier(GaussianNB(), from_logits=True).fit(X, y)


@pytest.mark.parametrize("how", ["prefit", "frozen"])
def test_a_fitted_estimator_is_used_as_it_is(how: str, binary: tuple[Any, Any]) -> None:
    X, y = binary
    fitted = GaussianNB().fit(X[:300], y[:300])
    before = pickle.dumps(fitted)
    model = (
        RecalibratedClassifier(fitted, method="beta", cv="prefit")
        if how == "prefit"
        else RecalibratedClassifier(FrozenEstimator(fitted), method="beta")
    )
    model.fit(X[300:], y[300:])
    assert pickle.dumps(fitted) == before
    assert model.recalibrator_ == cal.recalibrate(y[300:], fitted.predict_proba(X[300:]), method="beta")


def test_text_labels_and_frames(three: tuple[Any, Any]) -> None:
    X, y = three
    names = np.array(["owl", "cat", "fox"])
    frame = pd.DataFrame(X, columns=[f"x{i}" for i in range(X.shape[1])])
    model = RecalibratedClassifier(GaussianNB(), method="temperature").fit(frame, pd.Series(names[y]))
    assert model.classes_.tolist() == ["cat", "fox", "owl"]
    assert model.feature_names_in_.tolist() == list(frame.columns)
    assert set(model.predict(frame)) == {"cat", "fox", "owl"}
    assert (model.predict(frame) == names[y]).mean() > 0.6
    two = RecalibratedClassifier(GaussianNB(), method="platt").fit(X, np.where(y == 0, "no", "yes"))
    assert two.classes_.tolist() == ["no", "yes"]


def test_weights_go_to_the_estimator_and_to_the_map(binary: tuple[Any, Any]) -> None:
    X, y = binary
    weights = np.random.default_rng(0).integers(1, 4, len(y)).astype(float)
    model = RecalibratedClassifier(GaussianNB(), method="beta").fit(X, y, sample_weight=weights)
    p = cross_val_predict(GaussianNB(), X, y, cv=5, method="predict_proba", params={"sample_weight": weights})
    assert model.recalibrator_ == cal.recalibrate(y, p, method="beta", sample_weight=weights)
    np.testing.assert_array_equal(model.estimator_.theta_, GaussianNB().fit(X, y, sample_weight=weights).theta_)
    # An estimator without weights: the map has them.
    neighbours = RecalibratedClassifier(KNeighborsClassifier(), method="beta").fit(X, y, sample_weight=weights)
    p = cross_val_predict(KNeighborsClassifier(), X, y, cv=5, method="predict_proba")
    assert neighbours.recalibrator_ == cal.recalibrate(y, p, method="beta", sample_weight=weights)


def test_metadata_is_routed(binary: tuple[Any, Any]) -> None:
    X, y = binary
    weights = np.random.default_rng(0).integers(1, 4, len(y)).astype(float)
    groups = np.arange(len(y)) % 50
    with config_context(enable_metadata_routing=True):
        estimator = GaussianNB().set_fit_request(sample_weight=True)
        model = RecalibratedClassifier(estimator, method="beta", cv=GroupKFold(5))
        model.fit(X, y, sample_weight=weights, groups=groups)
    p = cross_val_predict(
        GaussianNB(), X, y, cv=GroupKFold(5), groups=groups, method="predict_proba", params={"sample_weight": weights}
    )
    assert model.recalibrator_ == cal.recalibrate(y, p, method="beta", sample_weight=weights)


def test_it_can_be_searched_cloned_and_pickled(binary: tuple[Any, Any]) -> None:
    X, y = binary
    search = GridSearchCV(
        RecalibratedClassifier(make_pipeline(StandardScaler(), SVC()), method="platt"),
        {"method": ["platt", "temperature"], "estimator__svc__C": [0.1, 1]},
        scoring="neg_log_loss",
        cv=3,
    ).fit(X, y)
    model = search.best_estimator_
    same = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(same.predict_proba(X), model.predict_proba(X))
    assert clone(model).get_params()["method"] == model.method


def test_one_class_is_an_error() -> None:
    with pytest.raises(ValueError, match="y must have at least two classes, got 1 class: 1"):
        RecalibratedClassifier(GaussianNB()).fit([[0.0], [1.0]], [1, 1])


def test_the_transformer_is_the_map(binary: tuple[Any, Any]) -> None:
    X, y = binary
    p = cross_val_predict(GaussianNB(), X, y, cv=5, method="predict_proba")
    expected = cal.recalibrate(y, p, method="beta")
    for columns in (p, p[:, 1:]):
        transformer = RecalibrationTransformer(method="beta").fit(columns, y)
        assert transformer.recalibrator_.parameters == expected.parameters
        np.testing.assert_array_equal(transformer.transform(columns), expected.predict_proba(columns))
    frame = pd.DataFrame(p, columns=["no", "yes"])
    named = RecalibrationTransformer(method="beta").set_output(transform="pandas").fit(frame, y)
    assert named.transform(frame).columns.tolist() == ["no", "yes"]
    text = RecalibrationTransformer(method="beta", classes=["no", "yes"]).fit(p, np.where(y == 1, "yes", "no"))
    assert text.recalibrator_.parameters == expected.parameters
    X, y = load_iris(return_X_y=True)
    scores = cross_val_predict(LogisticRegression(max_iter=1000), X, y, cv=5, method="decision_function")
    three = RecalibrationTransformer(method="temperature", from_logits=True).fit(scores, y)
    np.testing.assert_allclose(three.transform(scores).sum(axis=1), 1, atol=1e-12)


def test_examples_run() -> None:
    failed, tried = doctest.testmod(importlib.import_module("calipers.sklearn._recalibrated"))
    assert failed == 0 and tried > 8
