"""The pages of the API reference, and the table of README.md."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import calipers
import pytest
import readme_table

ROOT = Path(__file__).resolve().parent.parent
SHOWN = re.compile(r"^::: calipers\.(\w+)$", re.MULTILINE)


def test_every_public_name_is_on_one_page() -> None:
    shown = [name for page in (ROOT / "docs" / "api").glob("*.md") for name in SHOWN.findall(page.read_text())]
    assert sorted(shown) == sorted(name for name in calipers.__all__ if not name.startswith("__"))


def test_every_public_name_is_in_the_index() -> None:
    index = (ROOT / "docs" / "api" / "README.md").read_text()
    missing = [name for name in calipers.__all__ if not name.startswith("__") and f"calipers.{name}]" not in index]
    assert missing == []


def test_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text().splitlines()) <= 120


def test_another_table_is_seen(tmp_path: Path) -> None:
    readme = tmp_path / "README.md"
    readme.write_text(f"before\n{readme_table.START}\nold\n{readme_table.END}\nafter\n")
    assert readme_table.main(["--check"], readme) == 1
    assert readme_table.main([], readme) == 0
    assert readme_table.main(["--check"], readme) == 0
    text = readme.read_text()
    assert text.startswith("before\n") and text.endswith("\nafter\n") and "old" not in text


PRESETS: dict[str, Any] = {"calipers": None, "scikit-learn": "sklearn"}


@pytest.mark.parametrize("tool", readme_table.TOOLS)
def test_where_a_probability_of_1_is_counted(tool: str) -> None:
    """By the presets, whose values are those of the packages: see python/integration/test_peers.py."""
    y, p = [1, 1, 0, 1], [0.9375, 0.9375, 1.0, 1.0]
    value = {"last": (3.875 - 3) / 4, "its own": (0.125 + 1) / 4}[readme_table.AT_ONE[tool]]
    found = calipers.expected_calibration_error(y, p, n_bins=8, compat=PRESETS.get(tool, tool))
    assert found == pytest.approx(value, abs=1e-6)
