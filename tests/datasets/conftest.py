"""Data sets are looked for in folders of the test alone."""

import pytest


@pytest.fixture(autouse=True)
def no_folders_of_the_user(monkeypatch, tmp_path):
    monkeypatch.delenv("TOPRANK_DATA", raising=False)
    monkeypatch.setenv("SCIKIT_LEARN_DATA", str(tmp_path / "kept"))
