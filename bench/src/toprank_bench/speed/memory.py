"""The most memory that a fit holds, its input included, over the size of that input."""

from functools import partial

from toprank_bench.resources import has_peak
from toprank_bench.speed.main_learners import FITS
from toprank_bench.speed.own_process import numbers_printed
from toprank_bench.speed.race import Measured, Race, Setting

_MODULE = "toprank_bench.speed.fit_memory"


def _over_input(learner: str, setting: Setting) -> Measured:
    if not has_peak():
        raise OSError("the peak of a fit can be read on Linux alone; there is no /proc here.")
    shape = setting.shape
    arguments = ["-m", _MODULE, learner]
    arguments += map(str, (shape["rows"], shape["columns"], setting.n_threads))
    rounds = [numbers_printed(arguments) for _ in range(shape["rounds"])]
    size, held, taken = (int(sorted(each)[len(each) // 2]) for each in zip(*rounds, strict=True))
    return Measured(
        [round_[1] / round_[0] for round_ in rounds],
        {"input_bytes": size, "bytes_with_input": held, "bytes_beside_input": taken},
    )


RACES = tuple(
    Race(
        name=f"memory-{name}",
        what=f"{fit.what}, memory of a fit",
        against="",
        unit="times its input, that included",
        measure=partial(_over_input, name),
        shape={"rows": 2_000_000, "columns": 40, "rounds": 1},
        quick={"rows": 500_000},
        minutes=(0.7, 0.2),
        at_most=fit.most_memory,
        is_threaded=True,
        needs=fit.needs,
    )
    for name, fit in FITS.items()
)
