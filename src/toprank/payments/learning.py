"""How a payment model learns from a table: its rows, their past, then the training."""

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from toprank.data import tables
from toprank.data.tables import WrittenBatch
from toprank.payments.fit_options import roles_of, training_options
from toprank.payments.payment_state import MemoryState
from toprank.payments.roles import Roles, new_history
from toprank.payments.stored_cards import StoredCards
from toprank.payments.with_past import at_right_times, columns_without_values
from toprank.rankers.progress import Progress
from toprank.workflow import training
from toprank.workflow.task import MoreRows, class_names, prepare


def learn(model: Any, table: pa.Table, progress: Progress | None) -> Any:
    """Fit a payment model to a labelled table, and return it."""
    roles = roles_of(model)
    model.folder_settings_ = None
    model.stored_cards_ = StoredCards.of_key(model.card_key)
    model.reading_ = tables.Reading.of(table)
    tables.check_columns([*model.drop, *model.keep], table.column_names)
    # a time that is dropped still splits the rows
    table = table.drop_columns([name for name in set(model.drop) if name != model.time])
    table, numbers = _at_right_times(table, model.time)
    labels = tables.split_label(table, model.label_column, model.positive_label)
    model.classes_ = class_names(labels.positive, labels.negative)
    model.state_ = None
    if roles is not None:
        table = _with_their_past(model, roles, table, labels, progress)
    return learn_from_features(model, table, labels, progress, row_numbers=numbers)


def learn_from_features(
    model: Any,
    table: pa.Table,
    labels: tables.Labels | None,
    progress: Progress | None,
    test_begin: np.datetime64 | None = None,
    row_numbers: NDArray[np.int64] | None = None,
) -> Any:
    """Fit a model to a table that has the features of the past already, and return it.

    `row_numbers` are those of the rows, from 1, where the table lacks some.
    """
    options = training_options(model, roles_of(model))
    if model.state_ is not None:  # in a short history, no card may have paid twice in an hour
        empty = columns_without_values(table, model.state_.history.names)
        options["drop"] = [*options["drop"], *empty]
    task = prepare(table, model.label_column, labels=labels, test_begin=test_begin, **options)
    if row_numbers is not None:
        task = replace(task, row_numbers=row_numbers[task.row_numbers - 1])
    model.training_ = training.train(
        task,
        model.budget,
        learner=model.learner,
        losses=model.losses,
        loss=model.loss,
        n_estimators=model.n_estimators,
        effort=model.effort,
        time_limit=model.time_limit,
        refit=model.refit,
        random_state=model.random_state,
        n_jobs=model.n_jobs,
        progress=progress,
    )
    model.ranker_, model.promise_ = model.training_.ranker, model.training_.promise
    model.usual_rows_ = model.training_.usual
    return model


def learn_also(
    model: Any,
    table: pa.Table,
    weight: NDArray[np.float64],
    weight_before: NDArray[np.float64] | None,
    progress: Progress | None,
) -> Any:
    """Let a fitted model learn from later rows, too, whose labels are not final yet.

    `weight` is the number of payments that each represents, and `weight_before` that of each row
    before. Figures and probabilities stay those of the rows before.
    """
    if weight_before is not None:
        weight_before = weight_before[model.training_.task.row_numbers - 1]
    is_positive = (
        np.array(table[model.label_column].to_pylist(), dtype=object) == model.classes_[0]
    )
    time = card = None
    if table.num_rows:
        time = None if model.time is None else tables.time_column(table, model.time)
        card = None if model.card is None else tables.key_codes(table, model.card)
    model.ranker_ = training.with_more_rows(
        model.training_,
        MoreRows(table, is_positive, time, card),
        weight,
        weight_before,
        progress,
    )
    if time is not None and model.promise_ is not None:
        model.promise_ = replace(model.promise_, until=max(model.promise_.until, time.max()))
    return model


def _at_right_times(
    table: pa.Table, time: str | None
) -> tuple[pa.Table, NDArray[np.int64] | None]:
    """Return the rows to learn from, and their numbers if some have a wrong time."""
    if time is None or time not in table.column_names:
        return table, None
    batch = at_right_times(WrittenBatch(table, table.select([])), time)
    is_whole = batch.table.num_rows == table.num_rows
    return (table, None) if is_whole else (batch.table, batch.numbers)


def _with_their_past(
    model: Any, roles: Roles, table: pa.Table, labels: tables.Labels, progress: Progress | None
) -> pa.Table:
    """Return the table with the features of its rows, from a new history that remembers them."""
    history = new_history(roles, model.label_column, model.delay, model.features)
    model.state_ = MemoryState(history)
    if progress is not None:
        progress("features of the past", 0, 1)
    table = tables.with_times(table, roles.time)
    ((table, *_),) = model.with_past([table], remember=True, labels=labels)
    if progress is not None:
        progress("features of the past", 1, 1)
    return table
