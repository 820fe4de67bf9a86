"""Settings that compiled libraries read when they load: set in time, never against the user."""

import ctypes
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from cli.running import run_main
from toprank import startup

PRINT_POLICY = "import os; print(os.environ.get('OMP_WAIT_POLICY'))"


SETTLED = (*startup.WAIT_SETTINGS, "NUMBA_CACHE_DIR")


def printed_by(code, **environment):
    """What a fresh interpreter prints, which has these variables and none of the wait settings."""
    inherited = {name: os.environ[name] for name in os.environ if name not in SETTLED}
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True, text=True, check=True, env=inherited | environment,
    )  # fmt: skip
    return done.stdout.strip()


def test_idle_threads_wait_passively_from_the_import_on():
    assert printed_by(f"import toprank; {PRINT_POLICY}") == "passive"


@pytest.mark.parametrize(
    ("name", "value", "policy"),
    [
        ("OMP_WAIT_POLICY", "active", "active"),
        ("GOMP_SPINCOUNT", "1000", "None"),
        ("KMP_BLOCKTIME", "200", "None"),
    ],
)
def test_what_the_user_set_is_left_as_it_is(name, value, policy):
    shown = printed_by(
        f"import toprank; {PRINT_POLICY}; print(os.environ[{name!r}])", **{name: value}
    )

    assert shown.split() == [policy, value]


def test_nothing_is_set_when_openmp_is_loaded_already(monkeypatch):
    for name in startup.WAIT_SETTINGS:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setitem(sys.modules, "sklearn", sys)
    startup.prepare()

    assert "OMP_WAIT_POLICY" not in os.environ


@pytest.mark.skipif(sys.platform != "linux", reason="libgomp prints its settings on Linux")
def test_the_openmp_that_xgboost_uses_has_read_the_policy():
    """libgomp prints what it read as it loads: no thread spins."""
    code = "from toprank.rankers.boosted.xgboost_engine import import_xgboost; import_xgboost()"
    inherited = {name: os.environ[name] for name in os.environ if name not in SETTLED}
    shown = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True,
        env=inherited | {"OMP_DISPLAY_ENV": "verbose"},
    ).stderr  # fmt: skip

    assert "OMP_WAIT_POLICY = 'PASSIVE'" in shown
    assert "GOMP_SPINCOUNT = '0'" in shown
    assert "'ACTIVE'" not in shown


def test_jobs_are_the_cores_that_this_process_may_use():
    code = (
        "import os; os.sched_setaffinity(0, [min(os.sched_getaffinity(0))]);"
        "from toprank.rankers.jobs import n_threads; print(n_threads(-1))"
    )
    if not hasattr(os, "sched_setaffinity"):
        pytest.skip("processes are not bound to cores here")
    assert printed_by(code) == "1"


class TestFolderForKernels:
    @pytest.fixture(autouse=True)
    def no_setting(self, monkeypatch):
        monkeypatch.setenv("OMP_WAIT_POLICY", "passive")
        monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)

    def test_numba_decides_where_it_has_a_place(self, monkeypatch, tmp_path):
        monkeypatch.setattr(startup, "kernel_folders", lambda: [Path("/proc"), tmp_path / "new"])
        startup.prepare()

        assert "NUMBA_CACHE_DIR" not in os.environ
        assert not startup.forgets_kernels()

    def test_without_a_place_they_go_to_a_private_folder(self, monkeypatch):
        monkeypatch.setattr(startup, "kernel_folders", lambda: [Path("/proc/nowhere")])
        monkeypatch.setattr(os, "access", lambda *_: False)
        startup.prepare()

        folder = Path(os.environ["NUMBA_CACHE_DIR"])
        assert folder.stat().st_mode & 0o777 == 0o700
        assert startup.forgets_kernels()

    def test_a_folder_that_the_user_named_stays_if_it_can_be_written(self, monkeypatch, tmp_path):
        monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
        startup.prepare()
        assert os.environ["NUMBA_CACHE_DIR"] == str(tmp_path)

        monkeypatch.setattr(os, "access", lambda *_: False)
        startup.prepare()
        assert startup.forgets_kernels()


@pytest.mark.skipif(sys.platform != "linux", reason="how root gives up its powers on Linux")
def test_kernels_load_where_neither_the_package_nor_the_home_can_be_written(tmp_path):
    package = tmp_path / "read-only" / "toprank"
    shutil.copytree(
        Path(startup.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__")
    )
    for folder in (tmp_path / "read-only", package, *package.rglob("*/")):
        folder.chmod(0o555)
    code = "import os, toprank.metrics.points; print(os.environ['NUMBA_CACHE_DIR'])"
    home = {"HOME": str(tmp_path / "read-only"), "PYTHONPATH": str(package.parent)}
    done = subprocess.run(
        [sys.executable, "-c", code], env={"PATH": os.environ["PATH"]} | home,
        capture_output=True, text=True, check=False, preexec_fn=heed_permissions,
    )  # fmt: skip

    assert done.returncode == 0, done.stderr
    assert not Path(done.stdout.strip()).exists(), "removed at the exit"


def heed_permissions():
    """Let this process, even as root, write to no file whose mode forbids it."""
    drop_from_bounding_set, dac_override = 24, 1
    ctypes.CDLL(None).prctl(drop_from_bounding_set, dac_override, 0, 0, 0)


def test_a_command_that_cannot_keep_compiled_code_names_the_variable(monkeypatch):
    monkeypatch.setattr(startup, "forgets_kernels", lambda: True)
    monkeypatch.setitem(sys.modules, "numba", sys)
    outcome = run_main("--version")

    assert outcome.exit_code == 0
    assert "set NUMBA_CACHE_DIR" in outcome.stderr
