"""A folder with the data sets of the small experiment."""

import pytest

from bench.small import write_set


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
