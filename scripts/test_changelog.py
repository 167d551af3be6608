"""A public name that comes or goes needs a line in CHANGELOG.md that is about it."""

from __future__ import annotations

from pathlib import Path

from changelog import newest, unmentioned

OLD = "## 0.1.0 - 2030-01-02\n\n### Added\n\n- `ls_ece` and `Sketch::merge`, to measure.\n"


def test_the_newest_section_is_the_one_that_counts() -> None:
    assert unmentioned({"ls_ece", "merge", "new"}, f"# Changelog\n\n## Unreleased\n\n{OLD}") == ["new"]
    written = f"# Changelog\n\n## Unreleased\n\n- `cal.new(rows)` is new.\n\n{OLD}"
    assert unmentioned({"ls_ece", "new"}, written) == ["ls_ece"]


def test_a_word_of_a_sentence_and_a_part_of_a_name_are_not_enough() -> None:
    assert unmentioned({"measure", "ls", "Sketch"}, OLD) == ["ls", "measure"]


def test_the_changelog_of_this_repository_has_a_newest_section() -> None:
    text = (Path(__file__).parents[1] / "CHANGELOG.md").read_text(encoding="utf-8")
    assert newest(text).strip()
    assert text.index("## Unreleased") < text.index("## 0.1.0")
