"""A challenger and the champion on live payments, by labels that arrive late."""

from dataclasses import replace

import numpy as np
import pytest
import sqlalchemy as sa

from live import databases
from live.learning.shadowed_days import CHAMPION, DAY, FIRST_DAY, SETTINGS, World, fill
from toprank import metrics
from toprank.live.learning.live_comparison import (
    LEAST_CLAIMED,
    LEAST_DAYS,
    LEAST_FRAUDS,
    LiveComparison,
    NotYet,
    live_comparison,
)
from toprank.live.learning.model_comparison import PREVALENCE
from toprank.live.learning.model_words import live_lines
from toprank.live.monitor import log_digest
from toprank.live.store import (
    alert_table,
    label_table,
    listed_score_table,
    payment_log,
    random_check_table,
)
from toprank.live.store.alert_table import CardAlert
from toprank.live.store.listed_score_table import listed_scores
from toprank.live.store.payment_log import NewScore, payments, scores
from toprank.live.store.random_check_table import RandomDraw
from toprank.live.store.score_day_table import score_days, score_places
from toprank.live.store.shadow_score_table import shadow_scores
from toprank.metrics.score_histogram import bins_of, lowest_scores


@pytest.fixture
def made(tmp_path):
    """Returns a database, filled as a world says, and the time at the end."""
    found = []

    def make(world, settings=SETTINGS):
        folder = tmp_path / f"{len(found)}"
        folder.mkdir()
        found.append(databases.create(folder))
        return found[-1], fill(found[-1], world, settings)

    yield make
    for each in found:
        each.close()


def compared(database, now, settings=SETTINGS, number=2):
    with database.reading() as connection:
        return live_comparison(connection, CHAMPION, number, now, settings)


def count_again(database):
    """Count scores anew, after they were changed."""
    with database.writing() as connection:
        for table in (score_days, score_places, listed_scores):
            connection.execute(table.delete())
    log_digest.catch_up(database, SETTINGS.alert_from)


def is_significant(figure):
    return figure.low > 0 or figure.high < 0


def all_rows(connection):
    """Every payment with both scores, one dict each, and the label that holds by now."""
    held = label_table.holding(label_table.after(connection, 0))
    query = (
        sa.select(payments.c.position, payments.c.id, payments.c.card, payments.c.received_at,
                  scores.c.suspicion.label("champion"), scores.c.probability.label("p1"),
                  shadow_scores.c.suspicion.label("challenger"),
                  shadow_scores.c.probability.label("p2"))
        .join(scores, scores.c.position == payments.c.position)
        .join(shadow_scores, shadow_scores.c.position == payments.c.position)
        .where(payments.c.decision != "block", scores.c.model == CHAMPION.file)
        .order_by(payments.c.position)
    )  # fmt: skip
    rows = [dict(row._mapping) for row in connection.execute(query)]
    for row in rows:
        row["day"], row["label"] = row["received_at"] // DAY, held.get(row["id"])
        row["is_fraud"] = row["label"] is not None and row["label"].is_fraud
    return rows


def slow_twin(connection, now, settings=SETTINGS, drawn=None):
    """Both figures of both models by reading every payment, as the documentation says it."""
    drawn = drawn or {}
    rows = all_rows(connection)
    silence = 15 * DAY
    held = label_table.holding(label_table.after(connection, 0))
    times = connection.execute(sa.select(payments.c.id, payments.c.received_at))
    delays = [
        held[payment].known_at - at for payment, at in times
        if payment in held and held[payment].is_fraud and held[payment].source == "claim"
        and at < now - silence
    ]  # fmt: skip

    def share(age):
        return np.mean([delay <= age for delay in delays])

    days = sorted({
        row["day"] for row in rows
        if now - (row["day"] + 1) * DAY >= silence
        or share(now - (row["day"] + 1) * DAY) >= LEAST_CLAIMED
    })  # fmt: skip
    rows = [row for row in rows if row["day"] in days]
    for row in rows:
        row["weight"] = 1.0
        if row["is_fraud"]:
            is_verdict = row["label"].source == "investigator"
            check = drawn.get(row["position"], 1.0) if is_verdict else 0.0
            row["weight"] = 1 / (check + (1 - check) * share(now - row["received_at"]))
    y = np.array([row["is_fraud"] for row in rows])
    weight = np.array([row["weight"] for row in rows])
    weight[~y] = weight[y].sum() * (1 - PREVALENCE) / PREVALENCE / np.count_nonzero(~y)
    figures = {}
    for model, p in (("champion", "p1"), ("challenger", "p2")):
        suspicion = lowest_scores(bins_of(np.array([row[model] for row in rows])))
        figures[model, "ap"] = metrics.average_precision(y, suspicion, weight)
        found = []
        for day in days:
            of_day = [row for row in rows if row["day"] == day]
            listed = [row for row in of_day if row[p] >= settings.alert_from]
            listed.sort(key=lambda row: -row[model])
            first = listed[: settings.capacity]  # a card pays once per day here
            found.append(sum(row["weight"] for row in first if row["is_fraud"]))
        figures[model, "cards"] = np.mean(found)
    return figures, days, int(y.sum())


