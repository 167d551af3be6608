"""What a measure returns: a float with what belongs to it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NoReturn

from calipers._result import html_table, plain

# In the order of `Estimate.to_dict`.
_COUNTS = ("n_clipped", "n_ties", "n_rounded", "n_inexact_sums", "left_out")
_ATTRIBUTES = ("measure", "numerical_bound", "standard_error", "n", *_COUNTS, "settings", "per_class")
# Settings that the repr shows, where they are set.
_OF_SMOOTHING = ("sigma", "noise", "smoothing", "kernel", "bandwidth", "length_scale", "link")
_OF_BINS = ("n_bins", "strategy", "norm", "compat")
_SHOWN = (*_OF_SMOOTHING, "n_samples", "random_state", *_OF_BINS, "multiclass", "class_name")


class Estimate(float):
    """A value with its numerical bound, number of rows and settings: what measures return.

    It computes, formats, compares and serialises as the plain float that it is.

    Attributes
    ----------
    measure : str
        Name of the measure.
    numerical_bound : float
        Proven bound on the numerical error: how far the value can be from the exact value for the
        same rows. It does not include the uncertainty that comes from sampling the rows.
    standard_error : float or None
        Standard error of the measure's own sampling; None for measures that do not sample.
    n : int
        Rows measured.
    n_clipped : int
        Probabilities that were moved off 0 or 1 so that their logit is finite.
    n_ties : int
        Rows in which several classes tie for the top.
    n_rounded : int
        Probabilities outside [0, 1] by no more than rounding, which were taken as 0 or 1.
    n_inexact_sums : int
        Rows whose class probabilities sum to 1 within ``sum_tolerance``, but not within 0.001. They
        were used as given.
    left_out : dict
        Rows that ``invalid="count"`` left out, by kind.
    settings : dict
        Every option that was used, with its value; sigma as it was chosen.
    per_class : tuple of Estimate or None
        The classes behind a class-wise mean.

    Examples
    --------
    >>> import calipers
    >>> estimate = calipers.ls_ece([1, 0, 1, 1], [0.9, 0.2, 0.6, 0.8], sigma=0.5)
    >>> estimate.n, estimate.settings["sigma"]
    (4, 0.5)
    >>> f"{estimate:.3f}"
    '0.215'
    >>> estimate.numerical_bound <= 1e-6
    True
    """

    # `_found` has all attributes of an estimate that was made quickly, until one is asked for.
    __slots__ = (*_ATTRIBUTES, "_found")

    measure: str
    numerical_bound: float
    standard_error: float | None
    n: int
    n_clipped: int
    n_ties: int
    n_rounded: int
    n_inexact_sums: int
    left_out: dict[str, int]
    settings: dict[str, Any]
    per_class: tuple[Estimate, ...] | None

    def __new__(
        cls,
        value: float,
        *,
        measure: str,
        numerical_bound: float,
        n: int,
        settings: dict[str, Any],
        standard_error: float | None = None,
        n_clipped: int = 0,
        n_ties: int = 0,
        n_rounded: int = 0,
        n_inexact_sums: int = 0,
        left_out: dict[str, int] | None = None,
        per_class: tuple[Estimate, ...] | None = None,
    ) -> Estimate:
        self = super().__new__(cls, value)
        counts = (n, n_clipped, n_ties, n_rounded, n_inexact_sums, {} if left_out is None else left_out)
        attributes = (measure, numerical_bound, standard_error, *counts, settings, per_class)
        for name, attribute in zip(_ATTRIBUTES, attributes, strict=True):
            object.__setattr__(self, name, attribute)
        return self

    @classmethod
    def _quickly(cls, found: tuple[Any, ...]) -> Estimate:
        """The estimate of a value and its attributes, in their order."""
        self = float.__new__(cls, found[0])
        _PUT_FOUND(self, found)
        return self

    # Type checkers know the attributes from above, and would accept any other name with this.
    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            # Python asks here for attributes that have no value yet.
            if name not in _ATTRIBUTES:
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            found = dict(zip(_ATTRIBUTES, _GET_FOUND(self)[1:], strict=True))
            for each, put in _PUTS:
                put(self, found[each])
            return found[name]

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"an Estimate cannot be changed, so {name!r} cannot be set")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"an Estimate cannot be changed, so {name!r} cannot be deleted")

    def _shown(self) -> list[tuple[str, Any]]:
        """Settings that are set and counts that are not 0."""
        settings = [(name, self.settings.get(name)) for name in _SHOWN]
        return [each for each in settings if each[1] is not None] + [
            (name, getattr(self, name)) for name in _COUNTS if getattr(self, name)
        ]

    def __repr__(self) -> str:
        shown = [f"{float(self):.6g}"]
        if self.standard_error is not None:
            shown.append(f"standard_error={self.standard_error:.2g}")
        shown += [f"numerical_bound={self.numerical_bound:.2g}", f"n={self.n}"]
        shown += [
            f"{name}={f'{value:.6g}' if isinstance(value, float) else repr(value)}" for name, value in self._shown()
        ]
        return f"Estimate({', '.join(shown)})"

    def _repr_html_(self) -> str:
        rows = [("value", f"{float(self):.6g}"), ("numerical bound", f"{self.numerical_bound:.2g}")]
        if self.standard_error is not None:
            rows.append(("standard error", f"{self.standard_error:.2g}"))
        rows.append(("rows", f"{self.n:,}"))
        rows += [(name, f"{value:.6g}" if isinstance(value, float) else str(value)) for name, value in self._shown()]
        return html_table(("measure", self.measure), rows)

    # print, csv and f-strings without a format get the number, in full.
    __str__ = float.__repr__

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain Python objects, ready for JSON.

        >>> import calipers
        >>> calipers.expected_calibration_error([0, 1], [0.25, 0.75]).to_dict()["value"]
        0.25
        """
        attributes = {name: plain(getattr(self, name)) for name in _ATTRIBUTES}
        return {"measure": self.measure, "value": float(self), **attributes}

    @classmethod
    def _of(cls, found: Mapping[str, Any]) -> Estimate:
        """The estimate that the core has made, or that `to_dict` was asked of."""
        self = float.__new__(cls, found["value"])
        for name, put in _PUTS:
            put(self, found[name])
        per_class = found["per_class"]
        if per_class is not None:
            _PUT_CLASSES(self, tuple(map(cls._of, per_class)))
        return self

    def __reduce__(self) -> tuple[Callable[[dict[str, Any]], Estimate], tuple[dict[str, Any]]]:
        return _unpickled, (self.to_dict(),)


# Each slot's own way past `__setattr__`, in a fraction of the time of a call by keywords.
_PUTS = tuple((name, vars(Estimate)[name].__set__) for name in _ATTRIBUTES)
_PUT_CLASSES = dict(_PUTS)["per_class"]
_PUT_FOUND, _GET_FOUND = vars(Estimate)["_found"].__set__, vars(Estimate)["_found"].__get__


def _unpickled(found: dict[str, Any]) -> Estimate:
    return Estimate._of(found)
