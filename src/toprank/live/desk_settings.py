"""The settings of a desk: a file that people edit, checked when it is read."""

import os
import tomllib
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlsplit

import numpy as np

from toprank.data import checks
from toprank.data.atomic import atomic_path
from toprank.data.tables.spans import span_microseconds, span_of
from toprank.live.messages import TimeRange
from toprank.live.streams.stream_address import StreamAddress

NAME = "desk.toml"
ALARMS = (
    "precision", "recall", "yield", "queue age", "label delay", "latency", "scores", "features",
    "reasons", "verdicts",
)  # fmt: skip
"""What there are alarms about: docs/monitor.md."""

STREAMS = ("payments_from", "labels_from", "decisions_to", "alerts_to")
"""The settings that are addresses of streams: docs/streams.md."""


def _setting(default: Any, says: str) -> Any:
    return field(default=default, metadata={"says": says})


@dataclass(frozen=True)
class DeskSettings:
    """What can be set of a desk.

    >>> DeskSettings(capacity=50).keep
    '180d'
    """

    capacity: int = _setting(100, "Cards that can be checked per day.")
    alert_from: float = _setting(
        0.02,
        "A payment with at least this probability of fraud puts its card on the list; where these "
        "are fewer than can be checked in a day, the best of the others follow.",
    )
    silence: str = _setting(
        "30d", "An alert that nothing happens to for this long is closed: silence is genuine."
    )
    keep: str = _setting("180d", "How long payments and all that is known of them are kept.")
    clock: str = _setting(
        "wall",
        'What the time is: "wall" for the clock of the machine, "payments" for the time of the '
        "newest payment, for files and simulations of the past.",
    )
    durability: str = _setting(
        "process",
        'What an answered payment survives: "process" for a killed process, "power" also for a '
        "power failure, at the price of waiting for the disk.",
    )
    database: str = _setting(
        "",
        "Where the data are kept: in this folder if empty, or in PostgreSQL at an address such as "
        "postgresql://user@host:5432/name; docs/postgresql.md.",
    )
    most_waiting: int = _setting(
        2_000, "Payments that may wait for their answer; more are refused until there is room."
    )
    most_unscored: int = _setting(
        50_000, "Payments that may wait for the model; with more, none is taken in."
    )
    breaker_share: float = _setting(
        0.05, "A blocking rule that stops more than this share of a minute's payments is paused."
    )
    breaker_per_minute: int = _setting(
        600, "A blocking rule that stops more than this number of payments a minute is paused."
    )
    purge_hour: int = _setting(
        4,
        "From which hour of the day on the desk forgets what is too old, when no payment is "
        "waiting; it may take seconds.",
    )
    snapshot_every: int = _setting(
        200_000, "Payments between two snapshots; after a restart, at most these are read again."
    )
    retrain_hour: int | None = _setting(
        None,
        "From which hour of the day on a challenger of the model is trained, once per day; "
        "without it, only `toprank retrain` does.",
    )
    retrain_minutes: float = _setting(60.0, "Most minutes that this training may take.")
    online: bool = _setting(
        False,
        "Whether a model that learns from each label as it becomes known scores in shadow, too; "
        "it takes some 0.2 ms of computing per payment.",
    )
    online_learner: str = _setting(
        "onlb",
        "What learns there: onlb, small networks, or stream-ranker, boosted trees that are "
        "refitted on labelled payments of which it keeps a copy, and corrected by each label.",
    )
    most_of_one_person: float = _setting(
        0.5,
        "Largest share of the verdicts in a training that counts from one person, at desks where "
        "five or more gave verdicts.",
    )
    quarantine: str = _setting(
        "",
        "People whose verdicts no training learns from, separated by commas; what they said is "
        "kept, and counts again once they are no longer named here.",
    )
    session_hours: float = _setting(10.0, "Hours after which a person must log in again.")
    idle: str = _setting("30min", "How long a session lasts in which nothing is done.")
    lock_after: int = _setting(
        5, "Failed logins of an account after which the next one has to wait, longer each time."
    )
    lease: str = _setting(
        "15min", "How long a card is kept for the person who opened it and does nothing."
    )
    undo: str = _setting("30s", "How long a verdict can be undone before it becomes a label.")
    random_share: float = _setting(
        0.05, "Share of the capacity that is drawn at random from cards that are not on the list."
    )
    blind_share: float = _setting(
        0.05,
        "Share of the cards that are shown without reasons, rules and chance until their verdict "
        "is final, so that the influence of these can be measured.",
    )
    block_url: str = _setting(
        "", "Where requests to block a card are sent: an address of https, or of this machine."
    )
    block_key: str = _setting(
        "", "File with the secret that signs requests to block a card; without it, none is signed."
    )
    alarms_that_page: str = _setting(
        "precision, recall",
        "Alarms that are sent to alarm_url, separated by commas; all are on the page of alarms.",
    )
    alarm_url: str = _setting(
        "", "Where alarms are sent: an address of https, or of this machine; nowhere if empty."
    )
    alarm_key: str = _setting(
        "", "File with the secret that signs alarms that are sent; without it, none is signed."
    )
    payments_from: str = _setting(
        "",
        "Stream that payments are read from, beside HTTP, such as nats://localhost:4222/payments "
        "or kafka://localhost:9092/payments; none if empty.",
    )
    labels_from: str = _setting("", "Stream that labels are read from; none if empty.")
    decisions_to: str = _setting("", "Stream that decisions are published to; none if empty.")
    alerts_to: str = _setting("", "Stream that alerts are published to; none if empty.")
    least_recall: float = _setting(
        0.3, "Recall of the last 30 days, estimated from random checks, below which is an alarm."
    )
    most_queue_days: float = _setting(
        3.0, "Days that the oldest card may be on the list before there is an alarm."
    )
    most_seconds: float = _setting(
        0.01, "Seconds within which 99 % of payments are to be answered; longer is an alarm."
    )

    def __post_init__(self) -> None:
        checks.whole_number(self.capacity, "capacity", 1)
        checks.number_from(self.alert_from, "alert_from", 0, 1)
        checks.number_from(self.breaker_share, "breaker_share", 0, 1)
        checks.number_from(self.random_share, "random_share", 0, 1)
        checks.number_from(self.blind_share, "blind_share", 0, 1)
        for name in ("most_waiting", "most_unscored", "breaker_per_minute", "snapshot_every"):
            checks.whole_number(getattr(self, name), name, 1)
        checks.whole_number(self.purge_hour, "purge_hour", 0, 23)
        if self.retrain_hour is not None:
            checks.whole_number(self.retrain_hour, "retrain_hour", 0, 23)
        checks.number_above(self.retrain_minutes, "retrain_minutes", 0)
        if not isinstance(self.online, bool):
            raise TypeError(f"online must be true or false; got {self.online!r}.")
        checks.one_of(self.online_learner, "online_learner", ("onlb", "stream-ranker"))
        checks.number_above(self.most_of_one_person, "most_of_one_person", 0, 1)
        checks.number_from(self.session_hours, "session_hours", 0.1, 24 * 7)
        checks.whole_number(self.lock_after, "lock_after", 1)
        if self.idle_for <= np.timedelta64(0, "us"):
            raise ValueError(f"idle must be longer than nothing; got {self.idle!r}.")
        checks.one_of(self.clock, "clock", ("wall", "payments"))
        checks.one_of(self.durability, "durability", ("process", "power"))
        if self.silent <= np.timedelta64(0, "us"):
            raise ValueError(f"silence must be longer than nothing; got {self.silence!r}.")
        if self.kept < np.timedelta64(1, "D"):
            raise ValueError(f"keep must be a day ('1d') or longer; got {self.keep!r}.")
        if not span_microseconds(self.lease, "lease"):
            raise ValueError(f"lease must be longer than nothing; got {self.lease!r}.")
        span_microseconds(self.undo, "undo")
        checks.number_from(self.least_recall, "least_recall", 0, 1)
        checks.number_above(self.most_queue_days, "most_queue_days", 0)
        checks.number_above(self.most_seconds, "most_seconds", 0)
        for name in self.paging:
            checks.one_of(name, "an alarm of alarms_that_page", ALARMS)
        _check_url(self.block_url, "block_url")
        _check_url(self.alarm_url, "alarm_url")
        self._check_streams()

    def _check_streams(self) -> None:
        named: dict[str, str] = {}
        for name in STREAMS:
            if text := getattr(self, name):
                shown = StreamAddress.of(text, name).shown
                if shown in named:
                    raise ValueError(
                        f"{name} must be another stream than {named[shown]}; both are {shown}."
                    )
                named[shown] = name

    @property
    def times(self) -> TimeRange:
        """How far from now a payment may be: six months back, unless less is kept.

        Five minutes ahead; by the clock of the payments, which may pause, a year and more.
        """
        back = min(self.kept, np.timedelta64(183, "D"))
        is_wall = self.clock == "wall"
        ahead = np.timedelta64(5, "m") if is_wall else np.timedelta64(400, "D")
        return TimeRange(*(int(each / np.timedelta64(1, "us")) for each in (back, ahead)))

    @property
    def silent(self) -> np.timedelta64:
        """How long an alert is open without anything happening to it."""
        return span_of(self.silence, "silence")

    @property
    def kept(self) -> np.timedelta64:
        """How long payments are kept."""
        return span_of(self.keep, "keep")

    @property
    def idle_for(self) -> np.timedelta64:
        """How long a session lasts in which nothing is done."""
        return span_of(self.idle, "idle")

    @property
    def paging(self) -> tuple[str, ...]:
        """The alarms that are sent."""
        return _listed(self.alarms_that_page)

    @property
    def quarantined(self) -> tuple[str, ...]:
        """The people whose verdicts no training learns from, by name."""
        return _listed(self.quarantine)

    @property
    def leased(self) -> int:
        """How long a claim lasts, in microseconds."""
        return span_microseconds(self.lease, "lease")

    @property
    def undone(self) -> int:
        """How long a verdict can be undone, in microseconds."""
        return span_microseconds(self.undo, "undo")

    @classmethod
    def read(cls, folder: str | os.PathLike[str]) -> Self:
        """Return the settings in the folder of a desk; ValueError names what is wrong in them."""
        path = Path(folder, NAME)
        try:
            found = tomllib.loads(path.read_text(encoding="utf-8"))
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise ValueError(f"{path} cannot be read as TOML: {error}.") from None
        names = tuple(each.name for each in fields(cls))
        for name in found:
            checks.one_of(name, f"a setting in {path}", names)
        try:
            return cls(**found)
        except (TypeError, ValueError) as error:
            raise ValueError(f"{path}: {error}") from None

    def write(self, folder: str | os.PathLike[str]) -> None:
        """Write the settings, each with its explanation."""
        lines = [
            f"# {each.metadata['says']}\n{_line(each.name, getattr(self, each.name))}\n"
            for each in fields(self)
        ]
        with atomic_path(Path(folder, NAME), mode=0o600) as unfinished:
            unfinished.write_text("\n".join(lines), encoding="utf-8")


def _listed(names: str) -> tuple[str, ...]:
    """Return names that are separated by commas."""
    return tuple(each.strip() for each in names.split(",") if each.strip())


def _check_url(url: str, name: str) -> None:
    """Raise unless an address is empty, of https, or of this machine."""
    parts = urlsplit(url)
    is_local = parts.scheme == "http" and parts.hostname in ("localhost", "127.0.0.1", "::1")
    if url and not (parts.hostname and (parts.scheme == "https" or is_local)):
        raise ValueError(
            f"{name} must be an address that begins with https://, or with http://localhost; "
            f"got {url!r}."
        )


def _line(name: str, value: Any) -> str:
    """Return a setting as a line; one that is not set, as a comment to be completed."""
    return f"# {name} =" if value is None else f"{name} = {_as_toml(value)}"


def _as_toml(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f'"{value}"' if isinstance(value, str) else str(value)
