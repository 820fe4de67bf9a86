"""What is kept of models, what is removed, and what a backup has."""

import asyncio
import zipfile

import sqlalchemy as sa

from live import desks
from live.learning import learned_desks
from toprank.live.desk import Desk
from toprank.live.desk_backup import back_up
from toprank.live.engine.model_jobs import ModelJobs
from toprank.live.learning import model_life
from toprank.live.retention import purge
from toprank.live.store import model_table
from toprank.live.store.shadow_score_table import shadow_scores

DAY = 86_400_000_000


def test_a_backup_has_every_model_and_ranks_with_the_champion(desk, tmp_path):
    with desk.database.writing() as connection:
        model_life.promote(connection, 1, "person:ben", 2)
    back_up(desk, tmp_path / "copy", "person:anna")
    with Desk.open(tmp_path / "copy") as copy:
        assert desks.live(copy).model_name == "0002.toprank"
        with copy.database.reading() as connection:
            files = [each.file for each in model_table.newest(connection)]
        assert sorted(files) == sorted(p.name for p in (copy.folder / "models").iterdir())
        with copy.database.writing() as connection:
            model_life.rollback(connection, 2, "person:ben")
        assert desks.live(copy).model_name == "0001.toprank"


def test_shadow_scores_are_removed_with_their_payments_and_models_stay(desk, last_payments):
    live = desks.live(desk)
    asyncio.run(ModelJobs(live).step())
    learned_desks.scored(live, last_payments)
    live.close()
    count = sa.select(sa.func.count()).select_from(shadow_scores)
    with desk.database.reading() as connection:
        assert connection.execute(count).scalar_one() == len(last_payments)
    model, snapshot = desk.load_newest()
    with model:
        purge(desk, model, snapshot, live.now() + DAY)
    with desk.database.reading() as connection:
        assert connection.execute(count).scalar_one() == 0
        assert len(model_table.newest(connection)) == 2
    assert desk.path_of("0002.toprank").exists()


def test_a_model_file_contains_no_cards_terminals_or_ids(desk):
    first, later = learned_desks.made_payments()
    texts = {
        each
        for table in (first, later)
        for name in ("card", "terminal", "tx")
        for each in table[name].to_pylist()
    }
    with zipfile.ZipFile(desk.path_of("0002.toprank")) as members:
        content = b"".join(members.read(name) for name in members.namelist())
    assert b"country" in content
    assert [each for each in texts if each.encode() in content] == []
