"""Where the time and the memory of a command go, stage by stage.

    python -m toprank_bench.speed.command_stages fit payments.csv --label is_fraud -o a.toprank

The command runs twice in processes of its own: once as it is, for its seconds and its peak of
memory, and once under Python's profiler, which slows imports most, for the share of each stage.
Growing trees is one of the stages, so that the rest can be compared between two versions of the
sources: set PYTHONPATH to the other one, and run this file. On a machine that does other work,
trust the seconds of the processor alone.
"""

import pstats
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

_PROFILED = """
import cProfile, sys
profile = cProfile.Profile()
profile.enable()
try:
    from toprank.cli import main
    main()
finally:
    profile.disable()
    ours = sum(name.split(".")[0] == "toprank" for name in sys.modules)
    print("modules", ours, len(sys.modules), file=sys.stderr)
    profile.dump_stats({path!r})
"""
_PLAIN = "from toprank.cli import main; main()"

# stage -> the functions whose time it is. Stages overlap where one calls another: an evaluation
# scores, and the list pulls batches through reading and features
STAGES = {
    "importing modules": ["<frozen importlib._bootstrap>:_find_and_load"],
    "reading the table": [
        "toprank/data/tables/read.py:read_table",
        "toprank/data/tables/delimited.py:_parsed_blocks",
    ],
    "text of the listed rows": ["toprank/data/tables/read.py:rows_as_written"],
    "features of the past": ["toprank/payments/learning.py:_with_their_past"],
    "preparing": ["toprank/workflow/task.py:prepare"],
    "taking rows of parts": ["toprank/workflow/task.py:rows"],
    "encoding": [
        "toprank/data/inputs.py:read_training",
        "toprank/data/inputs.py:read_features",
        "toprank/workflow/task.py:encoded",
        "toprank/workflow/task.py:schema",
    ],
    "binning": ["toprank/rankers/boosted/xgboost_engine.py:binned_matrix"],
    "growing": [
        "toprank/rankers/boosted/xgboost_engine.py:_grow",
        "toprank/rankers/auto/forest_member.py:_grown",
        "toprank/rankers/auto/smooth_member.py:fit",
    ],
    "scoring": [
        "toprank/rankers/boosted/xgboost_engine.py:predict_raw",
        "toprank/rankers/auto/smooth_member.py:raw",
        "_forest.py:predict_proba",
    ],
    "calibration": [
        "toprank/calibration/choice.py:fit_calibration",
        "toprank/rankers/boosted/one_booster.py:_keep",
    ],
    "evaluation": [
        "toprank/workflow/training.py:_candidate",
        "toprank/present/summary.py:text_of",
        "toprank/workflow/plain_facts.py:training_facts",
    ],
    "opening the model": ["toprank/files/saving.py:open_model"],
    "opening the history": ["toprank/payments/history_store/history_store.py:open"],
    "alert list": ["toprank/workflow/alert_list.py:top_alerts"],
    "report": [
        "toprank/present/report/from_training.py:report_of",
        "toprank/present/report/page.py:write_report",
    ],
    "writing the history": ["toprank/payments/model_files.py:_stored"],
    "writing the model": ["toprank/files/saving.py:save"],
}

CALLS = {
    "columns cast to float32": "toprank/data/tables/values.py:finite_numbers",
    "tables encoded": "toprank/data/tables/schema.py:encode",
    "schemas learned": "toprank/data/tables/schema.py:of",
    "labels parsed": "toprank/data/tables/labels.py:_plain_values",
    "times parsed": "toprank/data/tables/times.py:time_column",
    "headers of a CSV read": "toprank/data/tables/delimited.py:layout_of",
    "archives opened": "toprank/files/archive.py:opened_archive",
}


class Stages(NamedTuple):
    """What a command took: seconds and memory as it is, then by stage as profiled."""

    seconds: float
    of_processor: float
    peak_bytes: int
    modules: tuple[int, int]
    of_all: float
    by_stage: dict[str, float]
    calls: dict[str, int]

    def __str__(self) -> str:
        ours, every = self.modules
        outside = self.of_all - self.by_stage["growing"]
        lines = [
            f"{self.seconds:9.2f} s by the clock",
            f"{self.of_processor:9.2f} s of the processor",
            f"{self.peak_bytes / 2**20:9.0f} MB at most",
            f"{ours:9d} modules of toprank, {every} in all",
            f"{self.of_all:9.2f} s by the clock, profiled",
            f"{outside:9.2f} s of these outside growing",
        ]
        lines += [f"{each:9.2f} s {name}" for name, each in self.by_stage.items()]
        lines += [f"{each:9d} {name}" for name, each in self.calls.items()]
        return "\n".join(lines)


def stages_of(arguments: Sequence[str]) -> Stages:
    """Return what `toprank` with these arguments takes."""
    as_it_is = _as_it_is(arguments)
    with TemporaryDirectory() as folder:
        path = Path(folder, "profile")
        done = _python(_PROFILED.format(path=str(path)), arguments)
        stats = pstats.Stats(str(path))
    ours, every = done.stderr.split("modules")[-1].split()[:2]
    of_all = float(stats.total_tt)  # type: ignore[attr-defined]
    modules = int(ours), int(every)
    return Stages(*as_it_is, modules, of_all, _by_stage(stats), _calls(stats))


def _as_it_is(arguments: Sequence[str]) -> tuple[float, float, int]:
    """Return seconds, those of the processor, and the peak of memory of a run nobody watches."""
    measured = (
        "import os, resource, subprocess, sys, time\n"
        "begin = time.perf_counter()\n"
        f"subprocess.run([sys.executable, '-c', {_PLAIN!r}, *sys.argv[1:]], check=True,"
        " stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)\n"
        "used = resource.getrusage(resource.RUSAGE_CHILDREN)\n"
        "print(time.perf_counter() - begin, used.ru_utime + used.ru_stime, used.ru_maxrss)"
    )
    seconds, of_processor, kilobytes = _python(measured, arguments).stdout.split()
    return float(seconds), float(of_processor), int(kilobytes) * 1024


def _python(code: str, arguments: Sequence[str]) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise ValueError(f"toprank {' '.join(arguments)} must end well; {done.stderr[-2000:]}")
    return done


def _by_stage(stats: pstats.Stats) -> dict[str, float]:
    """Return the seconds of each stage."""
    return {
        stage: sum(_entry(stats, name)[1] for name in names) for stage, names in STAGES.items()
    }


def _calls(stats: pstats.Stats) -> dict[str, int]:
    return {what: _entry(stats, name)[0] for what, name in CALLS.items()}


def _entry(stats: pstats.Stats, name: str) -> tuple[int, float]:
    """Return how often functions of this name in this file were called, and their seconds."""
    n_calls, seconds = 0, 0.0
    for (file, _, function), (_, calls, _, cumulative, _) in stats.stats.items():  # type: ignore[attr-defined]
        if f"{Path(file).as_posix()}:{function}".endswith(name):
            n_calls, seconds = n_calls + calls, seconds + cumulative
    return n_calls, seconds


if __name__ == "__main__":
    print(stages_of(sys.argv[1:]))
