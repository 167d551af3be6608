"""Errors that the Python half finds itself."""

from calipers._core import CalipersError


def coded_error(code: str, text: str) -> CalipersError:
    """A `CalipersError` with its code."""
    error = CalipersError(text)
    error.code = code
    return error
