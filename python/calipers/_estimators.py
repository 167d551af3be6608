"""A classifier with its data -> labels and scores that measures and displays read.

The classifier is fitted and the rows are new to it, or it is cross-validated on the rows.
scikit-learn is imported for cross-validation alone: a fitted classifier needs its methods only.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calipers._inputs import PosLabel


class CrossValidation(NamedTuple):
    """How rows are predicted by models that were not fitted on them; without `cv`, not at all."""

    cv: Any = None
    groups: Any = None
    params: dict[str, Any] | None = None
    n_jobs: int | None = None


class Scored(NamedTuple):
    """Outcomes and scores of the positive class, or class indices and scores of all classes."""

    labels: NDArray[np.int64]
    scores: NDArray[Any]


def scored(
    estimator: Any,
    X: Any,
    y: ArrayLike,
    *,
    from_logits: bool,
    multiclass: object,
    pos_label: PosLabel,
    folds: CrossValidation,
) -> Scored:
    """Labels and scores of these rows; labels may be text, and a class may be missing from y."""
    method = "decision_function" if from_logits else "predict_proba"
    if folds.cv is None:
        _check_alone(folds)
        scores, classes = _fitted(estimator, method, X)
    else:
        scores, classes = _cross_validated(estimator, method, X, y, folds)
    labels = indices(y, classes)
    if multiclass is not None or classes.size > 2:
        if pos_label is not None:
            raise ValueError(
                f"pos_label must be left out unless one of two classes is the outcome, got {pos_label!r}; "
                "multiclass takes the index of a class"
            )
        return Scored(labels, scores)
    positive = classes.size - 1 if pos_label is None else int(indices([pos_label], classes, "pos_label")[0])
    outcomes = (labels == positive).astype(np.int64)
    if scores.ndim == 2:
        return Scored(outcomes, scores[:, positive])
    # decision_function has one column: that of the last class.
    return Scored(outcomes, scores if positive == classes.size - 1 else -scores)


def _check_alone(folds: CrossValidation) -> None:
    given = [name for name, value in folds._asdict().items() if value is not None]
    if given:
        raise ValueError(f"{given[0]} must be left out without cv, which fits the estimator")


def _fitted(estimator: Any, method: str, X: Any) -> tuple[NDArray[Any], NDArray[Any]]:
    """Scores and classes of a fitted classifier."""
    for name in (method, "classes_"):
        if not hasattr(estimator, name):
            raise TypeError(f"estimator must be a fitted classifier with {name}, got {type(estimator).__name__}")
    return np.asarray(getattr(estimator, method)(X)), np.asarray(estimator.classes_)


def _cross_validated(
    estimator: Any, method: str, X: Any, y: ArrayLike, folds: CrossValidation
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Scores of clones that were fitted on the other folds, and the classes of their columns."""
    from sklearn import get_config
    from sklearn.model_selection import cross_val_predict

    if not hasattr(estimator, method):
        raise TypeError(f"estimator must be a classifier with {method}, got {type(estimator).__name__}")
    groups, params = folds.groups, folds.params
    if groups is not None and get_config()["enable_metadata_routing"]:
        # Routing takes groups as any other parameter.
        groups, params = None, {**(params or {}), "groups": groups}
    scores = cross_val_predict(
        estimator, X, y, groups=groups, cv=folds.cv, n_jobs=folds.n_jobs, params=params, method=method
    )
    return np.asarray(scores), np.unique(np.asarray(y))


def indices(values: ArrayLike, classes: NDArray[Any], what: str = "") -> NDArray[np.int64]:
    """Where each value stands in the classes."""
    # Plain objects, since numpy would compare 1 and "1" as text.
    places = {value: index for index, value in enumerate(classes.tolist())}
    found = np.empty(np.size(values), dtype=np.int64)
    for row, value in enumerate(np.ravel(values).tolist()):
        index = places.get(value)
        if index is None:
            raise ValueError(
                f"{what or f'label in row {row}'} must be one of the classes {list(places)}, got {value!r}"
            )
        found[row] = index
    return found
