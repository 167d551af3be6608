"""Measures that are requested by name: the core knows their options and defaults."""

from __future__ import annotations

from typing import NamedTuple

from calipers._inputs import Options
from calipers._measures import LISTED


class Named(NamedTuple):
    """The name of a measure, and the options that were given."""

    measure: str
    options: Options


def named(measure: str, options: Options) -> Named:
    """The measure of that name with these options; the core has the defaults of the others.

    A name that is not listed goes to the core as it is, which rejects it with the names that are.
    """
    if not isinstance(measure, str):
        raise TypeError(f"measure must be text, got {type(measure).__name__}")
    listed = LISTED.get(measure)
    if listed is not None:
        for name in options:
            if name not in listed.options:
                raise TypeError(f"{measure} has no option {name!r}, only {', '.join(listed.options)}")
    return Named(measure, options)
