"""Run the examples of both READMEs and of all pages in docs/, so that what they show stays true.

A ```python block is executed; the blocks of one file share one namespace. With `>>>`
prompts it is a doctest: the output is compared too.

In a ```console block a line `$ command` is run by bash, with `calipers` and the
virtual environment on PATH (`\\` at its end continues it). The lines up to the next
`$` are what it must print, on standard output and error together: `...` alone on a
line stands for any lines, `[..]` for any run of characters within one. The command
must succeed; to show one that does not, write `$ command; echo "exit code $?"`.

A line of output with 80 columns or more may go on in the next line of the document, as
in a terminal that wraps it at a space.

Everything runs from the root of the repository, and must leave no file there. A block is skipped if the line above it
is `<!-- not run: reason -->`, or `<!-- needs: module, ... -->` and one of the modules is not installed.

    python scripts/check_docs.py [FILE ...]
"""

from __future__ import annotations

import atexit
import contextlib
import difflib
import doctest
import importlib.util
import io
import os
import re
import subprocess
import sys
import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
TIME_LIMIT = 600  # seconds for one command
LONG = 80  # columns from which on a line of output may be wrapped in a document

FENCE = re.compile(r"^(?P<indent>[ \t]*)(?P<fence>`{3,}|~{3,})[ \t]*(?P<info>[^`]*)$")
NEEDS = re.compile(r"^\s*<!--\s*needs:\s*(?P<modules>\S.*?)\s*-->\s*$")
NOT_RUN = re.compile(r"^\s*<!--\s*not run:\s*(?P<reason>\S.*?)\s*-->\s*$")


@dataclass
class Block:
    """A fenced block: its language, its first line's number in the file, its lines."""

    language: str
    line: int
    lines: list[str]
    not_run: str | None = None


@dataclass
class Command:
    """One `$` line of a console block, and the output that must follow."""

    line: int
    text: str
    expected: list[str]


@dataclass
class Outcome:
    """What became of one example. `problem` is None if it passed."""

    line: int
    problem: str | None = None


class Malformed(Exception):
    """A file that cannot be read further."""

    def __init__(self, line: int, problem: str) -> None:
        super().__init__(problem)
        self.line = line


def blocks(text: str) -> Iterator[Block]:
    lines = text.splitlines()
    above = ""  # the last line before the fence that is not blank
    number = 0
    while number < len(lines):
        opening = FENCE.match(lines[number])
        if opening is None:
            above = lines[number] if lines[number].strip() else above
            number += 1
            continue
        indent, fence = opening["indent"], opening["fence"]
        closing = re.compile(rf"^\s*{fence[0]}{{{len(fence)},}}\s*$")
        info = opening["info"].split()
        block = Block(
            language=info[0].lower() if info else "",
            line=number + 2,
            lines=[],
            not_run=reason_not_to_run(above),
        )
        number += 1
        while number < len(lines) and not closing.match(lines[number]):
            block.lines.append(lines[number].removeprefix(indent))
            number += 1
        if number == len(lines):
            raise Malformed(block.line - 1, "the block is never closed")
        above = ""
        number += 1
        yield block


def reason_not_to_run(above: str) -> str | None:
    """Why the block below that line is not run here, if it is not."""
    if skipped := NOT_RUN.match(above):
        return skipped["reason"]
    needed = NEEDS.match(above)
    names = needed["modules"].replace(",", " ").split() if needed else []
    missing = [name for name in names if importlib.util.find_spec(name) is None]
    return f"{' and '.join(missing)} not installed" if missing else None


def commands(block: Block) -> list[Command]:
    result: list[Command] = []
    for number, line in enumerate(block.lines, block.line):
        if line.startswith("$ "):
            result.append(Command(number, line[2:], []))
        elif not result:
            raise Malformed(number, "output before the first `$ command`")
        elif result[-1].text.endswith("\\") and not result[-1].expected:
            result[-1].text += "\n" + line.removeprefix("> ")
        else:
            result[-1].expected.append(line)
    return result


def tidy(lines: list[str]) -> list[str]:
    """Without white space at the ends of lines, nor blank lines at the end."""
    return "\n".join(line.rstrip() for line in lines).rstrip("\n").splitlines()


def matches(expected: list[str], actual: list[str]) -> bool:
    pattern = ""
    for line in tidy(expected):
        if line.strip() == "...":
            pattern += r"(?:[^\n]*\n)*"
        else:
            end = r"[\n ]" if len(line) >= LONG else r"\n"
            pattern += r"[^\n]*".join(map(re.escape, line.split("[..]"))) + end
    return re.fullmatch(pattern, "".join(f"{x}\n" for x in tidy(actual))) is not None


class Wrapped(doctest.OutputChecker):
    """Compares the output of a doctest, whose long lines may be wrapped in the document."""

    def check_output(self, want: str, got: str, optionflags: int) -> bool:
        return super().check_output(want, got, optionflags) or matches(want.splitlines(), got.splitlines())


