"""progress=True: a line on standard error, and nothing where it is not asked for."""

from __future__ import annotations

import re
from collections.abc import Callable

import calipers as cal
import numpy as np
import pytest

P = np.linspace(0.01, 0.99, 20_000)
Y = (np.arange(len(P)) * 619 % 1000) / 1000 < P

CALLS: dict[str, Callable[[bool], object]] = {
    "assess": lambda progress: cal.assess(Y, P, measure="smooth_ece", n_resamples=100, progress=progress),
    "compare": lambda progress: cal.compare(Y, {"a": P, "b": P**2}, n_resamples=1000, progress=progress),
    "sweep": lambda progress: cal.sweep(Y, P, progress=progress),
    "simulate": lambda progress: cal.simulate("calibrated", 2000, runs=500, progress=progress),
}


@pytest.mark.parametrize("name", CALLS)
def test_progress_is_a_line_that_is_written_over_up_to_the_end(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    CALLS[name](True)
    out, err = capfd.readouterr()
    assert out == ""
    assert err.endswith(": 100 %\n")
    shares = [int(share) for share in re.findall(r"\r[a-z_ ]+: +(\d+) %", err)]
    assert shares[0] == 0
    assert shares == sorted(shares)
    assert "\n" not in err[:-1]


@pytest.mark.parametrize("name", CALLS)
def test_nothing_is_written_unless_asked_for(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    CALLS[name](False)
    assert capfd.readouterr() == ("", "")


def test_a_long_call_says_more_than_its_beginning_and_end(capfd: pytest.CaptureFixture[str]) -> None:
    cal.simulate("calibrated", 5000, runs=4000, progress=True)
    shares = {int(share) for share in re.findall(r"(\d+) %", capfd.readouterr().err)}
    assert shares - {0, 100}


def test_progress_changes_no_figure() -> None:
    loud, quiet = (cal.assess(Y, P, n_resamples=100, progress=progress).to_dict() for progress in (True, False))
    assert loud == quiet


def test_what_writing_raises_ends_the_call(monkeypatch: pytest.MonkeyPatch) -> None:
    class Closed:
        n_written = 0

        def write(self, _text: str) -> None:
            self.n_written += 1
            if self.n_written == 3:
                raise OSError("closed")

        def flush(self) -> None:
            pass

    monkeypatch.setattr("sys.stderr", Closed())
    with pytest.raises(OSError, match="closed"):
        cal.simulate("calibrated", 5000, runs=1_000_000, progress=True)


def test_progress_is_true_or_false() -> None:
    with pytest.raises(TypeError, match="progress must be True or False, got int"):
        cal.assess(Y, P, progress=1)  # type: ignore[arg-type]
