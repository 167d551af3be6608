"""calipers.sklearn: scorers in model selection, cross-validated predictions, and assessments of them."""

from __future__ import annotations

import doctest
import inspect
import pickle
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import calipers as cal
import calipers.sklearn
import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.datasets import load_iris, make_classification
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    LeaveOneOut,
    ShuffleSplit,
    StratifiedKFold,
    cross_val_predict,
    cross_val_score,
    cross_validate,
)
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

ROOT = Path(__file__).parents[2]
FOLDS = StratifiedKFold(3)


def binary(n: int = 600) -> tuple[Any, Any]:
    return make_classification(n, random_state=1)


def text(y: Any) -> Any:
    """Labels whose order as text is that of their numbers."""
    return np.array(["a no", "b yes", "c maybe"])[y]


def three() -> tuple[Any, Any]:
    return make_classification(600, n_classes=3, n_informative=5, random_state=1)


def model() -> Any:
    return make_pipeline(StandardScaler(), LogisticRegression())


SCORED = [measure.name for measure in cal.measures() if measure.larger_is_worse]


@pytest.mark.parametrize("measure", SCORED)
def test_every_error_is_a_scorer_by_its_name(measure: str) -> None:
    x, y = binary(200)
    scorer = getattr(cal.sklearn, f"{measure}_scorer")
    fitted = model().fit(x, text(y))
    expected = cal.assess(y, fitted.predict_proba(x)[:, 1], measure=measure, n_resamples=20).value
    assert scorer(fitted, x, text(y)) == pytest.approx(-expected, rel=1e-12)
    assert f"{measure}_scorer" in dir(cal.sklearn)


def test_a_title_names_a_scorer_too() -> None:
    assert cal.sklearn.ece_scorer.measure == "expected_calibration_error"
    assert cal.sklearn.scorer("ece", n_bins=5).measure == "expected_calibration_error"
    # A new one each time: what is requested of one must not be requested of others.
    assert cal.sklearn.ls_ece_scorer is not cal.sklearn.ls_ece_scorer


def test_what_is_no_scorer_is_refused() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'sharpness_scorer'"):
        _ = cal.sklearn.sharpness_scorer
    with pytest.raises(AttributeError, match="has no attribute 'calibration_slope_scorer'"):
        _ = cal.sklearn.calibration_slope_scorer
    with pytest.raises(
        ValueError, match=r"^measure must be one of which a larger value is worse, got 'calibration_slope'"
    ):
        cal.sklearn.scorer("calibration_slope")
    with pytest.raises(cal.CalipersError, match='did you mean "smooth_ece"'):
        cal.sklearn.scorer("smooth_eec")
    with pytest.raises(TypeError, match=r"^ls_ece has no option 'n_bins', only sigma"):
        cal.sklearn.scorer("ls_ece", n_bins=10)
    with pytest.raises(TypeError, match=r"^sample_weight must go to each fold with its rows: use set_score_request"):
        cal.sklearn.scorer("ls_ece", sample_weight=[1.0])


@pytest.mark.parametrize("labels", [lambda y: y, text, lambda y: pd.Series(text(y), dtype="category"), lambda y: y > 0])
def test_scores_are_those_of_the_folds_for_any_kind_of_label(labels: Any) -> None:
    x, y = binary()
    scores = cross_val_score(model(), x, labels(y), scoring=cal.sklearn.ls_ece_scorer, cv=FOLDS)
    expected = [
        -float(cal.ls_ece(y[test], model().fit(x[train], y[train]).predict_proba(x[test])[:, 1]))
        for train, test in FOLDS.split(x, y)
    ]
    np.testing.assert_allclose(scores, expected, rtol=1e-12)


