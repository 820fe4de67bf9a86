import time
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from live import desks
from toprank.live import upkeep_schedule
from toprank.live.checks import actions, check_verdicts, claims
from toprank.live.desk import Desk, archive_of
from toprank.live.desk_backup import back_up
from toprank.live.desk_summary import desk_summary
from toprank.live.log_replay import replay
from toprank.live.messages import LabelGiven
from toprank.live.store import alert_table, digest_tables, payment_log, unmask_table
from toprank.live.upkeep import keep_up, start_process
from toprank.live.upkeep_schedule import UpkeepSchedule

DAY = 86_400_000_000


def filled(desk, payments):
    """The desk in memory, after it has decided and scored payments."""
    live = desks.live(desk)
    for start in range(0, len(payments), 50):
        live.decide(payments[start : start + 50])
    while live.n_unscored:
        live.score_some(64)
    return live


def archived(desk):
    with desk.database.reading() as connection:
        return archive_of(desk, desks.live(desk).model).scan(connection).collect()


def test_the_archive_has_every_payment_with_the_features_and_scores_of_then(desk, made, later):
    live = filled(desk, later[:300])
    live.label([LabelGiven(later[5].id, True, None, "claim")], "key:claims")
    before = archived(desk)  # from the log alone
    keep_up(desk)
    found = archived(desk)
    assert found.sort("paid_at", "id").equals(before.sort("paid_at", "id"))
    rows = found.filter(pl.col("position").is_not_null()).sort("position")
    assert rows["id"].to_list() == [each.id for each in later[:300]]
    with desk.database.reading() as connection:
        logged = np.stack([each.feature_values for each in payment_log.after(connection, 0)])
    names = live.history.names
    np.testing.assert_array_equal(rows.select(names).to_numpy().astype(float), logged)
    assert rows.filter(pl.col("is_fraud"))["id"].to_list() == [later[5].id]
    earlier = found.filter(pl.col("position").is_null())
    frauds = dict(zip(made[0]["tx"].to_pylist(), made[0]["is_fraud"].to_pylist(), strict=True))
    assert 0 < earlier.height <= made[0].num_rows
    assert earlier["is_fraud"].to_list() == [frauds[each] for each in earlier["id"]]


def test_a_restart_after_upkeep_reads_only_the_log_after_its_snapshot(desk, later):
    filled(desk, later[:120])
    keep_up(desk)
    filled(desk, later[120:150])
    assert desk.snapshots.all()[-1].position == 120
    assert desks.live(desk).history.position == 150


@pytest.mark.slow
def test_upkeep_runs_in_a_process_of_its_own(desk, later):
    filled(desk, later[:60])
    assert start_process(desk.folder).wait() == 0
    assert desk.snapshots.all()[-1].position == 60


def test_what_is_older_than_the_desk_keeps_is_in_no_file_any_more(model_file, later, tmp_path):
    with desks.new_desk(
        tmp_path / "desk", model_file, keep="50d", alert_from=0.0, purge_hour=0, undo="0s",
        block_url="https://bank.example/block", blind_share=1.0,
    ) as desk:  # fmt: skip
        planted = replace(
            later[0], id="planted-id", card="planted-card",
            body=later[0].body | {"tx": "planted-id", "card": "planted-card"},
        )  # fmt: skip
        live = filled(desk, [planted, *later[1:60]])
        check_planted(live)
        live.label([LabelGiven("planted-id", False, None, "claim")], "key:claims")
        live.close()
        keep_up(desk)
        assert files_with(desk.folder, b"planted-card")
        assert n_blind(desk) == 1
        after = [
            replace(each, id=f"{each.id}-later", paid_at=each.paid_at + 60 * DAY,
                    body=each.body | {"tx": f"{each.id}-later"})
            for each in later[60:160]
        ]  # fmt: skip
        live = filled(desk, after)
        live.purge_if_due()
        live.close()
        purged = keep_up(desk)
        assert purged.n_payments == 60 and purged.n_archived > 60 and purged.n_alerts
        # another connection may have kept pages of the write-ahead log
        desk.database.close()
    assert files_with(tmp_path / "desk", b"planted-card") == []
    with Desk.open(tmp_path / "desk") as desk:
        again = desks.live(desk)
        assert again.history.position == 160
        assert again.payment("planted-id") is None
        assert n_blind(desk) == 0
        assert replay(desk).n_different == 0
        assert "job:retention" in {each.actor for each in entries(desk)}


def check_planted(live):
    """Do with the planted card all that leaves a trace of it."""
    now, who = live.moment(), "person:anna"
    with live.desk.database.writing() as connection:
        (alert,) = alert_table.of_card(connection, "planted-card")
        claims.claim(connection, alert.number, who, now, live.settings)
        actions.add_note(connection, alert.number, who, "about planted-card", now)
        unmask_table.put(connection, who, "planted-card", 1)  # it ended long ago
        actions.block_card(connection, alert.number, who, "planted-card", now, live.settings)
        check_verdicts.decide(
            connection, alert.number, who, "fraud", [alert.position], "", "planted-card", now,
            live.settings,
        )  # fmt: skip
    assert live.finish_checks() == 1


def n_blind(desk):
    """How many checks are stored as made without reasons."""
    with desk.database.reading() as connection:
        return connection.exec_driver_sql("SELECT count(*) FROM blind_checks").scalar()


def files_with(folder, text):
    return [each for each in folder.rglob("*") if each.is_file() and text in contents(each)]


def contents(path):
    """The bytes of a file; its values where a format may have compressed them."""
    if path.suffix == ".parquet":
        return repr(pl.read_parquet(path).to_dicts()).encode()
    if path.parent.name == "snapshots":
        from toprank.payments.features import History

        history = History.load(path)
        return repr([codes.texts() for codes in history._past.keys]).encode() + path.read_bytes()
    return path.read_bytes()


def entries(desk):
    from toprank.live.store import audit_chain

    with desk.database.reading() as connection:
        return list(audit_chain.entries(connection))


def test_a_backup_of_a_desk_in_use_is_a_desk_of_the_same_payments(desk, later, tmp_path):
    live = filled(desk, later[:80])
    assert back_up(desk, tmp_path / "copy", "person:anna") > 0
    live.decide(later[80:100])  # after the copy
    with Desk.open(tmp_path / "copy") as copy:
        restored = desks.live(copy)
        assert restored.history.position == 80
        assert replay(copy).n_different == 0
    with pytest.raises(FileExistsError, match="exists already"):
        back_up(desk, tmp_path / "copy", "person:anna")


def test_a_summary_counts_what_a_desk_contains(desk, later):
    live = filled(desk, later[:70])
    live.decide(later[70:80])
    live.label([LabelGiven(later[0].id, False, None, "claim")], "key:claims")
    found = desk_summary(desk)
    assert (found.n_payments, found.n_unscored, found.n_labels) == (80, 10, 1)
    assert (found.position, found.snapshot_position) == (80, 0)
    assert "80" in str(found) and found.to_json()["n_payments"] == 80


def test_a_desk_that_is_served_counts_its_log_now_and_then(desk, later, monkeypatch):
    monkeypatch.setattr(upkeep_schedule, "_BETWEEN_CHECKPOINTS", 0.01)
    live = filled(desk, later[:60])
    schedule = UpkeepSchedule(desk, live.history.position)
    try:
        give_up = time.monotonic() + 10
        while counted_until(desk) < 60:
            assert time.monotonic() < give_up
            time.sleep(0.02)
    finally:
        schedule.stop()
    live.close()


def counted_until(desk):
    with desk.database.reading() as connection:
        place = digest_tables.place(connection)
    return 0 if place is None else place.position
