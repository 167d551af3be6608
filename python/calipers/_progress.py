"""The progress of a long call: one line on standard error that is overwritten."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeAlias

Shown: TypeAlias = Callable[[float], None] | None


@contextmanager
def shown(progress: bool, what: str) -> Iterator[Shown]:
    """What the core tells the share that is done, every 50 ms or so.

    None unless it is asked for.
    """
    if not isinstance(progress, bool):
        raise TypeError(f"progress must be True or False, got {type(progress).__name__}")
    if not progress:
        yield None
        return

    most = 0.0

    def show(share: float) -> None:
        # More draws may turn out to be needed as the call goes on: the line stays where it is then.
        nonlocal most
        most = share = max(share, most)
        # A carriage return, which terminals and notebooks both know.
        sys.stderr.write(f"\r{what}: {100 * share:3.0f} %")
        sys.stderr.flush()

    show(0.0)
    try:
        yield show
        show(1.0)
    finally:
        sys.stderr.write("\n")
        sys.stderr.flush()
