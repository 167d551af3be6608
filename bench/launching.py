"""Commands in their own processes, with their time and memory."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path


def launch(command: list[str]) -> tuple[dict[str, float], str]:
    """The seconds, the peak memory and the output of a command."""
    launcher = str(Path(__file__).with_name("launch.py"))
    child = subprocess.run([sys.executable, "-S", launcher, *command], stdout=subprocess.PIPE, text=True, check=True)
    usage, _, output = child.stdout.partition("\n")
    fields = json.loads(usage)
    if fields["exit_code"] != 0:
        raise RuntimeError(f"{command[0]} ended with exit code {fields['exit_code']}")
    return fields, output