@pytest.mark.parametrize("multiclass", [None, "top_class", "classwise", 1])
def test_several_text_classes_are_scored_in_the_order_of_the_estimator(multiclass: Any) -> None:
    x, y = three()
    scorer = cal.sklearn.scorer("ls_ece", sigma=0.5, multiclass=multiclass)
    scores = cross_val_score(model(), x, text(y), scoring=scorer, cv=FOLDS)
    expected = [
        -float(
            cal.ls_ece(
                y[test], model().fit(x[train], y[train]).predict_proba(x[test]), sigma=0.5, multiclass=multiclass
            )
        )
        for train, test in FOLDS.split(x, y)
    ]
    np.testing.assert_allclose(scores, expected, rtol=1e-12)


def test_a_fold_may_lack_a_class() -> None:
    x, y = three()
    fitted = model().fit(x, text(y))
    kept = y != 1
    expected = cal.ls_ece(y[kept], fitted.predict_proba(x[kept]))
    assert cal.sklearn.ls_ece_scorer(fitted, x[kept], text(y)[kept]) == -float(expected)


def test_options_of_rows_go_through() -> None:
    x, y = binary()
    fitted = model().fit(x, text(y))
    first = cal.sklearn.scorer("ls_ece", sigma=0.3, pos_label="a no")(fitted, x, text(y))
    assert first == -float(cal.ls_ece(1 - y, fitted.predict_proba(x)[:, 0], sigma=0.3))
    machine = SVC().fit(x, text(y))
    raw = cal.sklearn.scorer("ls_ece", from_logits=True)(machine, x, text(y))
    assert raw == -float(cal.ls_ece(y, machine.decision_function(x), from_logits=True))
    with pytest.raises(TypeError, match=r"^estimator must be a fitted classifier with predict_proba, got SVC$"):
        cal.sklearn.ls_ece_scorer(machine, x, text(y))


def test_several_scorers_at_once() -> None:
    x, y = binary()
    scoring = {"ls_ece": cal.sklearn.ls_ece_scorer, "ece": cal.sklearn.ece_scorer, "loss": "neg_log_loss"}
    found = cross_validate(model(), x, text(y), scoring=scoring, cv=FOLDS)
    for name, scorer in list(scoring.items())[:2]:
        np.testing.assert_array_equal(
            found[f"test_{name}"], cross_val_score(model(), x, text(y), scoring=scorer, cv=FOLDS)
        )
    assert (found["test_loss"] < 0).all()


def test_a_search_in_two_processes_takes_the_smallest_error() -> None:
    x, y = binary()
    grid = {"logisticregression__C": [1e-4, 1.0]}
    search = GridSearchCV(model(), grid, scoring=cal.sklearn.scorer("ls_ece", sigma=0.2), cv=FOLDS, n_jobs=2)
    search.fit(x, text(y))
    scores = search.cv_results_["mean_test_score"]
    assert search.best_score_ == scores.max() < 0
    by_hand = [
        cross_val_score(model().set_params(logisticregression__C=c), x, y, scoring=search.scoring, cv=FOLDS).mean()
        for c in grid["logisticregression__C"]
    ]
    np.testing.assert_allclose(scores, by_hand, rtol=1e-12)


def test_a_scorer_is_pickled_and_cloned() -> None:
    scorer = cal.sklearn.scorer("ece", n_bins=7)
    x, y = binary()
    fitted = model().fit(x, y)
    for other in (pickle.loads(pickle.dumps(scorer)), clone(scorer)):
        assert other(fitted, x, y) == scorer(fitted, x, y)
        assert repr(other) == repr(scorer)
    assert clone(GridSearchCV(model(), {}, scoring=scorer)).scoring.options == {"n_bins": 7}


