"""Verdicts, claims, corrections and late labels: ledger and features say the same.

Random payments and labels go through a payment model, in memory and in a folder that is opened
again now and then, and through the slow twin of a history.
"""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from payments.features.slow_history import SECOND, START, SlowHistory, assert_same
from toprank.payments.features import KnownPositives, LabelRisk, Recent
from toprank.payments.history_store import HistoryStore
from toprank.payments.ledger import SOURCES, MemoryLedger
from toprank.payments.payment_model import PaymentModel
from toprank.payments.payment_state import MemoryState
from toprank.payments.roles import Roles, new_history

pytestmark = pytest.mark.kernel

FEATURES = (
    Recent("count", "card", None),
    LabelRisk("count", "card", None, "1s"),
    LabelRisk("share", "card", None, "1s"),
    LabelRisk("share", "terminal", "10s", "4s"),
    KnownPositives("terminal", "10s", "4s"),
)
ROLES = {"time": "time", "card": "card", "terminal": "terminal", "amount": "amount"}
IDS = ("a", "b", "c")

moments = st.integers(0, 30).map(lambda second: second * SECOND)
sources = st.sampled_from(["investigator", "claim"])
labels = st.lists(
    st.tuples(st.sampled_from([*IDS, "nobody"]), st.booleans(), moments), min_size=1, max_size=3
)
steps = st.one_of(
    st.tuples(st.just("label"), st.tuples(labels, sources)),
    st.tuples(st.just("pay"), st.tuples(st.sampled_from([*IDS, None]), moments)),
    st.tuples(st.just("reopen"), st.none()),
)


def moment(microseconds):
    return START + np.timedelta64(microseconds, "us")


def row(row_id, time, card="A"):
    return {
        "time": time,
        "card": card,
        "terminal": "T",
        "amount": 1.0,
        "label": None,
        "known_at": None,
        "id": row_id,
    }


def as_payment(slow_row):
    named = ("card", "terminal", "amount", "id")
    return {"time": moment(slow_row["time"])} | {name: slow_row[name] for name in named}


class Model:
    """A payment model as far as payments and labels go: nothing is learned."""

    def __init__(self, folder):
        self.model = PaymentModel("label", **ROLES, row_id="id", features=FEATURES)
        history = new_history(Roles(**ROLES, row_id="id"), "label", "1s", FEATURES)
        self.model.classes_, self.model.ranker_ = (True, False), None
        self.folder = folder
        self.model.state_ = (
            MemoryState(history) if folder is None else HistoryStore.create(folder, history)
        )

    def pay(self, payment):
        table = pa.Table.from_pylist([payment | {"time": payment["time"].item()}])
        ((found, *_),) = self.model.with_past([table], remember=True)
        return found.select([each.name for each in FEATURES]).to_pylist()

    def reopen(self):
        if self.folder is not None:
            self.model.close()
            self.model.state_ = HistoryStore.open(self.folder, mode="write")

    def look(self, payment):
        return self.model.state_.history.look(payment)


@examples(25)
@given(given_steps=st.lists(steps, min_size=1, max_size=9))
@pytest.mark.filterwarnings("ignore::toprank.data.tables.TableWarning")
@pytest.mark.parametrize("place", ["memory", "folder"])
def test_ledger_and_features_agree_on_any_labels_in_any_order(
    tmp_path_factory, place, given_steps
):
    folder = None if place == "memory" else tmp_path_factory.mktemp("store") / "a.history"
    fast, slow, said = Model(folder), SlowHistory(FEATURES, counts_silence=True), MemoryLedger()
    for i, row_id in enumerate(IDS):
        first = row(row_id, i * SECOND, card=f"card-{row_id}")
        assert_same(fast.pay(as_payment(first)), [slow.one(first)])
    for what, step in given_steps:
        if what == "reopen":
            fast.reopen()
        elif what == "pay":
            row_id, time = step
            sent = row(row_id, time, card="A" if row_id is None else f"card-{row_id}")
            assert_same(fast.pay(as_payment(sent)), [slow.one(sent)])
        else:
            label_all(fast, slow, said, *step)
    check_agreement(fast, slow, said)
    fast.model.close()


def label_all(fast, slow, said, given, source):
    ids, values, known = zip(*given, strict=True)
    at = np.array([moment(each) for each in known])
    counts = fast.model.label(list(ids), list(values), known_at=at, source=source)
    for each, value, when in given:
        if each != "nobody" and not is_said(slow.by_id[each], value, when, source):
            slow.label(each, value, when, source)
            said.append([each], [value], known=moment(when), source=source)
    unknown = [i for i, each in enumerate(ids) if each == "nobody"]
    assert list(counts.unknown) == unknown
    assert sum(counts[:4]) + counts.n_overruled == len(ids)


def is_said(row, value, when, source):
    """Whether what holds at that time says the same from the same source: it is written once."""
    holding = [
        (known, -SOURCES.index(who), order, is_positive)
        for order, (known, who, is_positive) in enumerate(row["labels"])
        if known <= when
    ]
    return bool(holding) and (SOURCES[-max(holding)[1]], max(holding)[3]) == (source, value)


def check_agreement(fast, slow, said):
    """At every moment, the ledger's label of a payment is the one that features count."""
    ledger = fast.model.state_.ledger
    for second in range(4, 34):
        known = ledger.as_known(moment(second * SECOND + 1), list(IDS))
        expected = said.as_known(moment(second * SECOND + 1), list(IDS))
        assert known.has_label.tolist() == expected.has_label.tolist()
        assert known.is_positive.tolist() == expected.is_positive.tolist()
        for i, row_id in enumerate(IDS):
            probe = row(None, second * SECOND, card=f"card-{row_id}")
            found = fast.look(as_payment(probe))
            assert_same([found], [slow.look(probe)])
            assert (found["card_risk_all_delay_1s"] > 0) == known.is_positive[i]


CASES = {
    "verdict then claim": ([(False, 5, "investigator"), (True, 9, "claim")], [False, True]),
    "claim then verdict": ([(True, 5, "claim"), (False, 9, "investigator")], [True, False]),
    "changed verdict": ([(True, 5, "investigator"), (False, 9, "investigator")], [True, False]),
    "both at once": ([(False, 5, "investigator"), (True, 5, "claim")], [False, False]),
    "late label": ([(True, 9, "claim"), (False, 5, "claim")], [False, True]),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("place", ["memory", "folder"])
def test_the_label_known_last_holds_from_when_it_is_known(tmp_path, place, name):
    given, (at_6, at_10) = CASES[name]
    fast = Model(None if place == "memory" else tmp_path / "a.history")
    fast.pay(as_payment(row("a", 0)))
    for is_positive, second, source in given:
        fast.model.label(["a"], [is_positive], known_at=moment(second * SECOND), source=source)
    fast.reopen()
    for second, expected in ((6, at_6), (10, at_10)):
        risk = fast.look(as_payment(row(None, second * SECOND)))["card_risk_all_delay_1s"]
        known = fast.model.state_.ledger.as_known(moment(second * SECOND), ["a"])
        assert (risk == 1) == expected == bool(known.is_positive[0])
    fast.model.close()
