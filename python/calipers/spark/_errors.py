"""An error on an executor -> the same error on the driver, without the stack trace of Java."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pyspark.errors import PySparkException

from calipers._core import CalipersError
from calipers._errors import coded_error

# The text ends with the code, so that both are read from the traceback that Spark hands over as
# text.
_TRAVELLED = re.compile(r"CalipersError: (?P<text>.*?) \[calipers: (?P<code>[a-z_]*)\]", re.DOTALL)
_NOT_THERE = re.compile(r"ModuleNotFoundError: No module named '(calipers|numpy|pyarrow)\b[^\n]*")


def with_place(error: CalipersError, place: str) -> CalipersError:
    """The error with the place where it occurred, as it travels to the driver."""
    return coded_error(error.code, marked(f"{place}: {error}", error.code))


def marked(text: str, code: str) -> str:
    """The text of an error, as `clearly` finds it in an exception of Spark."""
    return f"{text} [calipers: {code}]"


@contextmanager
def clearly() -> Iterator[None]:
    """Raises the error of calipers in place of the exception of Spark that carries it."""
    try:
        yield
    except (PySparkException, *_JAVA_ERRORS) as error:
        text = str(error)
        travelled = _TRAVELLED.search(text)
        if travelled is not None:
            raise coded_error(travelled["code"], travelled["text"]) from None
        missing = _NOT_THERE.search(text)
        if missing is not None:
            raise ImportError(
                f"calipers must be installed on the executors, too ({missing[0]}): "
                "ship an environment with it by spark.archives, or set spark.pyspark.python to one"
            ) from None
        raise


def _java_errors() -> tuple[Any, ...]:
    """What PySpark raises where Java's own exceptions come through.

    A client of Spark Connect has none.
    """
    try:
        from py4j.protocol import Py4JJavaError
    except ImportError:
        return ()
    return (Py4JJavaError,)


_JAVA_ERRORS = _java_errors()
