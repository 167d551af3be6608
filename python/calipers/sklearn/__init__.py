"""Scorers for scikit-learn's model selection, cross-validated predictions, and recalibration.

    scorer("ls_ece"), ls_ece_scorer, ...   for cross_val_score, cross_validate and GridSearchCV
    predictions(estimator, X, y, cv=5)     each row predicted by a model that has not seen it
    assess(estimator, X, y, cv=5)          `calipers.assess` of these
    RecalibratedClassifier(estimator)      a classifier with a map that was fitted to these
    RecalibrationTransformer()             a map whose X are probabilities

Needs scikit-learn, which ``import calipers`` does not.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils.metadata_routing import UNUSED

from calipers import _assess
from calipers._assess import Clusters
from calipers._assessment import Assessment
from calipers._documented import documented
from calipers._estimators import CrossValidation, Scored, scored
from calipers._measures import LISTED, named
from calipers._predictions import Predictions, Rows, split
from calipers._row_options import AssessOptions, RowOptions, Unpack
from calipers.sklearn._recalibrated import RecalibratedClassifier, RecalibrationTransformer

__all__ = ["RecalibratedClassifier", "RecalibrationTransformer", "Scorer", "assess", "predictions", "scorer"]

_SCORER = "_scorer"


class Scorer(BaseEstimator):  # type: ignore[misc, unused-ignore] # without scikit-learn, mypy knows no BaseEstimator
    """A measure as a scorer: called with a fitted classifier and data, it gives less the value.

    `scorer` makes it. It can be pickled and cloned, and ``set_score_request(sample_weight=True)``
    lets scikit-learn's metadata routing pass weights to it.

    Parameters
    ----------
    measure : str
        The name of the measure.
    options : dict, optional
        Options of the measure and of how rows are read.

    Examples
    --------
    >>> from calipers.sklearn import scorer
    >>> scorer("ls_ece", sigma=0.1)
    Scorer(measure='ls_ece', options={'sigma': 0.1})
    """

    # scikit-learn takes the parameters of `score` for what can be routed: the weights, and not the
    # estimator.
    __metadata_request__score = {"estimator": UNUSED}  # noqa: RUF012 (scikit-learn reads it)

    def __init__(self, measure: str, options: Mapping[str, Any] | None = None) -> None:
        self.measure = measure
        self.options = options

    def __call__(self, estimator: Any, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """`score`, as scikit-learn calls scorers."""
        return self.score(estimator, X, y, sample_weight)

    def score(self, estimator: Any, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Less the value of the measure of the rows, since scikit-learn takes more for better."""
        of_rows, of_measure = split(scorer, self.options or {})
        labels, scores = _scored(estimator, X, y, of_rows, CrossValidation())
        rows = Rows(labels, scores, _rest(of_rows, sample_weight=sample_weight))
        return -float(rows.estimate(self.measure, **of_measure))


def scorer(measure: str = "ls_ece", **options: Any) -> Scorer:
    """A measure as a scorer for `cross_val_score`, `cross_validate` and `GridSearchCV`.

    Use it to compare settings of a model by calibration. scikit-learn takes more for better, so a
    score is less the value, as of scikit-learn's own ``"neg_log_loss"``. Every measure of which a
    larger value is worse is also here by its name or title: ``ls_ece_scorer``, ``ece_scorer``,
    ``smooth_ece_scorer``, ``brier_score_scorer`` and so on; ``dir(calipers.sklearn)`` lists them.

    Parameters
    ----------
    measure : str
        A name of `calipers.measures` of which a larger value is worse, or its title: "ece".
    **options
        Options of the measure, such as ``sigma`` or ``n_bins``, and of how rows are read:
        ``multiclass``, ``pos_label``, ``from_logits`` (which calls `decision_function` in place of
        `predict_proba`), ``ties``, ``sum_tolerance`` and ``invalid``.

    Returns
    -------
    Scorer
        It is called with a fitted classifier, X, y and perhaps `sample_weight`.

    Notes
    -----
    The value of a fold contains its noise floor, which is higher for fewer rows: compare scores of
    folds of the same size, and do not read their mean as the calibration error. `assess` gives the
    value of all rows with its interval. A model that always predicts the base rate is calibrated,
    so a search by calibration alone prefers models that say little: add a proper score, or search
    by one.

    Examples
    --------
    Labels may be text:

    >>> from calipers.sklearn import ls_ece_scorer
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.model_selection import cross_val_score
    >>> X, y = make_classification(600, random_state=0)
    >>> y = ["yes" if each else "no" for each in y]
    >>> scores = cross_val_score(LogisticRegression(), X, y, scoring=ls_ece_scorer, cv=3)
    >>> [bool(-1 < score < 0) for score in scores]
    [True, True, True]
    """
    _, of_measure = split(scorer, options)
    if "sample_weight" in options:
        raise TypeError(
            "sample_weight must go to each fold with its rows: use set_score_request(sample_weight=True) "
            "and scikit-learn's metadata routing"
        )
    name = named(_scored_measures().get(measure, measure), of_measure).measure
    if name not in LISTED:
        # The core has the error for a name that is not listed, with the one that is meant.
        Rows([0, 1], [0.5, 0.5], {}).estimate(name)
    if not LISTED[name].larger_is_worse:
        raise ValueError(f"measure must be one of which a larger value is worse, got {measure!r}")
    return Scorer(name, options)


