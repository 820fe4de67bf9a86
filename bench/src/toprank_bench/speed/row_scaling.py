"""How the seconds of a fit grow with the rows: by which power of their number.

Rows are doubled again and again; the figure is the median slope of all pairs of sizes on
logarithmic axes (1 is as the rows, 2 as their square). Rivals run as far as `rival_rows`.
"""

from functools import partial

from toprank_bench.plots.scaling_plots import slopes
from toprank_bench.speed.main_learners import MAIN_LEARNERS, MainLearner, Preparing
from toprank_bench.speed.race import Measured, Race, Setting
from toprank_bench.speed.speed_rows import rare_positives
from toprank_bench.speed.timing import seconds


def _powers(learner: MainLearner, setting: Setting) -> Measured:
    shape = setting.shape
    sizes = [shape["smallest"] * 2**doubling for doubling in range(shape["doublings"] + 1)]
    _least_seconds(learner.prepare, sizes[0], setting)  # compiles before the clock counts
    ours, theirs = [], []
    for size in sizes:
        ours.append(_least_seconds(learner.prepare, size, setting))
        if size <= shape["rival_rows"]:
            theirs.append(_least_seconds(learner.prepare_rival, size, setting))
    facts = {"rows": sizes, "our_seconds": ours, "their_seconds": theirs}
    return Measured(slopes(sizes, ours), facts)


def _least_seconds(prepare: Preparing, n_rows: int, setting: Setting) -> float:
    """Return the seconds of the quickest round: whatever disturbs a fit makes it longer."""
    features, is_positive, _ = rare_positives(n_rows, setting.shape["columns"])
    fit = prepare(features, is_positive, setting.n_threads)
    return min(seconds(fit) for _ in range(setting.shape["rounds"]))


RACES = tuple(
    Race(
        name=f"scaling-{name}",
        what=f"{learner.what}, fit",
        against=learner.against,
        unit="power of the rows",
        measure=partial(_powers, learner),
        shape={
            "smallest": 125_000, "doublings": 4, "columns": 10, "rival_rows": 500_000, "rounds": 2,
        },
        quick={"smallest": 25_000, "doublings": 3, "rival_rows": 100_000, "rounds": 1},
        minutes=(1.5, 0.2),
        needs=learner.needs,
    )
    for name, learner in MAIN_LEARNERS.items()
)  # fmt: skip
