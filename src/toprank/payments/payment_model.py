"""PaymentModel: a ranker that knows each card's past, the same in batch, live and on disk.

It combines the roles of the columns, the history of the features, a ranker with calibrated
probabilities and the rules of labels. Without a card it ranks plain rows, so that callers need
only one class.
"""

import os
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Self

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from toprank.data import tables
from toprank.data.tables import Schema, TableWarning, WrittenBatch
from toprank.data.tables.columns import arrow_table
from toprank.notebook_views import ShownWhenFitted, html_of
from toprank.payments import issued_lists, model_files
from toprank.payments.feature_folder import FeatureFolder, FolderSettings, folder_training
from toprank.payments.features import Feature
from toprank.payments.features.past import LabelCounts
from toprank.payments.fit_options import roles_of
from toprank.payments.history_store.history_store import HistoryStore
from toprank.payments.known_cards import KnownCards, known_cards
from toprank.payments.learning import learn, learn_also, learn_from_features
from toprank.payments.measured import evaluated
from toprank.payments.payment_words import PaymentWords, words_of_list
from toprank.payments.recent_payments import recent_payments
from toprank.payments.roles import (
    Roles,
    columns_to_read,
)
from toprank.payments.row_scores import RowScores
from toprank.payments.stored_cards import StoredCards
from toprank.payments.verdicts import check_one_each
from toprank.payments.with_past import (
    tables_of,
    with_past,
)
from toprank.rankers import reasons
from toprank.rankers.list_reasons import ScoredRow
from toprank.rankers.progress import Progress
from toprank.rankers.reasons import Difference, Reason
from toprank.wording import noun_of
from toprank.workflow.alert_list import AlertList, top_alerts
from toprank.workflow.evaluation import Evaluation
from toprank.workflow.promise import Promise
from toprank.workflow.usual_rows import ShiftWatch

CLEARED_WITHIN = "14d"
"""Cards that an investigator cleared within this time are flagged on the list."""


