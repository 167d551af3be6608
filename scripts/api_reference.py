"""The reference of the Python package, docs/api/, from the docstrings of all public names.

    python scripts/api_reference.py            write the pages
    python scripts/api_reference.py --check    say which pages are not what the docstrings make; exit code 1 if any

A page has the public names of some modules of the package. A docstring in numpydoc's form becomes Markdown: the
sections of parameters lists, formulas and examples code, and a `name` that is public a link to its own text.
"""

from __future__ import annotations

import dataclasses
import inspect
import re
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, is_typeddict

import calipers

FOLDER = Path(__file__).resolve().parent.parent / "docs" / "api"
INDEX = "README.md"
MADE = "<!-- Made by scripts/api_reference.py from the docstrings: change those. -->"

# Page, title and modules, in the order of the index.
FAMILIES = [
    ("inputs", "What functions read", ["_predictions", "_row_options"]),
    ("ls-ece", "LS-ECE, smooth ECE and kernels", ["_smoothed"]),
    ("binned", "Binned calibration errors", ["_binned"]),
    ("distances", "Distances from calibration", ["_distance"]),
    ("cumulative", "Cumulated differences", ["_cumulative"]),
    ("scores", "Proper scores and their parts", ["_scores"]),
    ("clinical", "Clinical reports", ["_clinical"]),
    ("trust", "How much of a figure can be trusted", ["_assess", "_compare", "_sweep"]),
    ("tests", "Tests of calibration", ["_calibration_tests"]),
    ("simulate", "Where the truth is known", ["_simulate"]),
    ("curves", "Curves and tables", ["_curve"]),
    ("displays", "Charts by matplotlib", ["_displays"]),
    ("report", "A page of everything", ["_report"]),
    ("sketch", "Batches and merges", ["_sketch", "_parquet"]),
    ("threads", "How many threads", ["_threads"]),
    ("results", "What functions return and raise", ["_estimate", "_measures", "_core"]),
]
LISTS = {"Parameters", "Attributes", "Returns", "Raises", "Yields"}
WIDTH = 100


def family_of(thing: Any) -> str:
    """The page that a public name is on."""
    module = thing.__module__.removeprefix("calipers.")
    for page, _, modules in FAMILIES:
        if module.split(".")[0] in modules:
            return page
    # CalipersError is made by the compiled half, which says that it is of the package itself.
    if module == "calipers":
        return "results"
    raise SystemExit(f"{thing.__name__} of {thing.__module__} is in no family: name its module in FAMILIES")


def public() -> dict[str, list[str]]:
    """The public names of each page: first functions, then classes, each in the order of the package's own source."""
    pages: dict[str, list[str]] = {page: [] for page, _, _ in FAMILIES}
    for name in calipers.__all__:
        if not name.startswith("__"):
            pages[family_of(getattr(calipers, name))].append(name)

    def order(name: str) -> tuple[bool, int, str, int]:
        thing = getattr(calipers, name)
        modules = next(modules for page, _, modules in FAMILIES if page == family_of(thing))
        top = thing.__module__.removeprefix("calipers.").split(".")[0]
        place = modules.index(top) if top in modules else len(modules)
        return inspect.isclass(thing), place, thing.__module__, line_of(thing)

    return {page: sorted(names, key=order) for page, names in pages.items()}


def line_of(thing: Any) -> int:
    try:
        return inspect.getsourcelines(thing)[1]
    except (OSError, TypeError):  # compiled
        return 0


class Links:
    """Text of docstrings as Markdown, with links to what is public."""

    def __init__(self, pages: dict[str, list[str]]) -> None:
        self.page = {name: page for page, names in pages.items() for name in names}

    def to(self, name: str, page: str | None) -> str:
        """A link from a page (or the index) to a name."""
        there = self.page[name]
        return f"[`{name}`]({'' if there == page else f'{there}.md'}#{name.lower()})"

    def text(self, text: str, page: str | None) -> str:
        """Names in single backticks link, code in double ones stays code, and nothing else is markup."""
        parts = re.split(r"(``[^`]+``|`[^`]+`)", text)
        for at, part in enumerate(parts):
            if part.startswith("``"):
                parts[at] = part[1:-1]
            elif part.startswith("`"):
                name = part[1:-1].removeprefix("cal.")
                parts[at] = self.to(name, page) if name in self.page else part
            else:
                parts[at] = re.sub(r"([*<])", r"\\\1", part)
        return "".join(parts)


def sections(documentation: str) -> Iterator[tuple[str, list[str]]]:
    """The parts of a docstring: what comes before any heading has none."""
    title, lines = "", []
    every = documentation.splitlines()
    at = 0
    while at < len(every):
        if at + 1 < len(every) and every[at].strip() and re.fullmatch(r"-{3,}", every[at + 1]):
            yield title, lines
            title, lines = every[at], []
            at += 2
        else:
            lines.append(every[at])
            at += 1
    yield title, lines


def blocks(lines: list[str]) -> Iterator[list[str]]:
    """Runs of lines without a blank one."""
    block: list[str] = []
    for line in [*lines, ""]:
        if line.strip():
            block.append(line)
        elif block:
            yield block
            block = []


