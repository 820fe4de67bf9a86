"""Verdicts as people write them."""

import pyarrow as pa
import pytest

from toprank.data.tables.columns import TableError
from toprank.payments.ledger import MemoryLedger
from toprank.payments.verdicts import overruling_label, verdicts_in


def read(column, values, classes=(1, 0)):
    ids = [f"id-{i}" for i in range(len(values))]
    return verdicts_in(pa.table({"tx": ids, column: values}), "tx", "is_fraud", classes)


@pytest.mark.parametrize("word", ["fraud", "Fraud ", "YES", "true", "1"])
def test_words_for_fraud(word):
    assert read("verdict", [word]).is_positive.tolist() == [True]


@pytest.mark.parametrize("word", ["genuine", "OK", "no", "false", "0"])
def test_words_for_genuine(word):
    assert read("verdict", [word]).is_positive.tolist() == [False]


def test_the_classes_own_words_count_before_all_others():
    found = read("verdict", ["yes", "no"], classes=("no", "yes"))
    assert found.is_positive.tolist() == [False, True]


def test_empty_and_unsure_verdicts_are_ignored():
    found = read("verdict", ["", None, "unsure", "fraud"])
    assert (found.ids, found.n_empty, found.n_unsure) == (["id-3"], 2, 1)
    assert found.rows.tolist() == [3]


def test_an_unknown_word_is_refused_with_the_word():
    with pytest.raises(TableError, match=r"verdict.*'maybe'"):
        read("verdict", ["maybe"])


def test_labels_are_claims_and_verdicts_an_investigators():
    assert read("is_fraud", [1, None]).source == "claim"
    assert read("verdict", ["fraud"]).source == "investigator"


def test_ids_that_were_escaped_for_spreadsheets_are_read_back():
    table = pa.table({"tx": ["'=7"], "verdict": ["fraud"]})
    assert verdicts_in(table, "tx", "is_fraud", (1, 0)).ids == ["=7"]


def test_the_label_that_overrules_one_given_is_found():
    ledger = MemoryLedger()
    ledger.append(["a", "7"], [True, False], known="2025-01-09", source="investigator")
    ledger.append(["a", "7"], [True, True], known="2025-01-05", source="claim")
    found = overruling_label(ledger, ["a", 7], [True, True])

    assert found[:3] == ("7", False, "investigator")
    assert str(found.known).startswith("2025-01-09")
    assert overruling_label(ledger, ["a", "nobody"], [True, True]) is None


def test_of_labels_given_twice_the_last_counts():
    ledger = MemoryLedger()
    ledger.append(["a", "a"], [True, False], known="2025-01-09", source="claim")
    assert overruling_label(ledger, ["a", "a"], [True, False]) is None
