"""An error on an executor -> the same error on the driver, without the stack trace of Java."""

from __future__ import annotations

import os
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
_OTHER_PYTHON = re.compile(r"PYTHON_VERSION_MISMATCH\][^\n]*?(?P<worker>\d+[.]\d+)[^\n]*?(?P<driver>\d+[.]\d+)")
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
                f"calipers must be installed on the executors, too ({missing[0]}): ship an environment with it "
                f"by spark.archives, or let PYSPARK_PYTHON or spark.pyspark.python name one that has it ({_setting()})"
            ) from None
        other = _OTHER_PYTHON.search(text)
        if other is not None:
            raise RuntimeError(
                f"the executors have Python {other['worker']} and the driver has {other['driver']}: before the session "
                f"starts, let PYSPARK_PYTHON or spark.pyspark.python name a Python {other['driver']} that has calipers "
                f"({_setting()})"
            ) from None
        raise


def _setting() -> str:
    own = os.environ.get("PYSPARK_PYTHON")
    return "PYSPARK_PYTHON is not set here" if own is None else f"PYSPARK_PYTHON is {own} here"


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
