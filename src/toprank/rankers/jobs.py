"""How many threads `n_jobs` means, as in scikit-learn."""

from joblib import cpu_count, effective_n_jobs

from toprank.data import checks


def n_threads(n_jobs: int | None) -> int:
    """Return the number of threads: None means 1, -1 all cores, -2 all but one; 0 is refused.

    Inside `joblib.parallel_config(n_jobs=...)` None means that number. Threads run
    on this machine, so a cluster's backend gives no more of them than there are cores here.

    >>> n_threads(None), n_threads(3)
    (1, 3)
    """
    checks.jobs(n_jobs)
    if n_jobs is not None and n_jobs > 0:
        return int(n_jobs)
    return max(1, min(effective_n_jobs(n_jobs), cpu_count()))
