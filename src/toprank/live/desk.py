"""A desk: a folder with settings, database, models, snapshots and archive.

desk.toml               settings
desk.db                 log, scores, alerts, labels, rules, keys, audit
models/0001.toprank     the model that it was made with, and those that followed
snapshots/              its history, as of places in the log
archive/                payments with their features, for backtests and training
"""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self, cast

import numpy as np
import sqlalchemy as sa

from toprank import files
from toprank.live.desk_clock import DeskClock, wall_time
from toprank.live.desk_settings import DeskSettings
from toprank.live.messages import FieldKind, FieldRole, PaymentField
from toprank.live.payment_archive import PaymentArchive, check_names
from toprank.live.snapshots import LogPlace, Snapshots
from toprank.live.store import audit_chain, label_table, model_table, payment_log
from toprank.live.store.desk_database import Database, Durability
from toprank.live.store.label_table import DeskLabel
from toprank.live.store.model_table import StoredModel
from toprank.live.stored_payment import StoredPayments
from toprank.payments.features.kinds import number_columns
from toprank.payments.history_store.writer_lock import WriterLock
from toprank.payments.ledger import SOURCES
from toprank.payments.model_files import LATE, settings_in
from toprank.payments.payment_model import PaymentModel

_LONGEST_UPKEEP = 600.0  # seconds to wait for another process that does it
_DAY = 86_400_000_000  # microseconds

SERVE_LOCK = "serve.lock"
"""The file that is locked while the desk is served, or moved."""

MODELS, SNAPSHOTS, ARCHIVE = "models", "snapshots", "archive"
_KINDS: dict[str, FieldKind] = {"number": "number", "category": "text", "boolean": "boolean"}


class Desk:
    """The folder of a live system, opened; made by `open`. A context manager.

    Attributes
    ----------
    folder, settings, database
        The folder, its settings and its database.
    """

    wall_time = staticmethod(wall_time)

    def __init__(self, folder: Path, settings: DeskSettings, database: Database) -> None:
        self.folder, self.settings, self.database = folder, settings, database
        self.snapshots = Snapshots(folder / SNAPSHOTS)

    @classmethod
    def open(cls, folder: str | os.PathLike[str]) -> Self:
        """Return the desk in a folder; FileNotFoundError or ValueError if it is none."""
        folder = Path(folder)
        database = Database.open(folder)
        settings = DeskSettings.read(folder)
        durability = cast(Durability, settings.durability)  # checked by the settings
        if durability != database.durability:
            database.close()
            database = Database.open(folder, durability)
        return cls(folder, settings, database)

    @property
    def model_path(self) -> Path:
        """The file of the model that ranks: the champion."""
        with self.database.reading() as connection:
            found = model_table.in_use(connection)
        if found is None:
            raise ValueError(f"{self.folder} must have a model that ranks; it has none.")
        return self.path_of(found.champion)

    def path_of(self, file: str) -> Path:
        """Return the path of a model's file."""
        return self.folder / MODELS / file

    def load_model(
        self,
        snapshot: LogPlace,
        card_key: str | os.PathLike[str] | None = None,
        model: Path | None = None,
    ) -> PaymentModel:
        """Return a model with its history as of a snapshot, for the caller alone.

        `model` is its file; by default that of the champion.
        """
        path = self.snapshots.path(snapshot)
        return PaymentModel.load(model or self.model_path, history=path, card_key=card_key)

    def load_newest(
        self, card_key: str | os.PathLike[str] | None = None, model: Path | None = None
    ) -> tuple[PaymentModel, LogPlace]:
        """Return a model, by default the champion, with the newest history that can be read."""
        found = self.snapshots.all()
        if not found:
            raise ValueError(f"{self.folder} must have a snapshot; it has none; use a backup.")
        *older, newest = found
        try:
            return self.load_model(newest, card_key, model), newest
        except (OSError, ValueError):
            if not older:
                raise
            return self.load_model(older[-1], card_key, model), older[-1]

    def now(self, connection: sa.Connection) -> int:
        """Return the desk's time in microseconds, without a model: that of the last payment."""
        is_wall = self.settings.clock == "wall"
        return wall_time() if is_wall else payment_log.last_received(connection) or 0

    @contextmanager
    def tidying(self) -> Iterator[None]:
        """Be the only one to remove files or to copy all of them."""
        lock = WriterLock(self.folder / "upkeep.lock", self.folder, _LONGEST_UPKEEP)
        try:
            yield
        finally:
            lock.release()

    def close(self) -> None:
        """Close the database."""
        self.database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def init_desk(
    folder: str | os.PathLike[str],
    model: str | os.PathLike[str],
    settings: DeskSettings | None = None,
    *,
    actor: str = "person:command line",
    card_key: str | os.PathLike[str] | None = None,
) -> None:
    """Make the folder of a desk from a fitted payment model; it appears when it is complete."""
    folder = Path(folder)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise FileExistsError(f"{folder} exists already; choose another folder for a new desk.")
    with PaymentModel.load(model, card_key=card_key) as loaded:
        settings = settings or DeskSettings()
        check_model(loaded, Path(model))
        check_age(loaded, settings)
        check_kept(loaded, settings)
        unfinished = folder.with_name(f".{folder.name}.unfinished")
        shutil.rmtree(unfinished, ignore_errors=True)
        for name in (MODELS, SNAPSHOTS, ARCHIVE):
            (unfinished / name).mkdir(parents=True, mode=0o700)
        try:
            _fill(unfinished, Path(model), loaded, settings, actor)
            unfinished.rename(folder)
        except BaseException:
            shutil.rmtree(unfinished, ignore_errors=True)
            raise


