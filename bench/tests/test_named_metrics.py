"""Metrics by name are those of toprank.metrics."""

import numpy as np
import pytest

from toprank import metrics
from toprank_bench.named_metrics import figures

Y = np.array([True, False, True, False, False, True, False, False])
SUSPICION = np.array([0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2])


def test_each_name_gives_its_metric():
    names = ["average_precision", "roc_auc", "positives_at_top", "best_f1"]
    assert figures(names, Y, SUSPICION) == {
        "average_precision": metrics.average_precision(Y, SUSPICION),
        "roc_auc": metrics.roc_auc(Y, SUSPICION),
        "positives_at_top": metrics.positives_at_top(Y, SUSPICION),
        "best_f1": metrics.best_f_beta(Y, SUSPICION).value,
    }


@pytest.mark.parametrize(
    ("written", "k"), [("(2)", 2), ("(100%)", 3), ("(70%)", 2), ("(1%)", 1), ("(99)", 8)]
)
def test_k_is_a_number_of_rows_or_a_share_of_the_positives(written, k):
    names = [f"precision_at_k{written}", f"recall_at_k{written}"]
    precision = metrics.precision_at_k(Y, SUSPICION, k)
    recall = metrics.recall_at_k(Y, SUSPICION, k)
    assert list(figures(names, Y, SUSPICION).values()) == [precision, recall]
