"""Sketches: summaries of predictions that do not fit into memory, or that arrive batch by batch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, cast

from calipers import _core
from calipers._arrays import ArrayLike
from calipers._assess import Debias, Method
from calipers._assessment import Assessment
from calipers._curve import LsCurve, points
from calipers._documented import documented
from calipers._estimate import Estimate
from calipers._inputs import Between, Link, NBins, Noise, Norm, Profile, Strategy
from calipers._measures import Named, named
from calipers._predictions import Outcomes, Probabilities, read
from calipers._recalibrator import Recalibrator
from calipers._row_options import OneViewOptions, Unpack
from calipers._sweep import Bins, SketchSweep, counts


@documented
class Sketch:
    """A summary of any number of predictions from which measures are computed, each with its bound.

    Use it for predictions that do not fit into memory, that arrive batch by batch, or that are
    spread over machines: sketches are small, they merge exactly, and rows need not be kept.

    Rows go into cells by the bits of min(p, 1 - p), and each cell keeps sums as integers: whatever
    the split into batches and the order of merges, the same rows give the same bytes. The size is
    that of the occupied cells, at most some megabytes, and not that of the rows.

    One sketch answers one question: all batches have scores of one kind, and the same `multiclass`,
    `ties` and `pos_label`. Threads may share a sketch; they wait for each other.

    Rows can be taken out again: ``month - day`` is the sketch of the other days, exactly.

    Parameters
    ----------
    profile : {"exact", "monitoring"}
        "exact" keeps sums of the places inside cells, and LS-ECE has a tolerance of 1e-6.
        "monitoring" keeps only how many rows a cell has, for many small segments: 10^4
        probabilities take at most 10 KB instead of 35, and LS-ECE is off by at most 1.3e-4 / sigma,
        a few hundredths of the noise floor of so many rows. Each estimate has its own bound.
    resolution : int, optional
        Cells are about 2^-resolution wide, in logits: from 6 to 20, and 12 unless set, which serves
        Gaussian noise from sigma 0.02 on to a tolerance of 1e-6 whatever the data.
    tolerance, smallest_sigma : float, optional
        In place of `resolution`: the coarsest cells that answer LS-ECE with Gaussian noise to
        within this tolerance, for any data and any sigma from the smallest one on.
    clip : float
        Probabilities are clipped to [clip, 1 - clip] on their way in.
    largest_logit : float
        Raw scores beyond this in size are taken as this: from 40, from where on probabilities are 0
        or 1 to the last bit, to 708. What that changes in LS-ECE is part of its bound.
    n_bins : sequence of int
        The numbers of equal-width bins for which `expected_calibration_error` is exact; for others
        the bound includes what cells that a bin divides leave open.
    weight_bits : int
        Weights are kept as multiples of 2^-weight_bits, up to 2^(56 - weight_bits).

    Raises
    ------
    CalipersError
        For invalid input, as the functions do. An invalid batch changes nothing.

    References
    ----------
    That LS-ECE has a sketch at all is its continuity: Chidambaram, Lee, McSwiggen, Rezchikov, "How
    Flawed Is ECE? An Analysis via Logit Smoothing", 2024. ``docs/sketch-format.md`` has the bytes.

    Examples
    --------
    >>> import calipers as cal
    >>> monday = cal.Sketch().update([1, 0, 1], [0.9, 0.2, 0.6])
    >>> tuesday = cal.Sketch().update([0, 0], [0.3, 0.8])
    >>> week = monday.copy().merge(cal.Sketch.from_bytes(tuesday.to_bytes()))
    >>> week
    Sketch(n=5, scores='probabilities', resolution=12, n_cells=5)
    >>> estimate = week.ls_ece(sigma=0.1)
    >>> exact = cal.ls_ece([1, 0, 1, 0, 0], [0.9, 0.2, 0.6, 0.3, 0.8], sigma=0.1)
    >>> abs(estimate - exact) <= estimate.numerical_bound + exact.numerical_bound
    True
    """

    __slots__ = ("_held",)

    _held: _core.Sketch

    def __init__(
        self,
        *,
        profile: Profile = "exact",
        resolution: int | None = None,
        tolerance: float | None = None,
        smallest_sigma: float | None = None,
        clip: float = 1e-6,
        largest_logit: float = 708.0,
        n_bins: Sequence[int] = (10, 15),
        weight_bits: int = 32,
    ) -> None:
        self._held = _core.Sketch({name: value for name, value in locals().items() if name != "self"})

    @documented
    def update(self, y_true: Outcomes, y_prob: Probabilities = None, **rows: Unpack[OneViewOptions]) -> Sketch:
        """Adds the rows of a batch, and returns the sketch.

        A batch may be empty, or without the positive label: what can only be checked of all rows is
        checked with the first value. Errors count rows over all batches. There is no mean over
        classes: use a sketch for each class.

        Examples
        --------
        >>> import calipers as cal
        >>> batches = [([1, 0], [0.9, float("nan")]), ([1, 1], [0.7, 0.6])]
        >>> sketch = cal.Sketch()
        >>> for y_true, y_prob in batches:
        ...     _ = sketch.update(y_true, y_prob, invalid="count")
        >>> sketch.brier_score().left_out
        {'invalid probability': 1}
        """
        if not self._held.update_quickly(y_true, y_prob, rows):
            read(Sketch.update, y_true, y_prob, rows, whole=False).ask(self._held.update)
        return self

    def merge(self, other: Sketch) -> Sketch:
        """Adds the rows of another sketch, and returns this one.

        Clip, largest_logit, n_bins and weight_bits must be the same; of two profiles and
        resolutions the coarser is taken.

        Parameters
        ----------
        other : Sketch
            It stays as it is.
        """
        if not isinstance(other, Sketch):
            raise TypeError(f"other must be a Sketch, got {type(other).__name__}")
        self._held.merge(other._held)
        return self

    def copy(self) -> Sketch:
        """A sketch of the same rows, which goes its own way."""
        return self._holding(self._held.copy())

    def __sub__(self, other: Sketch) -> Sketch:
        """The sketch of the rows that are not those of `other`, which must be part of this one.

        It has the bytes of a sketch of these rows alone, but for two things that sums cannot tell:
        it is weighted if this one is, and of batches with different kinds of scores it has the
        largest rounding error.

        Examples
        --------
        >>> import calipers as cal
        >>> monday = cal.Sketch().update([1, 0, 1], [0.9, 0.2, 0.6])
        >>> tuesday = cal.Sketch().update([0, 0], [0.3, 0.8])
        >>> week = monday.copy().merge(tuesday)
        >>> week - monday == tuesday
        True
        """
        if not isinstance(other, Sketch):
            return NotImplemented
        return self._holding(self._held.subtract(other._held))

    def coarsen(self, resolution: int | None = None, *, profile: Profile | None = None) -> Sketch:
        """Makes cells wider, and returns the sketch: the one that the rows would have given.

        Parameters
        ----------
        resolution : int, optional
            Cells are then about 2^-resolution wide, in logits.
        profile : {"exact", "monitoring"}, optional
            "monitoring" makes a sketch of that profile, with a resolution of at most 12.
        """
        self._held.coarsen({"resolution": resolution, "profile": profile})
        return self

    def to_bytes(self, *, version: int | None = None) -> bytes:
        """The sketch as bytes, the same for the same rows however they came.

        Parameters
        ----------
        version : int, optional
            The newest version of the format that the reader knows, if that is older than this
            calipers: 3 if class probabilities sum to 1 within 0.001, and also 1 and 2 for the exact
            profile. Every version is read.
        """
        return self._held.to_bytes(version)

    @classmethod
    def from_bytes(cls, data: bytes | bytearray | memoryview) -> Sketch:
        """The sketch that `to_bytes`, or the command ``calipers sketch``, has written.

        Which label was the positive one, bytes no longer know.

        Parameters
        ----------
        data : bytes-like
            All bytes of one sketch.
        """
        # bytes(5) would be five zeros.
        return cls._holding(_core.Sketch.from_bytes(bytes(memoryview(data))))

    @classmethod
    def _holding(cls, held: _core.Sketch) -> Sketch:
        sketch = cls.__new__(cls)
        sketch._held = held
        return sketch

    def __reduce__(self) -> tuple[Callable[[bytes], Sketch], tuple[bytes]]:
        return type(self).from_bytes, (self.to_bytes(),)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sketch) and self.to_bytes() == other.to_bytes()

    # It changes.
    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        facts = self._held.facts()
        scores = f"scores={facts['scores']!r}, " if facts["scores"] else ""
        left_out = f", left_out={facts['left_out']}" if facts["left_out"] else ""
        profile = "" if facts["profile"] == "exact" else f"profile={facts['profile']!r}, "
        cells = f"resolution={facts['resolution']}, n_cells={self.n_cells}"
        return f"Sketch(n={facts['n']}, {scores}{profile}{cells}{left_out})"

    @property
    def n(self) -> int:
        """Rows that were added."""
        return self._held.facts()["n"]

    @property
    def total_weight(self) -> float:
        """Sum of the weights, as they were rounded; the number of rows where there are none."""
        return self._held.facts()["total_weight"]

    @property
    def is_weighted(self) -> bool:
        """Whether any batch had weights."""
        return self._held.facts()["is_weighted"]

    @property
    def n_cells(self) -> int:
        """Cells that hold a row: what the size grows with."""
        return self._held.n_cells()

    @property
    def n_clipped(self) -> int:
        """Probabilities that were clipped, and raw scores beyond `largest_logit`."""
        return self._held.facts()["n_clipped"]

    @property
    def left_out(self) -> dict[str, int]:
        """Rows that ``invalid="count"`` left out, by kind."""
        return self._held.facts()["left_out"]

    @property
    def profile(self) -> Profile:
        """What is kept of places inside cells: "exact" or "monitoring"."""
        return self._held.facts()["profile"]

    @property
    def resolution(self) -> int:
        """Cells are about 2^-resolution wide, in logits."""
        return self._held.facts()["resolution"]

    @property
    def clip(self) -> float:
        """Probabilities were clipped to [clip, 1 - clip]."""
        return self._held.facts()["clip"]

    @property
    def n_bins(self) -> tuple[int, ...]:
        """The numbers of equal-width bins that are kept exactly, ascending."""
        return tuple(self._held.facts()["n_bins"])

    def _measured(self, method: Callable[..., Estimate], given: dict[str, Any]) -> Estimate:
        """The value of the measure that a method is named after, as it was called."""
        options = {name: value for name, value in given.items() if name != "self"}
        return self._estimate(named(method.__name__, options))

    def _estimate(self, asked: Named) -> Estimate:
        return Estimate._of(self._held.estimate(asked.measure, {**asked.options, "clip": self.clip}))

    def estimate(self, measure: str, **options: Any) -> Estimate:
        """The value of a measure by its name, for those that need no rows.

        The clip is that of the sketch.

        Parameters
        ----------
        measure : str
            Any whose ``from_sketch`` in `measures` is not "nothing".
        **options
            Those of the function of that name but for ``clip``.

        Examples
        --------
        >>> import calipers as cal
        >>> sketch = cal.Sketch().update([1, 1, 1, 1, 0] * 100, [0.9] * 500)
        >>> round(sketch.estimate("maximum_calibration_error", n_bins=10), 6)
        0.1
        """
        return self._estimate(self._asked(measure, options))

    @staticmethod
    def _asked(measure: str, options: dict[str, Any]) -> Named:
        if "clip" in options:
            raise TypeError("clip is that of the sketch, and no option of what is asked of it")
        return named(measure, options)

    @documented
    def ls_ece(
        self,
        *,
        sigma: float | Literal["auto"] = "auto",
        noise: Noise = "gaussian",
        link: Link = "logistic",
        tolerance: float = 1e-6,
    ) -> Estimate:
        """The function `ls_ece` of the rows; the clip is that of the sketch.

        Where cells are too wide for sigma and tolerance, the error has the tolerance that can be
        met.
        """
        return self._measured(Sketch.ls_ece, locals())

    @documented
    def residual_ls_ece(
        self,
        *,
        sigma: float | Literal["auto"] = "auto",
        noise: Noise = "gaussian",
        link: Link = "logistic",
        tolerance: float = 1e-6,
    ) -> Estimate:
        """The function `residual_ls_ece` of the rows; the clip is that of the sketch.

        Where cells are too wide for sigma and tolerance, the error has the tolerance that can be
        met.
        """
        return self._measured(Sketch.residual_ls_ece, locals())

    @documented
    def assess(
        self,
        *,
        measure: str = "ls_ece",
        level: float = 0.95,
        n_resamples: int = 1000,
        method: Method = None,
        debias: Debias = "local",
        random_state: int = 0,
        **options: Any,
    ) -> Assessment:
        """The function `assess` of the rows, for measures that need no rows to be resampled.

        The clip is the sketch's.

        Parameters
        ----------
        measure : {"ls_ece", "residual_ls_ece", "expected_calibration_error"}
            The last with bins of equal width.
        **options
            Those of the function of that name but for ``clip``: ``sigma``, ``noise``, ``link`` and
            ``tolerance`` for `ls_ece`, ``n_bins`` and so on for binned ECE.

        Examples
        --------
        >>> import calipers as cal
        >>> sketch = cal.Sketch().update([1, 1, 1, 1, 0] * 100, [0.9] * 500)
        >>> found = sketch.assess(sigma=0.1)
        >>> found.significant, found.interval.lower < 0.1 < found.interval.upper
        (True, True)
        """
        choices = {name: value for name, value in locals().items() if name not in ("self", "measure", "options")}
        return self._assessed(measure, options, choices)

    def _assessed(self, measure: str, options: dict[str, Any], choices: dict[str, Any]) -> Assessment:
        asked = self._asked(measure, options)
        return Assessment._of(self._held.assess(asked.measure, {**asked.options, **choices, "clip": self.clip}))

    @documented
    def sweep(
        self,
        *,
        bins: Bins = None,
        noise: Noise = "gaussian",
        link: Link = "logistic",
        tolerance: float = 1e-5,
        random_state: int = 0,
    ) -> SketchSweep:
        """The function `sweep` of the rows: ECE over bins beside LS-ECE over sigma.

        The clip is that of the sketch.

        ECE is exact for equal-width bins that were declared; for others its bound has what cells
        leave open, and the verdict looks beyond that. The tolerance is wider than elsewhere, since
        sigma = 1/100 is below what sketches are made for unless they are told.

        Parameters
        ----------
        random_state : int
            Seed of the sampling noise.

        Examples
        --------
        >>> import calipers as cal
        >>> sketch = cal.Sketch(n_bins=[10, 20]).update([1, 1, 1, 1, 0] * 100, [0.9] * 500)
        >>> found = sketch.sweep(bins=[10, 20])
        >>> found.verdict, [round(ece, 6) for ece in found.ece_uniform.tolist()]
        ('stable', [0.1, 0.1])
        """
        options = {"noise": noise, "link": link, "tolerance": tolerance, "random_state": random_state}
        found = self._held.sweep({**options, "bins": counts(bins), "compat": None, "clip": self.clip})
        return SketchSweep._of(found)

    @documented
    def ls_curve(
        self,
        *,
        at: ArrayLike | None = None,
        sigma: float | Literal["auto"] = "auto",
        noise: Noise = "gaussian",
        link: Link = "logistic",
    ) -> LsCurve:
        """The function `ls_curve` of the rows; its bounds include the width of cells."""
        # The curve has bounds, not a tolerance; an automatic sigma is what cells answer to within
        # this.
        smoothing = {"sigma": sigma, "noise": noise, "link": link, "tolerance": 1e-6, "clip": self.clip}
        return LsCurve._of(self._held.ls_curve({"at": points(at), **smoothing}))

    def recalibrate(
        self,
        method: str = "beta",
        *,
        ridge: float | None = None,
        mixture: float | None = None,
        between: Between = "line",
        n_bins: int = 10,
        counts: bool = False,
    ) -> Recalibrator:
        """A recalibration map that is fitted to the rows of the sketch.

        Rows of a cell count as one score, so a formula differs from that of the rows by about the
        width of a cell squared, and a note says by how much at most.

        Parameters
        ----------
        method : str
            A family of maps of a binary outcome, of those that `recalibration_methods` lists.
        ridge : float, optional
            Strength of the pull toward the identity; that of the method unless given.
        mixture : float, optional
            The share of equal probabilities that is mixed in; that of the method unless given.
        between : {"line", "step"}
            What an isotonic map is between its knots.
        n_bins : int
            Bins of equal mass, for the method "bins".
        counts : bool
            Whether a weight is a number of equal rows.

        Examples
        --------
        >>> import calipers as cal
        >>> y, p = [1, 1, 0, 1, 0, 0] * 50, [0.75, 0.75, 0.75, 0.25, 0.25, 0.25] * 50
        >>> recalibrator = cal.Sketch().update(y, p).recalibrate("temperature")
        >>> recalibrator.predict_proba([0.75]).round(4).tolist()
        [0.6667]
        """
        from_logits = self._held.facts()["scores"] not in (None, "probabilities")
        options = {"ridge": ridge, "mixture": mixture, "clip": self.clip, "between": between, "n_bins": n_bins}
        found = Recalibrator(method, **cast("Any", options), counts=counts, from_logits=from_logits)
        return found._fitted(*self._held.recalibrate(found._options()))

    @documented
    def expected_calibration_error(
        self,
        *,
        n_bins: NBins = 15,
        strategy: Strategy = "uniform",
        norm: Norm = "l1",
        link: Link = "logistic",
    ) -> Estimate:
        """The function `expected_calibration_error` of the rows.

        Exact for equal-width bins that were declared.
        """
        return self._measured(Sketch.expected_calibration_error, locals())

    @documented
    def ecce_r(self, *, link: Link = "logistic") -> Estimate:
        """The function `ecce_r` of the rows; the bound has what the curve can do inside a cell.

        Examples
        --------
        >>> import calipers as cal
        >>> sketch = cal.Sketch().update([0, 1, 0], [0.3, 0.4, 0.6])
        >>> round(sketch.ecce_r(), 6)
        0.2
        """
        return self._measured(Sketch.ecce_r, locals())

    @documented
    def ecce_mad(self, *, link: Link = "logistic") -> Estimate:
        """The function `ecce_mad` of the rows.

        The bound has what the curve can do inside a cell.
        """
        return self._measured(Sketch.ecce_mad, locals())

    def brier_score(self) -> Estimate:
        """The function `brier_score` of the rows."""
        return self._measured(Sketch.brier_score, locals())

    def log_loss(self) -> Estimate:
        """The function `log_loss` of the rows; the clip is that of the sketch."""
        return self._measured(Sketch.log_loss, locals())
