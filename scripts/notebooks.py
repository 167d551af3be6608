"""The notebooks: written as plain Python in notebooks/*.py, run, and kept with what they show as notebooks/*.ipynb.

    python scripts/notebooks.py [NAME ...]     run them (all, unless named) and write the .ipynb files

A line `# %%` begins a cell of code, `# %% [markdown]` one of text, whose lines are comments. The .py file is what is
edited and reviewed; `python/integration/test_notebooks.py` runs it again and compares the numbers that it prints with
those that were committed.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

FOLDER = Path(__file__).resolve().parent.parent / "notebooks"
TIME_LIMIT = 600  # seconds for one cell


def sources(folder: Path = FOLDER) -> list[Path]:
    return sorted(folder.glob("*.py"))


def cells(source: str) -> list[Any]:
    """The cells of a plain file."""
    found: list[tuple[bool, list[str]]] = []
    for line in source.splitlines():
        if line.startswith("# %%"):
            found.append((line == "# %% [markdown]", []))
        elif found:
            found[-1][1].append(line)
        elif line.strip():
            raise ValueError(f"a notebook must begin with a line `# %%`, got {line!r}")
    made = []
    for number, (is_text, lines) in enumerate(found):
        if is_text:
            lines = [line.removeprefix("#").removeprefix(" ") for line in lines]
        new = nbformat.v4.new_markdown_cell if is_text else nbformat.v4.new_code_cell
        # Ids by number: random ones would make another file of the same notebook.
        made.append(new("\n".join(lines).strip("\n"), id=f"cell-{number}"))
    return made


def run(path: Path) -> Any:
    """The notebook of a plain file, with its outputs."""
    notebook = nbformat.v4.new_notebook(cells=cells(path.read_text(encoding="utf-8")))
    notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
    NotebookClient(
        notebook,
        timeout=TIME_LIMIT,
        startup_timeout=TIME_LIMIT,
        record_timing=False,
        resources={"metadata": {"path": str(path.parent)}},
    ).execute()
    # Says which Python ran it, and nothing that a reader needs.
    notebook.metadata.pop("language_info", None)
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            output.get("metadata", {}).clear()
    return notebook


def shown(notebook: Any) -> list[str]:
    """All that is printed or shown as text, cell by cell; pictures are left out."""
    texts = []
    for cell in notebook.cells:
        text = ""
        for output in cell.get("outputs", []):
            if output["output_type"] == "stream":
                text += output["text"]
            elif "data" in output and "image/png" not in output["data"]:
                text += output["data"].get("text/plain", "") + "\n"
        texts.append(text)
    return texts


def main(names: list[str]) -> int:
    for path in sources():
        if not names or path.stem in names:
            nbformat.write(run(path), path.with_suffix(".ipynb"))
            print(path.with_suffix(".ipynb").name)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
