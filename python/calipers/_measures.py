"""Every measure by name, with the options that the core knows."""

from __future__ import annotations

from typing import NamedTuple

from calipers import _core
from calipers._inputs import Options


class Measure(NamedTuple):
    """A measure: its name, definition and options.

    Attributes
    ----------
    name : str
        The name by which it is requested.
    definition : str
        What it is, in one line; p are probabilities, y outcomes, r = y - p.
    title : str
        What people call it.
    reference : str
        Where it was defined.
    larger_is_worse : bool
        Whether it is an error or a score, of which a larger value is worse. False for ratios and
        coefficients, which can be off their ideal value on either side.
    from_sketch : {"nothing", "approximation", "value", "assessment"}
        What a `Sketch` answers: nothing, a value that may differ from that of the rows, the value,
        or its noise floor and interval, too.
    options : dict
        Its options by name, with their defaults.
    """

    name: str
    definition: str
    title: str
    reference: str
    larger_is_worse: bool
    from_sketch: str
    options: dict[str, object]


def measures() -> list[Measure]:
    """Every measure of a binary outcome, with its definition in one line.

    Use it to find the name and the options of a measure for `assess`, `compare` and
    `Sketch.estimate`.

    Most are functions of this package. "corp_miscalibration" is a part of `corp`, "ici", "e50",
    "e90" and "emax" are those of `calibration_indices`, and the three that begin with "calibration"
    are those of `cox_calibration`.

    Returns
    -------
    list of Measure
        Named tuples, in the order of a table.

    Examples
    --------
    >>> import calipers as cal
    >>> for measure in cal.measures()[:2]:
    ...     print(f"{measure.name}: {measure.title}")
    ls_ece: LS-ECE
    residual_ls_ece: residual LS-ECE
    """
    return list(LISTED.values())


LISTED: dict[str, Measure] = {
    found["name"]: Measure(**{**found, "options": dict(found["options"])}) for found in _core.measures()
}


class Named(NamedTuple):
    """The name of a measure, and the options that were given."""

    measure: str
    options: Options


def named(measure: str, options: Options) -> Named:
    """The measure of that name with these options; the core has the defaults of the others.

    The name can be what people write for it, such as "LS-ECE". One that is unknown goes to the
    core as it is, which rejects it with the closest that is known.
    """
    if not isinstance(measure, str):
        raise TypeError(f"measure must be text, got {type(measure).__name__}")
    listed = LISTED.get(measure) or LISTED.get(_core.listed_name(measure))
    if listed is None:
        return Named(measure, options)
    for name in options:
        if name not in listed.options:
            raise TypeError(f"{listed.name} has no option {name!r}, only {', '.join(listed.options)}")
    return Named(listed.name, options)
