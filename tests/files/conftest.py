"""A small learner that files may hold, fitted and saved."""

import pytest

from files.tiny_ranker import TinyRanker, fitted
from toprank import registry
from toprank.files import save
from toprank.registry import LearnerRow


@pytest.fixture
def tiny_known(monkeypatch):
    monkeypatch.setattr(registry, "LEARNERS", (LearnerRow(f"{TinyRanker.__module__}:TinyRanker"),))
    monkeypatch.setattr(registry, "ALSO_SAVED", ())


@pytest.fixture(scope="session")
def ranker():
    return fitted()


@pytest.fixture
def saved_file(tiny_known, ranker, tmp_path):
    save(ranker, tmp_path / "payments.toprank", facts={"window": ["2024-01-01", "2024-02-01"]})
    return tmp_path / "payments.toprank"
