"""A payment model on disk: the ranker in a model file, its state in a folder next to it.

    payments.toprank           the ranker, the settings, and the id of its history
    payments.history/ID/       the history of that id: see `history_store`

A model is written after its history, and replaced in one step; so whenever a process is killed,
the model file and the history that it names belong together. The history of the model that was
replaced is kept until the next one is written.
"""

import re
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np

from toprank import files
from toprank.data.tables import Reading, time_column
from toprank.data.tables.spans import span_of
from toprank.payments.far_times import bulk_of
from toprank.payments.feature_folder.folder_settings import FolderSettings
from toprank.payments.features import Feature, History
from toprank.payments.features.kinds import OF_LABELS
from toprank.payments.history_store import HistoryStore, StoreBusyError
from toprank.payments.history_store.generations import LOCK, Generations
from toprank.payments.history_store.new_folder import remove_unfinished
from toprank.payments.history_store.writer_lock import WriterLock
from toprank.payments.model_lock import WAIT, without_version, writing_model
from toprank.payments.payment_state import PaymentState
from toprank.payments.roles import Roles
from toprank.payments.stored_cards import StoredCards
from toprank.payments.versions import FIRST, next_version, other_versions, version_path
from toprank.workflow.plain_facts import training_facts
from toprank.workflow.promise import Promise
from toprank.workflow.task import class_names
from toprank.workflow.usual_rows import UsualRows

LATE = np.timedelta64(7, "D")  # rows older than the newest by up to this have all their features
FORGET = np.timedelta64(400, "D")  # cards and ids not seen for longer are forgotten
DEFAULT_BUDGET = 100
WAIT_TO_REPLACE = 60.0  # seconds for others to finish writing, before a training is lost

_SETTINGS = (
    "delay", "learner", "losses", "n_estimators", "effort", "time_limit", "refit", "random_state",
    "loss",
)  # fmt: skip


def history_folder(model: Path) -> Path:
    """Return the folder of the histories of a model, which all of its versions share.

    >>> history_folder(Path("payments.toprank")).name
    'payments.history'
    >>> history_folder(Path("payments.v2.toprank")).name
    'payments.history'
    """
    return without_version(model).with_suffix(".history")


def write_model(
    model: Any, path: Path, version: int = FIRST, wait: float = WAIT_TO_REPLACE
) -> None:
    """Write a fitted payment model; an existing file is replaced in one step.

    Waits up to `wait` seconds for who adds to the history of the model that is replaced.
    """
    is_new = model.state_ is not None and not isinstance(model.state_, HistoryStore)
    with writing_model(path), _held_history(path if is_new else None, wait) as replaced:
        if is_new:
            model.state_ = _stored(model.state_, history_folder(path))
        elif model.state_ is not None:
            _copy_history(model.state_, history_folder(path))
        files.save(model.ranker_, path, facts_of(model, version))
        if is_new:
            _drop_old_histories(path, replaced)


def write_next_version(model: Any, current: Path) -> tuple[int, Path]:
    """Write a refitted model next to the current version; return its number and path."""
    with writing_model(current):
        number = next_version(current)
        path = version_path(current, number)
        _copy_history(model.state_, history_folder(path))
        files.save(model.ranker_, path, facts_of(model, number))
        return number, path


def check_free(path: Path, wait: float = WAIT) -> None:
    """Raise if another process is writing the model at `path` or its history.

    For callers that would have to wait for it only after hours of training.
    """
    with writing_model(path, wait), _held_history(path, wait):
        pass


def read_model(
    kind: Any, path: Path, history: Path | None, for_writing: bool, card_key: Any = None
) -> Any:
    """Return the payment model in a file, with its history."""
    model = _read_ranker(kind, path, card_key)
    model.state_ = _opened_state(path, model, history, for_writing)
    if model.state_ is not None:
        model.features = model.state_.history.features
        if "settings" not in model.facts_:  # earlier versions did not save it
            model.delay = _shortest_delay(model.features, model.delay)
    return model


def read_version(model: Any, path: Path) -> Any:
    """Return the payment model in another file, with the history of `model`, which they share."""
    other = _read_ranker(type(model), path, model.card_key)
    if model.state_ is None or other.facts_.get("history") != model.state_.history.id:
        raise ValueError(
            f"{path.name} must be a version of the same model, with the same history; it has "
            "another one."
        )
    other.state_, other.features = model.state_, model.features
    return other


def _read_ranker(kind: Any, path: Path, card_key: Any) -> Any:
    """Return the payment model in a file, without its history."""
    ranker, manifest = files.open_model(path)
    _check_kind(ranker, path)
    model = kind(**settings_in(manifest["facts"], ranker))
    model.ranker_, model.facts_ = ranker, manifest["facts"]
    model.stored_cards_ = _noted_cards(manifest["facts"]).with_key(card_key, path.name)
    model.card_key = card_key
    model.promise_ = _noted(Promise, manifest["facts"].get("promise"))
    model.folder_settings_ = _noted(FolderSettings, manifest["facts"].get("folder"))
    model.usual_rows_ = _noted(UsualRows, manifest["facts"].get("usual_rows"))
    model.reading_ = Reading.from_json(manifest["facts"].get("reading"))
    model.classes_ = class_names(*_classes_of(ranker)) if hasattr(ranker, "classes_") else None
    return model


