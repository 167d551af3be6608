"""The public names of the package, with their signatures, are those of fixtures/public_names.json.

A name that is added, changed or removed on purpose is a line in CHANGELOG.md, and the table is
written anew: CALIPERS_UPDATE=1 pytest python/tests/test_public_names.py. That fails, and writes
nothing, if the newest section of CHANGELOG.md does not have a name that came or went, in backticks.
"""

from __future__ import annotations

import inspect
import json
import os
import re
import sys
from pathlib import Path
from typing import Any

import calipers

sys.path.insert(0, str(Path(__file__).parents[2] / "scripts"))
from changelog import unmentioned

ROOT = Path(__file__).parents[2]
TABLE = ROOT / "fixtures" / "public_names.json"
CHANGELOG = ROOT / "CHANGELOG.md"
BUILT_IN = (object, float, int, str, tuple, dict, Exception, ValueError, BaseException)


def signature(thing: Any) -> str:
    """Names, kinds and defaults of the parameters. Annotations are checked by mypy and stubtest."""
    try:
        found = inspect.signature(thing)
    except (TypeError, ValueError):
        return "(...)"
    bare = [parameter.replace(annotation=parameter.empty) for parameter in found.parameters.values()]
    text = str(found.replace(parameters=bare, return_annotation=found.empty))
    # Objects without a text of their own have their address in it.
    return re.sub(r" at 0x[0-9a-f]+", "", text)


def members(kind: type) -> dict[str, str]:
    """The public attributes and methods that calipers defines, its own bases included."""
    found: dict[str, str] = {}
    for base in kind.__mro__:
        if not base.__module__.startswith("calipers"):
            continue
        for name in {*vars(base), *inspect.get_annotations(base)}:
            if not name.startswith("_") and name not in found:
                member = getattr(kind, name, None)
                found[name] = signature(member) if inspect.isroutine(member) else "attribute"
    return dict(sorted(found.items()))


def described(thing: Any) -> Any:
    """A name as plain data: the signature of a function, the members of a class, or its type."""
    if inspect.isclass(thing):
        bases = [base.__name__ for base in thing.__mro__[1:] if base in BUILT_IN and base is not object]
        return {"class": signature(thing), "bases": bases[:1], "members": members(thing)}
    return signature(thing) if callable(thing) else type(thing).__name__


def made() -> dict[str, Any]:
    """The whole table."""
    return {name: described(getattr(calipers, name)) for name in calipers.__all__}


def came_or_went(table: dict[str, Any], kept: dict[str, Any]) -> set[str]:
    """Names of the package, and members of classes that stay."""
    names = set(table) ^ set(kept)
    for name in set(table) & set(kept):
        now, before = (of[name]["members"] if isinstance(of[name], dict) else {} for of in (table, kept))
        names |= set(now) ^ set(before)
    return names


def test_public_names_change_only_on_purpose() -> None:
    table, kept = made(), json.loads(TABLE.read_text(encoding="utf-8"))
    if os.environ.get("CALIPERS_UPDATE"):
        assert unmentioned(came_or_went(table, kept), CHANGELOG.read_text(encoding="utf-8")) == []
        TABLE.write_text(json.dumps(table, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        kept = table
    advice = "if that is meant, write it in CHANGELOG.md and run this test with CALIPERS_UPDATE=1"
    assert sorted(set(table) - set(kept)) == [], f"these names are new; {advice}"
    assert sorted(set(kept) - set(table)) == [], f"these names are gone; {advice}"
    changed = {name: (kept[name], table[name]) for name in table if table[name] != kept[name]}
    assert changed == {}, f"these names have changed; {advice}"


def test_a_new_name_needs_a_line_in_the_changelog() -> None:
    written = "## Unreleased\n\n- `ls_ece_sampled` and `ls_ece`"
    assert unmentioned({"ls_ece", "new_name"}, written) == ["new_name"]


def test_a_new_method_needs_one_too() -> None:
    kept = {"Sketch": {"members": {"merge": "(self, other)"}}, "ls_ece": "(y, p)"}
    table = {"Sketch": {"members": {"merge": "(self)", "subtract": "(self, other)"}}, "ls_ece": "(y)"}
    assert came_or_went(table, kept) == {"subtract"}


def test_no_text_depends_on_the_machine() -> None:
    text = TABLE.read_text(encoding="utf-8")
    assert " at 0x" not in text and str(ROOT) not in text


def test_the_table_sees_a_changed_default() -> None:
    def before(rows: int, *, n_bins: int = 15) -> None: ...
    def after(rows: int, *, n_bins: int = 10) -> None: ...

    assert described(before) == "(rows, *, n_bins=15)" != described(after)
