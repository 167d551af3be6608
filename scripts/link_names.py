"""An extension of griffe that prepares docstrings for the site.

Public names in single backticks link to their own text, examples that stand outside a section of
examples become blocks of code, and types stay as they are written.
"""

from __future__ import annotations

import re
from typing import Any

import calipers
import griffe

CODE = re.compile(r"(?<!`)`(?:cal\.|calipers\.)?(\w+)`(?!`)")
EXAMPLES = re.compile(r"^Examples\n-+$", re.MULTILINE)
PROMPTS = re.compile(r"(?:^|(?<=\n\n))>>> .*?(?=\n\n|\Z)", re.DOTALL)

ZERO_WIDTH_SPACE = "\u200b"
TYPE = re.compile(r"^([\w*, ]+ : )(.*(?:\"| or ).*)$", re.MULTILINE)


def linked(text: str) -> str:
    """The text with a link for each public name."""

    def link(match: re.Match[str]) -> str:
        name = match[1]
        return f"[`{name}`][calipers.{name}]" if name in calipers.__all__ else match[0]

    return CODE.sub(link, text)


def fenced(text: str) -> str:
    """The text with a fence around each example before the section of examples, which has its own."""
    section = EXAMPLES.search(text)
    end = section.start() if section else len(text)
    return PROMPTS.sub(lambda match: f"```pycon\n{match[0].rstrip()}\n```", text[:end]) + text[end:]


def typed(text: str) -> str:
    """The text with types that stay as they are written: griffe reads no type that is not Python."""
    return TYPE.sub(lambda match: f"{match[1]}{ZERO_WIDTH_SPACE}{match[2]}", text)


class LinkNames(griffe.Extension):
    """Prepares each docstring after it was read."""

    def on_instance(self, *, obj: griffe.Object, **_: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = linked(fenced(typed(obj.docstring.value)))
