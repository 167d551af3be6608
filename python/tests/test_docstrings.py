"""Every public function has a docstring with a reference and an example, and the examples run."""

from __future__ import annotations

import doctest
import importlib
import inspect
import pkgutil
import re
from collections.abc import Callable

import calipers
import pytest

# Modules for packages that are not here are run by python/integration.
ELSEWHERE = {"spark", "torch"}
MODULES = [
    "calipers",
    *(f"calipers.{module.name}" for module in pkgutil.iter_modules(calipers.__path__) if module.name not in ELSEWHERE),
]
FUNCTIONS = [getattr(calipers, name) for name in calipers.__all__ if inspect.isfunction(getattr(calipers, name))]


@pytest.mark.parametrize("name", MODULES)
def test_examples_run(name: str) -> None:
    failed, _ = doctest.testmod(importlib.import_module(name), optionflags=doctest.ELLIPSIS)
    assert failed == 0


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_docstrings_are_complete(function: Callable[..., object]) -> None:
    documentation = inspect.getdoc(function)
    assert documentation is not None
    signature = inspect.signature(function)
    headings = ["Examples"]
    if signature.parameters:
        headings.append("Parameters")
    if signature.return_annotation not in ("None", "Iterator[None]"):
        headings.append("Returns")
    # A function without rows computes nothing that has a reference, but for that which draws them.
    if {"y_true", "family"} & set(signature.parameters):
        headings.append("References")
    for heading in headings:
        assert re.search(rf"^{heading}\n-+$", documentation, re.MULTILINE), heading
    assert ">>> " in documentation


def test_the_version_is_that_of_the_crate() -> None:
    assert re.fullmatch(r"\d+\.\d+\.\d+.*", calipers.__version__)


def test_nothing_else_is_public() -> None:
    public = {name for name in vars(calipers) if not name.startswith("_")}
    assert public == set(calipers.__all__) - {"__version__"}
