"""Temperature scaling of any number of classes in one pass over rows in many places."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from calipers import _core
from calipers._documented import documented
from calipers._predictions import Outcomes, Probabilities, read
from calipers._recalibrator import Recalibrator
from calipers._row_options import ClassOptions, Unpack


@documented
class TemperatureSketch:
    """A mergeable summary of rows of classes, from which temperature scaling is fitted.

    Use it where the rows are too many to keep, or in many places: each place has a sketch, and
    their merge is that of all rows, to the bit. It has derivatives of the log-loss by the slope
    1 / temperature at 128 slopes, summed over rows as integers: 12 kB and 8 bytes for each class,
    however many rows there are. It can be pickled.

    Parameters
    ----------
    n_classes : int
        The number of classes.

    References
    ----------
    Guo, Pleiss, Sun, Weinberger, "On calibration of modern neural networks", ICML 2017
    (temperature).

    Examples
    --------
    >>> import calipers as cal
    >>> monday = cal.TemperatureSketch(3).update([0, 1], [[2, 0, 0], [0, 2, 0]], from_logits=True)
    >>> tuesday = cal.TemperatureSketch(3).update([1], [[2, 0, 0]], from_logits=True)
    >>> both = monday.merge(cal.TemperatureSketch.from_bytes(tuesday.to_bytes()))
    >>> both
    TemperatureSketch(n=3, n_classes=3)
    >>> round(both.fit().parameters["slope"], 4)
    0.6931
    """

    __slots__ = ("_held",)

    _held: _core.TemperatureSketch

    def __init__(self, n_classes: int) -> None:
        self._held = _core.TemperatureSketch(n_classes)

    @documented
    def update(self, y_true: Outcomes, y_prob: Probabilities = None, **rows: Unpack[ClassOptions]) -> TemperatureSketch:
        """Adds the rows of a batch, and returns the sketch.

        Nothing changes where an error is raised.
        """
        read(TemperatureSketch.update, y_true, y_prob, rows, whole=False).of_classes().ask(self._held.update)
        return self

    def merge(self, other: TemperatureSketch) -> TemperatureSketch:
        """Adds the rows of another sketch of as many classes, exactly, and returns this one.

        Parameters
        ----------
        other : TemperatureSketch
            It stays as it is.
        """
        if not isinstance(other, TemperatureSketch):
            raise TypeError(f"other must be a TemperatureSketch, got {type(other).__name__}")
        self._held.merge(other._held)
        return self

    def copy(self) -> TemperatureSketch:
        """A sketch of the same rows, which goes its own way."""
        return self._holding(self._held.copy())

    def fit(self, *, from_logits: bool = False) -> Recalibrator:
        """The recalibrator of all rows: temperature scaling without a ridge.

        Its ``bound`` has how far the slope is from that of the rows at most.

        Parameters
        ----------
        from_logits : bool
            Whether `predict_proba` shall get raw scores. The map is for both.
        """
        return Recalibrator("temperature", from_logits=from_logits)._fitted(*self._held.fit())

    def to_bytes(self) -> bytes:
        """The sketch as bytes, the same for the same rows however they came."""
        return self._held.to_bytes()

    @classmethod
    def from_bytes(cls, data: bytes | bytearray | memoryview) -> TemperatureSketch:
        """The sketch that `to_bytes` has written.

        Parameters
        ----------
        data : bytes-like
            All bytes of one sketch.
        """
        # bytes(5) would be five zeros.
        return cls._holding(_core.TemperatureSketch.from_bytes(bytes(memoryview(data))))

    @classmethod
    def _holding(cls, held: _core.TemperatureSketch) -> TemperatureSketch:
        sketch = cls.__new__(cls)
        sketch._held = held
        return sketch

    def __reduce__(self) -> tuple[Callable[[bytes], TemperatureSketch], tuple[bytes]]:
        return type(self).from_bytes, (self.to_bytes(),)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TemperatureSketch) and self.to_bytes() == other.to_bytes()

    # It changes.
    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        left_out = f", left_out={self.left_out}" if self.left_out else ""
        return f"TemperatureSketch(n={self.n}, n_classes={self.n_classes}{left_out})"

    @property
    def n(self) -> int:
        """Rows with weight."""
        return cast("int", self._held.facts()["n"])

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return cast("int", self._held.facts()["n_classes"])

    @property
    def left_out(self) -> dict[str, int]:
        """Rows that ``invalid="count"`` left out, by kind."""
        return cast("dict[str, int]", self._held.facts()["left_out"])
