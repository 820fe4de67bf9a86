"""Where a row comes from: the code, the machine, the libraries and the time."""

import os
import platform
import subprocess
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import toprank

_PACKAGES = (
    "numpy", "numba", "scikit-learn", "pyarrow", "xgboost", "xgboost-cpu", "lightgbm", "catboost",
    "imbalanced-learn", "pyod", "river", "vowpalwabbit",
)  # fmt: skip


def provenance() -> dict[str, Any]:
    """Return what a row says of its making: when, commit, machine, versions."""
    when = datetime.now(UTC).isoformat(timespec="seconds")
    return {"when": when, "commit": _commit(), "machine": _machine(), "versions": _versions()}


@cache
def _commit() -> str:
    """Return the commit, with -dirty when files of the package differ from it, or the version."""
    folder = Path(toprank.__file__).parent
    try:
        # an installed copy may be inside another repository
        _git(folder, "ls-files", "--error-unmatch", "__init__.py")
        is_changed = _git(folder, "status", "--porcelain", "--", ".")
        return _git(folder, "rev-parse", "--short=10", "HEAD") + ("-dirty" if is_changed else "")
    except (OSError, subprocess.CalledProcessError):
        return f"toprank {toprank.__version__}"


def _git(folder: Path, *arguments: str) -> str:
    command = ["git", "-C", str(folder), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


@cache
def _machine() -> str:
    return f"{os.cpu_count()} cores {_processor()}{_memory()}"


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    models = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.machine()


def _memory() -> str:
    try:
        size = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):  # not on every system
        return ""
    return f", {size / 2**30:.0f} GiB"


@cache
def _versions() -> dict[str, str]:
    versions = {"python": platform.python_version()}
    for package in _PACKAGES:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            continue
    return versions
