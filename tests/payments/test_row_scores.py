"""Scores of single rows and of a few: what a table with these rows gets, to the last bit."""

from copy import copy, deepcopy

import numpy as np
import pyarrow as pa
import pytest

from payments.payment_days import joined, made_days, new_model, unlabelled
from toprank.calibration import METHODS
from toprank.data.inputs import TrainingRows
from toprank.data.tables import TableError
from toprank.payments.payment_model import PaymentModel
from toprank.rankers.auto.boosted import BoostedTrees
from toprank.rankers.auto.forest_member import RandomisedForest
from toprank.rankers.auto.kernel_member import KernelModel
from toprank.rankers.auto.smooth_member import SmoothModel
from toprank.rankers.auto.trial import centre_spread

N_ROWS = 150  # more than XGBoost leaves to our own trees
BLENDS = {
    "boosted trees": [BoostedTrees(n_trees=15)],
    "forest": [RandomisedForest(10)],
    "kernel": [KernelModel()],
    "quadratic": [SmoothModel(2)],
    "blend": [BoostedTrees(n_trees=6, random_share=0.7, n_bags=2), RandomisedForest(6),
              KernelModel(), SmoothModel(1)],
}  # fmt: skip


@pytest.fixture(scope="module")
def days():
    return made_days(25)


@pytest.fixture(scope="module")
def fitted(days):
    return new_model(n_estimators=10).fit(joined(days[:-5]))


@pytest.fixture(scope="module")
def payments(days):
    """New payments, some of them with a channel that nobody has seen or none at all."""
    table = unlabelled(joined(days[-5:])).slice(0, N_ROWS)
    channels = ["post", None, *table["channel"].to_pylist()[2:]]
    return table.set_column(table.column_names.index("channel"), "channel", [channels])


@pytest.fixture(scope="module")
def features(fitted, payments):
    """The features of the new payments, as a matrix."""
    made = fitted.state_.history.look_batch(payments)
    return np.column_stack([made[name].to_numpy() for name in fitted.state_.history.names])


@pytest.fixture
def model(fitted):
    """A model whose ranker may be changed."""
    model = copy(fitted)
    model.ranker_ = copy(fitted.ranker_)
    return model


def check_blocks(model, payments, features):
    """Check that rows get, in blocks of any size, what they get in a table."""
    scores, table = model.row_scores(), model.with_features(payments)
    rows = [scores.row(payment) for payment in payments.to_pylist()]
    suspicion, probability = (
        method(table).tolist() for method in (model.ranker_.suspicion, model.ranker_.probability)
    )
    for size in (1, 7, 64, N_ROWS):
        blocks = [slice(begin, begin + size) for begin in range(0, N_ROWS, size)]
        found = [scores.scored(rows[block], features[block]) for block in blocks]
        assert np.concatenate([each.suspicion for each in found]).tolist() == suspicion
        assert np.concatenate([each.probability for each in found]).tolist() == probability


@pytest.mark.parametrize("name", BLENDS)
def test_rows_get_together_or_alone_what_they_get_in_a_table(
    model, days, payments, features, name
):
    ranker, known = model.ranker_, joined(days[-8:-5])
    rows = TrainingRows(
        ranker.schema_.encode(model.with_features(unlabelled(known))),
        known["is_fraud"].to_numpy(),
        None,
    )
    columns = ranker.schema_.columns
    ranker.members_ = [each.fit(rows, columns, seed=0, n_threads=1) for each in BLENDS[name]]
    ranker.scales_ = [centre_spread(member.raw(rows.features)) for member in ranker.members_]
    check_blocks(model, payments, features)


@pytest.mark.parametrize("method", METHODS)
def test_probabilities_are_those_of_a_table_by_any_calibration(
    model, days, payments, features, method
):
    table = model.with_features(joined(days[-8:-5]))
    model.ranker_.calibrate(table, table["is_fraud"].to_numpy(), method=method)
    check_blocks(model, payments, features)


def test_reasons_are_those_of_a_score(fitted, payments, features):
    scores, rows = fitted.row_scores(), payments.to_pylist()
    kept = [scores.row(row) for row in rows]
    chosen = np.argsort(-scores.scored(kept, features).suspicion)[:10]
    found = scores.reasons(scores.scored(kept, features).encoded.take(chosen), 4)
    for row, why in zip(chosen, found, strict=True):
        alone = scores.scored([kept[row]], features[[row]])
        assert scores.reasons(alone.encoded, 4) == [why]
    assert any(each.reasons for each in found)
    one = fitted.score(rows[0], n_reasons=4)  # as of the first payment, features are the same
    first = scores.scored(kept[:1], features[:1])
    assert (one.suspicion, one.probability) == (first.suspicion[0], first.probability[0])
    assert (one.reasons, one.less_suspicious) == scores.reasons(first.encoded, 4)[0][:2]


def test_no_rows_have_no_scores(fitted, features):
    scored = fitted.row_scores().scored([], features[:0])
    assert (scored.suspicion.size, scored.probability.size, len(scored.encoded)) == (0, 0, 0)
    assert fitted.row_scores().reasons(scored.encoded) == []


def test_a_row_is_as_the_history_takes_it(fitted, payments):
    payment = payments.to_pylist()[5] | {"terminal": "NA", "is_fraud": True, "note": "by phone"}
    row = fitted.row_scores().row(payment)
    assert row == payment | {"terminal": None}


def test_what_cannot_be_scored_is_refused(fitted, payments, features):
    scores, payment = fitted.row_scores(), payments.to_pylist()[0]
    with pytest.raises(TableError, match="'channel' is not in the row"):
        scores.row({name: cell for name, cell in payment.items() if name != "channel"})
    with pytest.raises(ValueError, match=r"features must have 1 rows and \d+ columns.*\(2, "):
        scores.scored([payment], features[:2])
    infinite = features[:1].copy()
    infinite[0, -1] = np.inf
    with pytest.raises(TableError, match=r"_delay_7d' must hold finite numbers"):
        scores.scored([payment], infinite)


def test_scores_are_made_once_and_again_when_the_model_changes(model, payments):
    payment = payments.to_pylist()[3] | {"amount": 900.0}
    scores = model.row_scores()
    assert model.row_scores() is scores
    model.set_params(names={"amount": "price"})
    assert any("price" in str(each) for each in model.score(payment).reasons)
    model.ranker_ = deepcopy(model.ranker_)
    model.ranker_.scales_ = [(7.0, 2.0)] * len(model.ranker_.scales_)
    assert (
        model.score(payment).suspicion
        != scores.one(payment, 0, model.state_.look, is_kept=False).suspicion
    )


def test_without_a_card_rows_have_no_features_of_the_past():
    generator = np.random.default_rng(0)
    table = pa.table({"x": generator.normal(size=900), "z": generator.normal(size=900)})
    labels = pa.array(table["x"].to_numpy() > 1.5)
    model = PaymentModel("y", n_estimators=5, time_limit=0.01, n_jobs=1)
    model.fit(table.append_column("y", labels))
    scores, rows = model.row_scores(), table.to_pylist()[:100]
    scored = scores.scored([scores.row(row) for row in rows], np.empty((100, 0)))
    assert scored.suspicion.tolist() == model.ranker_.suspicion(table.slice(0, 100)).tolist()
    assert model.score(rows[0]).suspicion == scored.suspicion[0]
