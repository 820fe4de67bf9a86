"""The events of a stream, rows and labels of earlier rows, and what comes of each."""

from collections.abc import Callable, Collection, Mapping
from typing import Any, NamedTuple

from toprank.data.tables.ids import id_text
from toprank.rankers.online.classes import Label
from toprank.rankers.online.pending import LONGEST_ID, Scored, check_id

ReadLabel = Callable[[Any], Label]


class Event(NamedTuple):
    """A row, with its label if that is known, or the label of an earlier row."""

    event_id: str | int | None
    label: Any
    row: Mapping[str, Any]
    """The features, None for those that are missing."""
    is_late_label: bool = False
    """Whether it is the label of an earlier row, and no row."""
    is_row: bool = False
    """Whether it is a row with its label even if a row with its id is pending."""


class LabelOutcome(NamedTuple):
    """What came of a label: whether its row was found."""

    is_found: bool
    notes: tuple[str, ...] = ()
    """Fields next to the label, in an event that looks like a row with its label."""


Outcome = Scored | LabelOutcome | Exception


def checked_id(event_id: Any) -> str | None:
    """Return an id as text, None where it is missing."""
    if type(event_id) is str and 0 < len(event_id) <= LONGEST_ID:  # nearly always
        return event_id
    name = id_text(event_id, "event_id")
    if name is not None:
        check_id(name)
    return name


def notes_of_label(
    event: Event, pending: Collection[str], fields: Collection[str]
) -> tuple[str, ...] | None:
    """Return the fields of a labelled event that is only the label of a pending row; else None.

    It has none of the `fields` of rows, as in {"id": 1, "label": 1, "decided_at": "..."}; as a
    row, it would replace the pending one.
    """
    if event.is_late_label:
        return ()
    if event.is_row or event.event_id is None or str(event.event_id) not in pending:
        return None
    given = {name for name, value in event.row.items() if value is not None}
    return None if any(name in fields for name in given) else tuple(sorted(given))
