"""Measures how well the probabilities of a classifier are calibrated.

    import calipers as cal

    cal.ls_ece(y_true, y_prob)                      # LS-ECE, exact to a stated tolerance
    cal.residual_ls_ece(y_true, y_prob)             # its residual form: 0 for a calibrated model
    cal.expected_calibration_error(y_true, y_prob)  # binned ECE, every choice named
    cal.smooth_ece(y_true, y_prob)                  # and many more: cal.measures() lists them
    cal.calibration_tests(y_true, y_prob)           # p-values of six tests
    cal.assess(y_true, y_prob)                      # noise floor, p-value, interval of any measure
    cal.compare(y_true, {"a": p_a, "b": p_b})       # models on the same rows: differences, p-values
    cal.by(table, prob="p", label="y", by="country").assess()  # groups, with adjusted p-values
    cal.drift(last_week, this_week)                 # what has changed between two samples
    cal.monitor(windows)                            # every hour, with few false alarms in all
    cal.improvement(y_true, y_prob)                 # does recalibration help, and by how much?
    cal.recalibrate(y_true, y_prob).predict_proba(p)  # the map, applied to new rows
    cal.sweep(y_true, y_prob)                       # how much do the bins decide an ECE?
    cal.ReliabilityDisplay.from_predictions(y_true, y_prob)  # charts by matplotlib
    cal.report(y_true, y_prob).save("report.html")  # a self-contained HTML page
    cal.simulate("overconfident", 1000)             # bias and coverage where the truth is known
    cal.Sketch().update(y_true, y_prob).ls_ece()    # batch by batch, and merged

Each measure returns an `Estimate`: a float that also carries its numerical bound, the number of
rows and the settings that made it. Invalid input raises a `CalipersError`, with the rule, the value
and the row. `Predictions` are read and checked once, for any number of calls.

Every name is here and in one submodule: `metrics`, `curves`, `inference`, `recalibration`,
`plotting`, `sketching`, `simulation`, `reporting`, `inputs` and `parallelism`.
"""

import typing as _typing

from calipers import (
    curves,
    inference,
    inputs,
    metrics,
    parallelism,
    plotting,
    recalibration,
    reporting,
    simulation,
    sketching,
)
from calipers._core import __version__ as __version__
from calipers.curves import *
from calipers.inference import *
from calipers.inputs import *
from calipers.metrics import *
from calipers.parallelism import *
from calipers.plotting import *
from calipers.recalibration import *
from calipers.reporting import *
from calipers.simulation import *
from calipers.sketching import *

if not _typing.TYPE_CHECKING:
    # Type checkers know that what is imported by * is public; of lists they only read those that
    # are written out.
    _SUBMODULES = (
        curves,
        inference,
        inputs,
        metrics,
        parallelism,
        plotting,
        recalibration,
        reporting,
        simulation,
        sketching,
    )
    __all__ = sorted(["__version__", *(name for module in _SUBMODULES for name in module.__all__)])
