"""Fails where a line of Markdown or a comment is longer than 100 columns.

Longer lines are allowed where breaking them would change what they say: rows of tables, lines with
a URL or one long word, and code blocks (their code is formatted elsewhere, and output is as the
program prints it). README.md has no exception.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

COLUMNS = 100
# Made by programs: `calipers study`, `make bench`.
GENERATED = ("docs/studies/", "bench/RESULTS.md")
COMMENT = {".rs": re.compile(r"\s*//[/!]?"), ".py": re.compile(r"\s*#"), ".pyi": re.compile(r"\s*#")}


def too_long(path: Path) -> Iterator[tuple[int, str]]:
    """The numbers and the text of the lines that should be wrapped."""
    comment = COMMENT.get(path.suffix)
    strict = path.name == "README.md" and path.parent == Path()
    fenced = False
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if comment is not None:
            marker = comment.match(line)
            if marker is None:
                fenced = False
                continue
            text = line[marker.end() :].strip()
        else:
            text = line.strip()
        fence = text.startswith("```")
        fenced ^= fence
        excused = fenced or fence or text.startswith("|") or "://" in text or " " not in text
        if len(line) > COLUMNS and (strict or not excused):
            yield number, line


def main() -> int:
    tracked = subprocess.run(
        ["git", "ls-files", "*.md", "*.rs", "*.py", "*.pyi"], check=True, capture_output=True, text=True
    ).stdout.splitlines()
    paths = [Path(name) for name in tracked if not name.startswith(GENERATED) and Path(name).exists()]
    found = [(path, number, len(line)) for path in paths for number, line in too_long(path)]
    for path, number, columns in found:
        print(f"{path}:{number}: {columns} columns; wrap Markdown and comments at {COLUMNS}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
