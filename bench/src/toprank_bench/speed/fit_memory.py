"""The memory that one fit needs, read in a process of its own: what `memory` starts.

    python -m toprank_bench.speed.fit_memory LEARNER ROWS COLUMNS THREADS

prints three numbers of bytes: the input's size, the peak of the fit above what the process held
before the input came, and above what it held with the input. Only Linux reports a peak that a
process may reset, and one that does not begin with that of its parent.
"""

import sys

from toprank_bench.resources import forget_peak, resident_bytes
from toprank_bench.speed.main_learners import FITS
from toprank_bench.speed.speed_rows import rare_positives


def bytes_of_fit(learner: str, n_rows: int, n_columns: int, n_threads: int) -> tuple[int, ...]:
    """Return the size of the input, and the peak above the start and above the input."""
    prepare = FITS[learner].prepare
    small = rare_positives(2_000, n_columns)
    prepare(small.features, small.is_positive, n_threads)()  # loads and compiles all it needs
    start = resident_bytes("VmRSS")
    features, is_positive, _ = rare_positives(n_rows, n_columns)
    fit = prepare(features, is_positive, n_threads)
    loaded = resident_bytes("VmRSS")
    forget_peak()  # the peak so far is that of compiling
    fit()
    peak = resident_bytes("VmHWM")
    return features.nbytes, peak - start, peak - loaded


if __name__ == "__main__":
    print(*bytes_of_fit(sys.argv[1], *map(int, sys.argv[2:])))
