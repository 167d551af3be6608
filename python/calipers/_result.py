"""What results have in common: plain objects for JSON, and tables for notebooks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from html import escape
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

import numpy as np

R = TypeVar("R", bound="Result")

# Of the fields of each result, which are looked up once.
_TYPES: dict[type, dict[str, Any]] = {}


class Result:
    """A dataclass that is made of what the core has found, and becomes a dict."""

    @classmethod
    def _of(cls: type[R], found: Mapping[str, Any]) -> R:
        """The result with these fields.

        Fields that are results or named tuples are made of theirs.
        """
        types = _TYPES.get(cls) or _TYPES.setdefault(cls, get_type_hints(cls))
        return cls(**{name: _made(types[name], value) for name, value in found.items()})

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain Python objects, ready for JSON; arrays and tuples are lists."""
        return {each.name: plain(getattr(self, each.name)) for each in fields(self)}  # type: ignore[arg-type]


def _made(kind: Any, value: Any) -> Any:
    if isinstance(value, Mapping):
        makers = [each._of for each in (kind, *get_args(kind)) if hasattr(each, "_of")]
        return makers[0](value) if makers else value
    if isinstance(value, (tuple, list)):
        if get_origin(kind) is tuple:
            return tuple(value)
        named = [each for each in (kind, *get_args(kind)) if hasattr(each, "_fields")]
        return named[0](*value) if named else value
    return value


def plain(value: object) -> Any:
    """The value made of what JSON has."""
    if hasattr(value, "to_dict"):
        return value.to_dict()
    if hasattr(value, "_asdict"):
        return {name: plain(each) for name, each in value._asdict().items()}
    if isinstance(value, dict):
        return {name: plain(each) for name, each in value.items()}
    if isinstance(value, (tuple, list)):
        return [plain(each) for each in value]
    return value.tolist() if isinstance(value, np.ndarray) else value


def html_text(text: str) -> str:
    """A paragraph that keeps its lines."""
    return f"<p>{'<br>'.join(map(escape, text.splitlines()))}</p>"


def html_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table without any style of its own; no header where none is given."""
    head = f"<thead><tr>{_cells('th', header)}</tr></thead>" if header else ""
    body = "".join(f"<tr>{_cells('td', row)}</tr>" for row in rows)
    return f"<table>{head}<tbody>{body}</tbody></table>"


def _cells(tag: str, texts: Sequence[str]) -> str:
    return "".join(f"<{tag}>{escape(text)}</{tag}>" for text in texts)
