"""The options of how rows are read.

Names, types, defaults and documentation, once for all functions.

A function takes them as ``**rows: Unpack[RowOptions]``. `documented` writes each of them into the
signature and into the docstring.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, TypedDict

from calipers._arrays import ArrayLike
from calipers._classes import Classes
from calipers._inputs import (
    Between,
    Compat,
    Invalid,
    Link,
    Multiclass,
    NBins,
    Noise,
    Norm,
    NullDistribution,
    OneView,
    PosLabel,
    Profile,
    RunOut,
    Strategy,
    Ties,
)

if TYPE_CHECKING:
    from typing_extensions import Unpack as Unpack
else:
    # Annotations are not evaluated, so that typing_extensions, which Python 3.10 would need, is no
    # dependency.
    Unpack = None


class _CheckOptions(TypedDict, total=False):
    sum_tolerance: float
    invalid: Invalid


class _AllOptions(_CheckOptions, total=False):
    from_logits: bool


class ColumnOptions(_AllOptions, total=False):
    """The options of rows that are columns of a DataFrame, the weights being one of the columns."""

    multiclass: OneView
    ties: Ties
    pos_label: PosLabel


class DataFrameOptions(ColumnOptions, total=False):
    """The options of rows in a DataFrame, and of the sketches that they go into."""

    profile: Profile
    resolution: int | None
    tolerance: float | None
    smallest_sigma: float | None
    clip: float
    largest_logit: float
    n_bins: Sequence[int]
    weight_bits: int


class OneViewOptions(ColumnOptions, total=False):
    """Options of functions about one binary question, without a mean over classes.

    multiclass : {None, "top_class"}, int or str
        The binary question for (n, k). None: P(y = 1) for two classes, "top_class" for more.
        "top_class": the largest probability, and whether that class was right. An int, or a name
        of `classes`: that class against the rest.
    """

    sample_weight: ArrayLike | None
    classes: Classes


class ClassOptions(_AllOptions, total=False):
    """Options of functions of all classes together.

    y_true : array-like of shape (n,), one-hot of shape (n, k), or Predictions
        Class labels from 0 to k - 1 (or see `classes`). `Predictions` stand for `y_true`, `y_prob`
        and the options of rows; their `multiclass`, `ties` and `pos_label` do not matter here.
    y_prob : array-like of shape (n, k), optional
        Probabilities of each class, or raw scores with `from_logits`; left out beside
        `Predictions`.
    """

    sample_weight: ArrayLike | None
    classes: Classes


class RowOptions(ClassOptions, total=False):
    """The options of how rows are read, for functions of your own: ``**rows: Unpack[RowOptions]``.

    Attributes
    ----------
    sample_weight : array-like of shape (n,), optional
        One weight for each row; at a given sigma, weight 2 is the same as the row twice.
    from_logits : bool
        Whether `y_prob` has raw scores: logits of outcome 1, or the input of a softmax (so
        log-probabilities too). It is never guessed. Raw scores are not clipped.
    multiclass : {None, "top_class", "classwise", "all_classes"}, int or str
        What is measured of (n, k). None: P(y = 1) for two classes, and for more "all_classes" for
        scores (`brier_score`, `log_loss`) and "top_class" for all else. "top_class": the largest
        probability, and whether that class was right. "classwise": the mean over classes, each
        against the rest. "all_classes": all classes together, for scores. An int, or a name of
        `classes`: that class against the rest.
    ties : {"first", "any"}
        If several classes share the largest probability, the first is the prediction, as argmax
        takes it, or any of them counts as right.
    pos_label : str, int, float or bool, optional
        The label that is outcome 1, where labels are not 0 and 1. Text needs it, unless the words
        are yes and no, true and false, or positive and negative.
    classes : sequence of str, int, float or bool, optional
        All labels in the order of the columns, as ``classes_`` of scikit-learn has them, where
        labels are not 0 to k - 1; for shape (n,) the labels of outcomes 0 and 1. Text labels of
        (n, k) have their sorted order unless given.
    sum_tolerance : float
        How far the sum of a row of class probabilities may be from 1. Rows are used as given; those
        that are off by more than 0.001 are counted in ``n_inexact_sums`` of the result.
    invalid : {"reject", "count"}
        "reject": an invalid row raises an error. "count": invalid rows are left out and counted in
        the result.
    """

    multiclass: Multiclass
    ties: Ties
    pos_label: PosLabel


class FitOptions(_CheckOptions, total=False):
    """Options of the rows that a recalibration map is fitted to or tested on.

    y_true : array-like of shape (n,), one-hot of shape (n, k), or Predictions
        Outcomes 0 and 1 (or see `pos_label`), or class labels from 0 to k - 1 (or see `classes`).
        `Predictions` stand for `y_true`, `y_prob` and the options of rows; their `multiclass` and
        `ties` do not matter here.
    y_prob : array-like of shape (n,), (n, 2) or (n, k), optional
        Probabilities of outcome 1, or of each class, or raw scores with `from_logits`; left out
        beside `Predictions`. They must not be those of rows that the model was trained on.
    method : str
        The family of maps, of those that `recalibration_methods` lists; "auto" chooses one by
        cross-fitting, and may choose the identity.
    n_bins : int
        Bins of equal mass, for the method "bins"; fewer where ties leave some empty.
    from_logits : bool
        Whether `y_prob` has raw scores: logits of outcome 1, or the input of a softmax (so
        log-probabilities too). It is never guessed. Both give the same map. Raw scores are not
        clipped.
    cluster : array-like of shape (n,), optional
        Rows with equal values depend on each other, as the questions of one user do: numbers, text
        or anything with a hash. Standard errors are then those of clusters.
    """

    sample_weight: ArrayLike | None
    pos_label: PosLabel
    classes: Classes


class MapOptions(TypedDict, total=False):
    """The options of how a recalibration map is fitted."""

    ridge: float | None
    mixture: float | None
    clip: float
    between: Between
    n_bins: int
    counts: bool
    one_vs_rest: bool


class RecalibrateOptions(FitOptions, MapOptions, total=False):
    """The options of rows and of the map that is fitted to them."""

    from_logits: bool


class MeasureOptions(TypedDict, total=False):
    """The options of all measures that are requested by name."""

    sigma: float | Literal["auto"]
    noise: Noise
    link: Link
    tolerance: float
    clip: float
    n_bins: NBins
    strategy: Strategy
    norm: Norm
    compat: Compat
    max_bins: int | None
    smoothing: Literal["residuals", "predictions"]
    kernel: Literal["triweight", "gaussian"]
    bandwidth: float | Literal["auto"]
    n_knots: int
    run_out: RunOut
    n_nodes: int
    length_scale: float
    score: Literal["brier", "log"]
    scale_by_half: bool | Literal["auto"]
    smoother: Literal["ls_ece", "loess"]
    span: float
    degree: int


class TestOptions(OneViewOptions, total=False):
    """Options that tests of calibration share."""

    link: Link
    null_distribution: NullDistribution
    n_resamples: int
    random_state: int


class AssessOptions(RowOptions, MeasureOptions, total=False):
    """The options of rows and of the measure that is assessed."""


class CompareOptions(OneViewOptions, MeasureOptions, total=False):
    """The options of rows and of the measure that models are compared by."""


# In the order in which signatures and docstrings have them.
ROW_DEFAULTS: RowOptions = {
    "sample_weight": None,
    "from_logits": False,
    "multiclass": None,
    "ties": "first",
    "pos_label": None,
    "classes": None,
    "sum_tolerance": 0.02,
    "invalid": "reject",
}
TEST_DEFAULTS: TestOptions = {
    "link": "logistic",
    "null_distribution": "auto",
    "n_resamples": 999,
    "random_state": 0,
}
MAP_DEFAULTS: MapOptions = {
    "ridge": None,
    "mixture": None,
    "clip": 1e-12,
    "between": "line",
    "n_bins": 10,
    "counts": False,
    "one_vs_rest": False,
}
