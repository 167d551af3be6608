"""Measures as scorers of scikit-learn."""

import calipers as cal
import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import make_scorer
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score


@pytest.mark.parametrize("measure", [cal.ls_ece, cal.smooth_ece, cal.expected_calibration_error, cal.brier_score])
def test_a_measure_is_a_scorer_of_cross_validation(measure) -> None:
    x, y = make_classification(600, random_state=1)
    model, folds = LogisticRegression(), StratifiedKFold(3)
    scorer = make_scorer(measure, greater_is_better=False, response_method="predict_proba")
    scores = cross_val_score(model, x, y, scoring=scorer, cv=folds)
    expected = [
        -float(measure(y[test], model.fit(x[train], y[train]).predict_proba(x[test])[:, 1]))
        for train, test in folds.split(x, y)
    ]
    np.testing.assert_array_equal(scores, expected)


def test_options_and_several_classes_go_through_a_scorer() -> None:
    x, y = make_classification(600, n_classes=3, n_informative=5, random_state=1)
    scorer = make_scorer(
        cal.ls_ece, greater_is_better=False, response_method="predict_proba", sigma=0.5, multiclass="classwise"
    )
    assert (cross_val_score(LogisticRegression(), x, y, scoring=scorer, cv=3) < 0).all()


def test_processes_of_a_search_may_measure() -> None:
    x, y = make_classification(600, random_state=1)
    scorer = make_scorer(cal.ls_ece, greater_is_better=False, response_method="predict_proba")
    cal.ls_ece(y, np.full(len(y), 0.5))
    search = GridSearchCV(LogisticRegression(), {"C": [0.01, 1.0]}, scoring=scorer, cv=3, n_jobs=2).fit(x, y)
    assert search.best_score_ < 0
