"""Whether the shell can read what make runs: nothing else runs the rare targets before a release."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
TARGETS = re.findall(r"^([a-z][a-z-]*):", (ROOT / "Makefile").read_text(), re.MULTILINE)


@pytest.mark.parametrize("target", TARGETS)
def test_the_shell_can_read_every_line_of_a_target(target: str) -> None:
    make = ["make", "--dry-run", "--always-make", "--no-print-directory", target]
    lines = subprocess.run(make, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    read = subprocess.run(["bash", "-n"], input=lines, capture_output=True, text=True, check=False)
    assert read.returncode == 0, read.stderr
