"""Where the time and the memory of a command go, stage by stage.

    python -m toprank.bench.speed.command_stages fit payments.csv --label is_fraud -o a.toprank

The command runs twice in processes of its own: once as it is, for its seconds and its peak of
memory, and once under Python's profiler, for the share of each stage. Learning itself (growing
trees, fitting the smooth model, scoring with them) is one of the stages, so that the rest can be
compared between two versions of the sources: set PYTHONPATH to the other one, and run this file.
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

# stage -> the functions whose time it is; no two of them call each other
STAGES = {
    "importing modules": ["<frozen importlib._bootstrap>:_find_and_load"],
    "reading the table": ["tables/read.py:read_table", "tables/delimited.py:_parsed_blocks"],
    "text of the listed rows": ["tables/read.py:rows_as_written"],
    "features of the past": ["transactions/payments.py:with_features"],
    "preparing": ["training.py:prepare"],
    "taking rows of parts": ["training.py:rows"],
    "encoding": ["inputs.py:read_training", "inputs.py:read_features"],
    "learning": [
        "boosting/xgboost_engine.py:train", "boosting/xgboost_engine.py:predict_raw",
        "auto/forest.py:fit", "auto/smooth.py:fit", "auto/smooth.py:raw",
    ],
    "evaluation": ["training.py:_judged", "summary.py:text_of", "summary.py:facts_of"],
    "opening the model": ["model_file/saving.py:load", "model_file/saving.py:read_manifest"],
    "opening the history": ["transactions/features/history.py:load"],
    "alert list": ["alert_list.py:top_alerts"],
    "report": ["report/from_training.py:report_of", "report/page.py:write_report"],
    "writing the history": ["cli/payments.py:remember"],
    "writing the model": ["model_file/saving.py:save"],
}  # fmt: skip

CALLS = {
    "columns cast to float32": "tables/values.py:finite_numbers",
    "tables encoded": "tables/schema.py:encode",
    "schemas learned": "tables/schema.py:of",
    "labels parsed": "tables/labels.py:_plain_values",
    "times parsed": "tables/times.py:time_column",
    "headers of a CSV read": "tables/delimited.py:layout_of",
    "archives opened": "model_file/archive.py:opened_archive",
}


class Stages(NamedTuple):
    """What a command took: seconds and memory as it is, then by stage as profiled."""

    seconds: float
    peak_bytes: int
    modules: tuple[int, int]
    by_stage: dict[str, float]
    calls: dict[str, int]

    def __str__(self) -> str:
        ours, every = self.modules
        of_learning = self.by_stage["learning"]
        profiled = sum(self.by_stage.values())
        lines = [
            f"{self.seconds:9.2f} s in all, as it is",
            f"{self.peak_bytes / 2**20:9.0f} MB at most",
            f"{ours:9d} modules of toprank, {every} in all",
            f"{profiled - of_learning:9.2f} s outside learning, profiled",
        ]
        lines += [f"{each:9.2f} s {name}" for name, each in self.by_stage.items()]
        lines += [f"{each:9d} {name}" for name, each in self.calls.items()]
        return "\n".join(lines)


def stages_of(arguments: Sequence[str]) -> Stages:
    """Return what `toprank` with these arguments takes."""
    seconds, peak = _as_it_is(arguments)
    with TemporaryDirectory() as folder:
        path = Path(folder, "profile")
        done = _python(_PROFILED.format(path=str(path)), arguments)
        stats = pstats.Stats(str(path))
    ours, every = done.stderr.split("modules")[-1].split()[:2]
    return Stages(seconds, peak, (int(ours), int(every)), _by_stage(stats), _calls(stats))


def _as_it_is(arguments: Sequence[str]) -> tuple[float, int]:
    """Return the seconds and the peak of memory of a run that nobody watches."""
    measured = (
        "import os, resource, subprocess, sys, time\n"
        "begin = time.perf_counter()\n"
        f"subprocess.run([sys.executable, '-c', {_PLAIN!r}, *sys.argv[1:]], check=True,"
        " stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)\n"
        "print(time.perf_counter() - begin,"
        " resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    )
    seconds, kilobytes = _python(measured, arguments).stdout.split()
    return float(seconds), int(kilobytes) * 1024


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
