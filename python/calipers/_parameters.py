"""Parameters that several functions share, as docstrings have them, and what functions return.

y_true : array-like of shape (n,), one-hot of shape (n, k), or Predictions
    Outcomes 0 and 1 (or see `pos_label`), or class labels from 0 to k - 1 (or see `classes`).
    `Predictions` stand for `y_true`, `y_prob` and the options of rows.
y_prob : array-like of shape (n,), (n, 2) or (n, k), optional
    Probabilities of outcome 1, or of each class; left out beside `Predictions`. float32 and
    float64 in C order are read in place.
sigma : float or "auto"
    Scale of the noise: standard deviation (gaussian), full width (uniform), scale (laplace,
    logistic), half-width (epanechnikov). "auto" is 1.25 n^(-1/3) sqrt(s² + 0.1²), s the
    standard deviation of the logits in which each row counts with p (1 - p) times its weight.
noise : {"gaussian", "uniform", "laplace", "logistic", "epanechnikov"}
    Distribution of the noise.
link : {"logistic", "probit", "cloglog"}
    The map from raw scores of a binary outcome, its logits, to probabilities.
tolerance : float
    Largest numerical error that is accepted, absolute. A value whose error cannot be proven to be
    that small is an error.
clip : float
    Probabilities are clipped to [clip, 1 - clip], since 0 and 1 have no finite logit.
n_bins : int or "auto"
    How many bins; "auto" is the cube root of n, rounded down.
strategy : {"uniform", "quantile"}
    Bins of equal width, ((b-1)/B, b/B] with the first closed, or of equal mass, with equal
    probabilities in one bin.
norm : {"l1", "l2", "max"}
    Mean gap (ECE), root of the mean squared gap (RMSCE) or largest gap (MCE).
compat : {"sklearn", "netcal", "torchmetrics", "relplot", "uncertainty-calibration"}, optional
    The bin edges and floating-point type of another tool, to reproduce its values. Those tools
    take no weights, and torchmetrics and relplot no equal mass.
null_distribution : {"auto", "asymptotic", "resampled"}
    Where the p-value comes from: the limit for many rows, outcomes drawn from the predictions
    (the right size for any number of rows), or whichever of them is good enough.
level : float
    Level of the interval, from 0.5 and below 1; the floor test is at 1 - level.
n_resamples : int
    How many resamples there are of each kind: outcomes drawn from the predictions, or rows drawn
    with replacement. Intervals need at least 20, and at least 1 / (1 - level).
random_state : int
    The seed: the same values on every machine and with any number of threads.
method : {None, "bias-aware", "influence", "normal", "percentile", "bca"}
    How the interval is made. "bias-aware" is as above, for LS-ECE, its residual form, binned ECE
    with norm "l1" and means of those over classes. "influence" and "normal" are 2 v - mean(v*) ± z
    se, v* the measure of rows drawn with replacement, with the standard error of v by influence
    values or with the deviation of the resamples. "percentile" and "bca" are quantiles of the
    resamples, and too high for a measure that is biased up. None is "bias-aware" where the measure
    has it, "normal" for others.
debias : {"local", "mean", "floor", "bootstrap"}
    How noise is taken out of the value v. "local": place by place, by the size of the gap that
    the rows show there; "mean" for a measure without places. "floor": sqrt(max(0, v² - m²)), m
    the mean of the floor. "bootstrap": max(0, 2 v - mean(v*)), v* the measure of rows drawn
    with replacement. "mean": the mean of these two.
cluster : array-like of shape (n,), optional
    Rows with equal values depend on each other, as the questions of one user do: numbers, text
    or anything with a hash, ten different ones at least. Standard errors are then those of
    clusters, and the floor draws outcomes that are correlated within clusters as much as those
    of the rows are. A mean over classes has no floor then.
adjust : {"holm", "bh", "by"}
    How the p-values of groups or classes are adjusted for their number. "holm": chance alone makes
    any finding in at most 1 - level of all cases. "bh" (Benjamini-Hochberg): on average at most 1 -
    level of the findings are false. "by" (Benjamini-Yekutieli): the same, however groups or classes
    depend on each other.
progress : bool
    Whether a line on standard error reports the progress.
at : array-like of shape (m,), optional
    Where to evaluate the curve, inside (0, 1); 201 equally spaced points unless given.
bins : sequence of int, optional
    Numbers of bins; 1, 10, 20, ..., 100 unless given.
n_knots : int
    Knots, those at 0 and 1 included: 4 to 100.
run_out : {"natural", "parabolic", "cubic"}
    What the spline does at its ends: no second derivative; a parabola between the last two
    knots; one cubic between the last three.
ridge : float, optional
    Strength of the pull toward the identity, which is ridge / n times the squared distance of the
    parameters from it, added to the mean log-loss; 0 for the maximum of the likelihood. Unless
    given, that of the method: 2 for "platt", "beta" and "spline", the number of classes for
    "vector" and "matrix", 0 for maps of one parameter.
mixture : float, optional
    The share of equal probabilities that is mixed in, so that none becomes 0 or 1. Unless given,
    1 / (n + 1) for tables and for maps of three and more classes, and else 0.
between : {"line", "step"}
    What an isotonic map is between its knots: a straight line in logits, or the value of the knot
    below.
counts : bool
    Whether a weight is a number of equal rows. Then n is the sum of weights, and the fit is that of
    the repeated rows. Otherwise n is the effective number of rows, (Σw)² / Σw².
one_vs_rest : bool
    Whether rows of three and more classes get a map of a binary outcome for each class against the
    rest, whose probabilities are then divided by their sum.
n_folds : int, optional
    Folds that are held out in turn; ten unless given, and five below 200 rows.
prob : str
    The column of probabilities: numbers for a binary outcome; arrays or ML vectors with one for
    each class.
label : str
    The column of outcomes 0 and 1, class indices, true and false, or text with `pos_label`.
weight : str, optional
    The column of weights.
cv : int, cross-validation generator, iterable or None
    Folds, as scikit-learn takes them: an int is the number of stratified folds. Each row must be
    in one test fold exactly. None: the estimator is fitted, and the rows must be new to it, which
    nobody can check.
groups : array-like of shape (n,), optional
    Groups of rows for a `cv` that keeps groups together, as GroupKFold does.
params : dict, optional
    Parameters of `fit` for `cv`, as ``cross_val_predict`` of scikit-learn takes them.
n_jobs : int, optional
    Processes that fit the folds of `cv`; one unless given.
name : str, optional
    The name in the legend.
ax : matplotlib Axes, optional
    Where to draw; a new figure unless given.
color : str, optional
    Of the line; the next of a colour-blind-safe palette unless given.
colors : tuple of two str, optional
    Of ECE and of LS-ECE; the next two of a colour-blind-safe palette unless given.
"""

