"""What training and evaluation found, in plain values that a file or a program can keep."""

from typing import Any, Protocol

from toprank.rankers.auto.search_log import SearchLog
from toprank.workflow.evaluation import Evaluation
from toprank.workflow.promise import Promise
from toprank.workflow.training import Candidate
from toprank.workflow.usual_rows import UsualRows


class Findings(Protocol):
    """What training found; `account` is None where no recipes were compared."""

    @property
    def task(self) -> Any: ...

    @property
    def ranker(self) -> Any: ...

    @property
    def candidates(self) -> list[Candidate]: ...

    @property
    def chosen(self) -> Candidate: ...

    @property
    def account(self) -> SearchLog | None: ...

    @property
    def promise(self) -> Promise | None: ...

    @property
    def usual(self) -> UsualRows | None: ...

    @property
    def is_refitted(self) -> bool: ...


def training_facts(trained: Findings, label: str, time: str | None) -> dict[str, Any]:
    """Return what training found in plain values, as the model file and `--json` keep it."""
    task = trained.task
    periods = task.split.periods or {}
    n_rows, n_positive = task.counts()
    facts = {
        "label": label,
        "time": time,
        "budget": trained.chosen.test.budget,
        "rows": n_rows,
        "positives": n_positive,
        "periods": {name: [str(begin), str(end)] for name, (begin, end) in periods.items()},
        "chosen": trained.chosen.name,
        "learned_from_test": trained.is_refitted,
        "test": {each.name: evaluation_facts(each.test) for each in trained.candidates},
    }
    if trained.promise is not None:
        facts["promise"] = trained.promise.to_json()
    if trained.usual is not None:
        facts["usual_rows"] = trained.usual.to_json()
    if trained.account is not None:
        facts["account"] = trained.account.to_json()
    if hasattr(trained.ranker, "groups_"):
        facts["groups"] = [
            {"group": each.rank + 1, "rows": each.n_rows, "positives": each.positives}
            for each in trained.ranker.groups_
        ]
    return facts


def evaluation_facts(figures: Evaluation) -> dict[str, Any]:
    """Return the figures of one ranking in plain values."""
    intervals = ("average_precision", "found", "likely", "positives_at_top", "roc_auc")
    return {
        "rows": figures.is_positive.size,
        "positives": int(figures.is_positive.sum()),
        "budget": figures.budget,
        "per_day": figures.day is not None,
        **{name: getattr(figures, name)._asdict() for name in intervals},
        **_card_facts(figures),
    }


def _card_facts(figures: Evaluation) -> dict[str, Any]:
    if (of_cards := figures.card_checks) is None:
        return {}
    facts = {
        "card_precision": of_cards.precision._asdict(),
        "card_precision_ceiling": of_cards.ceiling,
        "card_recall": of_cards.recall,
    }
    if of_cards.money is not None:
        facts["money_caught"], facts["money_lost"] = of_cards.money
    return facts
