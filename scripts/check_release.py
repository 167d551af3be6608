"""Is the repository ready for a release of this tag? One line for each thing that is not.

    python scripts/check_release.py v0.1.0

The tag has the version of Cargo.toml; CHANGELOG.md, CITATION.cff and r/DESCRIPTION have it, too;
and no address has the placeholder OWNER any more.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PLACEHOLDER = re.compile(r"github\.com/OWNER\b|\bOWNER\.github\.io|\bOWNER/calipers\b")
# They are about the placeholder.
EXPLAINED = {"RELEASE.md", "scripts/check_release.py", "scripts/test_check_release.py"}


def version(manifest: str) -> str:
    """The version of the workspace."""
    found = re.search(r'^\[workspace\.package\]\nversion = "([^"]+)"$', manifest, re.MULTILINE)
    if found is None:
        raise SystemExit("Cargo.toml has no version in [workspace.package]")
    return found[1]


def faults(tag: str, texts: dict[str, str]) -> list[str]:
    """What is not ready, given the texts of all files by their paths."""
    found = []
    wanted = version(texts["Cargo.toml"])
    if tag != f"v{wanted}":
        found.append(f"the tag is {tag}, and the version in Cargo.toml is {wanted}; the tag must be v{wanted}")
    for name in re.findall(r"^calipers[a-z-]* = .*$", texts["Cargo.toml"], re.MULTILINE):
        if "version" in name and f'version = "{wanted}"' not in name:
            found.append(f"Cargo.toml: a dependency has another version than {wanted}: {name}")
    if not re.search(rf"^## \[?{re.escape(wanted)}(\]|\s|$)", texts["CHANGELOG.md"], re.MULTILINE):
        found.append(f"CHANGELOG.md has no section {wanted}; rename Unreleased, with the date")
    if not re.search(rf"^version: {re.escape(wanted)}$", texts["CITATION.cff"], re.MULTILINE):
        found.append(f"CITATION.cff has another version than {wanted}")
    if not re.search(rf"^Version: {re.escape(wanted)}$", texts["r/DESCRIPTION"], re.MULTILINE):
        found.append(f"r/DESCRIPTION has another version than {wanted}")
    for path, text in texts.items():
        if path not in EXPLAINED and PLACEHOLDER.search(text):
            found.append(f"{path} has the placeholder OWNER; write the address of the repository")
    return found


def tracked() -> dict[str, str]:
    """The texts of all files that git knows, without those that are not UTF-8."""
    names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    texts = {}
    for name in filter(None, names.split("\0")):
        try:
            texts[name] = (ROOT / name).read_text(encoding="utf-8")
        except (UnicodeDecodeError, FileNotFoundError, IsADirectoryError):
            continue
    return texts


def main() -> None:
    """Print what is not ready, and fail if there is anything."""
    if len(sys.argv) != 2:
        sys.exit("usage: make check-release TAG=v0.1.0")
    found = faults(sys.argv[1], tracked())
    if found:
        sys.exit("\n".join(found))
    print(f"ready for {sys.argv[1]}")


if __name__ == "__main__":
    main()
