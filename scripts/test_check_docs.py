"""check_docs.py must fail where a document is wrong, and only there."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import check_docs
import pytest


def run(tmp_path: Path, text: str) -> list[str | None]:
    """The problem of each example of a document, None where it passed."""
    page = tmp_path / "page.md"
    page.write_text(text)
    return [o.problem for o in check_docs.check_file(page, tmp_path)]


def console(*lines: str) -> str:
    return "\n".join(["```console", *lines, "```", ""])


def python(*lines: str) -> str:
    return "\n".join(["```python", *lines, "```", ""])


@pytest.mark.parametrize(
    ("expected", "actual", "same"),
    [
        (["a", "b"], ["a", "b"], True),
        (["a"], ["a", "b"], False),
        (["a", "b"], ["a"], False),
        ([], [], True),
        ([], ["a"], False),
        (["a  ", "", ""], ["a"], True),
        (["", "a"], ["a"], False),
        (["..."], [], True),
        (["...", "z"], ["a", "b", "z"], True),
        (["a", "...", "z"], ["a", "z"], True),
        (["a", "..."], ["b", "a"], False),
        (["took [..] s"], ["took 0.1 s"], True),
        (["took [..] s"], ["took 0.1", " s"], False),
        (["1.5 (x)"], ["1.5 (x)"], True),
        (["1.5"], ["1x5"], False),
        (["a" * 80, "b"], ["a" * 80 + " b"], True),
        (["a" * 80, "b"], ["a" * 80, "b"], True),
        (["a" * 80, "b"], ["a" * 80 + "b"], False),
        (["a" * 79, "b"], ["a" * 79 + " b"], False),
    ],
)
def test_output_is_matched_line_by_line(expected: list[str], actual: list[str], same: bool) -> None:
    assert check_docs.matches(expected, actual) is same


def test_each_command_is_checked_on_its_own(tmp_path: Path) -> None:
    page = console("$ echo a", "a", "", "$ echo b", "c", "$ printf 'd\\ne\\n'", "d", "e")
    first, second, third = run(tmp_path, page)
    assert first is None and third is None
    assert second is not None and "-c" in second and "+b" in second


def test_standard_error_is_output_too(tmp_path: Path) -> None:
    assert run(tmp_path, console("$ echo a >&2", "a")) == [None]


def test_failing_command_fails_even_if_its_output_matches(tmp_path: Path) -> None:
    (problem,) = run(tmp_path, console("$ echo a; exit 3", "..."))
    assert problem is not None and "exit code 3" in problem and "a" in problem


def test_a_file_that_is_left_behind_is_a_fault(tmp_path: Path) -> None:
    assert run(tmp_path, console("$ touch made; rm made")) == [None]
    first, left = run(tmp_path, console("$ touch made"))
    assert first is None and left is not None and "leave made behind" in left


def test_command_may_go_on_over_several_lines(tmp_path: Path) -> None:
    assert run(tmp_path, console("$ echo a \\", ">   b", "a b")) == [None]


def test_command_runs_in_the_root_with_the_build_first_on_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CARGO_TARGET_DIR", raising=False)
    for folder, name in (("target/fast", "tool"), (".venv/bin", "tool")):
        (tmp_path / folder).mkdir(parents=True)
        tool = tmp_path / folder / name
        tool.write_text(f"#!/bin/sh\necho {folder}\n")
        tool.chmod(0o755)
    page = console("$ tool", "target/fast", "$ ls page.md", "page.md")
    assert run(tmp_path, page) == [None, None]


def test_python_blocks_of_a_file_share_a_namespace(tmp_path: Path) -> None:
    assert run(tmp_path, python("x = 1") + python("assert x == 1")) == [None, None]


def test_python_failure_names_its_line_in_the_document(tmp_path: Path) -> None:
    (problem,) = run(tmp_path, "text\n\n" + python("x = 1", "x / 0"))
    assert problem is not None and "ZeroDivisionError" in problem
    assert 'page.md", line 5' in problem


def test_python_block_cannot_end_the_check(tmp_path: Path) -> None:
    first, second = run(tmp_path, python("raise SystemExit(0)") + python("pass"))
    assert first is not None and second is None


def test_prompts_make_a_doctest(tmp_path: Path) -> None:
    page = python("x = 2") + python(">>> y = x + 1", ">>> y", "3") + python("y")
    assert run(tmp_path, page) == [None, None, None]
    (problem,) = run(tmp_path, python(">>> 1 + 1", "3"))
    assert problem is not None and "Expected" in problem


def test_long_output_of_a_doctest_may_be_wrapped(tmp_path: Path) -> None:
    words = ["word"] * 16 + ["long"] * 16
    printed, first, second = " ".join(words), " ".join(words[:16]), " ".join(words[16:])
    assert len(first) == 79
    (problem,) = run(tmp_path, python(f">>> print('{printed}')", first, second))
    assert problem is not None
    first, second = " ".join(words[:17]), " ".join(words[17:])
    assert run(tmp_path, python(f">>> print('{printed}')", first, second)) == [None]


def test_pages_in_folders_are_checked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "docs" / "guide").mkdir(parents=True)
    (tmp_path / "README.md").touch()
    (tmp_path / "docs" / "guide" / "page.md").write_text(python("1 / 0"))
    assert check_docs.main([], tmp_path) == 1
    assert "docs/guide/page.md:2: failed" in capsys.readouterr().out


def test_marked_block_is_not_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    marked = "<!-- not run: needs a cluster -->\n\n"
    assert run(tmp_path, marked + python("1 / 0") + console("$ true")) == [None]
    assert "page.md:4: not run: needs a cluster" in capsys.readouterr().out


def test_other_languages_are_left_alone(tmp_path: Path) -> None:
    assert run(tmp_path, "```rust\nfn\n```\n````text\n```python\n1/0\n```\n````\n") == []


@pytest.mark.parametrize("page", ["```python\nx = 1\n", console("a", "$ echo a")], ids=["unclosed", "no $"])
def test_malformed_page_is_a_failure(tmp_path: Path, page: str) -> None:
    (problem,) = run(tmp_path, page)
    assert problem is not None


def test_closing_line_and_exit_code(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "README.md").write_text(python("x = 1"))
    assert check_docs.main([], tmp_path) == 0
    assert capsys.readouterr().out == "1 passed, 0 failed\n"
    (tmp_path / "docs" / "more.md").write_text(console("$ false"))
    assert check_docs.main([], tmp_path) == 1
    out = capsys.readouterr().out
    assert "docs/more.md:2: failed" in out and out.endswith("1 passed, 1 failed\n")


@pytest.mark.parametrize(("last", "code"), [("x = 1", 0), ("1 / 0", 1)], ids=["passes", "fails"])
def test_what_packages_do_when_the_interpreter_ends_is_not_the_result(tmp_path: Path, last: str, code: int) -> None:
    page = tmp_path / "page.md"
    aborts = ["import os, sys", "class Thread:", "    def __del__(self, abort=os.abort):", "        abort()"]
    page.write_text(python(*aborts, "sys.thread = Thread()", last))
    done = subprocess.run([sys.executable, check_docs.__file__, page], capture_output=True, text=True, check=False)
    assert done.returncode == code, done
    assert done.stdout.endswith(f"{1 - code} passed, {code} failed\n")
