"""What a rule may name: the fields of a payment and its features, each with its type."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import polars as pl

from toprank.data.checks import nearest_name

FieldType = Literal["number", "text", "boolean", "time"]
RuleKind = Literal["block", "alert"]

KINDS: tuple[RuleKind, ...] = ("block", "alert")
SUSPICION = "suspicion"
"""The model's score: known after the answer, so only for rules that raise alerts."""

LARGEST = 1e100
"""Numbers beyond are missing to rules: what they compute then stays a number."""

DTYPES: dict[FieldType, pl.DataType] = {
    "number": pl.Float64(),
    "text": pl.String(),
    "boolean": pl.Boolean(),
    "time": pl.Datetime("us", "UTC"),
}


class RuleError(ValueError):
    """A rule that cannot be used; the message is a sentence for its author."""


def shortened(text: str, most: int = 60) -> str:
    """Return a piece of a rule on one line, short enough for a sentence.

    >>> shortened("amount  >\\n5")
    'amount > 5'
    """
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 3]}..."


@dataclass(frozen=True)
class RuleFields:
    """The names that rules may use, with their types; `suspicion` is added for alerts.

    >>> fields = RuleFields({"amount": "number", "country": "text"})
    >>> fields.find("Amount", is_quoted=False, kind="block")
    'amount'
    """

    types: Mapping[str, FieldType]

    def of_kind(self, kind: RuleKind) -> dict[str, FieldType]:
        """Return the fields that a rule of this kind may use."""
        types = {name: each for name, each in self.types.items() if name != SUSPICION}
        return {**types, SUSPICION: "number"} if kind == "alert" else types

    def find(self, name: str, is_quoted: bool, kind: RuleKind) -> str:
        """Return the field that a rule means; capitals count only in quotes or between fields."""
        known = self.of_kind(kind)
        if name in known:
            return name
        alike = [each for each in known if each.casefold() == name.casefold()]
        if len(alike) == 1 and not is_quoted:
            return alike[0]
        if name.casefold() == SUSPICION:
            raise RuleError(
                "a blocking rule cannot use suspicion: the payment is answered before the model "
                "scores it; make it a rule of kind alert."
            )
        hint = nearest_name(name, list(known)) or "."
        raise RuleError(f"{shortened(name)!r} is not a field or feature of a payment{hint}")

    def dtypes(self, kind: RuleKind = "alert") -> dict[str, pl.DataType]:
        """Return the types that the columns of a frame must have for rules of this kind."""
        return {name: DTYPES[each] for name, each in self.of_kind(kind).items()}
