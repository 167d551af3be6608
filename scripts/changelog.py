"""Which names the newest part of CHANGELOG.md mentions. The tests of public names ask this."""

from __future__ import annotations

import re
from collections.abc import Iterable

HEADING = re.compile(r"^## +(.*)$", re.MULTILINE)
# Words in backticks: a name such as `measure` also stands in sentences about something else.
CODE = re.compile(r"`([^`]+)`")


def newest(changelog: str) -> str:
    """The section Unreleased; that of the newest version while it is empty."""
    _, *parts = HEADING.split(changelog)
    return next((body for body in parts[1::2] if body.strip()), "")


def unmentioned(names: Iterable[str], changelog: str) -> list[str]:
    """Names that the newest section does not have in backticks."""
    words = {word for code in CODE.findall(newest(changelog)) for word in re.findall(r"\w+", code)}
    return sorted(set(names) - words)
