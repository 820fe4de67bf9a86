import numpy as np
import pyarrow as pa
import pytest

from live import desks
from toprank import metrics
from toprank.live.learning.model_comparison import PREVALENCE, ModelComparison
from toprank.live.learning.retraining import retrain
from toprank.live.learning.training_rows import training_rows
from toprank.live.messages import LabelGiven
from toprank.live.store import model_table


def comparison(desk):
    with desk.database.reading() as connection:
        found = model_table.by_number(connection, 2)
    return ModelComparison.from_json(found.figures)


def test_the_champions_figures_are_those_of_its_scores_of_these_days(desk):
    compared = comparison(desk)
    champion, _ = desk.load_newest()
    with champion:
        rows = training_rows(desk, champion, desks.live(desk).now())
        used = np.flatnonzero(rows.day >= compared.first_day)
        assert (used.size, rows.is_fraud[used].sum()) == (compared.n_rows, compared.n_frauds)
        table = rows.table.take(pa.array(used))
        suspicion = champion.ranker_.suspicion(table)
    y, card, day = rows.is_fraud[used], table["card"].to_pylist(), rows.day[used]
    k = compared.capacity
    found = k * metrics.card_precision_at_k(y, suspicion, card, day, k)
    assert compared.cards.champion == pytest.approx(found)
    ap = metrics.prevalence_adjusted_ap(y, suspicion, PREVALENCE)
    assert compared.adjusted_ap.champion == pytest.approx(ap)
    assert compared.n_days == np.unique(day).size


def test_a_comparison_is_read_back_as_it_was_written(desk):
    compared = comparison(desk)
    assert ModelComparison.from_json(compared.to_json()) == compared


@pytest.mark.slow
def test_payments_known_by_a_verdict_alone_are_learned_from_and_not_compared_on(untrained, desk):
    before = comparison(desk)
    live = desks.live(untrained)
    champion, _ = untrained.load_newest()
    with champion:
        rows = training_rows(untrained, champion, live.now())
    place = int(np.flatnonzero(~rows.is_fraud & (rows.day == before.last_day))[0])
    checked = rows.table["tx"][place].as_py()
    live.label([LabelGiven(checked, True, None, "investigator")], "person:anna")
    model = retrain(untrained, "person:anna", n_jobs=1)
    compared = ModelComparison.from_json(model.figures)
    assert model.frauds["investigator"] == 1
    assert (compared.n_left_out, compared.n_frauds) == (1, before.n_frauds)
    assert compared.n_rows == before.n_rows - 1
