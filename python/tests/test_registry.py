"""Python holds no list of measures: names, options and defaults are those of the core."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path

import calipers as cal
import pytest
from calipers._row_options import ROW_DEFAULTS

PACKAGE = Path(cal.__file__).parent
LISTED = {each.name: each for each in cal.measures()}
FUNCTIONS = [name for name in LISTED if hasattr(cal, name)]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_options_and_defaults_are_those_of_the_core(name: str) -> None:
    keywords = inspect.signature(getattr(cal, name)).parameters.values()
    options = {
        each.name: each.default for each in keywords if each.kind is each.KEYWORD_ONLY and each.name not in ROW_DEFAULTS
    }
    assert options == LISTED[name].options
    assert list(options) == list(LISTED[name].options)


@pytest.mark.parametrize("name", LISTED)
def test_an_estimate_has_the_name_that_was_requested(name: str) -> None:
    y, p = [0, 1, 0, 1, 1, 0, 1, 0] * 10, [0.1, 0.9, 0.3, 0.6, 0.4, 0.6, 0.8, 0.2] * 10
    if hasattr(cal, name):
        assert getattr(cal, name)(y, p).measure == name
    if LISTED[name].from_sketch != "nothing":
        assert cal.Sketch().update(y, p).estimate(name).measure == name
    try:
        assert cal.assess(y, p, measure=name, n_resamples=20).estimate.measure == name
    except cal.CalipersError as refused:
        assert "larger value is worse" in str(refused)


def literals(path: Path) -> set[str]:
    """Names of measures that stand as text in the code of a file, but for what it exports."""
    tree = ast.parse(path.read_text())
    docstrings = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef))
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    exported = {
        id(each)
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and any(getattr(target, "id", "") == "__all__" for target in node.targets)
        for each in ast.walk(node)
    }
    defaults = {
        id(default)
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef)
        for default in [*node.args.defaults, *node.args.kw_defaults]
        if default is not None
        for default in ast.walk(default)
    }
    left_out = docstrings | exported | defaults
    texts = (node for node in ast.walk(tree) if isinstance(node, ast.Constant) and id(node) not in left_out)
    return {text.value for text in texts if isinstance(text.value, str) and text.value in LISTED}


def defined(path: Path) -> set[str]:
    """The functions and methods of a file."""
    return {node.name for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.FunctionDef)}


# The columns of a sweep, the tests of calibration, and the measure by which rows are checked.
OTHER_MEANINGS = {
    "_sweep.py": {"smooth_ece"},
    "_measure_sketches.py": {"ls_ece"},
    "_calibration_tests.py": {"ecce_r", "ecce_mad"},
    "_predictions.py": {"brier_score"},
    # The smoothed curve, as a value of `smoother`.
    "_clinical.py": {"ls_ece"},
    "_row_options.py": {"ls_ece"},
}


def test_a_measure_is_named_where_its_function_is_and_nowhere_else() -> None:
    wrong = {}
    for path in PACKAGE.rglob("*.py"):
        others = literals(path) - defined(path) - OTHER_MEANINGS.get(path.name, set())
        if others:
            wrong[str(path.relative_to(PACKAGE))] = sorted(others)
    assert wrong == {}