def environment(root: Path) -> dict[str, str]:
    target = Path(os.environ.get("CARGO_TARGET_DIR", "target"))
    first = [root / target / "fast", root / ".venv" / "bin"]
    path = os.pathsep.join([*map(str, first), os.environ.get("PATH", os.defpath)])
    return {**os.environ, "PATH": path, "NO_COLOR": "1"}


def run_command(command: Command, root: Path) -> Outcome:
    try:
        done = subprocess.run(
            ["bash", "-o", "pipefail", "-c", command.text],
            check=False,
            cwd=root,
            env=environment(root),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            errors="replace",
            timeout=TIME_LIMIT,
        )
    except subprocess.TimeoutExpired:
        return Outcome(command.line, f"$ {command.text}\ntook over {TIME_LIMIT} s")
    actual = done.stdout.splitlines()
    problem = [f"$ {command.text}"]
    if not matches(command.expected, actual):
        expected, actual = tidy(command.expected), tidy(actual)
        diff = difflib.unified_diff(expected, actual, "expected", "printed", lineterm="")
        problem += diff
    elif done.returncode != 0:
        problem += actual
    if done.returncode != 0:
        problem.append(f"exit code {done.returncode}")
    return Outcome(command.line, "\n".join(problem) if len(problem) > 1 else None)


def run_python(block: Block, path: Path, namespace: dict[str, Any]) -> Outcome:
    source = "\n".join(block.lines) + "\n"
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        try:
            if re.search(r"^\s*>>> ", source, re.MULTILINE):
                test = doctest.DocTestParser().get_doctest(source, namespace, path.name, str(path), block.line - 1)
                runner = doctest.DocTestRunner(Wrapped(), optionflags=doctest.ELLIPSIS)
                failed = runner.run(test, clear_globs=False).failed > 0
                namespace.update(test.globs)  # get_doctest works on a copy
            else:
                # The blank lines make tracebacks show the line of the Markdown file.
                shifted = "\n" * (block.line - 1) + source
                exec(compile(shifted, str(path), "exec"), namespace)  # noqa: S102
                failed = False
        # No example may end the check, whatever it raises.
        except (Exception, SystemExit) as error:  # noqa: BLE001
            own = error.__traceback__  # this frame: of no use to the reader
            traceback.print_exception(type(error), error, own and own.tb_next)
            failed = True
    return Outcome(block.line, printed.getvalue().rstrip() if failed else None)


def shown(path: Path, root: Path) -> str:
    return os.path.relpath(path, root)


def check_file(path: Path, root: Path) -> list[Outcome]:
    """Run all the examples of one file, in order."""
    outcomes: list[Outcome] = []
    namespace: dict[str, Any] = {"__name__": "__main__"}
    before, files = Path.cwd(), set(os.listdir(root))
    os.chdir(root)
    try:
        for block in blocks(path.read_text(encoding="utf-8")):
            if block.language not in ("python", "pycon", "console"):
                continue
            if block.not_run is not None:
                print(f"{shown(path, root)}:{block.line}: not run: {block.not_run}")
            elif block.language == "console":
                outcomes += [run_command(c, root) for c in commands(block)]
            else:
                outcomes.append(run_python(block, path, namespace))
    except Malformed as malformed:
        outcomes.append(Outcome(malformed.line, str(malformed)))
    finally:
        os.chdir(before)
    if left := sorted(set(os.listdir(root)) - files):
        outcomes.append(Outcome(1, f"its examples leave {', '.join(left)} behind"))
    return outcomes


def main(arguments: list[str], root: Path = ROOT) -> int:
    files = [Path(a).resolve() for a in arguments]
    own = [root / name for name in ("README.md", "python/README.md") if (root / name).exists()]
    files = files or [*own, *sorted((root / "docs").rglob("*.md"))]
    n_passed = n_failed = 0
    for path in files:
        outcomes = check_file(path, root)
        for outcome in outcomes:
            if outcome.problem is not None:
                n_failed += 1
                print(f"{shown(path, root)}:{outcome.line}: failed\n{outcome.problem}\n")
        n_passed += sum(o.problem is None for o in outcomes)
    print(f"{n_passed} passed, {n_failed} failed")
    return 1 if n_failed else 0


def leave(codes: list[int]) -> None:
    """End the process here, with the last of the exit codes, if there is one.

    Spark, DuckDB and pyarrow have threads of C++. If one of them still runs while the interpreter takes its modules
    down, the process is aborted, after every example has passed.
    """
    if codes:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(codes[-1])


if __name__ == "__main__":
    exit_codes: list[int] = []
    # What is registered first is called last: after the clean-up of what the examples imported.
    atexit.register(leave, exit_codes)
    exit_codes.append(main(sys.argv[1:]))
    sys.exit(exit_codes[-1])
