"""The memory of a ranker of streams, million by million rows.

Made-up rows of ten numbers, one in a hundred positive, come in blocks of 50,000; each is scored
before it is learned from. After each million rows the memory that the process holds is measured.
"""

import time
from pathlib import Path

import numpy as np
from scipy.special import expit

from toprank_bench.protocols.protocol import TrialOutcome
from toprank_bench.resources import processor_seconds, resident_bytes

METRICS = ("megabytes_first", "megabytes_last", "megabytes_grown", "rows_per_second")
DATA = ("made-up rows",)
_BLOCK = 50_000
_MEGABYTE = 2**20


def stream_memory(
    data: str, seed: int, folder: Path | None, *, rows: int = 5_000_000, n_estimators: int = 100
) -> TrialOutcome:
    """Return the memory after the first measurement and the last, a fifth of the rows apart."""
    from toprank import StreamRanker

    random = np.random.default_rng(seed)
    ranker = StreamRanker(n_estimators=n_estimators, random_state=seed)
    held, every = [], rows // 5
    begin, worked = time.perf_counter(), processor_seconds()
    for start in range(0, rows, _BLOCK):
        X = random.normal(size=(_BLOCK, 10))
        y = random.random(_BLOCK) < expit(X[:, 0] * X[:, 1] + X[:, 2] - 5.5)
        ranker.score_then_learn(X, y)
        if (start + _BLOCK) % every == 0:
            held.append(resident_bytes("VmRSS") / _MEGABYTE)
    seconds, worked = time.perf_counter() - begin, processor_seconds() - worked
    return TrialOutcome(
        {
            "megabytes_first": held[0],
            "megabytes_last": held[-1],
            "megabytes_grown": held[-1] - held[0],
            "rows_per_second": rows / worked,  # of one processor
        },
        {"rows": rows, "n_estimators": n_estimators},
        {"score and learn": round(seconds, 3)},
        {
            "megabytes": [round(each, 1) for each in held],
            "refits": ranker.model_.n_refits,
            "rows_in_memory": ranker.model_.reservoir.n_rows,
        },
    )
