"""The software bill of materials: every crate that is compiled into the artifacts, as CycloneDX JSON.

Versions, licences and dependencies are those that cargo has resolved, and the hashes are those of
Cargo.lock. Time and serial number follow from the commit, so the same commit gives the same bytes.
"""

from __future__ import annotations

import datetime as dt
import json
import subprocess
import uuid
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import tomllib
from build import ROOT, commit_time

# What is released: the Python package and the command.
RELEASED = ("calipers-python", "calipers-cli")


def metadata(target: str) -> dict[str, Any]:
    """All crates, and how they depend on each other on the target."""
    command = ["cargo", "metadata", "--locked", "--format-version", "1", "--filter-platform", target]
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def compiled_in(nodes: dict[str, Any], first: Iterable[str]) -> dict[str, list[str]]:
    """The crates that these consist of, each with what it depends on itself.

    Dependencies of tests and of build scripts are not part of what is built, and are left out.
    """
    found: dict[str, list[str]] = {}
    waiting = list(first)
    while waiting:
        crate = waiting.pop()
        if crate in found:
            continue
        is_normal = [any(kind["kind"] is None for kind in dep["dep_kinds"]) for dep in nodes[crate]["deps"]]
        found[crate] = [dep["pkg"] for dep, normal in zip(nodes[crate]["deps"], is_normal, strict=True) if normal]
        waiting += found[crate]
    return found


def licences(package: dict[str, Any]) -> list[dict[str, Any]]:
    """The expression of the crate; old crates write a slash for OR."""
    if package["license"]:
        return [{"expression": package["license"].replace("/", " OR ")}]
    return [{"license": {"name": package["license_file"] or "unknown"}}]


def component(package: dict[str, Any], checksums: dict[tuple[str, str], str]) -> dict[str, Any]:
    """One crate."""
    name, version = package["name"], package["version"]
    purl = f"pkg:cargo/{name}@{version}"
    found = {"type": "library", "bom-ref": purl, "name": name, "version": version, "licenses": licences(package)}
    if checksum := checksums.get((name, version)):
        found["hashes"] = [{"alg": "SHA-256", "content": checksum}]
    return {**found, "purl": purl}


def document(found: dict[str, Any], lock: dict[str, Any], seconds: int) -> dict[str, Any]:
    """The bill of materials of what is released."""
    packages = {package["id"]: package for package in found["packages"]}
    nodes = {node["id"]: node for node in found["resolve"]["nodes"]}
    first = [crate for crate, package in packages.items() if package["name"] in RELEASED]
    edges = compiled_in(nodes, first)
    checksums = {(entry["name"], entry["version"]): entry.get("checksum", "") for entry in lock["package"]}
    crates = sorted((component(packages[crate], checksums) for crate in edges), key=lambda crate: crate["bom-ref"])
    of = {crate: component(packages[crate], checksums)["bom-ref"] for crate in edges}
    depends = [{"ref": of[crate], "dependsOn": sorted(of[other] for other in edges[crate])} for crate in edges]
    version = packages[first[0]]["version"]
    root = f"calipers@{version}"
    depends.append({"ref": root, "dependsOn": sorted(of[crate] for crate in first)})
    body = {
        "components": crates,
        "dependencies": sorted(depends, key=lambda entry: entry["ref"]),
    }
    serial = uuid.uuid5(uuid.NAMESPACE_URL, f"{root}\n{seconds}\n{json.dumps(body, sort_keys=True)}")
    time = dt.datetime.fromtimestamp(seconds, dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    described = {"type": "application", "bom-ref": root, "name": "calipers", "version": version}
    described["licenses"] = [{"expression": "Apache-2.0"}]
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{serial}",
        "version": 1,
        "metadata": {"timestamp": time, "component": described},
        **body,
    }


def write(target: str, out: Path) -> Path:
    """Write the bill of materials for the target beside the artifacts."""
    lock = tomllib.loads((ROOT / "Cargo.lock").read_text(encoding="utf-8"))
    found = document(metadata(target), lock, commit_time())
    path = out / f"calipers-{found['metadata']['component']['version']}.cdx.json"
    path.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    return path