def test_weights_are_routed_to_the_scorer() -> None:
    x, y = binary()
    weights = np.random.default_rng(0).random(y.size)
    with config_context(enable_metadata_routing=True):
        scorer = cal.sklearn.scorer("ls_ece", sigma=0.3).set_score_request(sample_weight=True)
        estimator = LogisticRegression().set_fit_request(sample_weight=False)
        scores = cross_val_score(estimator, x, y, scoring=scorer, cv=FOLDS, params={"sample_weight": weights})
        several = cross_validate(
            estimator, x, y, scoring={"weighted": scorer}, cv=FOLDS, params={"sample_weight": weights}
        )
    expected = [
        -float(
            cal.ls_ece(
                y[test],
                LogisticRegression().fit(x[train], y[train]).predict_proba(x[test])[:, 1],
                sigma=0.3,
                sample_weight=weights[test],
            )
        )
        for train, test in FOLDS.split(x, y)
    ]
    np.testing.assert_allclose(scores, expected, rtol=1e-12)
    np.testing.assert_array_equal(several["test_weighted"], scores)


def test_predictions_are_those_of_models_that_have_not_seen_the_row() -> None:
    x, y = binary()
    expected = cross_val_predict(model(), x, y, cv=FOLDS, method="predict_proba")[:, 1]
    predicted = cal.sklearn.predictions(model(), x, text(y), cv=FOLDS)
    assert cal.brier_score(predicted) == cal.brier_score(y, expected)
    first = cal.sklearn.predictions(model(), x, text(y), cv=FOLDS, pos_label="a no")
    assert cal.ls_ece(first, sigma=0.3) == cal.ls_ece(1 - y, 1 - expected, sigma=0.3)
    # A model that knows every row by heart has nothing to show of it.
    fitted = model().fit(x, y)
    seen = cal.sklearn.predictions(fitted, x, y, cv=None)
    assert cal.brier_score(seen) == cal.brier_score(y, fitted.predict_proba(x)[:, 1])


def test_predictions_of_several_text_classes() -> None:
    x, y = three()
    expected = cross_val_predict(model(), x, y, cv=FOLDS, method="predict_proba")
    for multiclass in (None, "classwise", 2):
        predicted = cal.sklearn.predictions(model(), x, text(y), cv=FOLDS, multiclass=multiclass)
        assert cal.ls_ece(predicted) == cal.ls_ece(y, expected, multiclass=multiclass)


def test_estimators_with_the_same_folds_can_be_compared() -> None:
    x, y = binary()
    models = {"logistic": model(), "naive Bayes": GaussianNB()}
    predicted = {name: cal.sklearn.predictions(each, x, text(y)) for name, each in models.items()}
    found = cal.compare(predicted, n_resamples=99)
    assert list(found.models) == list(models)
    assert cal.ReliabilityDisplay.from_models(predicted, n_resamples=99).comparison.sentence


def test_assess_is_that_of_the_cross_validated_predictions() -> None:
    x, y = binary()
    found = cal.sklearn.assess(model(), x, text(y), cv=FOLDS, measure="ls_ece", sigma=0.3, level=0.9, n_resamples=99)
    predicted = cross_val_predict(model(), x, y, cv=FOLDS, method="predict_proba")[:, 1]
    expected = cal.assess(y, predicted, sigma=0.3, level=0.9, n_resamples=99)
    assert found.to_dict() == expected.to_dict()
    assert found.n_clusters is None


def test_groups_stay_together_and_are_clusters() -> None:
    x, y = binary()
    person = np.arange(y.size) // 10
    folds = GroupKFold(3)
    found = cal.sklearn.assess(model(), x, y, cv=folds, groups=person, n_resamples=99)
    assert found.n_clusters == 60
    predicted = cross_val_predict(model(), x, y, cv=folds, groups=person, method="predict_proba")[:, 1]
    assert found.to_dict() == cal.assess(y, predicted, cluster=person, n_resamples=99).to_dict()
    with config_context(enable_metadata_routing=True):
        routed = cal.sklearn.assess(model(), x, y, cv=folds, groups=person, n_resamples=99)
    assert routed.to_dict() == found.to_dict()


