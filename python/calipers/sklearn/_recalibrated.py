"""Recalibration as estimators of scikit-learn: of a classifier, and of probabilities."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, TransformerMixin, clone
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import check_cv, cross_val_predict
from sklearn.utils import column_or_1d, get_tags, indexable
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, has_fit_parameter, validate_data

from calipers._estimators import indices
from calipers._recalibrator import Recalibrator

Doubles = NDArray[np.float64]


class _Params(NamedTuple):
    """Parameters of the methods that a fit calls."""

    fit: dict[str, Any]
    split: dict[str, Any]


# Without scikit-learn, mypy knows no bases.
class RecalibratedClassifier(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc, unused-ignore]
    """A classifier whose probabilities are recalibrated by a map that was cross-fitted.

    Use it where `calipers.improvement` of the cross-validated predictions says that recalibration
    helps. Each row is predicted by a clone of the classifier that was fitted on the other folds;
    the map is fitted to these predictions, and the classifier to all rows. So the map sees no row
    that its model was trained on, and a prediction costs that of one model.

    Parameters
    ----------
    estimator : classifier
        Its `predict_proba` gives probabilities, its `decision_function` raw scores. A
        ``FrozenEstimator`` is used as it is.
    method : str, default "auto"
        The family of maps, as of `calipers.Recalibrator`. "auto" may leave probabilities as they
        are.
    cv : int, cross-validation generator, iterable or "prefit", default 5
        Folds, as scikit-learn takes them: an int is the number of stratified folds. Each row must
        be in one test fold exactly. "prefit": the estimator is fitted, and all rows must be new to
        it, which nobody can check; a ``FrozenEstimator`` needs no folds either.
    from_logits : bool, optional
        Whether to recalibrate the raw scores of `decision_function` in place of the probabilities
        of `predict_proba`. None: the probabilities, where the estimator has them. The values
        themselves never decide it.
    ridge : float, optional
        Strength of the pull toward the identity; that of the method unless given.
    mixture : float, optional
        The share of equal probabilities that is mixed in; that of the method unless given.
    n_jobs : int, optional
        Processes that fit the folds; one unless given.

    Attributes
    ----------
    classes_ : array
        The labels, in the order of the columns.
    estimator_ : classifier
        Fitted to all rows, or as it was given.
    recalibrator_ : Recalibrator
        The map, with its parameters, notes and JSON.
    n_features_in_, feature_names_in_ :
        Those of the estimator, where it has them.

    References
    ----------
    Platt 1999 (cross-fitted scores); see `calipers.Recalibrator` for the maps.

    Examples
    --------
    >>> from calipers.sklearn import RecalibratedClassifier
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.naive_bayes import GaussianNB
    >>> X, y = make_classification(1000, n_informative=4, n_redundant=6, random_state=0)
    >>> model = RecalibratedClassifier(GaussianNB(), method="beta").fit(X[:700], y[:700])
    >>> model.predict_proba(X[700:]).shape
    (300, 2)
    >>> model.recalibrator_.chosen
    'beta'
    """

    def __init__(
        self,
        estimator: Any,
        *,
        method: str = "auto",
        cv: Any = 5,
        from_logits: bool | None = None,
        ridge: float | None = None,
        mixture: float | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.method = method
        self.cv = cv
        self.from_logits = from_logits
        self.ridge = ridge
        self.mixture = mixture
        self.n_jobs = n_jobs

    def fit(
        self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None, **fit_params: Any
    ) -> RecalibratedClassifier:
        """Fits the map to cross-validated predictions, and the estimator to all rows.

        Parameters
        ----------
        X, y : array-like
            Data and labels, which may be text.
        sample_weight : array-like of shape (n,), optional
            One weight for each row, for the map and, where it takes weights, for the estimator.
        **fit_params
            Parameters of `fit` of the estimator.
        """
        check_classification_targets(y)
        X, y, sample_weight = indexable(X, y, sample_weight)
        y = column_or_1d(y, warn=True)
        self.classes_ = np.unique(y)
        with_weight = _classes_with_weight(y, sample_weight)
        if len(with_weight) < 2:
            n_classes = "no rows" if len(with_weight) == 0 else f"1 class: {with_weight[0]!r}"
            raise ValueError(f"y must have at least two classes, got {n_classes}")
        params = self._params(sample_weight, fit_params)
        from_logits = self._takes_logits()
        if self._is_fitted_already():
            self.estimator_ = self.estimator
            scores = self._scores(X, from_logits)
        else:
            method = _method(from_logits)
            cv = check_cv(self.cv, y, classifier=True)
            given = {"cv": list(cv.split(X, y, **params.split)), "n_jobs": self.n_jobs, "params": params.fit}
            scores = _columns(cross_val_predict(clone(self.estimator), X, y, method=method, **given))
            self.estimator_ = clone(self.estimator).fit(X, y, **params.fit)
        recalibrator = Recalibrator(self.method, ridge=self.ridge, mixture=self.mixture, from_logits=from_logits)
        self.recalibrator_ = recalibrator.fit(indices(y, self.classes_), scores, sample_weight=sample_weight)
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(self.estimator_, name):
                setattr(self, name, getattr(self.estimator_, name))
        return self

    def predict_proba(self, X: Any) -> Doubles:
        """Recalibrated probabilities, a column for each class of `classes_`.

        Parameters
        ----------
        X : array-like
            As the estimator takes it.
        """
        check_is_fitted(self)
        return self.recalibrator_.predict_proba(self._scores(X, self.recalibrator_.from_logits))

    def predict(self, X: Any) -> NDArray[Any]:
        """The class with the largest recalibrated probability.

        Parameters
        ----------
        X : array-like
            As the estimator takes it.
        """
        top = self.predict_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[top])

    def get_metadata_routing(self) -> MetadataRouter:
        """How scikit-learn passes metadata on: to `fit` of the estimator and `split` of `cv`."""
        router = MetadataRouter(owner=self).add_self_request(self)
        router.add(estimator=self.estimator, method_mapping=MethodMapping().add(caller="fit", callee="fit"))
        splitter = self.cv if hasattr(self.cv, "split") else None
        return router.add(splitter=splitter, method_mapping=MethodMapping().add(caller="fit", callee="split"))

    def __sklearn_tags__(self) -> Any:
        tags, own = super().__sklearn_tags__(), get_tags(self.estimator)
        tags.input_tags = own.input_tags
        tags.classifier_tags.multi_class = own.classifier_tags is None or own.classifier_tags.multi_class
        return tags

    def _params(self, sample_weight: ArrayLike | None, fit_params: dict[str, Any]) -> _Params:
        """What goes to `fit` of the estimator and to `split` of the folds."""
        from sklearn import get_config

        if get_config()["enable_metadata_routing"]:
            routed = process_routing(self, "fit", sample_weight=sample_weight, **fit_params)
            return _Params(dict(routed.estimator.fit), dict(routed.splitter.split))
        takes_weights = sample_weight is not None and has_fit_parameter(self.estimator, "sample_weight")
        return _Params({**fit_params, **({"sample_weight": sample_weight} if takes_weights else {})}, {})

    def _is_fitted_already(self) -> bool:
        return isinstance(self.estimator, FrozenEstimator) or (isinstance(self.cv, str) and self.cv == "prefit")

    def _takes_logits(self) -> bool:
        from_logits = self.from_logits
        if from_logits is None:
            from_logits = not hasattr(self.estimator, _method(False))
        if not hasattr(self.estimator, _method(from_logits)):
            kind = type(self.estimator).__name__
            raise TypeError(f"estimator must be a classifier with {_method(from_logits)}, got {kind}")
        return from_logits

    def _scores(self, X: Any, from_logits: bool) -> NDArray[Any]:
        """Scores of the fitted estimator, which must know the same classes."""
        theirs = np.asarray(self.estimator_.classes_)
        if theirs.tolist() != self.classes_.tolist():
            raise ValueError(f"estimator must have the classes of y, {self.classes_.tolist()}, got {theirs.tolist()}")
        return _columns(getattr(self.estimator_, _method(from_logits))(X))


def _classes_with_weight(y: Any, sample_weight: Any) -> list[Any]:
    """The classes of rows whose weight is not 0."""
    weights = None if sample_weight is None else np.asarray(sample_weight)
    # No weight at all, or weights of another shape, are errors later, with texts of their own.
    is_told = weights is not None and weights.shape == y.shape and (weights != 0).any()
    classes: list[Any] = np.unique(y[weights != 0] if is_told else y).tolist()
    return classes


def _method(from_logits: bool) -> str:
    return "decision_function" if from_logits else "predict_proba"


def _columns(scores: Any) -> NDArray[Any]:
    """A column of scores for each class.

    `decision_function` of two classes has one, which is the difference of two.
    """
    scores = np.asarray(scores)
    return np.stack([np.zeros_like(scores), scores], axis=1) if scores.ndim == 1 else scores


class RecalibrationTransformer(TransformerMixin, BaseEstimator):  # type: ignore[misc, unused-ignore]
    """A recalibration map whose X are probabilities or raw scores, for pipelines.

    Use it for scores that are already there, such as those of another system, a column for each
    class or one for outcome 1. `RecalibratedClassifier` is for classifiers.

    Parameters
    ----------
    method : str, default "auto"
        The family of maps, as of `calipers.Recalibrator`.
    from_logits : bool, default False
        Whether X has raw scores: logits of outcome 1, or the input of a softmax.
    classes : sequence, optional
        All labels in the order of the columns of X; for one column those of outcomes 0 and 1.
        Unless given, the sorted labels, where there are as many as columns, or else labels from 0
        to k - 1.
    ridge : float, optional
        Strength of the pull toward the identity; that of the method unless given.
    mixture : float, optional
        The share of equal probabilities that is mixed in; that of the method unless given.

    Attributes
    ----------
    recalibrator_ : Recalibrator
        The map, with its parameters, notes and JSON.
    n_features_in_ : int
        Columns of X.

    References
    ----------
    See `calipers.Recalibrator`.

    Examples
    --------
    >>> from calipers.sklearn import RecalibrationTransformer
    >>> y, p = [1, 1, 0, 1, 0, 0], [[0.75], [0.75], [0.75], [0.25], [0.25], [0.25]]
    >>> transformer = RecalibrationTransformer(method="temperature").fit(p, y)
    >>> transformer.transform([[0.75], [0.25]]).round(6).tolist()
    [[0.666667], [0.333333]]
    """

    def __init__(
        self,
        *,
        method: str = "auto",
        from_logits: bool = False,
        classes: Any = None,
        ridge: float | None = None,
        mixture: float | None = None,
    ) -> None:
        self.method = method
        self.from_logits = from_logits
        self.classes = classes
        self.ridge = ridge
        self.mixture = mixture

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> RecalibrationTransformer:
        """Fits the map.

        Parameters
        ----------
        X : array-like of shape (n, 1) or (n, k)
            Probabilities, or raw scores with `from_logits`.
        y : array-like of shape (n,)
            Labels, which may be text.
        sample_weight : array-like of shape (n,), optional
            One weight for each row.
        """
        X, y = validate_data(self, X, y, dtype=[np.float64, np.float32])
        check_classification_targets(y)
        labels = np.unique(y)
        k = max(X.shape[1], 2)
        if self.classes is not None:
            labels = np.asarray(self.classes)
        elif len(labels) != k:
            labels = np.arange(k)
        recalibrator = Recalibrator(self.method, ridge=self.ridge, mixture=self.mixture, from_logits=self.from_logits)
        self.recalibrator_ = recalibrator.fit(indices(y, labels), X, sample_weight=sample_weight)
        return self

    def transform(self, X: Any) -> Doubles:
        """Recalibrated probabilities, in the shape of X.

        Parameters
        ----------
        X : array-like of shape (n, 1) or (n, k)
            Probabilities, or raw scores with `from_logits`.
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=[np.float64, np.float32], reset=False)
        return self.recalibrator_.transform(X)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """The names of the columns, which are those of X.

        Parameters
        ----------
        input_features : array-like of str, optional
            Names of the columns of X, where it has none of its own.
        """
        from sklearn.utils.validation import _check_feature_names_in

        check_is_fitted(self)
        return np.asarray(_check_feature_names_in(self, input_features))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.positive_only = not self.from_logits
        return tags
