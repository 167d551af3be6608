"""A refusal on an executor -> the same refusal on the driver, without the two hundred lines of Java around it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pyspark.errors import PySparkException

from calipers._core import CalipersError

# The text ends with the code, so that both are read from the traceback that Spark hands over as text.
_REFUSED = re.compile(r"CalipersError: (?P<text>.*?) \[calipers: (?P<code>[a-z_]*)\]", re.DOTALL)
_NOT_THERE = re.compile(r"ModuleNotFoundError: No module named '(calipers|numpy|pyarrow)\b[^\n]*")


def refused(error: CalipersError, place: str) -> CalipersError:
    """The refusal with the place where it stands, as it travels."""
    return _with_code(marked(f"{place}: {error}", error.code), error.code)


def marked(text: str, code: str) -> str:
    """A refusal that `clearly` finds in what Spark says."""
    return f"{text} [calipers: {code}]"


def _with_code(text: str, code: str) -> CalipersError:
    found = CalipersError(text)
    found.code = code
    return found


@contextmanager
def clearly() -> Iterator[None]:
    """Lets a job inside fail with what calipers has said on the executor."""
    try:
        yield
    except (PySparkException, *_JAVA_ERRORS) as error:
        text = str(error)
        said = _REFUSED.search(text)
        if said is not None:
            raise _with_code(said["text"], said["code"]) from None
        missing = _NOT_THERE.search(text)
        if missing is not None:
            raise ImportError(
                f"calipers must be installed on the executors, too ({missing[0]}): "
                "ship an environment with it by spark.archives, or set spark.pyspark.python to one"
            ) from None
        raise


def _java_errors() -> tuple[Any, ...]:
    """What PySpark raises where Java's own exceptions come through; a client of Spark Connect has none."""
    try:
        from py4j.protocol import Py4JJavaError
    except ImportError:
        return ()
    return (Py4JJavaError,)


_JAVA_ERRORS = _java_errors()
