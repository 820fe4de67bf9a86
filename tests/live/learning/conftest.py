import pytest

from live import databases, desks
from live.learning import learned_desks
from toprank.live.desk import Desk
from toprank.live.learning.retraining import retrain

N_LAST = 150
"""Payments that the desk has not seen yet."""


@pytest.fixture(scope="session")
def learned(tmp_path_factory):
    """The folder of a desk with two weeks of payments and claims, and a challenger; to copy."""
    folder = tmp_path_factory.mktemp("learned")
    first, later = learned_desks.made_payments()
    desks.fitted_model(first, folder / "payments.toprank")
    settings = learned_desks.SETTINGS
    with desks.new_desk(folder / "desk", folder / "payments.toprank", **settings) as desk:
        learned_desks.fill(desk, later, N_LAST)
    databases.copy(folder / "desk", folder / "untrained")
    with Desk.open(folder / "desk") as desk:
        retrain(desk, "person:anna", n_jobs=1)
    return folder


@pytest.fixture(scope="session")
def last_payments():
    """Payments that come after those that the desk has seen."""
    return desks.payments_of(learned_desks.made_payments()[1])[-N_LAST:]


@pytest.fixture
def untrained(learned, tmp_path):
    """A desk with labels to learn from, and one model."""
    with Desk.open(databases.copy(learned / "untrained", tmp_path / "untrained")) as desk:
        yield desk


@pytest.fixture
def desk(learned, tmp_path):
    """A desk whose challenger, model 2, was asked for by anna."""
    with Desk.open(databases.copy(learned / "desk", tmp_path / "desk")) as desk:
        yield desk