def facts_of(model: Any, version: int) -> dict[str, Any]:
    """Return what is saved with a ranker to restore the whole model."""
    if hasattr(model, "training_"):
        facts = training_facts(model.training_, model.label_column, model.time)
    else:
        facts = dict(model.facts_)
    facts["version"] = version
    facts["reading"] = getattr(model, "reading_", Reading()).to_json()
    facts["settings"] = {name: getattr(model, name) for name in _SETTINGS} | {
        "drop": list(model.drop),
        "keep": list(model.keep),
        "gap": None if model.gap is None else int(span_of(model.gap, "gap").astype(int)),
    }
    if model.names:
        facts["settings"]["names"] = dict(model.names)
    if model.state_ is not None:
        roles = Roles(model.time, model.card, model.terminal, model.amount, model.row_id)
        facts["payments"], facts["history"] = roles._asdict(), model.state_.history.id
        facts["card_key"] = model.stored_cards_.fingerprint
    elif model.folder_settings_ is not None:
        facts["payments"] = model.folder_settings_.roles._asdict()
        facts["folder"] = model.folder_settings_.to_json()
    return facts


def settings_in(facts: dict[str, Any], ranker: Any) -> dict[str, Any]:
    """Return the parameters of a payment model from what was saved with its ranker.

    A file may come from anyone: what is not in the form that `facts_of` writes is ignored.
    """
    label, time, budget = (facts.get(name) for name in ("label", "time", "budget"))
    found: dict[str, Any] = {
        "label_column": label if isinstance(label, str) else "",
        "time": time if isinstance(time, str) else None,
        "budget": budget if type(budget) is int and budget >= 1 else DEFAULT_BUDGET,
        "positive_label": getattr(ranker, "positive_label_", None),
    }
    roles = _noted_roles(facts.get("payments"))
    if roles is not None:
        found |= roles._asdict()
    settings = facts.get("settings")
    if isinstance(settings, dict):
        found |= {name: settings[name] for name in _SETTINGS if name in settings}
        found["drop"] = tuple(settings.get("drop") or ())
        found["names"] = _noted_names(settings.get("names"))
        found["keep"] = tuple(settings.get("keep") or ())
        if isinstance(settings.get("gap"), int):
            found["gap"] = np.timedelta64(settings["gap"], "us")
    return found


def _stored(state: PaymentState, folder: Path) -> HistoryStore:
    """Return a state in memory as one in a folder of its own."""
    history = state.history
    rows = state.rows()
    if history.until is not None:
        # without features of labels, a purge forgets ids as well: labels must find their rows
        has_labels = any(isinstance(each, OF_LABELS) for each in history.features)
        keep = LATE if has_labels or history.row_id is None else FORGET
        # by the bulk of the rows: one row of a wrong year must not make it forget the others
        end = min(history.until, bulk_of(time_column(rows, history.time)).end)
        history.purge(end - keep, forget=end - FORGET)
    if folder.is_file():  # of an earlier version
        folder.rename(_kept(folder))
    folder.mkdir(mode=0o700, exist_ok=True)
    remove_unfinished(folder)
    return HistoryStore.create(
        folder / history.id, history, rows, labels=state.ledger.entries_after(0)
    )


def _copy_history(store: HistoryStore, folder: Path) -> None:
    """Write a history to the folder of a model that is saved to another place."""
    target = folder / store.history.id
    if store.folder.resolve() in (target.resolve(), folder.resolve()):
        return
    folder.mkdir(mode=0o700, exist_ok=True)
    labels = store.ledger.entries_after(0)
    HistoryStore.create(target, store.history, store.rows(), labels=labels).close()


def _opened_state(
    path: Path, model: Any, given: Path | None, for_writing: bool
) -> HistoryStore | None:
    """Return the state of a model, from next to it or from `given`; None if it has none."""
    history_id = model.facts_.get("history")
    if model.card is None:
        if given is not None:
            raise ValueError(
                f"{path.name} was fitted without a card and has no history; leave out "
                "history (--history)."
            )
        return None
    if model.folder_settings_ is not None:
        if given is not None:
            raise ValueError(
                f"{path.name} was fitted on a folder of features and has no history; leave out "
                "history (--history)."
            )
        return None
    found = _place_of(given or history_folder(path), history_id)
    if not found.exists():
        raise FileNotFoundError(
            f"{path.name} needs the history of its cards, and there is none at {found}; name the "
            "right one with history (--history), or fit again."
        )
    if not _is_history(found):
        raise _of_another(found, path)
    if for_writing and found.name == history_id:
        remove_unfinished(found.parent)
    store = HistoryStore.open(found, mode="write" if for_writing else "read")
    if store.history.id != history_id:
        store.close()
        raise _of_another(found, path)
    return store