@pytest.mark.parametrize("seed", [0, 1])
def test_figures_are_those_of_a_slow_twin_that_reads_every_payment(made, seed):
    database, now = made(World(challenger=2.6, claimed=0.8, seed=seed))
    found = compared(database, now)
    with database.reading() as connection:
        figures, days, n_frauds = slow_twin(connection, now)
    assert (found.first_day, found.last_day, found.n_days) == (days[0], days[-1], len(days))
    assert found.n_frauds == n_frauds and found.n_payments == len(days) * 120
    assert found.n_waiting == 40 - len(days) > 0
    for model in ("champion", "challenger"):
        assert getattr(found.cards, model) == pytest.approx(figures[model, "cards"])
        assert getattr(found.adjusted_ap, model) == pytest.approx(figures[model, "ap"])


def test_a_better_challenger_is_found_to_be_better_though_the_champions_list_was_checked(made):
    found = compared(*made(World(challenger=3.4)))
    assert found.cards.low > 0 and found.adjusted_ap.low > 0
    assert found.cards.low < found.cards.difference < found.cards.high
    assert "This is significant." in live_lines(found)[1]


def test_a_worse_challenger_is_found_to_be_worse(made):
    found = compared(*made(World(challenger=1.0)))
    assert found.cards.high < 0 and found.adjusted_ap.high < 0


# how many significant differences chance alone exceeds less than once in 300 times
@pytest.mark.parametrize(
    ("n_worlds", "most"), [(4, 2), pytest.param(40, 6, marks=pytest.mark.slow)]
)
def test_equal_models_differ_significantly_as_rarely_as_chance_has_it(made, n_worlds, most):
    found = [compared(*made(World(seed=seed, n_days=27))) for seed in range(n_worlds)]
    for name in ("cards", "adjusted_ap"):
        figures = [getattr(each, name) for each in found]
        assert sum(map(is_significant, figures)) <= most
        ahead = np.array([each.difference for each in figures])
        assert abs(ahead.mean()) < 3 * ahead.std(ddof=1) / np.sqrt(ahead.size)


def test_leaving_out_what_checks_found_would_favour_a_challenger_that_is_equal():
    n_cards, n_frauds, k = 3_000, 12, 30
    is_fraud = np.arange(n_cards) < n_frauds
    random = np.random.default_rng(0)
    left_out, counted = [], []
    for _ in range(200):
        shared = 0.6 * random.normal(size=n_cards)
        before, after = (
            2.2 * is_fraud + shared + 0.8 * random.normal(size=n_cards) for _ in range(2)
        )
        is_checked = before >= np.sort(before)[-k]
        rest = np.flatnonzero(~is_checked)
        for kept, ahead in ((rest, left_out), (np.arange(n_cards), counted)):
            found = [is_fraud[kept[np.argsort(-each[kept])[:k]]].sum() for each in (before, after)]
            ahead.append(found[1] - found[0])
    errors = [np.std(each) / np.sqrt(len(each)) for each in (left_out, counted)]
    assert np.mean(left_out) > 5 * errors[0]
    assert abs(np.mean(counted)) < 3 * errors[1]


def test_the_same_scores_do_not_differ_at_all(made):
    database, now = made(World())
    with database.writing() as connection:
        connection.execute(shadow_scores.delete())
        same = sa.select(
            scores.c.position, sa.literal(2), scores.c.suspicion, scores.c.probability
        )
        connection.execute(shadow_scores.insert().from_select(list(shadow_scores.c), same))
    count_again(database)
    found = compared(database, now)
    assert found.cards[2:] == found.adjusted_ap[2:] == (0.0, 0.0, 0.0)


def test_it_is_not_yet_compared_while_days_or_frauds_are_missing(made):
    database, now = made(World(n_days=12, n_more_days=30))
    found = compared(database, now)
    # nothing is older than the silence, so nobody knows how long claims take
    assert found == NotYet(0, 0, n_waiting=12)
    (line,) = live_lines(found)
    assert f"0 of the {LEAST_DAYS} days and 0 of the {LEAST_FRAUDS} frauds" in line
    assert "Of 12 more days" in line
    assert compared(database, now + 9 * DAY) == NotYet(6, 30, n_waiting=6)
    matured = compared(database, now + 30 * DAY)
    assert isinstance(matured, LiveComparison) and not matured.is_provisional
    assert "All claims can be expected" in live_lines(matured)[0]


def test_a_model_that_has_scored_nothing_has_nothing_to_compare(made):
    assert compared(*made(World(n_days=8)), number=3) == NotYet(0, 0, 0)


def test_recent_frauds_count_for_those_that_are_not_claimed_yet(made):
    world = World(n_frauds=8, champion=0.5, challenger=0.5, seed=3)
    found = compared(*made(world))
    database, now = made(world._replace(n_more_days=16))
    matured = compared(database, now + 16 * DAY)
    assert found.is_provisional and 0.5 < found.claimed < 1
    assert "Provisional: " in live_lines(found)[0]
    assert found.n_frauds < matured.n_frauds == world.n_frauds * world.n_days
    assert not matured.is_provisional
    # per day they agree: what is not known yet is made up for
    assert found.cards.challenger == pytest.approx(matured.cards.challenger, abs=0.3)
    is_later = [each > found.last_day for each in range(matured.first_day, matured.last_day + 1)]
    assert sum(is_later) == found.n_waiting


def test_a_fraud_found_by_a_random_check_counts_by_the_chance_of_the_draw(made):
    database, now = made(World(seed=4))
    with database.reading() as connection:
        rows = all_rows(connection)
    recent = [row for row in rows if row["is_fraud"] and row["label"].source == "investigator"]
    drawn = {row["position"]: 0.05 for row in recent[-10:]}
    with database.writing() as connection:
        draw = RandomDraw(1, 0, 0, 20, 1, "seed")
        random_check_table.add(connection, draw, [77])
        alert = CardAlert(77, "c", "open", 0, 0, 0.0, 0.0, 0, [], [], [], CHAMPION.file, [])
        alert_table.open_new(connection, [alert])
        alert_table.add_payments(connection, [(77, position) for position in drawn])
    found = compared(database, now)
    with database.reading() as connection:
        figures, days, _ = slow_twin(connection, now, drawn=drawn)
    n_drawn = sum(row["day"] in days for row in recent[-10:])
    assert found.n_drawn == n_drawn > 0
    assert found.cards.champion == pytest.approx(figures["champion", "cards"])
    assert found.adjusted_ap.challenger == pytest.approx(figures["challenger", "ap"])


def test_payments_that_were_denied_skipped_or_scored_by_another_champion_are_left_out(made):
    database, now = made(World())
    with database.writing() as connection:
        connection.execute(
            payments.update().where(payments.c.position % 7 == 0).values(decision="block")
        )
        connection.execute(shadow_scores.delete().where(shadow_scores.c.position % 11 == 0))
        is_before = scores.c.position <= 5 * 120
        connection.execute(scores.update().where(is_before).values(model="0009.toprank"))
    count_again(database)
    found = compared(database, now)
    with database.reading() as connection:
        figures, days, n_frauds = slow_twin(connection, now)
    assert found.first_day == days[0] == FIRST_DAY + 5
    assert found.n_frauds == n_frauds
    assert found.adjusted_ap.champion == pytest.approx(figures["champion", "ap"])
    assert found.cards.challenger == pytest.approx(figures["challenger", "cards"])


def score_again(connection, positions, model):
    """What a model that takes over does with payments on the list."""
    listed_score_table.keep_first(connection, positions)
    payment_log.replace_scores(
        connection, [NewScore(position, 0.5, 0.5, model, 0) for position in positions]
    )


def test_frauds_scored_again_by_a_model_that_was_rolled_back_count_with_their_first_scores(made):
    database, now = made(World(champion=1.2))
    before = compared(database, now)
    with database.writing() as connection:
        found = connection.execute(sa.select(scores.c.position, scores.c.probability)).all()
        fraud_ids = [each.id for each in label_table.after(connection, 0) if each.is_fraud]
        frauds = {int(each.removeprefix("p")) for each in fraud_ids}
        listed = [row.position for row in found if row.probability >= SETTINGS.alert_from]
        filling = [row.position for row in found if row.probability < SETTINGS.alert_from]
        some = [*listed[::3], *filling[::3]]
        assert frauds.intersection(listed[::3]) and frauds.intersection(filling[::3])
        score_again(connection, some, "0003.toprank")
        score_again(connection, some[::2], CHAMPION.file)  # those that were still on the list
    assert compared(database, now) == before


def test_a_list_of_frauds_alone_can_be_compared(made):
    settings = replace(SETTINGS, alert_from=0.35)
    database, now = made(World(n_cards=40, champion=6.0, challenger=6.5), settings)
    with database.writing() as connection:
        frauds = [each.card for each in label_table.after(connection, 0) if each.is_fraud]
        is_genuine = listed_scores.c.card.not_in(frauds)
        connection.execute(listed_scores.update().where(is_genuine).values(is_listed=False))
    found = compared(database, now, settings)
    assert 0 < found.cards.champion <= 5