@documented
def predictions(
    estimator: Any,
    X: Any,
    y: ArrayLike,
    *,
    cv: Any = 5,
    groups: ArrayLike | None = None,
    params: dict[str, Any] | None = None,
    n_jobs: int | None = None,
    **rows: Unpack[RowOptions],
) -> Predictions:
    """Predictions of a classifier, by default cross-validated, for every function of calipers.

    Use it to pass a scikit-learn estimator to `calipers.assess`, `compare`, `report`, a display or
    any measure. With `cv` each row is predicted by a clone that was fitted on the other folds, so
    that no row is predicted by a model that has seen it. Models that are given the same `cv` can be
    compared, because their rows are the same.

    Parameters
    ----------
    estimator : classifier
        Its `predict_proba` is called, or its `decision_function` with `from_logits`. Fitted if `cv`
        is None.
    X, y : array-like
        Data and labels, which may be text.
    cv : int, cross-validation generator, iterable or None
        Folds, as scikit-learn takes them: an int is the number of stratified folds. Each row must
        be in one test fold exactly. None: the estimator is fitted, and the rows must be new to it,
        which nobody can check.
    from_logits : bool
        Whether to call `decision_function`, which gives raw scores, in place of `predict_proba`.
    pos_label : str, int, float or bool, optional
        The positive one of two classes; the last unless given.
    sample_weight : array-like of shape (n,), optional
        One weight for each row in the measure; those of `fit` are part of `params`.

    Returns
    -------
    Predictions
        In the order of the rows.

    Examples
    --------
    >>> import calipers as cal
    >>> from calipers.sklearn import predictions
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.naive_bayes import GaussianNB
    >>> X, y = load_iris(return_X_y=True)
    >>> models = {"logistic": LogisticRegression(max_iter=1000), "naive Bayes": GaussianNB()}
    >>> predicted = {name: predictions(model, X, y) for name, model in models.items()}
    >>> predicted["logistic"]
    Predictions(n=150)
    >>> list(cal.compare(predicted, n_resamples=99).models)
    ['logistic', 'naive Bayes']
    """
    labels, scores = _scored(estimator, X, y, rows, CrossValidation(cv, groups, params, n_jobs))
    return Predictions(labels, scores, **_rest(rows))


