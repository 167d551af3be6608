"""docs/dependencies.md lists every direct dependency with its reason, and no other; requirements are pinned."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parent.parent
REQUIREMENTS = sorted([*ROOT.glob("requirements*.txt"), *ROOT.glob("*/requirements.txt")])


def _toml(path: Path) -> dict[str, Any]:
    return tomllib.loads(path.read_text())


def _members() -> list[Path]:
    return [ROOT / member / "Cargo.toml" for member in _toml(ROOT / "Cargo.toml")["workspace"]["members"]]


def _crates(*tables: str) -> set[str]:
    """Crates of others that the tables of any member name."""
    names = set()
    for path in _members():
        manifest = _toml(path)
        for part in [manifest, *manifest.get("target", {}).values()]:
            for table in tables:
                names |= set(part.get(table, {}))
    return names - {_toml(path)["package"]["name"] for path in _members()}


def _requirements(path: Path) -> dict[str, str]:
    """Name -> the rest of its line."""
    lines = [line.split("#")[0].strip() for line in path.read_text().splitlines()]
    found = [re.fullmatch(r"([\w.-]+)(\[[^]]*\])?(.*)", line) for line in lines if line]
    return {match[1]: match[3] for match in found if match}


def _names(requirements: list[str]) -> set[str]:
    return {re.split(r"[^\w.-]", requirement)[0] for requirement in requirements}


def _listed(heading: str) -> set[str]:
    """The names in the first column of the table of a section."""
    section = (ROOT / "docs" / "dependencies.md").read_text().split(f"## {heading}\n")[1].split("\n## ")[0]
    rows = [line for line in section.splitlines() if line.startswith("| `")]
    assert all(row.split("|")[-2].strip() for row in rows), "each has a reason"
    return {name for row in rows for name in re.findall(r"`([^`]+)`", row.split("|")[1])}


def test_the_crates_of_the_programs_are_listed() -> None:
    assert _listed("Rust: dependencies that are not only for tests") == _crates("dependencies", "build-dependencies")


def test_the_crates_of_tests_are_listed() -> None:
    expected = _crates("dev-dependencies") - _crates("dependencies", "build-dependencies")
    assert _listed("Rust: what only tests and benches use") == expected


def test_the_python_packages_are_listed() -> None:
    project = _toml(ROOT / "pyproject.toml")
    needed = _names(project["project"]["dependencies"]) | _names(project["build-system"]["requires"])
    for extra in project["project"]["optional-dependencies"].values():
        needed |= _names(extra)
    assert _listed("Python: what the package needs") == needed
    others = {name for path in REQUIREMENTS for name in _requirements(path)} - needed
    assert _listed("Python: what tests, documents and benches use") == others


def test_every_requirement_is_pinned() -> None:
    assert len(REQUIREMENTS) >= 6
    for path in REQUIREMENTS:
        for name, version in _requirements(path).items():
            assert re.match(r"==\d[\w.]*(;|$)", version), f"{path.name}: {name}{version}"
