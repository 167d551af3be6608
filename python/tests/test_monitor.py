"""Monitors in Python: rows and sketches, the state, groups of options, and errors."""

from __future__ import annotations

import json
import pickle
import threading
import time

import calipers as cal
import numpy as np
import pytest


def window(shift: float, seed: int, n: int = 200) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    h = rng.normal(0, 1.5, n)
    return (rng.random(n) < 1 / (1 + np.exp(-(h + shift)))).astype(int), 1 / (1 + np.exp(-h))


def stream(n: int = 60, onset: int = 40, size: float = 0.8) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    return {f"hour {hour:02}": window(size if hour >= onset else 0.0, hour) for hour in range(n)}


def test_a_change_is_found_with_its_onset() -> None:
    monitor = cal.monitor(stream())
    assert monitor.alarm is not None and monitor.onset is not None
    assert 40 < monitor.alarm.number < 48
    assert monitor.onset.earliest <= "hour 40" <= monitor.onset.latest
    assert monitor.onset.interval.lower < 0.8 < monitor.onset.interval.upper
    assert monitor.e_value > monitor.limit == pytest.approx(20)
    assert monitor.p_value < 0.05
    assert repr(monitor).startswith("Alarm at window hour 4")
    assert len(monitor.looks) == 60 and monitor.looks[-1].e_value == monitor.e_value
    assert cal.monitor(stream(40)).alarm is None


def test_sketches_predictions_and_rows_are_windows() -> None:
    rows = list(stream(10).values())
    by_rows = cal.monitor(rows)
    by_predictions = cal.monitor(cal.Predictions(*each) for each in rows)
    by_sketch = cal.monitor(cal.Sketch().update(*each) for each in rows)
    assert by_rows.to_json() == by_predictions.to_json()
    assert by_sketch.e_value == pytest.approx(by_rows.e_value, rel=0.01)
    assert [look.window for look in by_rows.looks] == [str(number) for number in range(1, 11)]
    empty = cal.Monitor()
    assert empty.update(cal.Sketch(), window="night").n == 0


def test_a_state_goes_on_with_the_same_bits() -> None:
    whole, stored = cal.Monitor(margin=0.1), cal.Monitor(margin=0.1).to_json()
    for name, each in stream(20, 10).items():
        whole.update(each, window=name)
        read = cal.Monitor.from_json(stored)
        read.update(each, window=name)
        stored = read.to_json()
    assert stored == whole.to_json() == pickle.loads(pickle.dumps(whole)).to_json()
    assert json.loads(stored)["n_windows"] == 20


def test_a_reference_is_what_is_expected() -> None:
    reference = window(0.8, 1000, 20_000)
    monitor = cal.Monitor(reference=reference)
    for number in range(30):
        monitor.update(window(0.8, number))
    assert monitor.alarm is None and 0 < (monitor.reference_uncertainty or 0) < 0.3
    assert monitor.limit == pytest.approx(25)
    for number in range(30, 60):
        monitor.update(window(1.8, number))
    assert monitor.alarm is not None and monitor.alarm.number > 30


def test_a_measure_of_each_window_and_the_page() -> None:
    monitor = cal.monitor(stream(6, 3), measure="ls_ece", sigma=0.5, n_resamples=50)
    value = monitor.looks[0].value
    assert value is not None and value.lower <= value.upper and value.floor > 0
    page = monitor.report("forest")
    assert page.html.startswith("<!DOCTYPE html>") and "forest" in page.html
    assert monitor.looks[0].to_dict()["value"]["value"] == value.value


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"alpha": 2}, "alpha must be in [1e-12, 0.5], got 2"),
        ({"margin": -1}, "margin must be in [0, 5] log-odds, got -1"),
        ({"reference": ([1, 1], [0.5, 0.6])}, "reference must be of rows with both outcomes, got 2 rows of outcome 1"),
    ],
)
def test_options_out_of_range_are_errors(options: dict[str, object], text: str) -> None:
    with pytest.raises(cal.CalipersError) as raised:
        cal.Monitor(**options)  # type: ignore[arg-type]
    assert str(raised.value) == text


def test_what_is_no_window_is_an_error() -> None:
    monitor = cal.Monitor()
    with pytest.raises(TypeError, match="a window must be Predictions, a Sketch, or a tuple"):
        monitor.update([1, 0])  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="sigma is an option of a measure"):
        monitor.update(([1, 0], [0.5, 0.6]), sigma=0.5)
    weighted = cal.Sketch().update([1, 0], [0.5, 0.6], sample_weight=[1, 2])
    with pytest.raises(cal.CalipersError, match="weights must be left out of a monitor"):
        monitor.update(weighted)
    assert monitor.n_windows == 0


def test_a_look_at_a_busy_monitor_does_not_stop_other_threads() -> None:
    monitor = cal.monitor(stream(3))
    y, p = window(0.0, 1, n=4000)
    update = threading.Thread(target=lambda: monitor.update((y, p), measure="smooth_ece", n_resamples=20_000))
    update.start()
    look = threading.Thread(target=lambda: monitor.to_json())
    # The longest pause of this thread, which needs the GIL and not the monitor.
    pauses, before = [], time.monotonic()
    while update.is_alive():
        if not look.ident and time.monotonic() - before > 0.01:
            look.start()
        start = time.monotonic()
        time.sleep(0.001)
        pauses.append(time.monotonic() - start)
    took = time.monotonic() - before
    look.join()
    assert monitor.n_windows == 4
    assert max(pauses) < 0.5 * took, (max(pauses), took)
