"""How long a whole fit takes beside one fit of LightGBM, and how well each ranks.

One in a hundred of the made-up rows is positive, in part by chance: the best AP is far below 1.
The fit is that of the command line: search, figures, and learning from all rows in the end.
LightGBM grows as many trees as the largest member of the written model, on the same rows and one
thread, right after it. Seconds are those of the clock, since a time limit counts these.
"""

import time
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from toprank.metrics import average_precision
from toprank_bench.learners.rankers import compile_kernels
from toprank_bench.protocols.protocol import TrialOutcome

METRICS = (
    "times_lightgbm", "seconds", "lightgbm_seconds", "average_precision",
    "lightgbm_average_precision",
)  # fmt: skip
DATA = ("made-up rows",)
_SHARE, _NOISE = 0.01, 1.2
_N_SIGNALS = 16  # columns that matter


def fit_speed(
    data: str,
    seed: int,
    folder: Path | None,
    *,
    time_limit: float | None = None,
    rows: int = 500_000,
    columns: int = 100,
    trees: int = 300,
) -> TrialOutcome:
    """Return the seconds of both fits and the average precision of both on as many new rows."""
    from lightgbm import LGBMClassifier

    from toprank.payments.payment_model import PaymentModel

    features, is_positive = _rows(2 * rows, columns, seed)
    learning, asked = slice(0, rows), slice(rows, None)
    table = pa.table({f"x{number}": column[learning] for number, column in enumerate(features.T)})
    table = table.append_column("is_positive", pa.array(is_positive[learning]))
    compile_kernels("auto", {})
    moments = [time.perf_counter()]
    model = PaymentModel(
        "is_positive", time_limit=time_limit, n_estimators=trees, random_state=seed, n_jobs=1
    ).fit(table)
    moments.append(time.perf_counter())
    n_trees = max(getattr(recipe, "n_trees", 1) for recipe in model.ranker_.recipes_)
    theirs = LGBMClassifier(
        n_estimators=n_trees, learning_rate=0.05, random_state=seed, n_jobs=1, verbose=-1
    ).fit(features[learning], is_positive[learning])
    moments.append(time.perf_counter())
    our_seconds, their_seconds = np.diff(moments).tolist()
    suspicion = model.ranker_.suspicion(features[asked])
    scores = [suspicion, theirs.predict_proba(features[asked])[:, 1]]
    found = [average_precision(is_positive[asked], each) for each in scores]
    measured = (our_seconds / their_seconds, our_seconds, their_seconds, *found)
    return TrialOutcome(
        dict(zip(METRICS, measured, strict=True)),
        {"time_limit": time_limit, "trees": n_trees},
        {"toprank fit": round(our_seconds, 3), "LightGBM": round(their_seconds, 3)},
        {"rows": rows, "columns": columns, "chosen": model.ranker_.account_.winner},
    )


def _rows(n_rows: int, n_columns: int, seed: int) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
    """Return rows whose score is a sum of single columns and of products, known up to noise."""
    generator = np.random.default_rng(seed)
    features = generator.standard_normal((n_rows, n_columns), dtype=np.float32)
    alone, *pairs = np.array_split(features[:, :_N_SIGNALS].T, 4)
    score = alone.sum(axis=0) + sum((pair[::2] * pair[1::2]).sum(axis=0) for pair in pairs)
    score += _NOISE * generator.standard_normal(n_rows, dtype=np.float32)
    return features, score > np.quantile(score, 1 - _SHARE)
