"""Threads, forks and signals: the same bits for any number of threads, no hang after forks, an end within a second."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import calipers as cal
import numpy as np
import pytest
from cases import Doubles

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="forks and signals are those of Unix")


def rows(n: int) -> tuple[Doubles, Doubles]:
    rng = np.random.default_rng(3)
    p = rng.uniform(0.001, 0.999, n)
    return (rng.uniform(size=n) < p**1.3).astype(float), p


def figures(y: Doubles, p: Doubles) -> list[object]:
    """Some of every kind: a pass over cells, chunks of rows, draws, and sums over pairs."""
    few_y, few_p = y[:3000], p[:3000]
    return [
        float(cal.ls_ece(y, p)),
        float(cal.expected_calibration_error(y, p)),
        float(cal.log_loss(y, p)),
        float(cal.beta_kde_ece(few_y, few_p)),
        cal.assess(few_y, few_p, n_resamples=50).to_dict(),
        cal.tcal_test(few_y, few_p, n_resamples=50).to_dict(),
        cal.sweep(few_y, few_p).to_dict(),
        cal.Sketch().update(y, p).to_bytes(),
    ]


def n_threads_of_calipers(expected: int) -> int:
    """Threads of this process by the names that they have; a thread gives itself its name some time after its start."""
    end = time.monotonic() + 10
    while True:
        names = [path.read_text() for path in Path("/proc/self/task").glob("*/comm")]
        n = sum(name.startswith("calipers-") for name in names)
        if n >= expected or time.monotonic() > end:
            return n
        time.sleep(0.01)


def test_every_number_of_threads_gives_the_same_bits() -> None:
    y, p = rows(200_000)
    expected = figures(y, p)
    for n in (1, 2, 3, 7):
        with cal.threads(n):
            assert figures(y, p) == expected


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="needs /proc")
@pytest.mark.parametrize(("asked", "environment", "expected"), [(None, "3", 3), (2, "3", 2), (5, "", 5)])
def test_threads_are_as_many_as_asked_or_as_the_environment_says(
    asked: int | None, environment: str, expected: int
) -> None:
    code = (
        "import sys, calipers as cal; sys.path.insert(0, sys.argv[1]); from test_threads import n_threads_of_calipers\n"
        f"cal.set_threads({asked})\ncal.smooth_ece([0, 1], [0.2, 0.9])\nprint(n_threads_of_calipers({expected}))"
    )
    environ = {**os.environ, "RAYON_NUM_THREADS": environment}
    command = [sys.executable, "-c", code, str(Path(__file__).parent)]
    done = subprocess.run(command, env=environ, check=True, capture_output=True, text=True)
    assert int(done.stdout) == expected


def test_a_block_sets_the_threads_of_its_own_python_thread_and_gives_them_back() -> None:
    with cal.threads(2):
        with cal.threads(3):
            assert cal._core.set_threads_here(3) == 3
            with ThreadPoolExecutor(1) as other:
                assert other.submit(cal._core.set_threads_here, None).result() is None
        assert cal._core.set_threads_here(2) == 2
    assert cal._core.set_threads_here(None) is None


@pytest.mark.parametrize("n", [0, 65_537, -1])
def test_a_number_of_threads_out_of_range_is_refused(n: int) -> None:
    with pytest.raises(cal.CalipersError, match="n must be an integer from"):
        cal.set_threads(n)
    with pytest.raises(cal.CalipersError, match="n must be an integer from"), cal.threads(n):
        pass


def test_a_number_of_threads_that_is_none_is_a_type_error() -> None:
    for n in (2.0, "2", True):
        with pytest.raises(TypeError, match="n must be an integer, got"):
            cal.set_threads(n)  # type: ignore[arg-type]


def _measure(sender: multiprocessing.connection.Connection, y: Doubles, p: Doubles) -> None:
    sender.send(figures(y, p))


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="no fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_forked_child_measures_what_its_parent_measured() -> None:
    y, p = rows(1_000_000)
    expected = figures(y, p)
    context = multiprocessing.get_context("fork")
    for _ in range(3):
        receiver, sender = context.Pipe(duplex=False)
        child = context.Process(target=_measure, args=(sender, y, p))
        child.start()
        try:
            assert receiver.poll(60), "the child hangs"
            assert receiver.recv() == expected
        finally:
            child.kill()
            child.join()
    # And the parent still has its own threads.
    assert figures(y, p) == expected


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="no fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_fork_in_the_middle_of_calls_of_other_threads_does_not_hang() -> None:
    y, p = rows(50_000)
    expected = [float(cal.ls_ece(y, p)), float(cal.brier_score(y, p))]
    ends = threading.Event()

    def busy() -> None:
        while not ends.is_set():
            cal.ls_ece(y, p)
            cal.brier_score(y[:100], p[:100])

    workers = [threading.Thread(target=busy) for _ in range(3)]
    for worker in workers:
        worker.start()
    try:
        for _ in range(10):
            child = os.fork()
            if child == 0:
                same = [float(cal.ls_ece(y, p)), float(cal.brier_score(y, p))] == expected
                os._exit(0 if same else 1)
            assert _status_within(child, seconds=30) == 0
    finally:
        ends.set()
        for worker in workers:
            worker.join()


def _status_within(child: int, seconds: float) -> int:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.01)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    raise AssertionError("the child hangs")


def test_many_python_threads_may_call_at_once() -> None:
    y, p = rows(20_000)
    expected = figures(y, p)
    with ThreadPoolExecutor(8) as pool:
        for found in pool.map(lambda _: figures(y, p), range(16)):
            assert found == expected


def test_many_python_threads_may_share_a_sketch() -> None:
    y, p = rows(100_000)
    sketch = cal.Sketch()

    def work(part: int) -> float:
        sketch.update(y[part::16], p[part::16])
        return float(sketch.ls_ece(sigma=0.1))

    with cal.threads(2), ThreadPoolExecutor(8) as pool:
        assert all(value > 0.0 for value in pool.map(work, range(16)))
    assert sketch.to_bytes() == cal.Sketch().update(y, p).to_bytes()


LONG_CALLS = {
    "assess": "cal.assess(y, p, measure='smooth_ece', n_resamples=10_000_000)",
    "assess, a sketch": "cal.Sketch().update(y, p).assess(n_resamples=10_000_000)",
    "assess, classwise": "cal.assess(k, q, multiclass='classwise', n_resamples=1_000_000)",
    "assess, clusters": "cal.assess(y, p, cluster=np.arange(len(y)) % 999, n_resamples=10_000_000)",
    "compare": "cal.compare(y, {'a': p, 'b': p**1.1}, n_resamples=10_000_000)",
    "sweep": "cal.sweep(np.tile(y, 400), np.tile(p, 400), bins=range(1, 400))",
    "simulate": "cal.simulate('calibrated', 1000, runs=10_000_000)",
    "simulate, coverage": "cal.simulate('calibrated', 1000, measures=(), coverage=['ls_ece'], runs=10_000_000)",
    "tests": "cal.spiegelhalter_test(y, p, null_distribution='resampled', n_resamples=10_000_000)",
    "adaptive T-Cal": "cal.tcal_test(y, p, n_resamples=10_000_000)",
    "band": "cal.corp_curve(np.tile(y, 200), np.tile(p, 200), band='consistency', n_resamples=10_000)",
    "LS-ECE by samples": "cal.ls_ece_sampled(y, p, sigma=0.1, n_samples=1_000_000_000)",
    "canonical KDE": "cal.canonical_kde_ece(k, q, bandwidth=0.01)",
    # A bandwidth that makes many more nodes of the grid than the default one does.
    "beta KDE": "cal.beta_kde_ece(np.tile(y, 100), rng.uniform(size=2_000_000), bandwidth=1e-7)",
}

SETUP = """
import signal, sys, threading, time
import numpy as np
import calipers as cal
rng = np.random.default_rng(3)
p = rng.uniform(0.001, 0.999, 20_000)
y = (rng.uniform(size=len(p)) < p).astype(int)
q = rng.dirichlet(np.ones(10), 20_000)
k = rng.integers(0, 10, len(q))
cal.ls_ece(y, p)
# What runs in the background of a shell has been told to ignore it.
signal.signal(signal.SIGINT, signal.default_int_handler)
sent = []
def send():
    time.sleep(0.5)
    sent.append(time.process_time())
    signal.raise_signal(signal.SIGINT)
threading.Thread(target=send, daemon=True).start()
try:
    CALL
except KeyboardInterrupt:
    print(time.process_time() - sent[0])
else:
    print("ended" if not sent else "not interrupted")
    sys.exit(1)
# The same threads serve the next call.
assert float(cal.ls_ece(y, p)) > 0
"""


@pytest.mark.parametrize("name", LONG_CALLS)
def test_keyboard_interrupt_ends_a_long_call_within_a_second(name: str) -> None:
    code = SETUP.replace("CALL", LONG_CALLS[name])
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr == "", "nothing but the exception is to be seen"
    # Of work, by all threads: other programs on the machine do not count.
    assert float(done.stdout) < 1.0
