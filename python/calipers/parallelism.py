"""How many threads a call has."""

from calipers._threads import set_threads, threads

__all__ = ["set_threads", "threads"]
