"""Signatures and docstrings of public functions and classes, with every parameter written out.

`documented` completes a docstring from the signature. A parameter that the docstring does not
describe has the text that all functions share (`_parameters`, or `RowOptions` for the options of
rows). The same goes for the attributes of results (`_attributes`) and for what is returned. The
types of parameters get the defaults of the signature, and ``**rows: Unpack[RowOptions]`` becomes
the options themselves.
"""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from calipers import _attributes, _parameters, _row_options
from calipers._row_options import (
    MAP_DEFAULTS,
    ROW_DEFAULTS,
    TEST_DEFAULTS,
    ClassOptions,
    FitOptions,
    OneViewOptions,
    RowOptions,
)

T = TypeVar("T", bound=Callable[..., Any])

_TABLE = re.compile(r"Unpack\[(\w+)\]")
_HEADING = re.compile(r"^((?:\*\*)?\w+(?:, \w+)*) : .+$|^\*\*\w+$")
_SECTION = re.compile(r"^(\w[\w ]*)\n-{3,}\n", re.MULTILINE)
# Aliases of this package, as readers of `help` know them.
_ALIASES = {"Outcomes": "ArrayLike | Predictions", "Probabilities": "ArrayLike | None"}
# Of the options in a table besides those of rows.
_OTHER_DEFAULTS: dict[str, Mapping[str, Any]] = {
    "TestOptions": TEST_DEFAULTS,
    "RecalibrateOptions": MAP_DEFAULTS,
    "MapOptions": MAP_DEFAULTS,
}
# In the order in which docstrings have them.
_SECTIONS = ("", "Parameters", "Attributes", "Returns", "Yields", "Raises", "Notes", "References", "Examples")


def documented(function: T) -> T:
    """The same function or class with a full signature and a full docstring."""
    fields = getattr(function, "__dataclass_fields__", None)
    is_class = isinstance(function, type)
    full = _with_signature(vars(function)["__init__"] if is_class else function) if fields is None else None
    # None where Python was started with -OO.
    if function.__doc__ is None:
        return function
    sections = _sections(inspect.cleandoc(function.__doc__))
    if full is not None:
        texts = dict(_SHARED)
        own_options = _options_of(full.parameters)
        if own_options is not None:
            texts |= _entries(inspect.cleandoc(own_options.__doc__ or ""))
        if "estimator" in full.parameters:
            texts |= _entries(_parameters.OF_ESTIMATORS)
        if any(each.annotation == "Mapping[str, str] | None" for each in full.parameters.values()):
            texts |= _entries(_parameters.OF_MODELS)
        own = [each for each in full.parameters.values() if each.name not in ("self", "cls")]
        entries = _completed(sections.get("Parameters", ""), [each.name for each in own], texts)
        defaults = {each.name: each.default for each in own}
        sections["Parameters"] = "\n".join(_with_default(lines, defaults) for lines in entries)
        returned = _parameters.RETURNS.get(full.return_annotation)
        if returned is not None and not is_class:
            sections.setdefault("Returns", f"{full.return_annotation}\n    {returned}")
        if "y_true" in full.parameters:
            sections.setdefault("Raises", _parameters.RAISES)
    if fields is not None:
        names = [name for name in fields if not name.startswith("_")]
        entries = _completed(sections.get("Attributes", ""), names, _ATTRIBUTES)
        sections["Attributes"] = "\n".join(line for entry in entries for line in entry)
    ordered = sorted(sections.items(), key=lambda section: _SECTIONS.index(section[0]))
    function.__doc__ = "\n\n".join(
        text if not title else f"{title}\n{'-' * len(title)}\n{text}" for title, text in ordered if text
    )
    return function


def _options_of(parameters: Mapping[str, inspect.Parameter]) -> type | None:
    """Those whose docstring has texts of its own for parameters that all functions share."""
    if "between" in parameters:
        return FitOptions
    if "sum_tolerance" in parameters and "multiclass" not in parameters:
        return FitOptions if "pos_label" in parameters else ClassOptions
    return OneViewOptions if any(each.annotation == "OneView" for each in parameters.values()) else None


def _with_signature(called: Any) -> inspect.Signature:
    """The signature with the options in place of ``**rows``, which the function then has."""
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
    called.__signature__ = full = signature.replace(parameters=[*named, *options, *others])
    return full


def _options(table: str) -> list[inspect.Parameter]:
    """The options of the table that have a default of their own."""
    types = getattr(_row_options, table).__annotations__
    others: Mapping[str, Any] = _OTHER_DEFAULTS.get(table, {})
    defaults = {**others, **ROW_DEFAULTS}
    return [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=types[name].__forward_arg__)
        for name, default in defaults.items()
        if name in types
    ]


def _sections(documentation: str) -> dict[str, str]:
    """The text of each section by its title, and the text before them under no title."""
    first, *others = _SECTION.split(documentation)
    return {
        "": first.strip(),
        **{title: text.strip("\n") for title, text in zip(others[::2], others[1::2], strict=True)},
    }


def _entries(text: str) -> dict[str, list[str]]:
    """The lines of each ``name : type`` with what is indented below it."""
    found: dict[str, list[str]] = {}
    lines: list[str] = []
    for line in text.splitlines():
        if _HEADING.match(line):
            lines = found[line.partition(" : ")[0]] = []
        lines.append(line)
    return found


def _completed(section: str, names: list[str], shared: dict[str, list[str]]) -> list[list[str]]:
    """The entries of a section in the order of the names.

    Those it has, and shared ones for the others.
    """
    own = _entries(section)
    place = {name: title for title in (*shared, *own) for name in title.lstrip("*").split(", ")}
    titles = dict.fromkeys(place.get(name, name) for name in names)
    return [own[title] if title in own else shared[title] for title in titles]


def _with_default(entry: list[str], defaults: dict[str, Any]) -> str:
    """The entry with the default behind its type."""
    heading, *text = entry
    default = defaults.get(heading.partition(" : ")[0], inspect.Parameter.empty)
    if default is not inspect.Parameter.empty and not heading.endswith("optional"):
        heading += f", default {json.dumps(default) if isinstance(default, str) else default}"
    return "\n".join([heading, *text])


_SHARED = _entries(inspect.cleandoc(_parameters.__doc__ or "")) | _entries(
    _sections(inspect.cleandoc(RowOptions.__doc__ or "")).get("Attributes", "")
)
_ATTRIBUTES = _entries(inspect.cleandoc(_attributes.__doc__ or ""))
