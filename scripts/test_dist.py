"""What `make dist` decides without building: targets, the bill of materials and the comparison of artifacts."""

from __future__ import annotations

import io
import json
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent / "dist"))
import compare
from targets import TARGETS, asked_for

pytest.importorskip("tomllib", reason="make dist needs Python 3.11 or later")
import build
import digits
import sbom

LOCK = {
    "package": [{"name": "calipers-cli", "version": "0.1.0"}, {"name": "csv", "version": "1.3.0", "checksum": "ab"}]
}


def crate(name: str, version: str, licence: str = "MIT/Apache-2.0") -> dict[str, object]:
    return {"id": name, "name": name, "version": version, "license": licence, "license_file": None}


def node(name: str, **kinds: str | None) -> dict[str, object]:
    return {"id": name, "deps": [{"pkg": other, "dep_kinds": [{"kind": kind}]} for other, kind in kinds.items()]}


METADATA = {
    "packages": [
        crate("calipers-cli", "0.1.0", "Apache-2.0"),
        crate("csv", "1.3.0"),
        crate("insta", "1.0.0"),
        crate("cc", "1.0.0"),
    ],
    "resolve": {
        "nodes": [
            node("calipers-cli", csv=None, insta="dev"),
            node("csv", cc="build"),
            node("insta"),
            node("cc"),
        ]
    },
}


def test_the_bill_of_materials_has_what_is_compiled_in_and_nothing_else() -> None:
    found = sbom.document(METADATA, LOCK, 0)
    assert [component["name"] for component in found["components"]] == ["calipers-cli", "csv"]
    csv = found["components"][1]
    assert csv["licenses"] == [{"expression": "MIT OR Apache-2.0"}]
    assert csv["hashes"] == [{"alg": "SHA-256", "content": "ab"}]
    assert {"ref": "pkg:cargo/calipers-cli@0.1.0", "dependsOn": ["pkg:cargo/csv@1.3.0"]} in found["dependencies"]
    assert found["metadata"]["timestamp"] == "1970-01-01T00:00:00Z"
    assert json.dumps(found) == json.dumps(sbom.document(METADATA, LOCK, 0))
    assert found["serialNumber"] != sbom.document(METADATA, LOCK, 1)["serialNumber"]


def test_targets_are_chosen_by_name() -> None:
    assert asked_for("") == TARGETS
    assert [target.triple for target in asked_for(" aarch64-unknown-linux-musl ")] == ["aarch64-unknown-linux-musl"]
    with pytest.raises(SystemExit, match="TARGETS has x86"):
        asked_for("x86")


def test_archives_depend_on_contents_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1000000000")
    (tmp_path / "a").write_bytes(b"content")
    first = build.packed({"folder/a": tmp_path / "a"})
    (tmp_path / "b").write_bytes(b"content")
    assert build.packed({"folder/a": tmp_path / "b"}) == first
    with tarfile.open(fileobj=io.BytesIO(first)) as archive:
        (member,) = archive.getmembers()
        assert (member.name, member.mtime, member.mode, member.uid) == ("folder/a", 1000000000, 0o644, 0)


def wheel(path: Path, files: dict[str, str]) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in files.items():
            archive.writestr(zipfile.ZipInfo(name), content)


def test_the_archive_for_musl_has_the_command_of_the_wheel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1000000000")
    files = {"calipers_cli-0.1.0.data/scripts/calipers": "command", "calipers_cli-0.1.0.dist-info/METADATA": ""}
    wheel(tmp_path / "calipers_cli-0.1.0-py3-none-musllinux_1_2_x86_64.whl", files)
    (target,) = asked_for("x86_64-unknown-linux-musl")
    found = compare.members("a.tar.gz", build.static_binary(target, "0.1.0", tmp_path).read_bytes())
    folder = "calipers-0.1.0-x86_64-unknown-linux-musl"
    assert list(found) == [f"{folder}/calipers", f"{folder}/LICENSE", f"{folder}/CHANGELOG.md"]
    assert found[f"{folder}/calipers"] == b"command"


def test_what_differs_is_named(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    for folder in (one, other):
        folder.mkdir()
        (folder / "same").write_text("same")
    wheel(one / "a.whl", {"code": "1", "licence": "x"})
    wheel(other / "a.whl", {"code": "22", "licence": "x"})
    (one / "more").write_text("")
    same, found = compare.compared(one, other)
    assert same == ["same"]
    assert found == ["only one of both folders has more", "a.whl: code differs: 1 and 2 bytes"]


def test_answers_may_differ_by_rounding_and_by_nothing_else() -> None:
    one = ['{"n": 5, "measures": [{"value": 0.1, "name": "ece"}]}']
    assert str(digits.compared(one, one)) == "all 1 numbers are the same"
    rounded = digits.compared(one, [one[0].replace("0.1", "0.10000000000000002")])
    assert rounded.differing == ("measures[0].value",) and 0.0 < rounded.largest < 1e-16
    with pytest.raises(SystemExit, match=r"measures\[0\].value differs by 0.1"):
        digits.compared(one, [one[0].replace("0.1", "0.2")])
    for changed in (one[0].replace("5", "6"), one[0].replace("ece", "ls_ece"), one[0].replace('"n"', '"m"')):
        with pytest.raises(SystemExit, match="in one answer"):
            digits.compared(one, [changed])
