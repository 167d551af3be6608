"""Every public function documents each parameter, with a reference and an example, and the examples run."""

from __future__ import annotations

import doctest
import importlib
import inspect
import pkgutil
import re
from collections.abc import Callable
from typing import get_type_hints

import calipers
import pytest

# Modules for packages that are not here are run by python/integration.
ELSEWHERE = {"polars", "sklearn", "spark", "torch"}
SUBMODULES = {
    module.name
    for module in pkgutil.iter_modules(calipers.__path__)
    if not module.name.startswith("_") and module.name not in ELSEWHERE
}
MODULES = [
    "calipers",
    *(f"calipers.{module.name}" for module in pkgutil.iter_modules(calipers.__path__) if module.name not in ELSEWHERE),
]
CLASSES = [getattr(calipers, name) for name in calipers.__all__ if inspect.isclass(getattr(calipers, name))]
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


def _methods(kind: type) -> list[Callable[..., object]]:
    """Public methods that calipers defines, and the constructor of classes that are made by users."""
    made_by_users = [
        calipers.Sketch,
        calipers.Predictions,
        calipers.Recalibrator,
        *map(vars(calipers).get, calipers.plotting.__all__),
    ]
    found = {
        name: getattr(kind, name)
        for base in kind.__mro__
        if base.__module__.startswith("calipers")
        for name, member in vars(base).items()
        if not name.startswith("_") and not isinstance(member, property) and callable(getattr(kind, name))
    }
    return [*found.values(), *([kind] if kind in made_by_users else [])]


CALLED = [*FUNCTIONS, *(method for kind in CLASSES for method in _methods(kind))]


def _documented_names(documentation: str) -> list[str]:
    """The names of all headings ``name, name : type`` of the section of parameters."""
    section = re.search(r"^Parameters\n-+\n(.*?)(?=\n\n|\Z)", documentation, re.MULTILINE | re.DOTALL)
    lines = [] if section is None else section[1].splitlines()
    headings = [line.partition(" : ")[0] for line in lines if not line.startswith(" ")]
    return [name.lstrip("*") for heading in headings for name in heading.split(", ")]


@pytest.mark.parametrize("function", CALLED, ids=lambda function: function.__qualname__)
def test_every_parameter_is_documented_in_its_place(function: Callable[..., object]) -> None:
    parameters = [name for name in inspect.signature(function).parameters if name not in ("self", "cls")]
    documentation = inspect.getdoc(function) or ""
    assert sorted(_documented_names(documentation)) == sorted(parameters)
    assert not re.search(r"\b[Aa]s for `", documentation), "write the parameter out: `documented` has markers for it"
    assert not re.search(r"^ *<[a-z_, ]+>$", documentation, re.MULTILINE), "use `documented` to replace the marker"


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_defaults_are_documented(function: Callable[..., object]) -> None:
    documentation = inspect.getdoc(function) or ""
    for parameter in inspect.signature(function).parameters.values():
        if parameter.default not in (parameter.empty, None):
            shown = f'"{parameter.default}"' if isinstance(parameter.default, str) else str(parameter.default)
            heading = re.search(rf"^{parameter.name} : .*$", documentation, re.MULTILINE)
            assert heading is not None and heading[0].endswith(f", default {shown}"), parameter.name


def test_signatures_can_be_looked_at() -> None:
    parameters = inspect.signature(calipers.smooth_ece).parameters
    assert parameters["ties"].default == "first"
    assert parameters["invalid"].kind is inspect.Parameter.KEYWORD_ONLY
    assert not any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values())
    # The options of the measure that is asked for by name.
    assert list(inspect.signature(calipers.assess).parameters)[-1] == "options"
    assert "y_true" in get_type_hints(calipers.smooth_ece)


def test_the_version_is_that_of_the_crate() -> None:
    assert re.fullmatch(r"\d+\.\d+\.\d+.*", calipers.__version__)


def test_nothing_else_is_public() -> None:
    public = {name for name, thing in vars(calipers).items() if not name.startswith("_")}
    assert public == {*calipers.__all__, *SUBMODULES} - {"__version__"}


def test_every_public_name_is_in_one_submodule() -> None:
    names = [name for module in SUBMODULES for name in getattr(calipers, module).__all__]
    assert sorted(names) == sorted(set(calipers.__all__) - {"__version__"})
    for module in SUBMODULES:
        for name in getattr(calipers, module).__all__:
            assert getattr(getattr(calipers, module), name) is getattr(calipers, name)
