"""How many threads a call has."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from calipers import _core


def set_threads(n: int | None) -> None:
    """Sets the number of threads for all calls of this process.

    Results are the same to the last bit.

    Unless this is called, the environment variable ``RAYON_NUM_THREADS`` has the number, and
    without it there are as many as the machine has cores.

    Parameters
    ----------
    n : int or None
        Threads, at least 1; None for the default.

    Examples
    --------
    >>> import calipers as cal
    >>> cal.set_threads(2)
    >>> cal.set_threads(None)
    """
    _core.set_threads(n)


@contextmanager
def threads(n: int) -> Iterator[None]:
    """Sets the number of threads for the calls of a block; other Python threads keep theirs.

    Parameters
    ----------
    n : int
        Threads, at least 1.

    Examples
    --------
    >>> import calipers as cal
    >>> with cal.threads(1):
    ...     alone = cal.ls_ece([0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4])
    >>> alone == cal.ls_ece([0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4])
    True
    """
    before = _core.set_threads_here(n)
    try:
        yield
    finally:
        _core.set_threads_here(before)
