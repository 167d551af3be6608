"""An estimator and its data -> labels and scores -> a display."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from numpy.typing import ArrayLike

from calipers._documented import documented
from calipers._estimators import CrossValidation, scored
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
        cv: Any = None,
        groups: ArrayLike | None = None,
        params: dict[str, Any] | None = None,
        n_jobs: int | None = None,
        from_logits: bool = False,
        multiclass: OneView = None,
        pos_label: PosLabel = None,
        name: str | None = None,
        **options: Any,
    ) -> Display:
        """Draw the predictions of a classifier for these data.

        Without `cv` the classifier is fitted, and the rows have to be new to it: predictions for
        the rows that it was trained on look better than those for other rows. Neither calipers nor
        scikit-learn can know which rows a classifier was trained on. With `cv` each row is
        predicted by a clone that was fitted on the other folds.

        Parameters
        ----------
        multiclass : {None, "top_class"} or int
            The binary question for several classes. None: that of the positive class for two
            classes, "top_class" for more. "top_class": the largest probability, and whether that
            class was right. An int: that class against the rest.
        name : str, optional
            The name in the legend; the class of the estimator unless given.
        **options
            Every other keyword of `from_predictions`.

        Returns
        -------
        display
            Drawn.
        """
        labels, scores = scored(
            estimator,
            X,
            y,
            from_logits=from_logits,
            multiclass=multiclass,
            pos_label=pos_label,
            folds=CrossValidation(cv, groups, params, n_jobs),
        )
        name = type(estimator).__name__ if name is None else name
        # Every display has it, with options of its own.
        display: Display = cls.from_predictions(  # type: ignore[attr-defined]
            labels, scores, from_logits=from_logits, multiclass=multiclass, name=name, **options
        )
        return display
