"""What the features of a folder are: columns, delay, features; kept with it as JSON."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Self

from toprank.payments.features import Feature, History, as_json, from_json
from toprank.payments.roles import Roles, new_history


@dataclass(frozen=True)
class FolderSettings:
    """The columns of the payments by their roles, and how their features are computed.

    `label` is the column of labels; a day may have none yet. `positive` is its value that is
    ranked first, None to find it. `drop` are columns that are not carried into the folder.
    `features` are those of the past in place of the default ones.

    >>> roles = Roles("paid_at", "card", "terminal", "amount")
    >>> len(FolderSettings(roles, "is_fraud").history().names)
    44
    """

    roles: Roles
    label: str
    delay: str = "7d"
    positive: Any = None
    drop: tuple[str, ...] = ()
    features: tuple[Feature, ...] | None = None

    def history(self, features: Sequence[Feature] | None = None) -> History:
        """Return an empty history of all features, or of some of them.

        It knows no ids: a payment that comes again is left out before, with its day.
        """
        chosen = self.features if features is None else tuple(features)
        return new_history(self.roles._replace(row_id=None), self.label, self.delay, chosen)

    def to_json(self) -> dict[str, Any]:
        """Return the settings as plain values."""
        features = None if self.features is None else as_json(self.features)
        return {**asdict(self), "roles": self.roles._asdict(), "features": features}

    @classmethod
    def from_json(cls, plain: dict[str, Any]) -> Self:
        """Return the settings that `to_json` wrote."""
        features = plain["features"]
        return cls(
            Roles(**plain["roles"]),
            str(plain["label"]),
            str(plain["delay"]),
            plain["positive"],
            tuple(plain["drop"]),
            None if features is None else tuple(from_json(features)),
        )

    def difference(self, other: "FolderSettings") -> str | None:
        """Return the first setting in which two differ, in words; None if they are the same."""
        mine, others = self.to_json(), other.to_json()
        for name, value in mine.items():
            if value != others[name]:
                return f"{name} is {others[name]!r} and was {value!r}"
        return None
