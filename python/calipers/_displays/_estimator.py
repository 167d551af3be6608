"""An estimator and its data -> labels and scores -> a display."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calipers._documented import documented
from calipers._inputs import OneView, PosLabel

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

Display = TypeVar("Display", bound="OfEstimator")


class OfEstimator:
    """A display that is drawn from predictions, and so from an estimator, too.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes that were drawn on last.
    figure_ : matplotlib Figure
        Their figure.
    """

    ax_: Axes
    figure_: Figure | SubFigure

    @classmethod
    @documented
    def from_estimator(
        cls: type[Display],
        estimator: Any,
        X: Any,
        y: ArrayLike,
        *,
        from_logits: bool = False,
        multiclass: OneView = None,
        pos_label: PosLabel = None,
        name: str | None = None,
        **options: Any,
    ) -> Display:
        """Draw the predictions of a fitted classifier for these data.

        Parameters
        ----------
        estimator : fitted classifier
            Its `predict_proba` is called, or its `decision_function` with `from_logits`.
        X, y : array-like
            Data and labels; labels are those of ``estimator.classes_``.
        from_logits : bool
            Whether to call `decision_function`, which gives raw scores, in place of
            `predict_proba`.
        multiclass : {None, "top_class"} or int
            The binary question for several classes. None: that of the positive class for two
            classes, "top_class" for more. "top_class": the largest probability, and whether that
            class was right. An int: that class against the rest.
        pos_label : str, int, float or bool, optional
            The positive one of two classes; the last unless given.
        name : str, optional
            The name in the legend; the class of the estimator unless given.
        **options
            Every other keyword of `from_predictions`.

        Returns
        -------
        display
            Drawn.
        """
        labels, scores = _predictions(
            estimator, X, y, from_logits=from_logits, multiclass=multiclass, pos_label=pos_label
        )
        name = type(estimator).__name__ if name is None else name
        # Every display has it, with options of its own.
        display: Display = cls.from_predictions(  # type: ignore[attr-defined]
            labels, scores, from_logits=from_logits, multiclass=multiclass, name=name, **options
        )
        return display


def _predictions(
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
