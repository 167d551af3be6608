"""What action.yml runs: `calipers check`, with annotations and a summary of the job.

The inputs are the variables CHECK_FILES and CHECK_MAX, with one entry on each line, and CHECK_ARGS,
with options as in a shell. The log has the table and the annotations. The command itself adds the
table to the summary of the job (GITHUB_STEP_SUMMARY); this script adds the error if there is none.
The exit code is that of the command.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Mapping
from pathlib import Path


def command(inputs: Mapping[str, str], annotations: Path) -> list[str]:
    """The arguments of the command. Names of files that begin with a dash are not read as options."""
    files, limits = (
        [line.strip() for line in inputs.get(name, "").splitlines() if line.strip()]
        for name in ("CHECK_FILES", "CHECK_MAX")
    )
    if not files or not limits:
        raise SystemExit("the inputs files and max need a line each, such as predictions.csv and ls-ece=0.03")
    maxima = [argument for limit in limits for argument in ("--max", limit)]
    output = ["--color", "never", "--output-format", "github", "-o", str(annotations)]
    return ["check", *maxima, *shlex.split(inputs.get("CHECK_ARGS", "")), *output, "--", *files]


def failure(error: str) -> str:
    """Markdown with an error of the command, which then writes no summary."""
    # A fence that is longer than any in the text, which may have names from files.
    fence = "```"
    while fence in error:
        fence += "`"
    return f"### calipers check: error\n\n{fence}text\n{error.strip()}\n{fence}\n"


def executable() -> str:
    """The command that pip installed beside this Python, or that of the path."""
    found = shutil.which("calipers", path=sysconfig.get_path("scripts")) or shutil.which("calipers")
    if found is None:
        raise SystemExit("calipers is not installed; run pip install calipers-cli")
    return found


def main() -> int:
    """Run the command once; print the table, the annotations and the warnings."""
    with tempfile.TemporaryDirectory() as folder:
        annotations = Path(folder, "annotations.txt")
        arguments = [executable(), *command(os.environ, annotations)]
        run = subprocess.run(arguments, capture_output=True, encoding="utf-8", errors="replace", check=False)
        noted = annotations.read_text(encoding="utf-8") if annotations.exists() else ""
    print(run.stdout, noted, sep="\n", end="", flush=True)
    print(run.stderr, end="", file=sys.stderr, flush=True)
    if os.environ.get("GITHUB_STEP_SUMMARY") and not run.stdout:
        with open(os.environ["GITHUB_STEP_SUMMARY"], "a", encoding="utf-8") as file:
            file.write(failure(run.stderr))
    return run.returncode


if __name__ == "__main__":
    sys.exit(main())
