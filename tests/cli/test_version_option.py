"""`toprank --version`: what a report of a problem should contain, without importing it."""

import platform
import subprocess
import sys
from importlib import metadata

import pytest

import toprank
from toprank.cli.version_option import version_lines


def test_every_version_that_matters_is_printed():
    lines = version_lines().splitlines()
    assert lines[:2] == [f"toprank {toprank.__version__}", f"python {platform.python_version()}"]
    named = dict(line.split() for line in lines[2:])
    assert named.keys() - {"xgboost", "xgboost-cpu"} == {
        "numpy",
        "scikit-learn",
        "numba",
        "pyarrow",
    }
    assert named.keys() & {"xgboost", "xgboost-cpu"}
    for name, version in named.items():
        assert version == metadata.version(name)


def test_a_library_that_is_missing_is_named(monkeypatch):
    def version(name):
        if name in ("numba", "xgboost", "xgboost-cpu"):
            raise metadata.PackageNotFoundError(name)
        return "1.0"

    monkeypatch.setattr(metadata, "version", version)
    assert "numba is not installed" in version_lines()
    assert "xgboost is not installed" in version_lines()


@pytest.mark.parametrize("words", [["--version"], ["--help"], ["rank", "--help"]])
def test_asking_imports_nothing_heavy(words):
    code = (
        "import sys; sys.argv[0] = 'toprank'\n"
        "try:\n    from toprank.cli import main; main()\n"
        "finally: print(*sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *words], capture_output=True, text=True, check=True
    )
    loaded = set(done.stdout.splitlines()[-1].split())
    heavy = {"numpy", "sklearn", "xgboost", "numba", "pyarrow", "scipy", "matplotlib", "rich"}
    assert "toprank.cli" in loaded and not loaded & heavy


@pytest.mark.parametrize(
    "words",
    [["rank", "none.toprank", "none.csv"], ["fit", "none.csv", "--label", "y"], ["refit", "none"]],
    ids=lambda words: words[0],
)
def test_a_missing_file_is_reported_before_anything_heavy_is_imported(words, tmp_path):
    code = (
        "import sys; sys.argv[0] = 'toprank'\n"
        "try:\n    from toprank.cli import main; main()\n"
        "finally: print(*sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *words], capture_output=True, text=True, check=False,
        cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 1
    assert done.stderr.startswith("toprank: there is no file none")
    loaded = set(done.stdout.split())
    assert not loaded & {"sklearn", "xgboost", "numba", "pyarrow", "scipy", "matplotlib"}