@documented
def assess(
    estimator: Any,
    X: Any,
    y: ArrayLike,
    *,
    cv: Any = 5,
    groups: ArrayLike | None = None,
    params: dict[str, Any] | None = None,
    n_jobs: int | None = None,
    cluster: Clusters = None,
    **options: Unpack[AssessOptions],
) -> Assessment:
    """`calipers.assess` of a classifier, by default of its cross-validated predictions.

    Use it to decide whether a procedure of training gives calibrated probabilities.

    Parameters
    ----------
    estimator : classifier
        Its `predict_proba` is called, or its `decision_function` with `from_logits`. Fitted if `cv`
        is None.
    X, y : array-like
        Data and labels, which may be text.
    cv : int, cross-validation generator, iterable or None
        Folds, as scikit-learn takes them: an int is the number of stratified folds. Each row must
        be in one test fold exactly. None: the estimator is fitted, and the rows must be new to it,
        which nobody can check.
    cluster : array-like of shape (n,), optional
        Rows with equal values depend on each other. The `groups`, where there are any and no
        clusters are given.
    sample_weight : array-like of shape (n,), optional
        One weight for each row in the measure; those of `fit` are part of `params`.
    from_logits : bool
        Whether to call `decision_function`, which gives raw scores, in place of `predict_proba`.
    pos_label : str, int, float or bool, optional
        The positive one of two classes; the last unless given.
    **options
        Every other keyword of `calipers.assess`: ``measure``, ``level``, options of the measure and
        of how rows are read.

    Returns
    -------
    Assessment
        Of all rows together.

    Notes
    -----
    The value is that of the predictions of all folds together, and so of the procedure: the models
    of the folds are trained on fewer rows than a model of all rows, which is usually a little
    better. Rows count as independent, and folds are no clusters: a row is new to the model that
    predicts it, and the value is about these models, so what rows of one fold share is not noise.
    For means over rows this is proven to be right for many rows and stable models (reference), and
    the standard error of LS-ECE is that of a mean. The interval does not include how the value
    would change if models were trained on other data.

    Models are trained and tested on one sample, whose base rate may be off: cross-validation does
    not see that error. An upper limit for a nearly calibrated model therefore holds a little less
    often than `level` says: with 600 rows and five folds, 95 % intervals held the value of the
    models in 87 % of 150 simulations for logistic regression, in 91 % for a tree and in 97 % for
    naive Bayes. For a limit to rely on, set rows aside and pass ``cv=None``. Do not leave out one
    row at a time: that moves the base rate of the others against the row, which looks like
    miscalibration.

    References
    ----------
    Bayle, Bayle, Janson, Mackey, "Cross-validation confidence intervals for test error", NeurIPS
    2020.

    Examples
    --------
    >>> from calipers.sklearn import assess
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.naive_bayes import GaussianNB
    >>> X, y = make_classification(1000, n_informative=4, n_redundant=6, random_state=0)
    >>> found = assess(GaussianNB(), X, y, cv=5, n_resamples=99)
    >>> found.estimate.n, found.significant
    (1000, True)
    """
    of_rows, others = split(assess, options)
    found = predictions(estimator, X, y, cv=cv, groups=groups, params=params, n_jobs=n_jobs, **of_rows)
    return _assess.assess(found, cluster=groups if cluster is None else cluster, **others)


def _scored(estimator: Any, X: Any, y: ArrayLike, rows: Mapping[str, Any], folds: CrossValidation) -> Scored:
    """Labels and scores as these options of rows want them."""
    return scored(
        estimator,
        X,
        y,
        from_logits=rows.get("from_logits", False),
        multiclass=rows.get("multiclass"),
        pos_label=rows.get("pos_label"),
        folds=folds,
    )


def _rest(rows: Mapping[str, Any], **others: Any) -> Any:
    """The options of rows but the positive label, which `scored` has made outcome 1."""
    return {**{name: value for name, value in rows.items() if name != "pos_label"}, **others}


def _scored_measures() -> dict[str, str]:
    """The measures that can be scorers, by name and by title, as far as a title is that of one."""
    listed = [each for each in LISTED.values() if each.larger_is_worse]
    titles = [re.sub(r"\W+", "_", each.title.lower()) for each in listed]
    by_title = {title: each.name for title, each in zip(titles, listed, strict=True) if titles.count(title) == 1}
    return {**by_title, **{each.name: each.name for each in listed}}


def __getattr__(name: str) -> Scorer:
    """The scorer of each measure; a new one each time, since requests of metadata change it."""
    measure = _scored_measures().get(name.removesuffix(_SCORER)) if name.endswith(_SCORER) else None
    if measure is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return scorer(measure)


def __dir__() -> list[str]:
    return sorted([*__all__, *(f"{name}{_SCORER}" for name in _scored_measures())])
