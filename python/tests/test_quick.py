"""Calls on few rows take a short way, and answer what the long way answers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import calipers as cal
import numpy as np
import pytest
from calipers import _core, _predictions

QUICK = [
    cal.ls_ece,
    cal.residual_ls_ece,
    cal.expected_calibration_error,
    cal.adaptive_calibration_error,
    cal.root_mean_squared_calibration_error,
    cal.maximum_calibration_error,
    cal.debiased_ece,
    cal.sweep_ece,
    cal.brier_score,
    cal.log_loss,
]
LONG = [cal.smooth_ece, cal.ecce_r, cal.kernel_calibration_error]


class Counted:
    """What the core answers, and how many calls took the short way."""

    def __init__(self) -> None:
        self.ask, self.n = _core.estimate_quickly, 0

    def __call__(self, *given: Any) -> Any:
        found = self.ask(*given)
        self.n += found is not None
        return found


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Counted:
    found = Counted()
    monkeypatch.setattr(_predictions._core, "estimate_quickly", found)
    return found


def the_long_way(monkeypatch: pytest.MonkeyPatch, call: Callable[[], Any]) -> Any:
    with monkeypatch.context() as patched:
        patched.setattr(_predictions._core, "estimate_quickly", lambda *_: None)
        return call()


def outcome(call: Callable[[], Any]) -> object:
    """The result with the order of its settings, or the error."""
    try:
        found = call()
    except (cal.CalipersError, TypeError) as error:
        return type(error), str(error)
    return repr(found), list(found.settings.items()), found.to_dict()


def rows(n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    random = np.random.default_rng(n)
    p = random.uniform(size=n)
    return (random.uniform(size=n) < p).astype(np.int64), p, random.uniform(size=n)


@pytest.mark.parametrize("function", QUICK, ids=lambda function: function.__name__)
@pytest.mark.parametrize("n", [1, 2, 3, 100, 2049, 16384, 16385])
def test_both_ways_give_the_same(monkeypatch: pytest.MonkeyPatch, counted: Counted, function: Any, n: int) -> None:
    y, p, w = rows(n)
    calls: list[Callable[[], Any]] = [
        lambda: function(y, p),
        lambda: function(y.astype(np.int32), p.astype(np.float32)),
        lambda: function(y.astype(np.uint8), p, sample_weight=w),
        lambda: function(y.astype(np.float64), p, sample_weight=w.astype(np.float32)),
        lambda: function(y, np.log(p / (1 - p)), from_logits=True),
        lambda: function(y.tolist(), p.tolist()),
        lambda: function(y_true=y, y_prob=p),
    ]
    for call in calls:
        n_before = counted.n
        short = outcome(call)
        # Two rows are too few for some measures, whose error is that of the long way.
        assert (counted.n > n_before) == (n <= 16384 and not isinstance(short[0], type)), short
        assert short == the_long_way(monkeypatch, lambda: outcome(call))  # noqa: B023 (called at once)


@pytest.mark.parametrize("function", LONG, ids=lambda function: function.__name__)
def test_slow_measures_take_the_long_way(counted: Counted, function: Any) -> None:
    y, p, _ = rows(50)
    assert function(y, p).n == 50
    assert counted.n == 0


def test_other_input_takes_the_long_way(monkeypatch: pytest.MonkeyPatch, counted: Counted) -> None:
    y, p, w = rows(60)
    classes = np.stack([p / 2, p / 2, 1 - p], axis=1)
    calls: list[Callable[[], Any]] = [
        lambda: cal.ls_ece(y, p.reshape(-1, 1)),
        lambda: cal.ls_ece(y == 1, p),
        lambda: cal.ls_ece(y[::2], p[::2]),
        lambda: cal.ls_ece(np.where(y == 1, "yes", "no"), p),
        lambda: cal.ls_ece(y, p, pos_label=1),
        lambda: cal.ls_ece(y, p, invalid="count"),
        lambda: cal.ls_ece(y, classes),
        lambda: cal.ls_ece(cal.Predictions(y, p)),
        lambda: cal.ls_ece(y, np.ma.masked_array(p, p > 2)),
        lambda: cal.ls_ece(list(y), p.tolist()),
        # Errors are those of the long way.
        lambda: cal.ls_ece(y, p + 1),
        lambda: cal.ls_ece(y + 1, p),
        lambda: cal.ls_ece(y, np.where(p > 0.9, np.nan, p)),
        lambda: cal.ls_ece(y, p, sigma=-1.0),
        lambda: cal.ls_ece(y, p, sigma="wide"),  # type: ignore[arg-type]
        lambda: cal.ls_ece(y, p, noise=3),  # type: ignore[arg-type]
        lambda: cal.ls_ece(y, p, sample_weight=-w),
        lambda: cal.ls_ece(y[:0], p[:0]),
        lambda: cal.ls_ece(y, p[:-1]),
        lambda: cal.ls_ece(y, p, nothing=1),  # type: ignore[call-arg]
        lambda: cal.expected_calibration_error(y, p, n_bins=0),
    ]
    for call in calls:
        short = outcome(call)
        assert short == the_long_way(monkeypatch, lambda: outcome(call))  # noqa: B023 (called at once)
    assert counted.n == 0


def test_options_of_the_last_call_do_not_stay() -> None:
    y, p = np.tile([0, 1, 1], 50), np.linspace(0.01, 0.99, 150)
    options: list[dict[str, Any]] = [{}, {"sigma": 0.3}, {"sigma": 0.6}, {"link": "probit"}, {"sigma": np.float64(0.3)}]
    alone = [float(cal.ls_ece(cal.Predictions(y, p), **each)) for each in options]
    for _ in range(3):
        assert [float(cal.ls_ece(y, p, **each)) for each in options] == alone
    assert alone[1] == alone[4] and len(set(alone)) == 4
    # A number that is made anew in each call is another object.
    for k in range(1, 50):
        assert cal.ls_ece(y, p, sigma=k / 10).settings["sigma"] == k / 10
