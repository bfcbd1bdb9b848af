"""The paper's tables and figures as data, a sweep that goes on where it was, and the results store."""

from graylearn.bench.cells import Cell
from graylearn.bench.experiments import EXPERIMENTS
from graylearn.bench.grids import Experiment
from graylearn.bench.options import Options
from graylearn.bench.store import Store

__all__ = ["EXPERIMENTS", "Cell", "Experiment", "Options", "Store"]
