"""The evaluators of docs/map-format.md, run as they stand there against the check values of every kind of map."""

import json
import math
import re
import shutil
import sqlite3
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "map-format.md").read_text(encoding="utf-8")
MAPS = {
    path.stem: json.loads(path.read_text(encoding="utf-8"))
    for path in sorted((ROOT / "fixtures" / "maps").glob("*.json"))
    if path.name != "expressions.sql.json"
}
EXPRESSIONS = json.loads((ROOT / "fixtures" / "maps" / "expressions.sql.json").read_text(encoding="utf-8"))
MOST_LINES = 15


def blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


def evaluator(map_):
    """The name of the function that evaluates a map."""
    if map_["input"] == "scores":
        return "classes"
    if "spline" in map_:
        return "spline"
    return "table" if "table" in map_ or "venn_abers" in map_ else "formula"


def python_functions():
    names = {}
    for block in blocks("python"):
        exec(compile(block, "docs/map-format.md", "exec"), names)  # noqa: S102 - the page is part of this repository
    return names


PYTHON = python_functions()


def expected(map_):
    return list(zip(map_["check"]["input"], map_["check"]["output"], strict=True))


def test_there_is_a_map_of_every_kind():
    assert {evaluator(map_) for map_ in MAPS.values()} == {"classes", "spline", "table", "formula"}
    assert len(MAPS) >= 14


def test_evaluators_are_short():
    for language in ["python", "javascript"]:
        for block in blocks(language):
            # A function and what stands before it.
            functions = re.split(r"\n(?=def |function )", block)
            assert all(len(function.strip().splitlines()) <= MOST_LINES for function in functions), block


@pytest.mark.parametrize("name", MAPS)
def test_python_reproduces_the_check_values(name):
    map_ = MAPS[name]
    if "maps" in map_["parameters"]:
        pytest.skip("one map for each class: the page has no evaluator for these")
    for given, wanted in expected(map_):
        found = PYTHON[evaluator(map_)](map_, given)
        assert found == pytest.approx(wanted, rel=0, abs=1e-12)


GROUPED = [name for name, map_ in MAPS.items() if "groups" in map_]


@pytest.mark.parametrize("name", GROUPED)
def test_python_reproduces_the_check_values_of_groups(name):
    map_ = MAPS[name]
    assert map_["format"] == 2
    for group, outputs in zip(map_["groups"], map_["check"]["by_group"], strict=True):
        for given, wanted in zip(map_["check"]["input"], outputs, strict=True):
            assert PYTHON["grouped"](map_, given, group["name"]) == pytest.approx(wanted, rel=0, abs=1e-12)
    for given, wanted in expected(map_):
        assert PYTHON["grouped"](map_, given, "a group that is not listed") == pytest.approx(wanted, rel=0, abs=1e-12)


def test_there_are_maps_by_group():
    assert len(GROUPED) == 4


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_javascript_reproduces_the_check_values_of_groups():
    program = (
        "\n".join(blocks("javascript"))
        + f"""
    const maps = {json.dumps({name: MAPS[name] for name in GROUPED})}, found = {{}};
    for (const name in maps)
      found[name] = maps[name].groups.map(each =>
        maps[name].check.input.map(given => grouped(maps[name], given, each.name)));
    console.log(JSON.stringify(found));
    """
    )
    done = subprocess.run(["node", "-e", program], capture_output=True, text=True, check=True)
    for name, outputs in json.loads(done.stdout).items():
        for found, wanted in zip(outputs, MAPS[name]["check"]["by_group"], strict=True):
            assert found == pytest.approx(wanted, rel=0, abs=1e-12), name


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_javascript_reproduces_the_check_values():
    names = {"formula": "formula", "table": "table"}
    cases = {name: names[evaluator(map_)] for name, map_ in MAPS.items() if evaluator(map_) in names}
    cases |= dict.fromkeys(["classes_identity", "classes_temperature"], "temperature")
    used = {name: MAPS[name] for name in cases}
    program = (
        "\n".join(blocks("javascript"))
        + f"""
    const maps = {json.dumps(used)}, cases = {json.dumps(cases)}, functions = {{formula, table, temperature}};
    const found = {{}};
    for (const name in cases)
      found[name] = maps[name].check.input.map(given => functions[cases[name]](maps[name], given));
    console.log(JSON.stringify(found));
    """
    )
    done = subprocess.run(["node", "-e", program], capture_output=True, text=True, check=True)
    for name, outputs in json.loads(done.stdout).items():
        for found, wanted in zip(outputs, MAPS[name]["check"]["output"], strict=True):
            assert found == pytest.approx(wanted, rel=0, abs=1e-12), name


def engines():
    """Functions that evaluate an expression for a value of the column x, by name."""
    found = {}
    lite = sqlite3.connect(":memory:")
    try:
        lite.execute("SELECT exp(1.0), ln(2.0)")
        found["sqlite"] = lambda sql, x: lite.execute(f"SELECT {sql} FROM (SELECT ? AS x)", [x]).fetchone()[0]
    except sqlite3.OperationalError:
        pass  # built without mathematical functions
    try:
        import duckdb
    except ImportError:
        return found
    duck = duckdb.connect()
    found["duckdb"] = lambda sql, x: duck.execute(f"SELECT {sql} FROM (SELECT ?::DOUBLE AS x)", [x]).fetchone()[0]
    return found


ENGINES = engines()


@pytest.mark.skipif(not ENGINES, reason="no database with exp and ln")
@pytest.mark.parametrize("name", [name for name, sql in EXPRESSIONS.items() if sql])
def test_sql_reproduces_the_check_values(name):
    map_, sql = MAPS[name], EXPRESSIONS[name]
    evaluate = PYTHON[evaluator(map_)]
    for engine, run in ENGINES.items():
        for given, wanted in expected(map_):
            assert run(sql["logit"], given) == pytest.approx(wanted, rel=0, abs=1e-12), (engine, given)
        for given in [-700.0, -30.0, 30.0, 700.0]:
            assert run(sql["logit"], given) == pytest.approx(evaluate(map_, given), rel=0, abs=1e-12), (engine, given)
        for p in [0.0, 1e-15, 0.001, 0.25, 0.5, 0.9, 1 - 1e-9, 1.0]:
            clipped = min(max(p, map_["clip"]), 1 - map_["clip"])
            h = math.log(clipped) - math.log(1 - clipped)
            assert run(sql["probability"], p) == pytest.approx(evaluate(map_, h), rel=0, abs=1e-11), (engine, p)
        assert run(sql["logit"], None) is None
        assert run(sql["probability"], None) is None


@pytest.mark.skipif("sqlite" not in ENGINES, reason="SQLite without exp and ln")
def test_the_sql_of_the_page_runs():
    (statement,) = blocks("sql")
    lite = sqlite3.connect(":memory:")
    lite.execute("CREATE TABLE scores (h REAL)")
    lite.execute("INSERT INTO scores VALUES (1.5), (-700.0)")
    found = [row[0] for row in lite.execute(statement)]
    assert found[0] == pytest.approx(1 / (1 + math.exp(-(0.52 * 1.5 - 0.1))), abs=1e-15)
    assert 0 < found[1] < 1e-100
