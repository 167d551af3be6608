"""Signatures and docstrings of public functions, with every parameter written out.

A docstring names parameters that several functions share by a marker on a line of its own: ``<link>``, or ``<rows>``
for all options of rows. `documented` puts the text in its place, adds the defaults of the signature to the types, and
replaces ``**rows: Unpack[RowOptions]`` in the signature by the options themselves.
"""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable
from typing import Any, TypeVar

from calipers import _parameters, _row_options
from calipers._row_options import ROW_DEFAULTS, TEST_DEFAULTS, OneViewOptions, RowOptions

T = TypeVar("T", bound=Callable[..., Any])

_TABLE = re.compile(r"Unpack\[(\w+)\]")
_MARKER = re.compile(r"^( *)<([a-z_, ]+)>$", re.MULTILINE)
_PARAMETERS = re.compile(r"(?<=Parameters\n)( *)-+\n.*?(?=\n *\n|\Z)", re.DOTALL)
_HEADING = re.compile(r"^ *(\w+) : .+$", re.MULTILINE)
# Aliases of this package, as readers of `help` know them.
_ALIASES = {"Outcomes": "ArrayLike | Predictions", "Probabilities": "ArrayLike | None"}


def documented(function: T) -> T:
    """The same function or class with a full signature and a full docstring."""
    called: Any = vars(function)["__init__"] if isinstance(function, type) else function
    signature = inspect.signature(called)
    own = [
        each.replace(annotation=_ALIASES.get(each.annotation, each.annotation))
        for each in signature.parameters.values()
    ]
    named = [each for each in own if each.kind is not each.VAR_KEYWORD]
    others = own[len(named) :]
    table = _TABLE.fullmatch(others[0].annotation) if others else None
    options = [] if table is None else _options(table[1])
    if table is not None:
        # `typing.get_type_hints` cannot look up Unpack, which is there for type checkers alone.
        del called.__annotations__[others[0].name]
        if len(options) == len(getattr(_row_options, table[1]).__annotations__):
            others = []
        others = [each.replace(annotation="Any") for each in others]
    full = signature.replace(parameters=[*named, *options, *others])
    called.__signature__ = full
    # None where Python was started with -OO.
    if function.__doc__ is not None:
        texts = _entries(_parameters.__doc__) | _entries(RowOptions.__doc__)
        if any(each.annotation == "OneView" for each in options):
            texts |= _entries(OneViewOptions.__doc__)
        rows = [each.name for each in options if each.name in ROW_DEFAULTS]
        filled = _MARKER.sub(lambda marker: _text_of(marker, texts, rows), function.__doc__)
        defaults = {each.name: each.default for each in full.parameters.values()}
        function.__doc__ = _PARAMETERS.sub(lambda section: _with_defaults(section[0], defaults), filled)
    return function


def _options(table: str) -> list[inspect.Parameter]:
    """The options of the table that have a default of their own."""
    types = getattr(_row_options, table).__annotations__
    defaults = {**TEST_DEFAULTS, **ROW_DEFAULTS} if table == "TestOptions" else {**ROW_DEFAULTS}
    return [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=types[name].__forward_arg__)
        for name, default in defaults.items()
        if name in types
    ]


def _entries(documentation: str | None) -> dict[str, list[str]]:
    """The lines of each ``name : type`` with what is indented below it."""
    found: dict[str, list[str]] = {}
    lines: list[str] = []
    for line in inspect.cleandoc(documentation or "").splitlines():
        heading = _HEADING.match(line) if not line.startswith(" ") else None
        if heading is not None:
            lines = found[heading[1]] = []
        lines.append(line)
    return found


def _text_of(marker: re.Match[str], texts: dict[str, list[str]], rows: list[str]) -> str:
    names = rows if marker[2] == "rows" else marker[2].split(", ")
    return "\n".join(marker[1] + line for name in names for line in texts[name])


def _with_defaults(section: str, defaults: dict[str, Any]) -> str:
    def with_default(heading: re.Match[str]) -> str:
        default = defaults.get(heading[1], inspect.Parameter.empty)
        if default is inspect.Parameter.empty or heading[0].endswith("optional"):
            return heading[0]
        return f"{heading[0]}, default {json.dumps(default) if isinstance(default, str) else default}"

    return _HEADING.sub(with_default, section)
