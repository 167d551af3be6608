"""The script of action.yml: it runs the command that it is asked for, and writes a summary."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from action_check import command, failure
from check_docs import ROOT, environment


def run(tmp_path: Path, **inputs: str) -> tuple[subprocess.CompletedProcess[str], str]:
    """What the script prints, and the summary that it writes."""
    written = tmp_path / "summary.md"
    env = {**environment(ROOT), "GITHUB_STEP_SUMMARY": str(written), **inputs}
    script = ROOT / "scripts" / "action_check.py"
    done = subprocess.run(
        [sys.executable, str(script)], cwd=ROOT, env=env, capture_output=True, encoding="utf-8", check=False
    )
    return done, written.read_text(encoding="utf-8") if written.exists() else ""


@pytest.mark.parametrize(
    ("prob", "limit", "code", "verdict", "annotation"),
    [("mlp", "0.05", 0, "passed", "::notice "), ("naive_bayes", "0.01", 1, "failed", "::error file=")],
)
def test_the_verdict_is_printed_annotated_and_summarised(
    prob: str, limit: str, code: int, verdict: str, annotation: str, tmp_path: Path
) -> None:
    done, written = run(
        tmp_path,
        CHECK_FILES="examples/breast_cancer.csv\n",
        CHECK_MAX=f"ls-ece={limit}\n",
        CHECK_ARGS=f"--prob {prob} --sigma 0.3",
    )
    assert done.returncode == code, done.stderr
    assert done.stdout.startswith(f"{verdict}: ")
    assert f"\n{annotation}" in done.stdout
    assert written.startswith(f"### calipers check: {verdict}\n\n{verdict}: residual LS-ECE ")
    assert "\n| verdict | measure | n | value | residual | interval | max | p | notes |\n" in written


def test_an_error_is_in_the_summary_too(tmp_path: Path) -> None:
    done, written = run(tmp_path, CHECK_FILES="absent.csv", CHECK_MAX="ls-ece=0.05", CHECK_ARGS="")
    assert done.returncode == 2
    assert "absent.csv" in done.stderr and "absent.csv" in written
    assert written.startswith("### calipers check: error\n\n```text\n")


def test_inputs_become_arguments_and_files_never_options() -> None:
    inputs = {
        "CHECK_FILES": "a b.csv\n\n --strict \n",
        "CHECK_MAX": "ls-ece=0.03\nece=0.1",
        "CHECK_ARGS": "--by 'my g'",
    }
    found = command(inputs, Path("notes"))
    assert found[:7] == ["check", "--max", "ls-ece=0.03", "--max", "ece=0.1", "--by", "my g"]
    assert found[-3:] == ["--", "a b.csv", "--strict"]


@pytest.mark.parametrize("missing", ["CHECK_FILES", "CHECK_MAX"])
def test_an_empty_input_is_an_error(missing: str) -> None:
    inputs = {"CHECK_FILES": "a.csv", "CHECK_MAX": "ece=0.1", missing: " \n"}
    with pytest.raises(SystemExit, match="files and max need a line each"):
        command(inputs, Path("notes"))


def test_text_from_files_cannot_end_the_block_of_the_summary() -> None:
    written = failure("calipers: ```: no such file\n# heading")
    assert written.count("````") == 2


def test_the_action_passes_each_input_that_the_script_reads() -> None:
    action = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
    step = action["runs"]["steps"][-1]
    assert {name for name in step["env"] if name.startswith("CHECK_")} == {"CHECK_FILES", "CHECK_MAX", "CHECK_ARGS"}
    used = {
        value.split("inputs.")[1].split(" ")[0]
        for s in action["runs"]["steps"]
        for value in s.get("env", {}).values()
        if "inputs." in value
    }
    assert used == set(action["inputs"])


def test_the_hook_checks_the_files_of_predictions() -> None:
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    assert hook["entry"] == "calipers check"
    done = subprocess.run(
        ["bash", "-c", 'calipers check "$@"', "bash", *hook["args"], "--prob", "mlp", "examples/breast_cancer.csv"],
        cwd=ROOT,
        env=environment(ROOT),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
