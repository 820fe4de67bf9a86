"""The prevalence-adjusted AP of matured days, against a twin that reads every score."""

import numpy as np
import pytest
import sqlalchemy as sa

from live import databases
from live.learning.shadowed_days import CHAMPION, DAY, FIRST_DAY, World, fill
from toprank import metrics
from toprank.live.learning.model_comparison import PREVALENCE
from toprank.live.monitor import ranking_quality as quality_of
from toprank.live.monitor.ranking_quality import LEAST_FRAUDS, ranking_quality
from toprank.live.store import label_table, payment_log
from toprank.live.store.payment_log import NewScore, payments, scores
from toprank.metrics.score_histogram import bins_of, lowest_scores

SILENCE = 15 * DAY


def made(folder, world):
    database = databases.create(folder)
    return database, fill(database, world) + world.n_more_days * DAY


@pytest.fixture(scope="module")
def weekly(tmp_path_factory):
    """40 days with five frauds each, of which 22 and a bit are final."""
    database, now = made(tmp_path_factory.mktemp("weekly"), World(seed=5))
    yield database, now + DAY // 2
    database.close()


def found(database, now, silence=SILENCE):
    with database.reading() as connection:
        return ranking_quality(connection, now, silence)


def adjusted_ap(database, first_day, last_day):
    """The figure by reading every payment, its score and its label."""
    with database.reading() as connection:
        held = label_table.holding(label_table.after(connection, 0))
        query = sa.select(payments.c.id, payments.c.received_at, scores.c.suspicion).join(
            scores, scores.c.position == payments.c.position
        )
        rows = [
            (row.suspicion, row.id in held and held[row.id].is_fraud)
            for row in connection.execute(query)
            if first_day <= row.received_at // DAY <= last_day
        ]
    suspicion, y = (np.array(each) for each in zip(*rows, strict=True))
    binned = lowest_scores(bins_of(suspicion))
    return metrics.prevalence_adjusted_ap(y, binned, PREVALENCE), int(y.sum()), y.size


def test_weeks_have_the_figure_of_every_score_read_and_an_interval_around_it(weekly):
    quality = found(*weekly)
    assert quality.is_weekly and quality.n_waiting == 15
    last = quality.spans[-1]
    assert last.last_day == FIRST_DAY + 24
    for each in quality.spans[1:]:
        ap, n_frauds, n_payments = adjusted_ap(weekly[0], each.first_day, each.last_day)
        assert (each.n_frauds, each.n_payments) == (n_frauds, n_payments)
        assert each.adjusted_ap.value == pytest.approx(ap)
        assert each.adjusted_ap.low < ap < each.adjusted_ap.high
        assert each.models == (CHAMPION.file,)
    # the week in which the desk began
    assert quality.spans[0].first_day < FIRST_DAY <= quality.spans[0].last_day


def test_days_with_many_frauds_stand_for_themselves(tmp_path):
    database, now = made(tmp_path, World(n_days=3, n_frauds=20, n_more_days=20))
    quality = found(database, now)
    assert not quality.is_weekly and quality.n_waiting == 0
    by_day = {each.first_day: each for each in quality.spans}
    for day in range(FIRST_DAY, FIRST_DAY + 3):
        ap, n_frauds, _ = adjusted_ap(database, day, day)
        assert by_day[day].n_frauds == n_frauds == 20
        assert by_day[day].adjusted_ap.value == pytest.approx(ap)
    # days after them without payments are there, and say nothing
    assert by_day[FIRST_DAY + 3].adjusted_ap is None
    database.close()


def test_nothing_is_said_of_spans_with_few_frauds_or_without_final_labels(tmp_path, weekly):
    database, now = made(tmp_path, World(n_days=7, n_frauds=1, n_more_days=20))
    spans = found(database, now).spans
    assert 0 < sum(each.n_frauds for each in spans) < LEAST_FRAUDS
    assert all(each.adjusted_ap is None for each in spans)
    database.close()
    assert found(*weekly, silence=60 * DAY).spans == []


def test_it_does_not_move_with_the_share_of_frauds(tmp_path):
    values = []
    for n_cards in (60, 240):
        folder = tmp_path / f"{n_cards}"
        folder.mkdir()
        world = World(n_days=7, n_cards=n_cards, n_frauds=20, champion=3.0, n_more_days=20)
        database, now = made(folder, world)
        values.append(np.mean([each.adjusted_ap.value for each in found(database, now).spans
                               if each.adjusted_ap]))  # fmt: skip
        database.close()
    assert values[0] == pytest.approx(values[1], abs=0.15)


def test_a_payment_that_another_model_scored_again_counts_with_its_first_score(tmp_path):
    world = World(n_days=3, n_frauds=20, n_more_days=20)
    database, now = made(tmp_path, world)
    before = found(database, now)
    with database.writing() as connection:
        query = sa.select(scores.c.position).where(scores.c.probability >= 0.02)
        listed = list(connection.execute(query).scalars())
        again = [NewScore(each, 0.0, 0.5, "0002.toprank", now) for each in listed]
        payment_log.replace_scores(connection, again)
    assert len(listed) > 10 and found(database, now) == before
    database.close()


@pytest.mark.slow
def test_intervals_contain_the_figure_of_the_population_about_as_often_as_they_say(monkeypatch):
    random = np.random.default_rng(3)

    def sample(n_frauds, n_others):
        return random.normal(2.5, 1, n_frauds), random.normal(0, 1, n_others)

    high, low = sample(20_000, 400_000)
    truth = metrics.prevalence_adjusted_ap(
        np.arange(420_000) < 20_000, np.concatenate([high, low]), PREVALENCE
    )
    n_held = 0
    for _ in range(200):
        some, rest = sample(40, 8_000)
        frauds = [
            quality_of.ScoredFraud(0, 0, f"{place}", "m", each) for place, each in enumerate(some)
        ]
        values = quality_of._resampled_ap(frauds, quality_of.ScoreCounts.of(rest))
        low_end, high_end = np.quantile(values[1:], (0.025, 0.975))
        n_held += low_end <= truth <= high_end
    assert 0.88 <= n_held / 200 <= 1
