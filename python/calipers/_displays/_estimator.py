"""An estimator and its data -> labels and scores, as functions of calipers take them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calipers._inputs import OneView, PosLabel


def predictions_of(
    estimator: Any,
    X: Any,
    y: ArrayLike,
    *,
    from_logits: bool,
    multiclass: OneView,
    pos_label: PosLabel,
) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """Outcomes and scores of the positive class, or class indices and the scores of all classes.

    Labels are looked up in ``estimator.classes_``, so that a class may be missing from y.
    """
    method = "decision_function" if from_logits else "predict_proba"
    for name in (method, "classes_"):
        if not hasattr(estimator, name):
            raise TypeError(f"estimator must be a fitted classifier with {name}, got {type(estimator).__name__}")
    scores = np.asarray(getattr(estimator, method)(X))
    classes = np.asarray(estimator.classes_)
    labels = _indices(y, classes)
    if multiclass is not None or classes.size > 2:
        if pos_label is not None:
            raise ValueError(
                f"pos_label must be left out unless one of two classes is drawn, got {pos_label!r}; "
                "multiclass takes the index of a class"
            )
        return labels, scores
    positive = classes.size - 1 if pos_label is None else int(_indices([pos_label], classes, "pos_label")[0])
    outcomes = (labels == positive).astype(np.int64)
    if scores.ndim == 2:
        return outcomes, scores[:, positive]
    # decision_function has one column: that of the last class.
    return outcomes, scores if positive == classes.size - 1 else -scores


def _indices(values: ArrayLike, classes: NDArray[Any], what: str = "") -> NDArray[np.int64]:
    """Where each value stands in the classes."""
    # Plain objects, since numpy would compare 1 and "1" as text.
    places = {value: index for index, value in enumerate(classes.tolist())}
    found = np.empty(np.size(values), dtype=np.int64)
    for row, value in enumerate(np.ravel(values).tolist()):
        index = places.get(value)
        if index is None:
            raise ValueError(
                f"{what or f'label in row {row}'} must be one of estimator.classes_ {list(places)}, got {value!r}"
            )
        found[row] = index
    return found
