"""Counts of scores: whatever is counted at once, they are those of all scores."""

import pytest
import sqlalchemy as sa

from live import databases
from live.learning.shadowed_days import CHAMPION, FIRST_DAY, SETTINGS, World, fill
from toprank.live.monitor import score_digest
from toprank.live.store import listed_score_table, score_day_table
from toprank.live.store.listed_score_table import listed_scores
from toprank.live.store.payment_log import payments, scores
from toprank.live.store.score_day_table import ScoreCounts, score_days, score_places
from toprank.live.store.shadow_score_table import shadow_scores

WORLD = World(n_days=4, n_cards=60)
CHALLENGER = "0002.toprank"


@pytest.fixture(scope="module")
def database(tmp_path_factory):
    """Four days with scores of two models; some payments denied, some skipped in shadow."""
    database = databases.create(tmp_path_factory.mktemp("scores"))
    fill(database, WORLD)
    with database.writing() as connection:
        is_denied = payments.c.position % 7 == 0
        connection.execute(payments.update().where(is_denied).values(decision="block"))
        connection.execute(shadow_scores.delete().where(shadow_scores.c.position % 5 == 0))
    yield database
    database.close()


def counted(database, at_once):
    """All counts, after counting again so many payments at a time."""
    with database.writing() as connection:
        for table in (score_days, score_places, listed_scores):
            connection.execute(table.delete())
    score_digest.catch_up(database, SETTINGS.alert_from, float("inf"), at_once=at_once)
    with database.reading() as connection:
        days = [
            day._replace(scores=day.scores.to_bytes())
            for against in ("", CHAMPION.file, CHALLENGER)
            for day in score_day_table.between(connection, 0, 10**6, against=against)
        ]
        listed = connection.execute(sa.select(listed_scores).order_by(*listed_scores.primary_key))
        return days, [tuple(row) for row in listed]


def said(connection):
    """Of each payment that was not denied: position, both scores and both chances."""
    query = (
        sa.select(payments.c.position, scores.c.suspicion, scores.c.probability,
                  shadow_scores.c.suspicion, shadow_scores.c.probability)
        .join(scores, scores.c.position == payments.c.position)
        .join(shadow_scores, shadow_scores.c.position == payments.c.position, isouter=True)
        .where(payments.c.position % 7 != 0)
        .order_by(payments.c.position)
    )  # fmt: skip
    return [tuple(row) for row in connection.execute(query)]


def test_scores_are_counted_by_day_and_model_all_and_against_each_other(database):
    days, _ = counted(database, 50)
    with database.reading() as connection:
        rows = said(connection)
    expected = []
    for model, against in ((CHAMPION.file, ""), (CHALLENGER, CHAMPION.file),
                           (CHAMPION.file, CHALLENGER)):  # fmt: skip
        for day in range(WORLD.n_days):
            of_day = [row for row in rows if (row[0] - 1) // WORLD.n_cards == day]
            of_both = [row for row in of_day if not against or row[3] is not None]
            values = [row[3 if model == CHALLENGER else 1] for row in of_both]
            expected.append((
                FIRST_DAY + day, model, against, of_both[0][0], len(values),
                ScoreCounts.of(values).to_bytes(),
            ))  # fmt: skip
    assert [tuple(day) for day in days] == expected


def test_a_payment_is_kept_with_all_its_scores_if_one_model_lists_it(database):
    _, listed = counted(database, 50)
    expected = set()
    with database.reading() as connection:
        for position, suspicion, chance, other, other_chance in said(connection):
            is_listed, is_other = (each is not None and each >= SETTINGS.alert_from
                                   for each in (chance, other_chance))  # fmt: skip
            if is_listed or is_other:
                expected.add((position, CHAMPION.file, suspicion, is_listed))
                if other is not None:
                    expected.add((position, CHALLENGER, other, is_other))
        found = listed_score_table.cards_by_day(connection, CHALLENGER, 1, 1_000)
    assert {(row[0], row[1], row[4], row[5]) for row in listed} == expected
    assert len(found) == sum(model == CHALLENGER and is_it for _, model, _, is_it in expected)
    with database.reading() as connection:
        first = listed_score_table.cards_by_day(connection, CHALLENGER, 1, 2)
    for day in {each.day for each in found}:
        highest = sorted((each.suspicion for each in found if each.day == day), reverse=True)[:2]
        assert sorted((e.suspicion for e in first if e.day == day), reverse=True) == highest
    days = {FIRST_DAY + (position - 1) // 60: 0 for position, *_ in expected}
    assert {each.day for each in found} <= set(days)  # a card pays once per day here


@pytest.mark.parametrize("at_once", [1, 37, 1_000])
def test_it_does_not_matter_how_many_are_counted_at_once(database, at_once):
    assert counted(database, at_once) == counted(database, 50)
