"""What compiled libraries read from the environment when they load, set before they do.

Idle OpenMP threads spin by default, in case the next loop comes soon. On a machine with other
work they take the cores from the very threads they depend on: a small fit takes seconds instead of
hundredths of one. scikit-learn and XGBoost share one OpenMP, which reads its policy once, as the
first of them is imported. So `import toprank` sets it, unless the user or another import has
settled it already.

numba keeps compiled kernels in NUMBA_CACHE_DIR, beside their source or in the user's cache folder,
and fails where it can write to none of them (a read-only container). There they go to a folder
of this process alone: into one with a known name, others could put code of theirs.
"""

import os
import sys
from pathlib import Path

WAIT_SETTINGS = ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "KMP_BLOCKTIME")
"""Variables by which users say how idle threads wait, each of which is left as it is."""


def prepare() -> None:
    """Set how idle threads wait and, where there is no other place, where kernels are kept."""
    if not any(name in os.environ for name in WAIT_SETTINGS) and not _is_openmp_loaded():
        os.environ["OMP_WAIT_POLICY"] = "passive"
    if not any(map(_can_be_written, kernel_folders())):
        os.environ["NUMBA_CACHE_DIR"] = _folder_of_this_process()


def kernel_folders() -> list[Path]:
    """Return where numba would keep compiled kernels, the first that it can write to."""
    named = os.environ.get("NUMBA_CACHE_DIR")
    folders = [Path(named)] if named else []
    folders.append(Path(__file__).parent)
    try:
        home = Path.home()
    except RuntimeError:  # a user without a home
        return folders
    if sys.platform == "darwin":
        return [*folders, home / "Library" / "Caches"]
    if sys.platform == "win32":
        return [*folders, Path(os.environ.get("LOCALAPPDATA", home / "AppData" / "Local"))]
    return [*folders, Path(os.environ.get("XDG_CACHE_HOME", home / ".cache"))]


def forgets_kernels() -> bool:
    """Return whether compiled kernels are removed when this process ends."""
    return os.environ.get("NUMBA_CACHE_DIR") in _made


_made: set[str] = set()


def _is_openmp_loaded() -> bool:
    return "sklearn" in sys.modules or "xgboost" in sys.modules


def _can_be_written(folder: Path) -> bool:
    """Return whether files can be written to a folder, which need not be there yet."""
    try:
        there = next(each for each in (folder, *folder.parents) if each.exists())
    except PermissionError:  # a folder above it hides what it contains
        return False
    return there.is_dir() and os.access(there, os.W_OK | os.X_OK)


def _folder_of_this_process() -> str:
    import atexit
    import shutil
    import tempfile

    folder = tempfile.mkdtemp(prefix="toprank-kernels-")
    _made.add(folder)
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder
