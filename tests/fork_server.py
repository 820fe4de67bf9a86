"""A process that has imported what others need; they are forked from it and start at once."""

from multiprocessing import forkserver, get_context
from multiprocessing.context import ForkServerContext

IMPORTED = [
    "dask.dataframe",
    "distributed",
    "toprank.cluster",
    "toprank.payments.history_store",
    "toprank.rankers.boosted.xgboost_engine",
    "xgboost",
]


def fork_server() -> ForkServerContext:
    """Return the context whose processes are forked from the one with the imports."""
    context = get_context("forkserver")
    context.set_forkserver_preload(IMPORTED)
    forkserver.ensure_running()  # before Dask, which has a list of imports of its own
    return context
