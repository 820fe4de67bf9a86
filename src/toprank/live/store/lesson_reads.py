"""What an online model learns from next: labels as they became known, each payment's silence too.

The order is that of the log alone, so that it is the same whenever it is read. A label was taken
in after a payment, `after_position`. A payment turns genuine by silence with the first payment
that is received `silence` after it. A lesson is left out where it says what was taught before.
"""

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

import sqlalchemy as sa

from toprank.live.store import label_table, payment_log
from toprank.live.store.label_table import DeskLabel, labels
from toprank.live.store.payment_log import LoggedPayment, payments


class LessonPlace(NamedTuple):
    """The last label, and the last payment whose silence was looked at."""

    label: int
    position: int


class Lesson(NamedTuple):
    """A payment and what it was; `place` is where the next lesson is read from.

    `payment` is None where there is nothing to learn.
    """

    place: LessonPlace
    payment: LoggedPayment | None = None
    is_fraud: bool = False


def first_place(connection: sa.Connection) -> LessonPlace:
    """Return the place before all lessons: after the labels from before the desk."""
    query = sa.select(sa.func.max(labels.c.number)).where(
        labels.c.after_position == label_table.BEFORE
    )
    return LessonPlace(connection.execute(query).scalar() or 0, 0)


def next_lessons(
    connection: sa.Connection, place: LessonPlace, silence: int, most: int
) -> list[Lesson]:
    """Return what comes after a place, at most so much; `silence` is in microseconds."""
    said = _labels_after(connection, place.label, most)
    silent = _silent_after(connection, place.position, silence, most)
    ids = {each.id for each in said} | {each.id for each in silent}
    known: defaultdict[str, list[DeskLabel]] = defaultdict(list)
    for each in label_table.of_payments(connection, ids):
        known[each.id].append(each)
    of_labels = {row.id: row for row in _by_ids(connection, {each.id for each in said})}
    times = {each.number: _time_of(connection, each) for each in said}
    found: list[Lesson] = []
    said, silent = list(reversed(said)), list(reversed(silent))
    while (said or silent) and len(found) < most:
        # a label that was taken in before the silence of a payment was over comes first
        if said and (not silent or times[said[-1].number] < silent[-1].received_at + silence):
            label = said.pop()
            place = place._replace(label=label.number)
            logged, own = of_labels.get(label.id), known[label.id]
            since = times[label.number] - silence
            found.append(_of_label(place, label, logged, own, since))
        else:
            row = silent.pop()
            place = place._replace(position=row.position)
            is_said = any(each.number <= place.label for each in known[row.id])
            is_lesson = not is_said and row.decision != "block"
            found.append(Lesson(place, row if is_lesson else None))
    return found


def _labels_after(connection: sa.Connection, number: int, most: int) -> list[DeskLabel]:
    query = sa.select(labels).where(labels.c.number > number).order_by(labels.c.number)
    return [DeskLabel(*row) for row in connection.execute(query.limit(most))]


def _silent_after(
    connection: sa.Connection, position: int, silence: int, most: int
) -> list[LoggedPayment]:
    """Return the next payments that are so old that their silence counts."""
    last = payment_log.last_received(connection)
    if last is None:
        return []
    query = sa.select(payments).where(payments.c.position > position)
    query = query.order_by(payments.c.position)
    first = connection.execute(query.with_only_columns(payments.c.received_at).limit(1)).scalar()
    if first is None or first + silence > last:
        return []  # as nearly always: the others need not be read
    found = [LoggedPayment(*row) for row in connection.execute(query.limit(most))]
    return [row for row in found if row.received_at + silence <= last]


def _by_ids(connection: sa.Connection, ids: set[str]) -> list[LoggedPayment]:
    query = sa.select(payments).where(payments.c.id.in_(ids))
    return [LoggedPayment(*row) for row in connection.execute(query)]


def _time_of(connection: sa.Connection, label: DeskLabel) -> int:
    """Return when the payment was received after which a label was taken in."""
    query = sa.select(payments.c.received_at).where(payments.c.position <= label.after_position)
    found = connection.execute(query.order_by(payments.c.position.desc()).limit(1)).scalar()
    return found or 0


def _of_label(
    place: LessonPlace,
    label: DeskLabel,
    row: LoggedPayment | None,
    known: Sequence[DeskLabel],
    since: int,
) -> Lesson:
    """Return what a label teaches: nothing if it does not change what holds.

    Payments received up to `since` were genuine by silence when it was taken in.
    """
    if row is None:
        return Lesson(place)  # a payment from before the desk, or removed
    own = [each for each in known if each.number <= label.number]
    after = label_table.holding(own)[label.id].is_fraud
    earlier = label_table.holding(each for each in own if each.number < label.number)
    if label.id in earlier:
        before: bool | None = earlier[label.id].is_fraud
    else:
        is_silent = row.received_at <= since and row.decision != "block"
        before = False if is_silent else None
    return Lesson(place, row, after) if after != before else Lesson(place)
