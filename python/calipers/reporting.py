"""A self-contained HTML page about one or more models."""

from calipers._report import ReportPage, report

__all__ = ["ReportPage", "report"]
