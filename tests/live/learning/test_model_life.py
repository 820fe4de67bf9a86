import pytest
import sqlalchemy as sa

from live import databases
from toprank.live.learning import model_life
from toprank.live.learning.model_life import LearnedFacts, ModelLifeError
from toprank.live.store import audit_chain, model_table
from toprank.live.store.model_table import StoredModel

ANNA, BEN, NIGHTLY = "person:anna", "person:ben", "job:nightly retrain"
FACTS = LearnedFacts(10, 20, 5_000, {"claim": 7}, {"against": 1, "why_not": "too few days"})


@pytest.fixture
def connection(tmp_path):
    database = databases.create(tmp_path)
    with database.writing() as connection:
        model_table.add(connection, StoredModel(1, "0001.toprank", "champion", ANNA, 0, 0))
        yield connection
    database.close()


def trained(connection, who=ANNA):
    model = model_life.begin(connection, 1, 0, who)
    return model_life.become_challenger(connection, 2, model, FACTS)


def states(connection):
    return {each.number: each.state for each in model_table.newest(connection)}


def test_a_challenger_becomes_the_champion_by_a_second_person_and_a_rollback_brings_back_the_first(
    connection,
):
    assert trained(connection).number == 2
    with pytest.raises(ModelLifeError, match="second person"):
        model_life.promote(connection, 3, " person:ANNA", 2)
    assert model_life.promote(connection, 3, BEN, 2).replaced == 1
    assert states(connection) == {1: "retired", 2: "champion"}
    with pytest.raises(ModelLifeError, match="second person"):
        model_life.rollback(connection, 4, ANNA)
    assert model_life.rollback(connection, 4, BEN).number == 1
    assert states(connection) == {1: "champion", 2: "retired"}
    found = model_table.by_number(connection, 2)
    assert (found.approver, found.approved_at, found.ended_at) == (BEN, 3, 4)
    assert "model 1" in found.why and found.frauds == {"claim": 7}
    actions = [each.action for each in audit_chain.entries(connection)]
    assert actions == [
        "model.retrain", "model.trained", "model.replace", "model.promote", "model.rollback",
        "model.restore",
    ]  # fmt: skip


def test_what_a_job_trained_may_be_promoted_by_anybody_but_not_by_a_job(connection):
    trained(connection, NIGHTLY)
    with pytest.raises(ModelLifeError, match="second person"):
        model_life.promote(connection, 3, "job:other", 2)
    assert model_life.promote(connection, 3, ANNA, 2).state == "champion"


def test_rollbacks_lead_back_one_by_one_and_not_beyond_the_first(connection):
    for number in (2, 3):
        trained(connection)
        model_life.promote(connection, 3, BEN, number)
    assert [model_life.rollback(connection, 4, BEN).number for _ in range(2)] == [2, 1]
    with pytest.raises(ModelLifeError, match="made with"):
        model_life.rollback(connection, 5, BEN)
    assert states(connection) == {1: "champion", 2: "retired", 3: "retired"}


def test_a_newer_challenger_takes_the_place_of_the_one_before(connection):
    trained(connection)
    trained(connection)
    assert states(connection) == {1: "champion", 2: "retired", 3: "challenger"}
    assert "model 3" in model_table.by_number(connection, 2).why


def test_only_a_challenger_is_promoted_or_rejected(connection):
    trained(connection)
    assert model_life.reject(connection, 3, ANNA, 2).state == "retired"
    for step in (model_life.promote, model_life.reject):
        with pytest.raises(ModelLifeError, match=r"challenger to be .* it is retired"):
            step(connection, 4, BEN, 2)
    model_life.begin(connection, 5, 0, ANNA)
    with pytest.raises(ModelLifeError, match="it is in training"):
        model_life.promote(connection, 6, BEN, 3)
    with pytest.raises(ModelLifeError, match="between 1 and 3; got 9"):
        model_life.promote(connection, 6, BEN, 9)


def test_a_training_that_was_interrupted_is_resumed_under_its_number(connection):
    assert model_life.begin(connection, 1, 0, ANNA).number == 2
    resumed = model_life.begin(connection, 2, 1, BEN)
    assert (resumed.number, resumed.who) == (2, BEN)
    assert model_life.fail(connection, 3, resumed, "no frauds").why == "no frauds"
    assert model_life.begin(connection, 4, 1, BEN).number == 3


def test_the_database_refuses_a_second_champion(connection):
    with pytest.raises(sa.exc.IntegrityError):
        model_table.add(connection, StoredModel(2, "0002.toprank", "champion", ANNA, 0, 0))


def test_a_model_that_has_changed_meanwhile_is_not_promoted(connection):
    trained(connection)
    read = model_table.by_number(connection, 2)
    model_life.reject(connection, 3, ANNA, 2)
    assert not model_table.change_state(connection, read, "champion")
    assert states(connection)[1] == "champion"


@pytest.mark.parametrize("n_steps", [1, 2, 3, 4])
def test_a_promotion_or_rollback_that_is_cut_off_anywhere_leaves_everything_as_it_was(
    tmp_path, monkeypatch, n_steps
):
    database = databases.create(tmp_path)
    with database.writing() as connection:
        model_table.add(connection, StoredModel(1, "0001.toprank", "champion", ANNA, 0, 0))
        for number in (2, 3):
            trained(connection)
            if number == 2:
                model_life.promote(connection, 3, BEN, 2)
    before = {1: "retired", 2: "champion", 3: "challenger"}
    steps = [0]

    class CutOff(BaseException):
        """What no handler of errors sees, as after a signal."""

    def counted(work):
        def step(*arguments, **options):
            steps[0] += 1
            if steps[0] == n_steps:
                raise CutOff
            return work(*arguments, **options)

        return step

    monkeypatch.setattr(model_table, "change_state", counted(model_table.change_state))
    monkeypatch.setattr(audit_chain, "add", counted(audit_chain.add))
    for step in (
        lambda connection: model_life.promote(connection, 4, BEN, 3),
        lambda connection: model_life.rollback(connection, 4, BEN),
    ):
        steps[0] = 0
        with pytest.raises(CutOff), database.writing() as connection:
            step(connection)
        with database.reading() as connection:
            assert states(connection) == before
            audit_chain.verify(connection)  # raises if it is not whole
    database.close()
