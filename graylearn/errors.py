"""Every exception graylearn raises on purpose, as one tree.

    GraylearnError
      DataError (ValueError)          the data cannot be what was asked of it
      SettingsError (ValueError)      a setting is out of range or contradicts another
      DivergedError (ArithmeticError) the loss turned NaN or infinite
      CheckpointError (ValueError)    a saved file is damaged, foreign or of another run
      MissingExtraError (ImportError) an optional package is needed and not installed

Losses raise plain ValueError / TypeError / RuntimeError, as torch.nn.functional does.
"""


class GraylearnError(Exception):
    """Base of all of graylearn's own exceptions."""


class DataError(GraylearnError, ValueError):
    """The data cannot be what was asked of it."""


class SettingsError(GraylearnError, ValueError):
    """A setting is out of range or contradicts another."""


class DivergedError(GraylearnError, ArithmeticError):
    """The loss turned NaN or infinite."""


class CheckpointError(GraylearnError, ValueError):
    """A saved file is damaged, foreign or belongs to another run."""


class MissingExtraError(GraylearnError, ImportError):
    """An optional package is needed and not installed."""
