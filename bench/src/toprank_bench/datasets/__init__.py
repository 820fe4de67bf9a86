"""Named data sets, from a folder, from packages, from OpenML or made up.

`load` looks for a name in that order and says where it found it; `names` lists all that are known.
"""

from toprank_bench.datasets.dataset import Dataset
from toprank_bench.datasets.finding import DatasetNotFoundError, load, names

__all__ = ["Dataset", "DatasetNotFoundError", "load", "names"]
