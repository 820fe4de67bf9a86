"""A whole `toprank fit` on an idle and on a loaded machine: the same model, bit for bit."""

import json
import os
import subprocess
import sys
from contextlib import contextmanager
from zipfile import ZipFile

import pytest

from cli.running import run_main, start

_BUSY_PER_CORE = 2


@contextmanager
def a_loaded_machine():
    """Keep every core busy with other processes."""
    n_processes = _BUSY_PER_CORE * (os.cpu_count() or 1)
    busy = [
        subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(n_processes)
    ]
    try:
        yield
    finally:
        for process in busy:
            process.kill()
            process.wait()


def model_of_a_fit(folder, *options):
    """Return what a model file holds, but when it was made and its history's random id."""
    folder.mkdir()
    path = folder / "model.toprank"
    with start("fit", *options, "-o", path) as fit:
        messages = fit.communicate()
    assert fit.returncode == 0, messages
    with ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    manifest = json.loads(parts.pop("manifest.json"))
    del manifest["created"], manifest["facts"]["history"]
    return manifest, parts


@pytest.mark.slow
def test_a_loaded_machine_writes_the_same_model_as_an_idle_one(tmp_path):
    payments = tmp_path / "payments.parquet"
    world = ("--cards", 80, "--terminals", 30, "--days", 60, "--seed", 2)
    assert run_main("simulate", "-o", payments, *world).exit_code == 0
    roles = ("--time", "paid_at", "--card", "card", "--terminal", "terminal", "--amount", "amount")
    options = (payments, "--label", "is_fraud", *roles, "--jobs", 2)

    idle = model_of_a_fit(tmp_path / "idle", *options)
    with a_loaded_machine():
        loaded = model_of_a_fit(tmp_path / "loaded", *options)

    assert len(idle[0]["state"]["account"]["tried"]) > 5
    assert any("trees" in name for name in idle[1])
    assert loaded == idle
