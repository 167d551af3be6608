"""The comparison in README.md: each package has what the table says, and nothing of what it says is missing.

The source of the packages is read and not run, so that a package counts without its own requirements.
"""

from __future__ import annotations

import ast
import importlib.util
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

import readme_table  # noqa: E402 (found by the line above)

PEERS = [tool for tool in readme_table.TOOLS if tool != "calipers"]


def source_of(module: str) -> Path:
    """The file or folder of a module, without importing it."""
    top, *rest = module.split(".")
    spec = importlib.util.find_spec(top)
    if spec is None or spec.origin is None:
        pytest.skip(f"{top} not installed")
    place = Path(spec.origin).parent.joinpath(*rest)
    return place if place.is_dir() else place.with_suffix(".py")


def text_of(tool: str) -> str:
    """The source of the parts that measure calibration."""
    places = [source_of(part) for part in readme_table.PARTS[tool]]
    files = [file for place in places for file in (sorted(place.rglob("*.py")) if place.is_dir() else [place])]
    return "\n".join(file.read_text(encoding="utf-8") for file in files)


@pytest.mark.parametrize("tool", PEERS)
def test_what_a_package_has_is_there(tool: str) -> None:
    for feature, path in readme_table.HAS[tool].items():
        module, _, name = path.rpartition(".")
        tree = ast.parse(source_of(module).read_text(encoding="utf-8"))
        names = {node.name for node in tree.body if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
        assert name in names, (feature, path)


@pytest.mark.parametrize("tool", PEERS)
def test_what_a_package_lacks_is_nowhere_in_it(tool: str) -> None:
    text = text_of(tool)
    for feature, pattern in readme_table.LACKS.items():
        if feature not in readme_table.HAS[tool]:
            found = re.search(pattern, text, re.IGNORECASE)
            assert found is None, (feature, found)


def test_calipers_has_all_of_it() -> None:
    calipers = importlib.import_module("calipers")
    for feature in readme_table.FEATURES:
        assert hasattr(calipers, readme_table.HAS["calipers"][feature].removeprefix("calipers.")), feature
