"""The best of several runs, in turn: A B C A B C ..., so that a slow moment of the machine affects all."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

# A short call is made several times at each turn.
TURN_SECONDS = 0.02
CALLS_A_TURN = 50
# Threads of the one before may still be waiting for work: let them go to sleep.
PAUSE_SECONDS = 0.03


@dataclass
class Timing:
    """The best time of a call, how often it was made, and what it returned."""

    seconds: float
    runs: int
    value: float


def race(calls: Mapping[str, Callable[[], float]], *, turns: int, budget: float) -> dict[str, Timing]:
    """Give everyone `turns` turns, or fewer once the calls of a contender have taken `budget` seconds."""
    timings: dict[str, Timing] = {}
    spent = dict.fromkeys(calls, 0.0)
    gc.collect()
    gc.disable()
    try:
        for _ in range(turns):
            for key, call in calls.items():
                # Another run that would break the budget is not begun.
                if key not in timings or spent[key] + timings[key].seconds <= budget:
                    time.sleep(PAUSE_SECONDS)
                    spent[key] += _turn(key, call, timings)
    finally:
        gc.enable()
    return timings


def _turn(key: str, call: Callable[[], float], timings: dict[str, Timing]) -> float:
    spent = 0.0
    for _ in range(CALLS_A_TURN):
        start = time.perf_counter()
        value = call()
        seconds = time.perf_counter() - start
        spent += seconds
        best = timings.setdefault(key, Timing(seconds, 0, value))
        best.seconds = min(best.seconds, seconds)
        best.runs += 1
        if spent > TURN_SECONDS:
            break
    return spent
