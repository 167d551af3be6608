"""Whether the check before a release finds what is not ready."""

from __future__ import annotations

import pytest
from check_release import faults, tracked, version

READY = {
    "Cargo.toml": '[workspace.package]\nversion = "1.2.3"\n\n'
    '[workspace.dependencies]\ncalipers = { path = "crates/calipers", version = "1.2.3" }\n',
    "CHANGELOG.md": "# Changes\n\n## [Unreleased]\n\n## [1.2.3] - 2030-01-02\n",
    "CITATION.cff": "version: 1.2.3\n",
    "r/DESCRIPTION": "Package: calipers\nVersion: 1.2.3\n",
    "README.md": "https://github.com/someone/calipers",
}


def test_a_ready_repository_has_no_faults() -> None:
    assert faults("v1.2.3", READY) == []


@pytest.mark.parametrize(
    ("path", "before", "after", "said"),
    [
        ("Cargo.toml", '\nversion = "1.2.3"', '\nversion = "1.2.4"', "the tag must be v1.2.4"),
        ("Cargo.toml", ', version = "1.2.3" }', ', version = "1.2.2" }', "a dependency has another version"),
        ("CHANGELOG.md", "## [1.2.3]", "## [1.2.30]", "CHANGELOG.md has no section 1.2.3"),
        ("CITATION.cff", "1.2.3", "1.2.2", "CITATION.cff has another version"),
        ("r/DESCRIPTION", "1.2.3", "1.2.2", "r/DESCRIPTION has another version"),
        ("README.md", "github.com/someone", "github.com/OWNER", "README.md has the placeholder OWNER"),
    ],
)
def test_each_fault_is_found(path: str, before: str, after: str, said: str) -> None:
    assert before in READY[path]
    found = faults("v1.2.3", {**READY, path: READY[path].replace(before, after)})
    assert any(said in line for line in found), found


def test_the_files_of_this_repository_can_be_read() -> None:
    texts = tracked()
    assert version(texts["Cargo.toml"])
    # Everything that a check names is there.
    assert faults("v0.0.0", texts)