class PaymentModel(ShownWhenFitted, BaseEstimator):
    """A ranker of payments that knows what each card and terminal did before.

    Parameters
    ----------
    label_column
        The column of labels, of two values.
    time, card, terminal, amount
        The columns of the payment's time, card, terminal (shop, payee) and amount. With a card,
        all four are required; without it, `time` only splits the rows, and there is no history.
    row_id
        The column of ids: a payment that is sent twice counts once, and later labels find their
        payment.
    delay
        The time after which labels are known, such as "7d"; also the gap before the test rows.
    features
        Features of the past to use instead of the default ones.
    names
        Columns and features in words, such as `{"TX_AMOUNT": "amount in euros"}`, for reasons.
    positive_label
        The label to rank first; None for 1, yes, fraud and the like, else the rarer label.
    drop, gap, budget, learner, losses, n_estimators, effort, time_limit, random_state, n_jobs
        The options of `toprank fit`: columns to leave out, time left out before the test, checks
        per day, the learner, the losses it may try, trees, how much to try, seconds that all of
        it may take at most, random seed, threads.
    loss
        In place of a search by the learner, boosted trees that learn this loss of
        `BoostedRanker`; "ap-card" ranks each day's cards and must come with a card.
    refit
        Whether the chosen recipe also learns from the test rows, once they have been used for the
        figures, and from those of the gap.
    keep
        Columns to learn from although they look like ids, which are left out otherwise.
    card_key
        The file of a secret key, of at least 16 bytes: the history then keeps keyed hashes of the
        cards in place of the cards. It is not saved with the model.

    Attributes
    ----------
    ranker_
        The fitted ranker.
    classes_
        The two labels, the positive first.
    state_
        The history of the payments and the ledger of their labels; None without a card.
    training_
        The training, with the figures on the test rows; only after `fit`.
    promise_
        What later lists are expected to hold, from a backtest; None without times.
    stored_cards_
        How the history stores cards.
    usual_rows_
        What the rows learned from are like; `rank` warns of rows that are unlike them.
    reading_
        How numbers and times were written in the file that the model was fitted on.
    folder_settings_
        What the features of the folder are that `fit_folder` learned from; else None.

    Examples
    --------
    >>> from toprank.simulator import simulate
    >>> payments = simulate(n_cards=80, n_terminals=30, n_days=40, random_state=2)
    >>> model = PaymentModel(
    ...     "is_fraud", time="paid_at", card="card", terminal="terminal", amount="amount",
    ...     n_estimators=10, time_limit=0.01, n_jobs=1,
    ... ).fit(payments)
    >>> payment = payments.to_pylist()[-1]
    >>> score = model.score(payment | {"terminal": "new", "amount": 990.0})
    >>> 0 <= score.probability <= 1
    True
    """

    def __init__(
        self,
        label_column: str = "label",
        *,
        time: str | None = None,
        card: str | None = None,
        terminal: str | None = None,
        amount: str | None = None,
        row_id: str | None = None,
        delay: str = "7d",
        features: Iterable[Feature] | None = None,
        names: Mapping[str, str] | None = None,
        positive_label: Any = None,
        drop: Iterable[str] = (),
        gap: Any = None,
        budget: int = 100,
        learner: str = "auto",
        losses: Sequence[str] | None = None,
        n_estimators: int = 300,
        effort: str = "normal",
        time_limit: float | None = None,
        refit: bool = True,
        random_state: int = 0,
        n_jobs: int | None = None,
        keep: Iterable[str] = (),
        card_key: str | os.PathLike[str] | None = None,
        loss: str | None = None,
    ) -> None:
        self.label_column = label_column
        self.time = time
        self.card = card
        self.terminal = terminal
        self.amount = amount
        self.row_id = row_id
        self.delay = delay
        self.features = features
        self.names = names
        self.positive_label = positive_label
        self.drop = drop
        self.gap = gap
        self.budget = budget
        self.learner = learner
        self.losses = losses
        self.n_estimators = n_estimators
        self.effort = effort
        self.time_limit = time_limit
        self.refit = refit
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.keep = keep
        self.card_key = card_key
        self.loss = loss

    stored_cards_ = StoredCards()
    folder_settings_: FolderSettings | None = None

    # Learning

    def fit(self, table: Any, *, progress: Progress | None = None) -> Self:
        """Learn from a labelled table; with a card, also from the past of each card."""
        return learn(self, arrow_table(table), progress)

    def fit_folder(
        self,
        folder: FeatureFolder | str | os.PathLike[str],
        *,
        most_rows: int = folder_training.MOST_ROWS,
        progress: Progress | None = None,
    ) -> Self:
        """Learn from a folder of features: see `toprank.payments.feature_folder`.

        All positives and a sample of the other rows are learned from, about `most_rows` in all;
        all rows of the test days are scored for the figures. The model has no history: it ranks
        rows that have their features.
        """
        opened = folder if isinstance(folder, FeatureFolder) else FeatureFolder.open(Path(folder))
        return folder_training.learn_from_folder(self, opened, most_rows, progress)

    def fit_features(
        self,
        table: pa.Table,
        *,
        labels: tables.Labels | None = None,
        progress: Progress | None = None,
        test_begin: np.datetime64 | None = None,
    ) -> Self:
        """Learn from a table that has the features of the past already.

        `test_begin` says from when on rows are the test; by default they are the latest quarter.
        """
        return learn_from_features(self, table, labels, progress, test_begin)

    def learn_also(
        self,
        table: pa.Table,
        weight: NDArray[np.float64],
        weight_before: NDArray[np.float64] | None = None,
        *,
        progress: Progress | None = None,
    ) -> Self:
        """Learn from later rows, too, whose labels are not final; after `fit_features`.

        `weight` is the number of payments that each row represents, and `weight_before` that of
        each row of before, if it is not 1. Figures and probabilities stay those of then.
        """
        return learn_also(self, table, weight, weight_before, progress)

    # Ranking

    def rank(
        self,
        payments: Any,
        k: int | None = None,
        *,
        n_reasons: int = 5,
        remember: bool = False,
        cleared_within: Any = CLEARED_WITHIN,
        compare_past: bool = True,
    ) -> AlertList:
        """Return the `k` most suspicious rows with reasons; with a card, one row per card.

        `payments` is a table, or several in order if one would be too large. With `remember`, the
        rows are added to the history; otherwise it does not change. Cards that the ledger knows as
        fraud are left out, and those that an investigator cleared within `cleared_within` are
        flagged. With `compare_past`, reasons compare each listed row with what its card did
        before, up to a day before the row.
        """
        check_is_fitted(self, "ranker_")
        known = self.known_cards(cleared_within)
        watch = None
        if self.usual_rows_ is not None:
            watch = ShiftWatch(self.usual_rows_, self.ranker_.schema_.names)
        alerts = top_alerts(
            self.ranker_,
            self.with_past(tables_of(payments), remember=remember, sets_aside=True),
            self.budget if k is None else k,
            n_reasons,
            one_per=self.card,
            left_out=known.blocked,
            facts=self.facts,
            describer_of=partial(self._describer, is_compared=compare_past),
            promise=self.promise_now(),
            watch=watch,
        )
        alerts = replace(alerts, noun=noun_of(self.label_column))
        store = self._store_of_lists()
        if remember and self.promise_ is not None and store is not None:
            issued_lists.keep(alerts, self.promise_, self.ranker_.calibration_, store)
        for remark in () if watch is None else watch.remarks():
            warnings.warn(remark, TableWarning, stacklevel=2)
        if self.card is None:
            return alerts
        stored = self.stored_cards_.in_table(alerts.rows, self.card)[self.card]
        return self.stored_cards_.as_they_came(known.flagged(alerts, stored), self.card)

    def recent_payments(
        self, alerts: AlertList, days: int = 30, today: Iterable[Any] = ()
    ) -> list[pa.Table]:
        """Return for each listed row the payments of its card in the days before it.

        They come from the history; `today` are tables that it does not have yet, such as those
        that were ranked without being remembered.
        """
        if self.state_ is None or self.roles is None:
            raise ValueError("the model must be fitted with card to know payments; it was not.")
        if alerts.facts is None:  # of an empty list
            return []
        facts = self.stored_cards_.in_table(alerts.facts, "card")
        others = (self.stored_cards_.in_table(each, self.card) for each in tables_of(today))
        return recent_payments(self.state_, self.roles, facts, self.classes_, days, others)

    def score(
        self, payment: Mapping[str, Any], *, n_reasons: int = 5, remember: bool = False
    ) -> ScoredRow:
        """Return suspicion, probability and reasons of one payment, given as a dict.

        They are bit for bit what `rank` gives the payment in a table; reasons are those without
        `compare_past`, since the card's earlier payments are not read for one score.
        """
        scores, features_of = self.row_scores(), None
        if self.state_ is not None:
            features_of = self.state_.one if remember else self.state_.look
        return scores.one(payment, n_reasons, features_of, is_kept=remember)

    def take_in(self, payment: Mapping[str, Any], *, n_reasons: int = 5) -> ScoredRow:
        """Return what `score` does, and remember the payment: on disk with the next `settle`.

        This is for streams, which would otherwise be slowed down by the disk at every payment.
        """
        scores = self.row_scores()
        features_of = None if self.state_ is None else self.state_.take_in
        return scores.one(payment, n_reasons, features_of, is_kept=True)

    def row_scores(self) -> RowScores:
        """Return what scores single rows or a few, for programs that keep the history themselves.

        See `toprank.payments.row_scores`.
        """
        known: RowScores | None = getattr(self, "_row_scores", None)
        if known is None or not known.are_of(self):
            check_is_fitted(self, "ranker_")
            known = self._row_scores = RowScores(self)
        return known

    def settle(self, note: Any = None) -> None:
        """Write the payments that were taken in to disk, all or none, and `note` with them."""
        if self.state_ is not None:
            self.state_.settle(note)

    def explain(
        self, payments: Any, row: int = 0, above: int | None = None, *, n_reasons: int = 5
    ) -> list[Reason] | list[Difference]:
        """Return the reasons for a row's rank, or why it ranks above another row."""
        check_is_fitted(self, "ranker_")
        rows = self.with_features(payments)
        if above is None:
            return reasons.explain(self.ranker_, rows.slice(row, 1), n_reasons, self.describer())[
                0
            ]
        return reasons.why_above(self.ranker_, rows.take([row, above]), 0, 1, n_reasons)

    def with_features(self, payments: Any) -> pa.Table:
        """Return a table with the features of its rows as further columns; nothing is kept."""
        return pa.concat_tables(self.batches_with_features(tables_of(payments)))

    def batches_with_features(self, batches: Iterable[pa.Table]) -> Iterator[pa.Table]:
        """Yield tables with the features of their rows; nothing is kept."""
        check_is_fitted(self, "ranker_")
        return (each.table for each in self.with_past(batches))

    def remember(self, payments: Any) -> None:
        """Add payments to the history, for those that come after them."""
        for _ in self.with_past(tables_of(payments), remember=True, sets_aside=True):
            pass

    def promise_now(self) -> Promise | None:
        """Return what lists are expected to hold, by what earlier lists are known to have held.

        Those are the lists of a model on disk that were made with `remember`.
        """
        store = self._store_of_lists()
        if self.promise_ is None or store is None:
            return self.promise_
        return issued_lists.followed(self.promise_, store)

    def _store_of_lists(self) -> HistoryStore | None:
        """Return where lists are kept until it is known what was in them; None if nowhere."""
        has_ids = self.row_id is not None
        return self.state_ if has_ids and isinstance(self.state_, HistoryStore) else None

    # Labels

    def label(
        self,
        ids: ArrayLike,
        is_positive: ArrayLike,
        *,
        known_at: Any = None,
        source: str = "investigator",
        who: str = "",
    ) -> LabelCounts:
        """Write labels to the ledger and the features; return what became of them.

        `ids` name payments by `row_id`. A label counts from the moment `known_at` at which it
        became known; the default is the time of the newest payment in the history. A payment may
        be labelled again: the rules of `toprank.payments.ledger` say which label holds.
        """
        check_is_fitted(self, "ranker_")
        if self.state_ is None or self.row_id is None:
            raise ValueError(
                "the model must be fitted with card (--card) and row_id (--id) for labels to find "
                "their payments; it was not; fit it again with both."
            )
        known: Any = self.state_.history.until if known_at is None else known_at
        check_one_each(ids, is_positive, known)
        return self.state_.label(ids, is_positive, known, source, who)

    def known_cards(self, cleared_within: Any = CLEARED_WITHIN) -> KnownCards:
        """Return the cards that the ledger knows as fraud, and those cleared recently."""
        if self.state_ is None or self.row_id is None or self.card is None:
            return KnownCards()
        return known_cards(self.state_, self.card, cleared_within)

    # Measuring

    def evaluate(
        self,
        payments: Any,
        k: int | None = None,
        *,
        label: str | None = None,
        time: str | None = None,
    ) -> Evaluation:
        """Return how well the model ranks labelled rows, one list per day if there are times."""
        check_is_fitted(self, "ranker_")
        return evaluated(self, self.batches_with_features(tables_of(payments)), k, label, time)

    # Files

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to `path` and its history next to it, replaced in one step."""
        check_is_fitted(self, "ranker_")
        model_files.write_model(self, Path(path))

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        *,
        history: str | os.PathLike[str] | None = None,
        for_writing: bool = False,
        card_key: str | os.PathLike[str] | None = None,
    ) -> Self:
        """Return the model that `save` wrote, with the history next to it or the given one.

        With `for_writing`, the history is locked against other writers until `close`, and what is
        remembered or labelled is on disk when the call returns. A model that was fitted with a
        `card_key` needs it again to see payments; labels and `refit` do not.
        """
        return model_files.read_model(
            cls, Path(path), None if history is None else Path(history), for_writing, card_key
        )

    def close(self) -> None:
        """Close the history on disk."""
        if self.state_ is not None:
            self.state_.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # How

    @property
    def schema_(self) -> Schema | None:
        """The columns of a file that the model uses as they are; there may be others."""
        if self.state_ is None:
            return self.ranker_.schema_
        return columns_to_read(self.state_.history, self.ranker_.schema_)

    @property
    def facts(self) -> dict[str, str]:
        """The columns that say what a row is: by card, time, terminal, amount and id."""
        named = {
            "card": self.card, "time": self.time, "terminal": self.terminal,
            "amount": self.amount, "id": self.row_id,
        }  # fmt: skip
        return {role: name for role, name in named.items() if name is not None}

    def describer(self) -> reasons.Describer:
        """Return what puts reasons into words where no card's earlier payments are read."""
        return self._describer(pa.table({}), is_compared=False)

    def _describer(self, facts: pa.Table, is_compared: bool) -> reasons.Describer:
        """Return what puts the reasons of listed rows into words."""
        roles, folder = self.roles, self.folder_settings_
        if roles is not None and folder is not None:  # it has no earlier payments to compare with
            features = folder.history().features
            return PaymentWords(features, roles, self.label_column, self.names)
        if self.state_ is None or roles is None:
            return reasons.ColumnNames(self.names or {})
        return words_of_list(self.state_, roles, self.label_column, self.names, facts, is_compared)

    def _learned_html(self) -> str:
        trained = getattr(self, "training_", None)
        return "" if trained is None else html_of(trained)

    @property
    def roles(self) -> Roles | None:
        """The roles of the columns; None without a card."""
        return roles_of(self)

    @property
    def learned_until(self) -> np.datetime64 | None:
        """The time of the newest row that the model learned from; None if it is not known."""
        check_is_fitted(self, "ranker_")
        if self.promise_ is not None:
            return self.promise_.until
        period = getattr(self, "facts_", {}).get("periods", {}).get("validation")
        return None if period is None else np.datetime64(period[1], "us")

    def with_past(
        self,
        batches: Iterable[pa.Table | WrittenBatch],
        *,
        remember: bool = False,
        sets_aside: bool = False,
        labels: tables.Labels | None = None,
    ) -> Iterator[WrittenBatch]:
        """Yield batches with the features of their rows: see `toprank.payments.with_past`."""
        options = {"remember": remember, "sets_aside": sets_aside}
        stored = (self.stored_cards_.in_batch(each, self.card) for each in batches)
        return with_past(self.state_, self.classes_, stored, **options, labels=labels)