def check_kept(model: PaymentModel, settings: DeskSettings) -> None:
    """Raise if payments are to be forgotten that features of later ones need."""
    assert model.state_ is not None
    needed = model.state_.history.look_back + LATE
    if settings.kept < needed:
        days = -(-int(needed / np.timedelta64(1, "s")) // 86_400)
        raise ValueError(
            f"keep must be '{days}d' or longer for this model, whose features look back that far; "
            f"got {settings.keep!r}."
        )


def model_budget(path: str | os.PathLike[str]) -> int:
    """Return how many checks per day a model was fitted for."""
    ranker, manifest = files.open_model(path)
    return settings_in(manifest["facts"], ranker)["budget"]


def check_model(model: PaymentModel, path: Path) -> None:
    """Raise if a model cannot serve a desk."""
    if model.card is None or model.row_id is None:
        raise ValueError(
            f"{path.name} must have been fitted with a card and ids of payments for a desk; it "
            "was not; fit it again with --card and --id."
        )
    assert model.state_ is not None
    check_names(fields_of(model), model.state_.history.names)
    if not hasattr(model.ranker_, "calibration_"):
        raise ValueError(f"{path.name} must give probabilities to rank cards by; it does not.")


def archive_of(desk: Desk, model: PaymentModel) -> PaymentArchive:
    """Return the archive of a desk with this model."""
    return archive_in(desk.folder, model)


def archive_in(folder: Path, model: PaymentModel) -> PaymentArchive:
    """Return the archive in the folder of a desk with this model."""
    assert model.state_ is not None
    names = model.state_.history.names
    return PaymentArchive(folder / ARCHIVE, fields_of(model), names)


def check_age(model: PaymentModel, settings: DeskSettings) -> None:
    """Raise if all payments that a model knows are older than the desk would keep."""
    assert model.state_ is not None
    until = model.state_.history.until
    now = np.datetime64(wall_time(), "us")
    if settings.clock == "wall" and until is not None and until < now - settings.kept:
        raise ValueError(
            f"the newest payment of the model is of {str(until)[:10]}, older than a desk keeps "
            f"(--keep {settings.keep}): all of them would be removed; for payments of the past, "
            "use --clock payments."
        )


def clock_of(desk: Desk, model: PaymentModel, connection: sa.Connection) -> DeskClock:
    """Return the clock of a desk: when its newest payment came, or else its model's newest."""
    assert model.state_ is not None
    until = model.state_.history.until
    newest = 0 if until is None else int(until.astype("datetime64[us]").view(np.int64))
    return DeskClock(desk.settings.clock, payment_log.last_received(connection) or newest)


def stored_payments(model: PaymentModel) -> StoredPayments:
    """Return how the payments of a model are stored."""
    assert model.card is not None
    return StoredPayments(model.stored_cards_, model.card)


def fields_of(model: PaymentModel) -> list[PaymentField]:
    """Return the fields of a model's payments; those of its roles are required."""
    roles: dict[str, FieldRole] = {name: role for role, name in model.facts.items()}  # type: ignore[misc]
    kinds: dict[FieldRole, FieldKind] = {"time": "time", "amount": "number"}
    found = [
        PaymentField(name, kinds.get(role, "text"), True, role) for name, role in roles.items()
    ]
    assert model.state_ is not None
    history = model.state_.history
    schema = model.schema_
    columns = {} if schema is None else {each.name: _KINDS[each.kind] for each in schema.columns}
    numbers = set(number_columns(history.features))
    for name in history.columns:
        columns.setdefault(name, "number" if name in numbers else "text")
    for name, kind in columns.items():
        if name not in roles:
            found.append(PaymentField(name, kind))
    return found


def _fill(
    folder: Path, path: Path, model: PaymentModel, settings: DeskSettings, actor: str
) -> None:
    settings.write(folder)
    target = folder / MODELS / model_table.file_name(model_table.FIRST)
    shutil.copyfile(path, target)
    target.chmod(0o600)
    labels = _labels_before(model)
    assert model.state_ is not None
    Snapshots(folder / SNAPSHOTS).write(model.state_.history, LogPlace(label_number=len(labels)))
    archive_in(folder, model).add_before(model)
    # the last, since it may not be in the folder: it is complete, or not there
    database = Database.create(folder)
    with database.writing() as connection:
        label_table.add(connection, labels)
        model_table.add(connection, _first_model(model, actor))
        details: dict[str, Any] = {"model": path.name, "labels": len(labels)}
        audit_chain.add(connection, wall_time(), actor, "desk made", "desk", details)
    database.close()


def _first_model(model: PaymentModel, actor: str) -> StoredModel:
    """Return what the table of models has of the one that a desk is made with."""
    now, until = wall_time(), model.learned_until
    return StoredModel(
        model_table.FIRST,
        model_table.file_name(model_table.FIRST),
        "champion",
        actor,
        now,
        now // _DAY,
        last_day=None if until is None else int(until.astype("datetime64[D]").astype(int)),
        trained_at=now,
    )


def _labels_before(model: PaymentModel) -> list[DeskLabel]:
    """Return the labels in the ledger of a model, which its history has taken in already."""
    assert model.state_ is not None and model.card is not None
    entries = model.state_.ledger.entries_after(0)
    ids = entries.ids.to_pylist()
    cards = model.state_.history.keys_of(ids, model.card) or [None] * len(ids)
    columns = zip(
        ids, cards, entries.is_positive.tolist(),
        entries.known.astype("datetime64[us]").view(np.int64).tolist(),
        (SOURCES[code] for code in entries.source_code.tolist()), strict=True,
    )  # fmt: skip
    return [
        DeskLabel(number, *each, "before the desk", label_table.BEFORE, each[3])
        for number, each in enumerate(columns, start=1)
    ]
