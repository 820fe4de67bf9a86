"""Training on a Dask cluster: the rows stay on the workers, only totals are sent.

`fit` trains a `BoostedRanker` on any Dask frame, for example the one that `read_parquet` returns;
`toprank fit --cluster` also splits the rows and reports figures. Dask is imported when needed.
"""

from toprank.cluster.cluster_fit import fit
from toprank.cluster.dask_client import LostWorkerError
from toprank.cluster.parquet import read_parquet

__all__ = ["LostWorkerError", "fit", "read_parquet"]
