"""What a person looks at: one HTML file with the findings, and the decisions it gives back."""

from typing import TYPE_CHECKING

from graylearn.lazy import getter

if TYPE_CHECKING:
    from graylearn.report.data import (
        Preview,
        ReportData,
        image_preview,
        preview_samples,
        row_preview,
        text_preview,
    )
    from graylearn.report.decisions import Decision, read_decisions
    from graylearn.report.write import write_report

__all__ = [
    "Decision",
    "Preview",
    "ReportData",
    "image_preview",
    "preview_samples",
    "read_decisions",
    "row_preview",
    "text_preview",
    "write_report",
]

_NAMES = {
    "data": ("Preview", "ReportData", "image_preview", "preview_samples", "row_preview", "text_preview"),
    "decisions": ("Decision", "read_decisions"),
    "write": ("write_report",),
}

if not TYPE_CHECKING:
    __getattr__ = getter(__name__, _NAMES)
