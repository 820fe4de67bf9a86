"""Alarms of a whole desk: what is read from it, and the page that shows them."""

import numpy as np

from toprank.live.engine.alarm_jobs import AlarmJobs
from toprank.live.monitor.alarm_readings import Answers
from toprank.live.store import alarm_table, verdict_outcomes
from toprank.live.store.check_table import Check, add
from toprank.workflow.usual_rows import Spread


def test_a_look_reads_all_figures_of_a_desk_and_raises_what_is_beyond(counted, monkeypatch):
    usual = counted.model.usual_rows_
    name = counted.model.state_.history.names[0]
    assert name in usual.spreads
    changed = usual.spreads[name]
    # as if the model had learned from rows with quite other values
    shares = [1.0 if place == 0 else 0.0 for place in range(len(changed.shares))]
    high = Spread([each + 1e9 for each in changed.ends], shares[::-1], 0.0)
    monkeypatch.setitem(usual.spreads, name, high)
    jobs = AlarmJobs(counted, lambda: Answers(5_000, 0.05))
    raised = {each.name: each for each in jobs.look()}
    assert {"latency", "features"} <= set(raised)
    assert repr(name) in raised["features"].text
    assert jobs.look() == []  # they are open already
    with counted.desk.database.reading() as connection:
        assert {each.name for each in alarm_table.open_now(connection)} == set(raised)


def test_a_verdict_is_contradicted_if_the_label_that_holds_says_the_opposite(counted):
    with counted.desk.database.writing() as connection:
        frauds = connection.exec_driver_sql("SELECT position FROM known_frauds").scalars().all()
        genuine = next(each for each in range(1, 1_000) if each not in frauds)
        for verdict, place in (
            ("fraud", frauds[0]), ("genuine", frauds[0]), ("fraud", genuine), ("genuine", genuine)
        ):  # fmt: skip
            check = Check(0, 1, "person:zoe", verdict, [place], "", "", "finished", 0, 10**6, 0, 0,
                          0.9, False, place)  # fmt: skip
            add(connection, check)
        found = verdict_outcomes.verdicts_since(connection, 10**6)
        connection.exec_driver_sql("DELETE FROM checks WHERE who = 'person:zoe'")
    assert [each.is_contradicted for each in found] == [False, True, True, False]
    assert [each.is_unlikely for each in found] == [False, True, False, True]
    assert np.all([each.who == "person:zoe" for each in found])
