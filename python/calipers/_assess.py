"""Assessments: noise floor, p-value, interval and debiased value of any measure."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import partial
from typing import Literal, TypeAlias

from calipers import _core
from calipers._arrays import ArrayLike
from calipers._assessment import Assessment
from calipers._documented import documented
from calipers._inputs import Options, cluster_column
from calipers._measures import named
from calipers._predictions import Outcomes, Probabilities, read, split
from calipers._progress import shown
from calipers._row_options import AssessOptions, Unpack

Method: TypeAlias = Literal["bias-aware", "influence", "normal", "percentile", "bca"] | None
Debias: TypeAlias = Literal["local"] | Literal["mean"] | Literal["floor"] | Literal["bootstrap"]
Adjust: TypeAlias = Literal["holm"] | Literal["bh"] | Literal["by"]
Clusters: TypeAlias = ArrayLike | Sequence[Hashable] | None


@documented
def assess(
    y_true: Outcomes,
    y_prob: Probabilities = None,
    *,
    measure: str = "ls_ece",
    level: float = 0.95,
    n_resamples: int = 1000,
    method: Method = None,
    debias: Debias = "local",
    cluster: Clusters = None,
    adjust: Adjust = "holm",
    random_state: int = 0,
    progress: bool = False,
    **options: Unpack[AssessOptions],
) -> Assessment:
    r"""A value with its noise floor, p-value, interval and debiased value.

    Use it to decide whether a model is miscalibrated, and by how much. The noise floor is the value
    that a perfectly calibrated model would get on the same data by chance alone.

        floor     the measure of y* ~ Bernoulli(p), drawn R times: its mean m and deviation
        p-value   (1 + #{v(y*) >= v}) / (1 + R),  or a bound on the tail where no resample reaches v
        interval  [l - z se, u + z se],  l and u: a lower and an upper estimate
        debiased  the best single estimate of the value without its noise

    with v the value. Chance adds to every measure of miscalibration, so that even a perfectly
    calibrated model gets a value above 0: the floor. How much it adds to v depends on where the
    model is calibrated, which the data show only in part. The lower estimate l subtracts the most
    that it can be, and the upper estimate u the least. If the p-value is above 1 - level, the
    interval is an upper limit.

    LS-ECE is decided by its residual form (`residual_ls_ece`), since noise on the logits alone
    makes LS-ECE of a calibrated model larger than 0: p-value, verdict, debiased value and direction
    are those of the residual form.

    Parameters
    ----------
    measure : str
        Any name of `measures` of which a larger value is worse.
    **options
        Those of the function of that name: ``sigma``, ``noise``, ``link``, ``tolerance`` and
        ``clip`` for `ls_ece`, ``n_bins`` and so on for others.

    Returns
    -------
    Assessment
        It prints as a sentence and a table, and converts to the value as a float.

    Notes
    -----
    Assumes independent rows, or independent clusters. With ``multiclass="classwise"`` a resample
    gives each row one label, and the mean over classes is measured again. The interval holds the
    population's value of the measure at the same settings: for LS-ECE at the same sigma, which is
    not that of the ECE itself. Then ``per_class`` has each class against the rest, with p-values
    that are adjusted for the number of classes.

    Cost: for LS-ECE one pass and then some hundred microseconds for each resample, whatever the
    number of rows; with clusters one pass for each resample. Other measures are computed again for
    each. Accuracy: that of R resamples; the mean of the floor is known to its deviation over √R.

    References
    ----------
    Bröcker, Smith, "Increasing the reliability of reliability diagrams", Weather and Forecasting
    22, 2007 (the floor); Efron, "Better bootstrap confidence intervals", JASA 82, 1987;
    Chidambaram, Lee, McSwiggen, Rezchikov, "How Flawed Is ECE? An Analysis via Logit Smoothing",
    2024 (LS-ECE).

    Examples
    --------
    500 forecasts of 0.9, of which four in five came true:

    >>> import calipers as cal
    >>> found = cal.assess([1, 1, 1, 1, 0] * 100, [0.9] * 500, sigma=0.1)
    >>> import textwrap
    >>> print(textwrap.fill(found.sentence, 80))
    LS-ECE is 0.100 (95 % interval 0.065 to 0.135). A perfectly calibrated model
    would score 0.013 ± 0.007 on the same data, so this model is miscalibrated (p <
    0.001).
    >>> found.significant, round(found.value, 3), found.interval.lower < 0.1 < found.interval.upper
    (True, 0.1, True)

    The predictions are too high, by about 0.1:

    >>> round(found.parts.too_high.debiased, 3), round(found.parts.too_low.debiased, 3)
    (0.1, 0.0)

    Nine in ten came true. There is no evidence of miscalibration, and the interval is an upper
    limit:

    >>> found = cal.assess(([1] * 9 + [0]) * 50, [0.9] * 500, sigma=0.1)
    >>> found.significant, found.interval.is_upper_limit, found.debiased < 0.001
    (False, True, True)

    Class by class, with names: every row predicts 0.2, 0.4 and 0.4, and foxes are rarer than that.

    >>> labels = ["cat", "dog", "fox", "dog", "cat"] * 180
    >>> found = cal.assess(labels, [[0.2, 0.4, 0.4]] * 900, sigma=0.1, multiclass="classwise")
    >>> found.per_class
    class    n  mean p  outcome rate     value     floor  p (Holm)  direction
    cat    360  0.2000        0.4000  0.199521  0.016735   <0.0001  too low
    dog    360  0.4000        0.4000  0.019121  0.023262    1.0000  -
    fox    180  0.4000        0.2000  0.200239  0.023262   <0.0001  too high
    >>> found.per_class["fox"].direction
    'too high'
    """
    of_rows, of_measure = split(assess, options)
    rows, asked = read(assess, y_true, y_prob, of_rows), named(measure, of_measure)
    choices: Options = {"level": level, "method": method, "debias": debias, "adjust": adjust}
    choices |= {"n_resamples": n_resamples, "random_state": random_state, "cluster": cluster_column(cluster)}
    with shown(progress, f"assess {measure}") as show:
        found = rows.ask(partial(_core.assess, asked.measure), **asked.options, **choices, progress=show)
    return Assessment._of(found)
