"""The CI configurations in docs/guide/gate.md: they are valid YAML, and their commands run."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
import yaml
from check_docs import ROOT, blocks, environment

PAGE = ROOT / "docs" / "guide" / "gate.md"


def configurations() -> list[dict[Any, Any]]:
    text = PAGE.read_text(encoding="utf-8")
    return [yaml.safe_load("\n".join(block.lines)) for block in blocks(text) if block.language == "yaml"]


def gate(lines: list[str]) -> str:
    """The one command that checks."""
    (line,) = [line for line in lines if line.startswith("calipers check ")]
    return line


def run(line: str, folder: Path) -> subprocess.CompletedProcess[str]:
    shutil.copy(ROOT / "examples" / "breast_cancer.csv", folder / "predictions.csv")
    return subprocess.run(
        ["bash", "-c", line], cwd=folder, env=environment(ROOT), capture_output=True, text=True, check=False
    )


def test_github_actions_run_the_gate_and_are_annotated(tmp_path: Path) -> None:
    github, _ = configurations()
    # YAML 1.1 reads the key `on` as true.
    assert {"name", "jobs"} <= set(github)
    assert "on" in github or True in github
    (job,) = github["jobs"].values()
    assert job["runs-on"]
    assert all(set(step) & {"uses", "run"} for step in job["steps"])
    line = gate([step["run"] for step in job["steps"] if "run" in step])
    passed = run(line, tmp_path)
    assert (passed.returncode, passed.stderr) == (0, "")
    assert passed.stdout.startswith("::notice title=calipers check::passed: ")
    failed = run(line.replace("--prob mlp", "--prob naive_bayes").replace("=0.05", "=0.01"), tmp_path)
    assert failed.returncode == 1
    assert failed.stdout.startswith("::error file=predictions.csv,title=calipers check%3A failed::")


@pytest.mark.parametrize(("limit", "code"), [("=0.05", 0), ("=0", 1)])
def test_gitlab_reads_the_report_that_the_gate_writes(limit: str, code: int, tmp_path: Path) -> None:
    _, gitlab = configurations()
    (job,) = gitlab.values()
    assert {"image", "script", "artifacts"} == set(job)
    line = gate(job["script"]).replace("=0.05", limit)
    found = run(line.replace("--prob mlp", "--prob naive_bayes") if code else line, tmp_path)
    assert found.returncode == code, found.stderr
    # The log has the table, and the file that GitLab is told of has the test cases.
    assert found.stdout.startswith(("passed: ", "failed: "))
    report = ET.parse(tmp_path / job["artifacts"]["reports"]["junit"]).getroot()
    assert (report.tag, report.get("tests"), report.get("failures")) == ("testsuites", "1", str(code))
    assert job["artifacts"]["when"] == "always"
