"""What the parts of the live system say to each other: plain values, checked at the door.

Times are microseconds since 1970, UTC.
"""

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

Decision = Literal["accept", "block"]
FieldKind = Literal["number", "text", "boolean", "time"]
FieldRole = Literal["time", "card", "terminal", "amount", "id"]
Source = Literal["investigator", "claim", "silence"]


class PaymentField(NamedTuple):
    """A field of this desk's payments; `role` is what the desk itself uses it for, if anything."""

    name: str
    kind: FieldKind
    is_required: bool = False
    role: FieldRole | None = None


@dataclass(frozen=True, slots=True)
class Payment:
    """A payment that was checked; whether its id was seen before is not known yet.

    `body` contains the fields of the desk by their names, missing ones left out: numbers as int or
    float (finite, integers at most 2**53), texts, booleans, and times in microseconds as int. Ids,
    cards and terminals are in it as they came, text or integer; `id`, `card` and `terminal` are
    the same as text.
    """

    id: str
    card: str
    terminal: str
    paid_at: int
    body: dict[str, Any]


class TimeRange(NamedTuple):
    """How far from now the time of a payment may be, in microseconds."""

    back: int
    ahead: int


class Answer(NamedTuple):
    """What is decided of a payment, and by which rules; the answer of then if it is repeated."""

    id: str
    decision: Decision
    rules: list[str]
    is_repeated: bool


@dataclass(frozen=True, slots=True)
class LabelGiven:
    """What someone says of a payment; `known_at` is None if it is known from now on."""

    id: str
    is_fraud: bool
    known_at: int | None
    source: Source


class BusyError(Exception):
    """More payments are waiting than the desk takes; try again after so many seconds."""

    def __init__(self, retry_after: float = 1.0) -> None:
        super().__init__(f"too many payments are waiting; try again in {retry_after:g} s.")
        self.retry_after = retry_after


class PagesOnlyError(Exception):
    """Payments and labels are taken by another process."""

    def __init__(self) -> None:
        super().__init__(
            "this server only has the pages of the desk; send payments and labels to the one that "
            "was started without --pages-only."
        )


class ConflictError(ValueError):
    """A payment has the id of an earlier one and other content."""

    def __init__(self, payment_id: str) -> None:
        super().__init__(
            f"payment {payment_id!r} was received before with other content; "
            "send a payment again as it was, or a new one with an id of its own."
        )
        self.payment_id = payment_id