def prose(lines: list[str], page: str, links: Links) -> Iterator[str]:
    """Paragraphs, formulas (indented) and examples (prompts), each as Markdown."""
    for block in blocks(lines):
        if block[0].startswith(">>>"):
            yield "\n".join(["```pycon", *block, "```"])
        elif all(line.startswith("    ") for line in block):
            yield "\n".join(["```text", *textwrap.dedent("\n".join(block)).splitlines(), "```"])
        else:
            yield links.text("\n".join(line.strip() for line in block), page)


def items(lines: list[str], page: str, links: Links) -> Iterator[str]:
    """`name : type` and what is indented below it."""
    found: list[tuple[str, list[str]]] = []
    for line in lines:
        if line and not line.startswith(" "):
            found.append((line, []))
        elif found:
            found[-1][1].append(line.strip())
    for head, body in found:
        names, colon, kind = head.partition(" : ")
        # Of what is returned or raised there is a type and no name.
        shown = f"`{names}` ({links.text(kind, page)})" if colon else links.text(f"`{names}`", page)
        said = links.text(" ".join(filter(None, body)), page)
        yield f"- {shown}: {said}" if said else f"- {shown}"


def markdown(documentation: str, page: str, links: Links) -> Iterator[str]:
    for title, lines in sections(documentation):
        if title:
            yield f"**{title}**"
        if title in LISTS:
            yield "\n".join(items(lines, page, links))
        else:
            yield from prose(lines, page, links)


def call(name: str, thing: Callable[..., Any]) -> str:
    """How it is called: names and defaults; the types are in the list of parameters."""
    signature = inspect.signature(thing)
    shown, star = [], False
    for parameter in signature.parameters.values():
        if parameter.name in ("self", "cls"):
            continue
        if parameter.kind is parameter.KEYWORD_ONLY and not star:
            shown.append("*")
            star = True
        shown.append(str(parameter.replace(annotation=parameter.empty)))
    text = f"{name}({', '.join(shown)})"
    if len(text) > WIDTH:
        body = textwrap.fill(", ".join(shown), WIDTH, initial_indent="    ", subsequent_indent="    ")
        text = f"{name}(\n{body},\n)"
    return f"```text\n{text}\n```"


def members(thing: type) -> Iterator[tuple[str, Any]]:
    """Public methods and properties that calipers defines and explains: shared ones, then its own."""
    own = [base for base in thing.__mro__ if base.__module__.startswith("calipers")]
    for name, member in {name: member for base in reversed(own) for name, member in vars(base).items()}.items():
        plain = member.__func__ if isinstance(member, (classmethod, staticmethod)) else member
        if not name.startswith("_") and (inspect.isfunction(plain) or isinstance(plain, property)):
            yield name, plain


def described(name: str, page: str, links: Links) -> Iterator[str]:
    """One public name."""
    thing = getattr(calipers, name)
    yield f"## {name}"
    # A result is made by calipers, not by its reader: it has attributes, and no call to show.
    is_made = inspect.isclass(thing) and issubclass(thing, (Exception, float))
    if not (dataclasses.is_dataclass(thing) or is_typeddict(thing) or is_made):
        yield call(name, thing)
    yield from markdown(inspect.getdoc(thing) or "", page, links)
    if inspect.isclass(thing):
        for each, member in members(thing):
            yield f"### {name}.{each}"
            if not isinstance(member, property):
                yield call(f"{name}.{each}", member)
            yield from markdown(inspect.getdoc(member) or "", page, links)


def summary(name: str) -> str:
    """The first sentence of a docstring."""
    return (inspect.getdoc(getattr(calipers, name)) or "").split("\n\n")[0].replace("\n", " ")


def pages() -> dict[str, str]:
    """Every page by the name of its file."""
    names = public()
    links = Links(names)
    made = {}
    index = [MADE, "# Reference of the Python package"]
    index.append(
        "All public names of `calipers`, from their docstrings. From the top: [quickstart](../quickstart.md), "
        "[guide](../guide.md), [which measure for what](../measures.md), [theory](../theory.md)."
    )
    for page, title, _ in FAMILIES:
        contents = [MADE, f"# {title}", f"Back to the [index]({INDEX})."]
        for name in names[page]:
            contents += described(name, page, links)
        made[f"{page}.md"] = "\n\n".join(contents) + "\n"
        index += [
            f"## [{title}]({page}.md)",
            "\n".join(f"- {links.to(name, None)}: {links.text(summary(name), None)}" for name in names[page]),
        ]
    made[INDEX] = "\n\n".join(index) + "\n"
    return made


def stale(made: dict[str, str], folder: Path) -> list[str]:
    """Files that are missing, too many or not as they would be made."""
    there = {path.name: path.read_text(encoding="utf-8") for path in folder.glob("*.md")}
    return sorted(name for name in {*made, *there} if made.get(name) != there.get(name))


def main(arguments: list[str], folder: Path = FOLDER) -> int:
    made = pages()
    if arguments == ["--check"]:
        wrong = stale(made, folder)
        for name in wrong:
            print(f"docs/api/{name} is not what the docstrings make: run scripts/api_reference.py")
        return 1 if wrong else 0
    if arguments:
        print(__doc__)
        return 2
    folder.mkdir(parents=True, exist_ok=True)
    for name in stale(made, folder):
        if name in made:
            (folder / name).write_text(made[name], encoding="utf-8")
        else:
            (folder / name).unlink()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