def test_parameters_of_fit_go_to_the_folds() -> None:
    x, y = binary()
    weights = np.where(y == 1, 5.0, 1.0)
    found = cal.sklearn.predictions(LogisticRegression(), x, y, cv=FOLDS, params={"sample_weight": weights})
    expected = cross_val_predict(
        LogisticRegression(), x, y, cv=FOLDS, method="predict_proba", params={"sample_weight": weights}
    )
    assert cal.brier_score(found) == cal.brier_score(y, expected[:, 1])


def test_wrong_calls_are_refused() -> None:
    x, y = binary()
    with pytest.raises(TypeError, match=r"^estimator must be a classifier with predict_proba, got SVC$"):
        cal.sklearn.assess(SVC(), x, y)
    with pytest.raises(TypeError, match=r"^estimator must be a fitted classifier with classes_, got Logistic"):
        cal.sklearn.assess(LogisticRegression(), x, y, cv=None)
    with pytest.raises(ValueError, match=r"^groups must be left out without cv, which fits the estimator$"):
        cal.sklearn.assess(model().fit(x, y), x, y, cv=None, groups=y)
    with pytest.raises(ValueError, match="only works for partitions"):
        cal.sklearn.assess(model(), x, y, cv=ShuffleSplit(2))
    with pytest.raises(TypeError, match="unexpected keyword argument 'multi_class'"):
        cal.sklearn.predictions(model(), x, y, multi_class=1)
    with pytest.raises(ValueError, match=r"^pos_label must be one of the classes \['a no', 'b yes'\], got 'maybe'$"):
        cal.sklearn.predictions(model(), x, text(y), pos_label="maybe")


@pytest.mark.parametrize("Display", [cal.ReliabilityDisplay, cal.SweepDisplay, cal.CumulativeDisplay])
def test_a_display_of_an_estimator_may_be_cross_validated(Display: Any) -> None:
    data = load_iris()
    y = data.target_names[data.target]
    display = Display.from_estimator(model(), data.data, y, cv=FOLDS, multiclass=1)
    probabilities = cross_val_predict(model(), data.data, y, cv=FOLDS, method="predict_proba")
    expected = Display.from_predictions(data.target, probabilities, multiclass=1)
    for line, other in zip(display.ax_.get_lines(), expected.ax_.get_lines(), strict=True):
        np.testing.assert_array_equal(line.get_xydata(), other.get_xydata())


def test_scikit_learn_is_imported_with_this_module_alone() -> None:
    code = "import calipers, sys; assert 'sklearn' not in sys.modules; import calipers.sklearn; calipers.sklearn.scorer"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("function", [cal.sklearn.assess, cal.sklearn.predictions, cal.sklearn.scorer])
def test_every_parameter_is_documented(function: Any) -> None:
    documentation = inspect.getdoc(function) or ""
    for name in inspect.signature(function).parameters:
        assert re.search(rf"^(\*\*)?(\w+, )?{name}(, \w+)?( : .*)?$", documentation, re.MULTILINE), name
    assert "y_prob" not in documentation


def test_examples_run() -> None:
    failed, tried = doctest.testmod(calipers.sklearn)
    assert failed == 0 and tried > 10


def test_examples_of_the_guide_run() -> None:
    pages = ["docs/guide/sklearn.md", "docs/faq.md"]
    done = subprocess.run(
        [sys.executable, "scripts/check_docs.py", *pages], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout
    assert "sklearn.md" not in done.stdout, done.stdout


def test_leave_one_out_looks_miscalibrated_as_documented() -> None:
    """The base rate without a row is lower if its outcome is 1: the reason for the advice in `assess`."""
    y = np.tile([0, 1], 50)
    x = np.zeros((100, 1))
    predicted = cross_val_predict(DummyClassifier(), x, y, cv=LeaveOneOut(), method="predict_proba")[:, 1]
    assert predicted[y == 1].max() < 0.5 < predicted[y == 0].min()
