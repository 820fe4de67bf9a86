"""A new challenger: learned from what the desk knows now, compared with the champion, kept.

One process at a time trains, by a lock that ends with it. A training has a number from its start;
its file appears when it is whole, and only then the model becomes the challenger. So whenever the
process is killed, the champion is what it was. The next training takes over the number: if the
file is there already, only the last step is left to do.
"""

import json
import os
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
import sqlalchemy as sa

from toprank import files
from toprank.data.checks import nearest_name
from toprank.live.desk import Desk, clock_of, fields_of
from toprank.live.desk_clock import wall_time
from toprank.live.learning import model_life
from toprank.live.learning.model_comparison import compare_models
from toprank.live.learning.model_life import LearnedFacts
from toprank.live.learning.training_rows import LabelledPayments, comparison_weights, training_rows
from toprank.live.store import account_table, label_table, model_table
from toprank.live.store.model_table import StoredModel
from toprank.payments.history_store.writer_lock import StoreBusyError, WriterLock
from toprank.payments.model_files import facts_of
from toprank.payments.new_version import LEAST_DAYS, LEAST_POSITIVES, first_new_day
from toprank.payments.payment_model import PaymentModel
from toprank.payments.verdict_weights import label_weights

LOCK = "retrain.lock"

_TEAM = 5  # people who gave verdicts, from which on none of them may be most of what is learned

OnProgress = Callable[[str, int, int], None]
"""Takes what is being done, how much of it is done, and how much there is."""

_FACTS = "learned"  # where the model's file has them
_DAY = 86_400_000_000  # microseconds


