"""Values that other packages assert in their own tests and documents, asked of calipers.

The cases are a file beside the data (`CALIPERS_PEERS`, or the folder `peers` beside that of `CALIPERS_DATA`). Known
differences are in peer_differences.json, each with its kind, its reason and, where there are any, the options with
which calipers has the value of the package. A difference that is not listed fails, and so does a listed one that is
none.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import calipers
import numpy as np
import pytest

FOLDER = Path(
    os.environ.get("CALIPERS_PEERS") or Path(os.environ.get("CALIPERS_DATA", "../shared/data")).parent / "peers"
)
CASES = FOLDER / "peer_cases.json"
DIFFERENCES = json.loads(Path(__file__).with_name("peer_differences.json").read_text(encoding="utf-8"))
KINDS = {"convention", "input", "peer is wrong"}

pytestmark = pytest.mark.skipif(not CASES.exists(), reason=f"{CASES} is not there")


def key(case: dict[str, Any]) -> tuple[str, str, str]:
    """What names a case."""
    return case["peer"], case["test"], case["function"]


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    """All cases, and the arrays that they refer to by name."""
    return dict(json.loads(CASES.read_text(encoding="utf-8")))


def value_of(document: dict[str, Any], value: Any) -> Any:
    """An argument: an array by name, an array with its type, a list, or the value itself."""
    if isinstance(value, str) and value.startswith("$"):
        return value_of(document, document["data"][value[1:]])
    if isinstance(value, dict) and "dtype" in value:
        return np.asarray(value["values"], dtype=value["dtype"])
    return np.asarray(value) if isinstance(value, list) and value and not isinstance(value[0], str) else value


def step(result: Any, name: str, *given: Any) -> Any:
    """One step from what a function returns to the value that the case is about."""
    match name:
        case "attr":
            return getattr(result, given[0])
        case "bins":
            return [getattr(each, given[0]) for each in result if each.n]
        case "item":
            return result[given[0]]
        case "times":
            return float(result) * given[0]
        case "inverse":
            return 1 / float(result)
        case "square":
            return float(result) ** 2
        case "one_minus":
            return 1 - float(result)
        case "affine":
            return [given[0] * each + given[1] for each in result]
    raise ValueError(name)


def found(document: dict[str, Any], case: dict[str, Any], **more: Any) -> Any:
    """The value of calipers, or the error with which it rejects the case."""
    given = {name: value_of(document, value) for name, value in {**case["args"], **more}.items()}
    try:
        result = getattr(calipers, case["function"])(given.pop("y_true"), given.pop("y_prob"), **given)
    except (TypeError, ValueError) as error:
        return error
    for each in case.get("extract", []):
        result = step(result, *each)
    return np.asarray(result, dtype=float)


def agrees(case: dict[str, Any], value: Any) -> bool:
    """Whether the value is that of the package."""
    expected = case["expected"]
    if isinstance(value, Exception) or expected == "refused":
        return expected == "refused" and isinstance(value, calipers.CalipersError)
    if (relation := case.get("op", "==")) != "==":
        return bool(value < expected if relation == "<" else value > expected)
    expected = np.asarray(expected, dtype=float)
    return expected.shape == value.shape and bool(
        np.allclose(value, expected, rtol=0, atol=case["tolerance"], equal_nan=True)
    )


def test_every_difference_is_known_and_every_known_one_is_there(document: dict[str, Any]) -> None:
    differing = {key(case) for case in document["cases"] if not agrees(case, found(document, case))}
    listed = {key(difference) for difference in DIFFERENCES}
    assert differing - listed == set(), "new differences"
    assert listed - differing == set(), "these agree now: remove them from peer_differences.json"


def test_every_difference_has_a_kind_and_a_reason() -> None:
    assert len({key(difference) for difference in DIFFERENCES}) == len(DIFFERENCES)
    for difference in DIFFERENCES:
        assert difference["kind"] in KINDS and difference["reason"], difference


def test_options_reproduce_what_is_said_to_be_reproduced(document: dict[str, Any]) -> None:
    cases = {key(case): case for case in document["cases"]}
    for difference in DIFFERENCES:
        if options := difference.get("agrees_with"):
            case = cases[key(difference)]
            value = found(document, case, **options)
            assert agrees(case, value), f"{key(difference)}: {value} for {case['expected']}"
