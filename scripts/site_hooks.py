"""Hooks of mkdocs: documents of the repository as pages of the site, and links that leave docs/.

Pages are written for two readers: the one of the repository, where links are paths of files, and the
one of the site. Some documents outside docs/ are pages of the site (`PAGES`), and so are the
notebooks, with their pictures. A link to any other file of the repository becomes the path as text.
A link to a file that does not exist is left as it is, and fails the strict build.
"""

from __future__ import annotations

import base64
import importlib.abc
import importlib.machinery
import json
import posixpath
import re
import sys
import types
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File

sys.path.append(str(Path(__file__).resolve().parent))

from readme_table import END, START

ROOT = Path(__file__).resolve().parent.parent

# Documents of the repository, and where the site has them.
PAGES = {
    "ARCHITECTURE.md": "development/architecture.md",
    "CHANGELOG.md": "development/changelog.md",
    "CONTRIBUTING.md": "development/contributing.md",
    "README.md": "index.md",
    "bench/RESULTS.md": "benchmarks.md",
    "examples/README.md": "examples/data.md",
    "studies/README.md": "studies/predictions.md",
    "notebooks": "examples/index.md",
    "examples": "examples/data.md",
    **{
        f"notebooks/{name}.{kind}": f"examples/{name}.md"
        for name in ("classifier", "digits", "stated_confidence")
        for kind in ("ipynb", "py")
    },
}
# Where the home page has the table of README.md.
COMPARISON = "<!-- the comparison of README.md -->"
# Written by hand in docs/; every other page of `PAGES` is made here.
BY_HAND = {"index.md", "examples/index.md"}
LINK = re.compile(r"(?P<text>!?\[(?:[^\[\]]|\[[^\[\]]*\])*\])\((?P<path>[^)\s#:]+)(?P<anchor>#[^)\s]*)?\)")
SESSION = re.compile(r"^```python\n>>> ", re.MULTILINE)
# How much a page counts in the search: pages that explain more than pages of results.
BOOST = [
    ("studies/", 0.2),
    ("development/", 0.3),
    ("benchmarks", 0.3),
    ("examples/", 0.7),
    ("guide", 2),
    ("faq", 2),
    ("glossary", 3),
    ("quickstart", 2),
]
FENCE = re.compile(r"^(```+|~~~+).*?^\1[ \t]*$", re.MULTILINE | re.DOTALL)


# What only a part of calipers needs.
MISSING = ("pandas", "polars", "py4j", "pyarrow", "pyspark", "sklearn", "torch", "torchmetrics")


def on_config(config: Any) -> Any:
    """Let the reference import `calipers.sklearn`, `.torch`, `.spark` and `.polars` without what they need."""
    sys.path.insert(0, str(ROOT / "python"))
    sys.meta_path.append(StubFinder())
    return config


class StubFinder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds what is not installed of the libraries that only a part of calipers needs."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:  # noqa: ARG002
        if name.split(".")[0] in MISSING:
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec: Any) -> Stub:
        return Stub(spec.name)

    def exec_module(self, module: Any) -> None:
        """Nothing is in it before it is asked for."""


class AnyName(type):
    """The type of a class that has every name and can be made of anything."""

    def __new__(cls, name: str, bases: tuple[type, ...] = (), members: dict[str, Any] | None = None) -> Any:
        # What it makes can be called as a decorator, which leaves a class as it is.
        made = {"__init__": lambda *_, **__: None, "__call__": lambda _, decorated: decorated}
        return super().__new__(cls, name, bases, members or made)

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return AnyName(name)


class Stub(types.ModuleType):
    """A module that has every name, as a class to inherit from or to call."""

    __version__ = "99.0.0"  # no version is too old

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        made = AnyName(name)
        setattr(self, name, made)
        return made


def on_files(files: Any, config: Any) -> Any:
    """Add the pages that are made from documents outside docs/."""
    made = {}
    for source, target in PAGES.items():
        path = ROOT / source
        if target in BY_HAND or target in made or not path.is_file():
            continue
        if path.suffix == ".ipynb":
            made |= notebook(path, target)
        else:
            made[target] = path.read_text(encoding="utf-8")
    for target, content in made.items():
        files.append(File.generated(config, target, content=content))
    return files


def notebook(path: Path, target: str) -> dict[str, str | bytes]:
    """A notebook as a page, with a file for each of its pictures."""
    made: dict[str, str | bytes] = {}
    parts = []
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(source)
            continue
        parts.append(f"```python\n{source}\n```")
        for output in cell["outputs"]:
            data = output.get("data", {"text/plain": output.get("text", "")})
            if "image/png" in data:
                picture = f"{target.removesuffix('.md')}-{len(made)}.png"
                made[picture] = base64.b64decode("".join(data["image/png"]))
                parts.append(f"![Chart made by the code above]({posixpath.basename(picture)})")
            elif "text/plain" in data:
                parts.append(f"```{{.text .output}}\n{''.join(data['text/plain']).rstrip()}\n```")
    made[target] = "\n\n".join(parts) + "\n"
    return made


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:  # noqa: ARG001 (given by mkdocs)
    """Rewrite the links of a page for the site, and put the comparison of README.md into the home page."""
    there = page.file.src_uri
    sources = [name for name, target in PAGES.items() if target == there and there not in BY_HAND]
    # Where the text was written: its links are relative to that folder.
    folder = posixpath.dirname(sources[0] if sources else f"docs/{there}")
    inside = {file.src_uri for file in files}
    page.meta.setdefault("search", {"boost": next((boost for start, boost in BOOST if there.startswith(start)), 1)})
    # Output of a session is not Python, and is not highlighted as if it were.
    text = SESSION.sub("```pycon\n>>> ", with_links(markdown, folder, there, inside))
    if COMPARISON in text:
        table = (ROOT / "README.md").read_text(encoding="utf-8").partition(START)[2].partition(END)[0]
        text = text.replace(COMPARISON, with_links(table, "", there, inside))
    return text


def with_links(markdown: str, folder: str, there: str, inside: set[str]) -> str:
    """The text with links for a page of the site; it was written in a folder of the repository."""

    def rewritten(link: re.Match[str]) -> str:
        path = posixpath.normpath(posixpath.join(folder, link["path"]))
        target = PAGES.get(path)
        if target is None and path.startswith("docs/"):
            own = path.removeprefix("docs/")
            target = next((each for each in (own, f"{own}/README.md", f"{own}/index.md") if each in inside), None)
        if target is not None:
            relative = posixpath.relpath(target, posixpath.dirname(there) or ".")
            return f"{link['text']}({relative}{link['anchor'] or ''})"
        if (ROOT / path).exists() and not path.startswith("docs/"):
            text = link["text"].lstrip("!")[1:-1]
            return text if path in text else f"{text} (`{path}`)"
        return link[0]

    parts, at = [], 0
    for fence in FENCE.finditer(markdown):
        parts += [LINK.sub(rewritten, markdown[at : fence.start()]), fence[0]]
        at = fence.end()
    return "".join(parts) + LINK.sub(rewritten, markdown[at:])
