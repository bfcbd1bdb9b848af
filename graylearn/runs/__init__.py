"""Run folders: from a file to a model, an audit and a report, and what is done with them afterwards."""

from typing import TYPE_CHECKING

from graylearn.lazy import getter

if TYPE_CHECKING:
    from graylearn.runs.progress import RunProgress
    from graylearn.runs.settings import RunSettings, read_settings, settings_from
    from graylearn.runs.start import run

__all__ = ["RunProgress", "RunSettings", "read_settings", "run", "settings_from"]

_NAMES = {
    "progress": ("RunProgress",),
    "settings": ("RunSettings", "read_settings", "settings_from"),
    "start": ("run",),
}

if not TYPE_CHECKING:
    __getattr__ = getter(__name__, _NAMES)