def _of_another(found: Path, path: Path) -> ValueError:
    return ValueError(
        f"{found.name} must be the history that was written with {path.name}; it belongs to "
        "another model; name the right one with history (--history), or fit again."
    )


def _place_of(given: Path, history_id: Any) -> Path:
    """Return where the history of an id is: in a folder of several, or at the given path itself.

    A file of an earlier version is kept next to the folder while a new model is written.
    """
    inside, kept = given / str(history_id), _kept(given)
    if isinstance(history_id, str) and inside.is_dir():
        return inside
    return kept if kept.is_file() and not _is_history(given) else given


def _kept(folder: Path) -> Path:
    return folder.with_name(f"{folder.name}.bak")


def _is_history(place: Path) -> bool:
    """Return whether a history is at this place itself, not inside it."""
    return place.is_file() or (place.is_dir() and Generations(place).are_there())


def _drop_old_histories(path: Path, replaced: str | None) -> None:
    """Remove histories that no model next to them names, except for the one just replaced."""
    folder = history_folder(path)
    # a model may have the name of a version: all models that share the folder are read
    first = without_version(path)
    versions = [version_path(first, number) for number in other_versions(first)]
    models = {each for each in (path, first, *versions) if each.exists()}
    kept = {replaced, *(_history_id(each) for each in models)}
    # a folder of an earlier version is a history itself: its files have other names
    ids = [each for each in folder.iterdir() if re.fullmatch("[0-9a-f]{32}", each.name)]
    for each in ids:
        if each.name not in kept:
            with suppress(StoreBusyError):  # of a process that loaded an earlier model
                WriterLock(each / LOCK, each, wait=0).release()
                shutil.rmtree(each, ignore_errors=True)


def _history_id(path: Path) -> str | None:
    return files.read_manifest(path)["facts"].get("history")


@contextmanager
def _held_history(path: Path | None, wait: float) -> Iterator[str | None]:
    """Hold the lock of the history that a model names, and yield the history's id.

    So nobody adds to a history whose model is being replaced.
    """
    history_id = _history_id(path) if path is not None and _is_model(path) else None
    place = None if path is None else history_folder(path) / str(history_id)
    if history_id is None or place is None or not place.is_dir():
        yield history_id
        return
    lock = WriterLock(place / LOCK, place, wait)
    try:
        yield history_id
    finally:
        lock.release()


def _is_model(path: Path) -> bool:
    """Return whether a model is at this path; any other file may be replaced."""
    try:
        files.read_manifest(path)
    except (OSError, ValueError):
        return False
    return True


def _check_kind(ranker: Any, path: Path) -> None:
    if isinstance(ranker, History):
        raise ValueError(
            f"{path.name} is the history of a model; name the model, which has the same name and "
            "ends in .toprank."
        )
    if hasattr(ranker, "named_steps"):
        raise ValueError(
            f"{path.name} is a Pipeline of scikit-learn, which commands do not take: score rows "
            f"from Python, with toprank.load({path.name!r}), or fit a model by toprank fit, which "
            "encodes columns by itself."
        )
    if not hasattr(ranker, "schema_"):
        raise ValueError(
            f"{path.name} is the model of a stream; score rows with: "
            f"toprank stream ROWS --model {path.name}"
        )


def _shortest_delay(features: Iterable[Feature], default: str) -> str:
    """Return the time after which labels are known, from the features that use them."""
    delays = [each.delay for each in features if isinstance(each, OF_LABELS)]
    return min(delays, key=lambda delay: span_of(delay, "delay"), default=default)


def _classes_of(ranker: Any) -> tuple[Any, Any]:
    first, second = ranker.classes_.tolist()
    return (first, second) if first == ranker.positive_label_ else (second, first)


def _noted(kind: Any, noted: Any) -> Any:
    """Return what was saved as plain values; None if it was not, or is not valid."""
    try:
        return None if noted is None else kind.from_json(noted)
    except (AttributeError, KeyError, TypeError, ValueError):
        return None


def _noted_cards(facts: dict[str, Any]) -> StoredCards:
    fingerprint = facts.get("card_key")
    return StoredCards(fingerprint if isinstance(fingerprint, str) else None)


def _noted_names(noted: Any) -> dict[str, str] | None:
    """Return columns in words, as noted; None where they were not, or are not sound."""
    if not isinstance(noted, dict) or not all(isinstance(each, str) for each in noted.values()):
        return None
    return noted


def _noted_roles(noted: Any) -> Roles | None:
    """Return the saved roles of the columns; None if there are none, or they are not valid."""
    if not isinstance(noted, dict) or set(noted) != set(Roles._fields):
        return None
    if not all(isinstance(noted[name], str) for name in Roles._fields if name != "row_id"):
        return None
    return Roles(**noted)
