"""Training on a Dask cluster: the rows stay with the workers, only totals travel.

`fit` trains a `BoostedRanker` on any Dask frame, such as `read_parquet` gives, and `toprank fit
--cluster` does all that `toprank fit` does. Dask itself is loaded when it is needed.
"""

from toprank.cluster.cluster_fit import fit
from toprank.cluster.dask_client import LostWorkerError
from toprank.cluster.parquet import read_parquet

__all__ = ["LostWorkerError", "fit", "read_parquet"]
