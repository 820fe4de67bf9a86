"""One row per benchmark run: what was measured, on which commit and machine, with which seed."""

import json
import os
import platform
import subprocess
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"


def record(name: str, **row: Any) -> None:
    """Append one row to results/NAME.jsonl and print it."""
    full = {
        "when": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": _commit(),
        "machine": _machine(),
        "versions": {package: version(package) for package in ("numpy", "numba", "xgboost-cpu")},
        **row,
    }
    with (RESULTS / f"{name}.jsonl").open("a") as results:
        results.write(json.dumps(full) + "\n")
    print(json.dumps(row))


def _commit() -> str:
    """Return the commit, marked when files other than recorded results differ from it."""
    changed = _git("status", "--porcelain", "--", ".", ":(exclude)benchmarks/results")
    return _git("rev-parse", "--short=10", "HEAD") + ("-dirty" if changed else "")


def _git(*arguments: str) -> str:
    command = ["git", "-C", str(RESULTS.parents[1]), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def _machine() -> str:
    gigabytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return f"{os.cpu_count()} cores {_processor()}, {gigabytes:.0f} GiB"


def _processor() -> str:
    names = [
        line.split(":", 1)[1].strip()
        for line in Path("/proc/cpuinfo").read_text().splitlines()
        if line.startswith("model name")
    ]
    return names[0] if names else platform.processor()
