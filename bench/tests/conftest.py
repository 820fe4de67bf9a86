"""A folder with the data sets of the small experiment; no data sets of the user."""

import os
from pathlib import Path

import pytest
from hypothesis import settings

from small_experiment import write_set

# as in the tests of toprank
settings.register_profile("quick", deadline=None, max_examples=15)
settings.register_profile("thorough", deadline=None, max_examples=60)
settings.load_profile(os.environ.get("TOPRANK_EXAMPLES", "quick"))


HERE = Path(__file__).parent


@pytest.hookimpl(tryfirst=True)  # before pytest chooses tests by their markers
def pytest_collection_modifyitems(items):
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.bench)


@pytest.fixture(autouse=True)
def no_folders_of_the_user(monkeypatch, tmp_path):
    monkeypatch.delenv("TOPRANK_DATA", raising=False)
    monkeypatch.setenv("SCIKIT_LEARN_DATA", str(tmp_path / "kept"))


@pytest.fixture(scope="session")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    write_set(folder, "first", seed=1)
    write_set(folder, "second", seed=2)
    return folder
