"""Fits in one line, and the families of maps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from calipers import _core
from calipers._assess import Clusters
from calipers._documented import documented
from calipers._inputs import GroupsOfRows
from calipers._predictions import Outcomes, Probabilities, Rows, read, split
from calipers._recalibrator import Recalibrator
from calipers._row_options import RecalibrateOptions, Unpack


def prepared(function: Any, given: Mapping[str, Any]) -> tuple[Recalibrator, Rows]:
    """What a call of `function` fits, and the rows; `given` is ``locals()`` where it begins."""
    of_rows, of_map = split(function, given["options"])
    rows = read(function, given["y_true"], given["y_prob"], of_rows).without_question()
    return Recalibrator(given["method"], **of_map, from_logits=bool(rows.options["from_logits"])), rows


@documented
def recalibrate(
    y_true: Outcomes,
    y_prob: Probabilities = None,
    *,
    method: str = "auto",
    cluster: Clusters = None,
    groups: GroupsOfRows = None,
    **options: Unpack[RecalibrateOptions],
) -> Recalibrator:
    """A `Recalibrator` that is fitted to these rows.

    Use it for a map in one line. `improvement` says whether it helps, and returns the same map.

    Parameters
    ----------
    groups : array-like of shape (n,), optional
        The group of each row, as text or numbers, for a map of each group (`Recalibrator.fit`).

    Returns
    -------
    Recalibrator
        Fitted.

    References
    ----------
    Those of `Recalibrator`.

    Examples
    --------
    >>> import calipers as cal
    >>> y, p = [1, 1, 0, 1, 0, 0], [0.75, 0.75, 0.75, 0.25, 0.25, 0.25]
    >>> cal.recalibrate(y, p, method="temperature").parameters
    {'slope': 0.6309297535714...}
    """
    recalibrator, read_rows = prepared(recalibrate, locals())
    return recalibrator._fit(read_rows, cluster, groups)


class RecalibrationMethod(NamedTuple):
    """A family of recalibration maps.

    Attributes
    ----------
    name : str
        What `method` takes.
    parameters : tuple of str
        The names of its parameters for a binary outcome.
    is_table : bool
        Whether it is a table of values rather than a formula.
    """

    name: str
    parameters: tuple[str, ...]
    is_table: bool


@documented
def recalibration_methods() -> list[RecalibrationMethod]:
    """Every family of maps that `method` of `Recalibrator` takes, besides "auto".

    Returns
    -------
    list of RecalibrationMethod
        Named tuples ``(name, parameters, is_table)``, the simplest first.

    Examples
    --------
    >>> import calipers as cal
    >>> [each.name for each in cal.recalibration_methods()][:3]
    ['identity', 'shift', 'temperature']
    """
    return [RecalibrationMethod(name, tuple(own), table) for name, own, table in _core.recalibration_methods()]
