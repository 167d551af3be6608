"""What is in a wheel: types and stubs, one compiled module for all Pythons, no tests; prints its size."""

import sys
import zipfile
from pathlib import Path


def faults(path: Path) -> list[str]:
    """What is missing from the wheel, and what should not be there."""
    with zipfile.ZipFile(path) as wheel:
        names = wheel.namelist()
    found = [f"{name} is missing" for name in ("calipers/py.typed", "calipers/_core.pyi") if name not in names]
    compiled = [name for name in names if name.startswith("calipers/_core.") and not name.endswith(".pyi")]
    if len(compiled) != 1 or "abi3" not in compiled[0] + path.name:
        found.append(f"there should be one compiled module for all Pythons, not {compiled}")
    if not any(name.endswith("licenses/LICENSE") for name in names):
        found.append("the licence is missing")
    found += [f"{name} should not be there" for name in names if "test" in Path(name).name.split("_")]
    return found + [f"{name} should not be there" for name in names if not name.startswith(("calipers/", "calipers-"))]


def main() -> None:
    path = Path(sys.argv[1])
    found = faults(path)
    print(f"{path.name}: {path.stat().st_size / 2**20:.1f} MiB")
    if found:
        sys.exit("\n".join(found))


if __name__ == "__main__":
    main()