def retrain(
    desk: Desk,
    who: str,
    *,
    minutes: float | None = None,
    effort: str | None = None,
    n_jobs: int | None = None,
    without: Collection[str] = (),
    progress: OnProgress | None = None,
) -> StoredModel:
    """Train a challenger for the champion of a desk, and return what the desk has of it.

    `who` asked for it. `minutes`, `effort` and `n_jobs` are as in `toprank fit`; by default the
    first two are those that the champion was fitted with. Verdicts of the people in `without`, and
    of those in the desk's quarantine, do not count. An error is stored with the model.
    """
    left_out = {*without, *(f"person:{each}" for each in desk.settings.quarantined)}
    with _only_one(desk):
        champion, _ = desk.load_newest()
        with desk.database.reading() as connection:
            _check_people(connection, left_out)
            now = clock_of(desk, champion, connection).now()
            against = model_table.in_state(connection, "champion")
        assert against is not None
        with desk.database.writing() as connection:
            model = model_life.begin(connection, wall_time(), now // _DAY, who, left_out)
        try:
            facts = _left_by_another(desk, model)
            if facts is not None:
                return _finished(desk, model, facts)
            new = _untrained(champion, desk.settings.capacity, minutes, effort, n_jobs)
            rows = training_rows(desk, champion, now, left_out)
            return _trained(desk, model, champion, new, against.number, rows, progress)
        except Exception as error:
            with desk.database.writing() as connection:
                model_life.fail(connection, wall_time(), model, _sentence(error))
            raise
        finally:
            champion.close()


def give_way() -> None:
    """Let other processes go first."""
    with suppress(OSError):
        os.nice(10)


def spare_cores() -> int:
    """Return how many threads may train while payments are served."""
    return max((os.cpu_count() or 1) - 1, 1)


def is_training(folder: Path) -> bool:
    """Return whether a process is training a model of the desk in a folder now."""
    try:
        process = json.loads((folder / LOCK).read_text())["pid"]
        os.kill(int(process), 0)
    except PermissionError:
        return True
    except (OSError, ValueError, KeyError, TypeError):
        return False
    return True


@contextmanager
def _only_one(desk: Desk) -> Iterator[None]:
    try:
        lock = WriterLock(desk.folder / LOCK, desk.folder, wait=0.0)
    except StoreBusyError as busy:
        holder = str(busy).partition(" is being written by ")[2].partition(";")[0]
        raise StoreBusyError(
            f"a model of {desk.folder} is being trained by {holder}; wait until it has ended, or "
            "end it, and try again."
        ) from None
    try:
        yield
    finally:
        lock.release()


def _check_people(connection: sa.Connection, people: Collection[str]) -> None:
    """Raise unless the desk knows these people: a misspelt name would leave out nobody."""
    with_account = {f"person:{each.name}" for each in account_table.all_accounts(connection)}
    known = sorted(with_account | label_table.people(connection))
    names = [each.removeprefix("person:") for each in known]
    for each in sorted(set(people) - set(known)):
        name = each.removeprefix("person:")
        raise ValueError(
            f"nobody called {name!r} has an account or gave a verdict at this desk, so there is "
            f"nothing of theirs to leave out{nearest_name(name, names) or '.'}"
        )


def _untrained(
    champion: PaymentModel,
    capacity: int,
    minutes: float | None,
    effort: str | None,
    n_jobs: int | None,
) -> PaymentModel:
    """Return a model with the champion's options and history, that has learned nothing yet."""
    new = PaymentModel(**champion.get_params(deep=False))
    new.state_, new.classes_ = champion.state_, champion.classes_
    new.reading_, new.stored_cards_ = champion.reading_, champion.stored_cards_
    new.budget, new.n_jobs, new.refit = capacity, n_jobs, True
    if minutes is not None:
        new.time_limit = 60 * minutes
    if effort is not None:
        new.effort = effort
    return new


def _trained(
    desk: Desk,
    model: StoredModel,
    champion: PaymentModel,
    new: PaymentModel,
    against: int,
    rows: LabelledPayments,
    progress: OnProgress | None,
) -> StoredModel:
    begin = first_new_day(champion, rows.matured)
    new.keep = _own_columns(champion, rows)
    new.fit_features(rows.table, progress=progress, test_begin=begin)
    _check_same_fields(champion, new)
    figures: dict[str, Any] = {"against": against, "why_not": _TOO_FEW}
    if begin is not None:
        weights = comparison_weights(rows)
        capacity = desk.settings.capacity
        figures = compare_models(champion, new, against, rows, weights, capacity).to_json()
    _learn_in_the_end(new, rows, desk.settings.most_of_one_person, progress)
    facts = _learned(rows, figures)
    # a backup that is being made must not have the challenger without its file
    with desk.tidying():
        _save(new, model, desk.path_of(model.file), facts)
        return _finished(desk, model, facts)


def _learn_in_the_end(
    new: PaymentModel, rows: LabelledPayments, cap: float, progress: OnProgress | None
) -> None:
    """Let a model learn from recent days, too, and not too much from one person."""
    n_rows, recent = len(rows.who), rows.recent
    who = np.concatenate([rows.who, recent.who])
    is_team = np.unique(who[who != ""]).size >= _TEAM
    weights = label_weights(who, cap) if is_team else np.ones(who.size)
    weights[n_rows:] *= recent.weight
    n_recent = recent.day.size if rows.has_recent_frauds else 0
    if n_recent or (weights[:n_rows] != 1).any():
        weight_before, weight = weights[:n_rows], weights[n_rows : n_rows + n_recent]
        table = recent.table.slice(0, n_recent)
        new.learn_also(table, weight, weight_before, progress=progress)


def _learned(rows: LabelledPayments, figures: dict[str, Any]) -> LearnedFacts:
    """Return what a model learned from; recent days count if frauds of them are known."""
    days = [rows.day, *([rows.recent.day] if rows.has_recent_frauds else [])]
    first, last = int(days[0].min()), int(days[-1].max())
    return LearnedFacts(first, last, sum(map(len, days)), rows.frauds, figures)


_TOO_FEW = (
    f"fewer than {LEAST_DAYS} days with {LEAST_POSITIVES} frauds have matured that the champion "
    "did not learn from"
)


def _finished(desk: Desk, model: StoredModel, facts: LearnedFacts) -> StoredModel:
    with desk.database.writing() as connection:
        return model_life.become_challenger(connection, wall_time(), model, facts)


def _save(new: PaymentModel, model: StoredModel, path: Path, facts: LearnedFacts) -> None:
    """Write a model's file, in one step, with what it takes to make it the challenger."""
    saved = facts_of(new, model.number) | {_FACTS: facts._asdict()}
    files.save(new.ranker_, path, saved)
    path.chmod(0o600)


def _left_by_another(desk: Desk, model: StoredModel) -> LearnedFacts | None:
    """Return what a model learned from, if its file was written by a training that was killed."""
    path = desk.path_of(model.file)
    if not path.exists():
        return None
    with suppress(OSError, ValueError, KeyError, TypeError):
        return LearnedFacts(**files.read_manifest(path)["facts"][_FACTS])
    return None


def _own_columns(champion: PaymentModel, rows: LabelledPayments) -> list[str]:
    """Return the payments' own columns that the champion learned from, as far as they are used.

    A column that looks like one of ids today did not when the desk was made: it is kept.
    """
    assert champion.state_ is not None
    made = set(champion.state_.history.names)
    left_out = {champion.time, champion.card, champion.terminal, champion.row_id}
    own = [name for name in champion.ranker_.schema_.names if name not in made | left_out]
    n_rows = rows.table.num_rows
    return [
        name
        for name in own
        if name in rows.table.column_names and rows.table[name].null_count < n_rows
    ]


def _check_same_fields(champion: PaymentModel, new: PaymentModel) -> None:
    """Raise if payments would need other fields with the new model than with the champion."""
    before, after = ({(each.name, each.kind) for each in fields_of(m)} for m in (champion, new))
    other = sorted({name for name, _ in before ^ after})
    if other:
        raise ValueError(
            "a challenger must use the fields of payments that the desk has; it differs in "
            f"{', '.join(map(repr, other))}; look at what is sent in these fields."
        )


def _sentence(error: Exception) -> str:
    text = str(error) or type(error).__name__
    return text if isinstance(error, ValueError | OSError) else f"{type(error).__name__}: {text}"
