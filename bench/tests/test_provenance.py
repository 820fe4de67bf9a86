"""Where a row comes from."""

import re
import subprocess

from toprank import __version__
from toprank_bench import provenance as module
from toprank_bench.provenance import provenance


def test_a_row_names_time_code_machine_and_libraries():
    made = provenance()
    assert re.fullmatch(r"[0-9a-f]{10}(-dirty)?|toprank .*", made["commit"])
    assert re.match(r"\d+ cores ", made["machine"])
    assert {"python", "numpy", "scikit-learn"} <= set(made["versions"])
    assert made["when"].endswith("+00:00")


def test_without_a_repository_of_its_own_the_version_replaces_the_commit(monkeypatch):
    def not_tracked(*_):
        raise subprocess.CalledProcessError(1, "git")

    monkeypatch.setattr(module, "_git", not_tracked)
    assert module._commit.__wrapped__() == f"toprank {__version__}"
