from toprank.live.checks import queue
from toprank.live.store import alert_table, payment_log
from toprank.live.store.desk_database import Database
from toprank_bench.desk_pages import page_times
from toprank_bench.desk_pages.large_desk import DeskSize, large_desk
from toprank_bench.live_load import stage_rows
from toprank_bench.row_file import read_rows


def test_a_large_desk_has_as_many_payments_and_alerts_as_it_should(tmp_path):
    large_desk(tmp_path / "desk", DeskSize(3_000, 40), 0).close()
    database = Database.open(tmp_path / "desk")
    with database.reading() as connection:
        assert payment_log.last_position(connection) == 3_000
        assert alert_table.n_open(connection) == len(queue.queue(connection, 100)) == 40
        (alert,) = alert_table.in_queue(connection, 1)
        assert alert.card in {row.card for row in payment_log.of_card(connection, alert.card, 0)}
    database.close()


def test_every_page_is_timed_and_recorded(tmp_path, monkeypatch):
    monkeypatch.setattr(page_times, "QUICK", DeskSize(2_000, 30))
    monkeypatch.setattr(page_times, "ROUNDS", 3)
    figures = page_times.run(tmp_path, quick=True, report=lambda _: None)

    # how long they take is for the bench, on a machine that does nothing else
    limited = [each for each in figures if each.target]
    assert len(limited) >= 9 and all(each.verdict in ("met", "missed") for each in limited)
    assert all(each.value > 0 for each in figures)
    (row,) = read_rows(stage_rows.desk_file(tmp_path, quick=True))
    assert [each["name"] for each in row["figures"]] == [each.name for each in figures]
    page = stage_rows.live_page([], [row])
    assert "with 2,000 payments and 30 alerts" in page
    assert f"| pages | {figures[0].name} | {figures[0].shown} | ms |" in page
