"""Run folders: from a file to a model, an audit and a report, and what is done with them afterwards."""

from graylearn.runs.progress import RunProgress
from graylearn.runs.run import run
from graylearn.runs.settings import RunSettings, read_settings, settings_from

__all__ = ["RunProgress", "RunSettings", "read_settings", "run", "settings_from"]