# Parameters of functions that take an estimator.
OF_ESTIMATORS = """estimator : classifier
    Its `predict_proba` is called, or its `decision_function` with `from_logits`. Fitted if `cv` is
    None.
X, y : array-like
    Data and labels, which may be text: those of ``estimator.classes_``, or with `cv` any.
from_logits : bool
    Whether to call `decision_function`, which gives raw scores, in place of `predict_proba`.
pos_label : str, int, float or bool, optional
    The positive one of two classes; the last unless given.
sample_weight : array-like of shape (n,), optional
    One weight for each row in the measure; those of `fit` are part of `params`."""

# Parameters of functions that draw several models.
OF_MODELS = """y_true : array-like of shape (n,), or dict of Predictions
    Outcomes 0 and 1 (or see `pos_label`), or class labels from 0 to k - 1. A dict has the
    `Predictions` of each model by its name, all of the same rows, and stands for `y_true`,
    `y_prob` and the options of rows.
y_prob : dict of array-like or DataFrame, optional
    The probabilities of each model by its name, two models at least; of a DataFrame each column is
    a model.
cluster : array-like of shape (n,), optional
    Rows with equal values depend on each other; the intervals in the legend are then those of
    clusters.
colors : dict of str, optional
    The colour of each model by its name; those of a colour-blind-safe palette unless given."""

# What functions return, by the annotation.
RETURNS = {
    "Estimate": "The value as a float, with ``numerical_bound``, ``n``, ``settings`` and the counts\n"
    "    of rows that were clipped, tied, rounded or left out.",
    "CalibrationTest": "The statistic, the p-value, and the options that made them.",
    "CumulativeDisplay": "The display, drawn, with `ax_` and `figure_`.",
    "ReliabilityDisplay": "The display, drawn, with `ax_` and `figure_`.",
    "SweepDisplay": "The display, drawn, with `ax_` and `figure_`.",
}

# What functions of rows raise.
RAISES = """CalipersError
    For invalid input, with the rule, the value and the row (from 0). Its `code` names the rule.
TypeError
    For an option of a wrong type, or one that the function does not have."""
