"""Calibration over windows, with a false-alarm rate for all looks together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from calipers import _core
from calipers._assessment import Interval
from calipers._documented import documented
from calipers._drift import DriftSample, side
from calipers._measures import named
from calipers._report import ReportPage
from calipers._result import Result, html_text


@dataclass(frozen=True)
class WindowValue(Result):
    """A measure in one window.

    Attributes
    ----------
    measure : str
        Its title.
    value : float
        Its value.
    floor : float
        The 95 % quantile of the noise floor: what a perfectly calibrated model hardly exceeds.
    lower, upper : float
        The interval of the population's value.
    """

    measure: str
    value: float
    floor: float
    lower: float
    upper: float


@dataclass(frozen=True)
class Look(Result):
    """One window, and the e-value after it.

    Attributes
    ----------
    window : str
        Its name.
    number : int
        Its number, from 1.
    n : int
        Rows of the window.
    mean_probability : float
        Mean of the predicted probabilities; NaN without rows.
    expected_rate : float
        Mean of the probabilities that are expected: the predicted ones, or those of the reference.
    outcome_rate : float
        The share of outcome 1.
    shift : float
        By how much the log-odds of outcomes are above what is expected, on average.
    shift_standard_error : float
        That of ``shift``.
    e_value, log_e_value : float
        Evidence against what is expected, over all windows so far, and its logarithm.
    is_above_limit : bool
        Whether the e-value is at its limit or above.
    value : WindowValue or None
        The value of a measure in this window, if one was requested.
    """

    window: str
    number: int
    n: int
    mean_probability: float
    expected_rate: float
    outcome_rate: float
    shift: float
    shift_standard_error: float
    e_value: float
    log_e_value: float
    is_above_limit: bool
    value: WindowValue | None


@dataclass(frozen=True)
class Onset(Result):
    """Since when outcomes are not as expected.

    Attributes
    ----------
    window : str
        The window from which on, by maximum likelihood.
    number : int
        Its number, from 1.
    earliest, latest : str
        The first and the last window that are plausible, at 95 %.
    shift : float
        The mean shift of the log-odds since then.
    interval : Interval
        Where the shift is, at 95 %, without regard to how the onset was chosen.
    """

    window: str
    number: int
    earliest: str
    latest: str
    shift: float
    interval: Interval


@documented
class Monitor:
    """Watches calibration window after window; it prints as sentences.

    An alarm is raised once the e-value reaches 1 / alpha. If outcomes are as expected, that happens
    with a probability of at most alpha over the whole life of the monitor, however often one looks.

        calibrated    outcomes have their predicted probabilities
        reference     outcomes at equal predictions are as in the reference
        margin        log-odds may differ from that by so much, in any way

    Parameters
    ----------
    alpha : float
        The probability of a false alarm over the whole life of the monitor. Several monitors, such
        as one for each group, share it: divide it by their number.
    margin : float
        No alarm is raised for outcomes whose log-odds differ by at most this from what is expected.
        A margin of 0.1 is at most 2.5 percentage points.
    reference : Predictions, Sketch, or tuple of y_true and y_prob, optional
        A period before all windows. Its uncertainty counts: with more rows, alarms come earlier.

    Notes
    -----
    Assumes that outcomes are independent, given their predictions and all rows before. Rows count
    equally; weights are an error.

    Cost: 96 logarithms for each cell of a sketch, or for each different score of rows.

    References
    ----------
    Ville, "Étude critique de la notion de collectif", 1939; Shin, Ramdas, Rinaldo, "E-detectors: a
    nonparametric framework for sequential change detection", 2022.

    Examples
    --------
    Of forecasts of 0.8 first 80 % come true, and then 60 %:

    >>> import calipers as cal
    >>> monitor = cal.Monitor(alpha=0.05)
    >>> for hour in range(12):
    ...     rate = 80 if hour < 6 else 60
    ...     outcomes = [1] * rate + [0] * (100 - rate)
    ...     look = monitor.update((outcomes, [0.8] * 100), window=f"{hour:02}:00")
    >>> monitor.alarm.window, monitor.onset.window
    ('06:00', '06:00')

    An hourly job stores the monitor, and goes on where it was:

    >>> cal.Monitor.from_json(monitor.to_json()).e_value == monitor.e_value
    True
    """

    def __init__(self, *, alpha: float = 0.05, margin: float = 0.0, reference: DriftSample | None = None) -> None:
        self._held = _core.Monitor(alpha, margin, None if reference is None else side(reference, "reference must be"))

    @documented
    def update(
        self,
        sample: DriftSample,
        *,
        window: str | None = None,
        measure: str | None = None,
        n_resamples: int = 200,
        random_state: int = 0,
        **options: Any,
    ) -> Look:
        """Looks at the next window.

        Parameters
        ----------
        sample : Predictions, Sketch, or tuple of y_true and y_prob
            Its rows. A sketch may be without rows.
        window : str, optional
            Its name; its number, unless given.
        measure : str, optional
            Also compute this measure in the window, with its noise floor and interval, for a chart.
            It has no part in the decision.
        **options
            Those of the measure. Pass ``sigma`` for `ls_ece`, so that windows can be compared.

        Returns
        -------
        Look
            The window, and the e-value after it.
        """
        if measure is None and options:
            raise TypeError(f"{next(iter(options))} is an option of a measure; pass measure, too")
        name = str(self.n_windows + 1) if window is None else str(window)
        given: dict[str, Any] = {}
        if measure is not None:
            given = {**named(measure, options).options, "level": 0.95}
            given |= {"n_resamples": n_resamples, "random_state": random_state}
        return Look._of(self._held.update(name, side(sample, "a window must be"), measure, given))

    @property
    def alpha(self) -> float:
        """The false-alarm rate over the life of the monitor."""
        return self._held.facts()["alpha"]

    @property
    def margin(self) -> float:
        """By how much log-odds may differ from what is expected."""
        return self._held.facts()["margin"]

    @property
    def n_windows(self) -> int:
        """Windows so far."""
        return self._held.facts()["n_windows"]

    @property
    def e_value(self) -> float:
        """Evidence against what is expected, over all windows so far."""
        return self._held.facts()["e_value"]

    @property
    def limit(self) -> float:
        """The e-value of an alarm: 1 / alpha, or 1.25 / alpha with a reference."""
        return self._held.facts()["limit"]

    @property
    def p_value(self) -> float:
        """A p-value that holds at any time, over all looks so far."""
        return self._held.facts()["p_value"]

    @property
    def alarm(self) -> Look | None:
        """The look at which the alarm was raised; it stays."""
        found = self._held.facts()["alarm"]
        return None if found is None else Look._of(found)

    @property
    def onset(self) -> Onset | None:
        """Since when outcomes are not as expected, once there is an alarm."""
        found = self._held.facts()["onset"]
        return None if found is None else Onset._of(found)

    @property
    def reference_uncertainty(self) -> float | None:
        """The mean half-width of the band of the reference in log-odds."""
        return self._held.facts()["reference_uncertainty"]

    @property
    def looks(self) -> list[Look]:
        """The last looks, 4096 at most."""
        return [Look._of(found) for found in self._held.looks()]

    @property
    def sentence(self) -> str:
        """The state in words."""
        return self._held.facts()["sentence"]

    def to_json(self) -> str:
        """The whole state as text, for `from_json`."""
        return self._held.to_json()

    @classmethod
    def from_json(cls, text: str) -> Monitor:
        """The monitor that `to_json` has written; it goes on with the same bits.

        Parameters
        ----------
        text : str
            The text.

        Returns
        -------
        Monitor
            The monitor.
        """
        monitor = cls.__new__(cls)
        monitor._held = _core.Monitor.from_json(text)
        return monitor

    def report(self, title: str = "Monitor") -> ReportPage:
        """A self-contained HTML page with charts over time.

        Parameters
        ----------
        title : str
            What the page is called.

        Returns
        -------
        ReportPage
            Its `save` writes the page; a notebook shows it.
        """
        return ReportPage(title=title, html=_core.monitor_page(title, [("", self._held)]), charts={})

    def __repr__(self) -> str:
        return self.sentence

    def _repr_html_(self) -> str:
        return html_text(self.sentence)

    def __reduce__(self) -> tuple[Any, ...]:
        return Monitor.from_json, (self.to_json(),)


@documented
def monitor(
    windows: Mapping[Any, DriftSample] | Iterable[DriftSample],
    *,
    alpha: float = 0.05,
    margin: float = 0.0,
    reference: DriftSample | None = None,
    measure: str | None = None,
    n_resamples: int = 200,
    random_state: int = 0,
    **options: Any,
) -> Monitor:
    """A `Monitor` that has looked at all windows.

    Use it on the windows of `read_sketches`, or on rows of several days.

    Parameters
    ----------
    windows : mapping or iterable of Predictions, Sketch, or tuple of y_true and y_prob
        The windows in the order of time, by their names or without.
    alpha : float
        The probability of a false alarm over the whole life of the monitor.
    margin : float
        No alarm is raised for outcomes whose log-odds differ by at most this from what is expected.
    reference : Predictions, Sketch, or tuple of y_true and y_prob, optional
        A period before all windows, as which outcomes at equal predictions are expected to be.
    measure : str, optional
        Also compute this measure in each window, for a chart.
    **options
        Those of the measure. Pass ``sigma`` for `ls_ece`, so that windows can be compared.

    Returns
    -------
    Monitor
        It prints as sentences. ``alarm``, ``onset``, ``e_value`` and ``looks`` have the numbers,
        and its `report` is a page with charts.

    Examples
    --------
    >>> import calipers as cal
    >>> fine = ([1] * 80 + [0] * 20, [0.8] * 100)
    >>> cal.monitor({"mon": fine, "tue": fine}).alarm is None
    True
    """
    watched = Monitor(alpha=alpha, margin=margin, reference=reference)
    named_windows = windows.items() if isinstance(windows, Mapping) else ((None, sample) for sample in windows)
    for name, sample in named_windows:
        watched.update(
            sample,
            window=None if name is None else str(name),
            measure=measure,
            n_resamples=n_resamples,
            random_state=random_state,
            **options,
        )
    return watched
