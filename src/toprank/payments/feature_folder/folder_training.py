"""How a payment model learns from a folder of features, of which only a sample fits memory."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from toprank.data import tables
from toprank.payments.feature_folder.feature_folder import FeatureFolder
from toprank.payments.feature_folder.row_sample import sampled_rows
from toprank.payments.feature_folder.scored_days import ScoredDays
from toprank.payments.fit_options import roles_of, training_options
from toprank.payments.stored_cards import StoredCards
from toprank.payments.with_past import columns_without_values
from toprank.rankers.progress import Progress
from toprank.workflow import training
from toprank.workflow.sampled_task import SampledTask, SampleFacts
from toprank.workflow.task import prepare

MOST_ROWS = 1_000_000
_TEST_SHARE, _LEAST_TEST_DAYS, _MOST_TEST_ROWS = 0.25, 7, 5_000_000
_LEAST_DAYS = 4


def learn_from_folder(
    model: Any, folder: FeatureFolder, most_rows: int = MOST_ROWS, progress: Progress | None = None
) -> Any:
    """Fit a payment model to a sample of a folder's rows, and return it.

    The sample has all positives that fit, and some of the other rows of every day. The figures are
    of all rows of the test days. The model has no history of its own: it ranks rows that have
    their features already.
    """
    _check_roles(model, folder)
    test_days = days_of_test(folder)
    sample = sampled_rows(folder, most_rows, model.random_state, progress)
    label, settings = model.label_column, folder.settings
    options = training_options(model, roles_of(model))
    empty = columns_without_values(sample.table, settings.history().names)
    options["drop"] = [*options["drop"], *model.drop, *empty]
    labels = tables.fitted_label(sample.table, label, folder.classes[0])
    task = prepare(
        sample.table,
        label,
        labels=labels,
        test_begin=test_days[0].astype("datetime64[us]"),
        **options,
    )
    known = task.row_numbers - 1
    n_labelled = sum(each.n_rows - each.n_unlabelled for each in folder.days)
    n_positive = sum(each.n_positives for each in folder.days)
    facts = SampleFacts(sample.weight[known], sample.is_typical[known], n_labelled, n_positive)
    sampled = SampledTask.of(task, facts, ScoredDays(folder, test_days, progress))
    model.stored_cards_, model.reading_ = StoredCards(), tables.Reading()
    model.classes_, model.state_, model.folder_settings_ = folder.classes, None, settings
    model.training_ = training.train(
        sampled,
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


def days_of_test(folder: FeatureFolder) -> NDArray[np.datetime64]:
    """Return the days of the test: the latest quarter, or as many of them as have 5 million rows.

    They are at least a week, where the folder has four.
    """
    days = np.array([each.day for each in folder.days])
    if days.size < _LEAST_DAYS:
        raise ValueError(
            f"{folder.path} must have at least {_LEAST_DAYS} days, to learn from and to test on; "
            f"it has {days.size}; add files of other days."
        )
    n_days = max(round(_TEST_SHARE * days.size), 1)
    n_rows = np.cumsum([each.n_rows for each in folder.days[::-1]])
    fits = int(np.searchsorted(n_rows, _MOST_TEST_ROWS, side="right"))
    return days[-min(n_days, max(fits, _LEAST_TEST_DAYS)) :]


def _check_roles(model: Any, folder: FeatureFolder) -> None:
    """Raise unless the model has the columns of the folder."""
    wanted = {**folder.settings.roles._asdict(), "label_column": folder.settings.label}
    for name, column in wanted.items():
        if getattr(model, name) != column:
            raise ValueError(
                f"`{name}` must be {column!r}, as in {folder.path}; got {getattr(model, name)!r}."
            )
