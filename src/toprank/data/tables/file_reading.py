"""How the values of a file are written: what the user says, and what was found in the file.

What was found travels with a table in the metadata of its schema, so that a model can keep it and
read the next file in the same way.
"""

import codecs
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self

import pyarrow as pa

from toprank.data import checks
from toprank.data.tables.known_numbers import KnownNumbers
from toprank.data.tables.number_formats import allowed_formats
from toprank.data.tables.time_formats import NUMBER_FORMATS, check_format

_KEY = b"toprank.reading"
_SEPARATORS = (".", ",", " ", "'", "")


@dataclass(frozen=True)
class Reading:
    """How a file is written, where that cannot be seen from the file itself.

    Parameters
    ----------
    encoding
        That of a text file, such as "latin-1"; None for UTF-8.
    decimal, thousands
        The decimal separator and what separates thousands in all columns; None to find them out,
        "" for thousands that are not separated.
    time_format
        The format of the columns `times`, as `strptime` has it; None to find it out.
    times
        The columns of times, which are read as timestamps.
    known_numbers, known_times
        How columns were written in the table a model was fitted on: that decides where a file can
        be read in several ways.
    """

    encoding: str | None = None
    decimal: str | None = None
    thousands: str | None = None
    time_format: str | None = None
    times: tuple[str, ...] = ()
    known_numbers: Mapping[str, KnownNumbers] = field(default_factory=dict)
    known_times: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.encoding is not None:
            try:
                codecs.lookup(self.encoding)
            except LookupError:
                raise ValueError(
                    "`encoding` must be the name of an encoding such as 'latin-1', 'cp1252' or "
                    f"'utf-16'; got {self.encoding!r}."
                ) from None
        if self.decimal is not None:
            checks.one_of(self.decimal, "`decimal`", (".", ","))
        if self.thousands is not None:
            checks.one_of(self.thousands, "`thousands`", _SEPARATORS)
        if not allowed_formats(self.decimal, self.thousands):
            raise ValueError(
                "`thousands` must be another separator than `decimal`; got "
                f"{self.decimal!r} for both."
            )
        if self.time_format is not None:
            check_format(self.time_format)

    @classmethod
    def of(cls, table: Any) -> Self:
        """Return what was found in the file that a table comes from; nothing of other tables.

        >>> Reading.of(pa.table({"amount": [9.5]})) == Reading()
        True
        """
        metadata = table.schema.metadata if isinstance(table, pa.Table) else None
        return cls.from_json(json.loads((metadata or {}).get(_KEY, b"{}")))

    @classmethod
    def from_json(cls, noted: Any) -> Self:
        """Return the reading that `to_json` noted; what is not as it writes counts as not noted.

        >>> reading = Reading.from_json({"numbers": {"amount": [",", ".", "eur", 2]}})
        >>> reading.known_numbers["amount"].format
        NumberFormat(decimal=',', thousands='.')
        """
        numbers = noted.get("numbers") if isinstance(noted, dict) else None
        times = noted.get("times") if isinstance(noted, dict) else None
        known = {
            name: KnownNumbers.from_json(written)
            for name, written in (numbers.items() if isinstance(numbers, dict) else ())
        }
        return cls(
            known_numbers={name: written for name, written in known.items() if written},
            known_times={
                name: text
                for name, text in (times.items() if isinstance(times, dict) else ())
                if isinstance(text, str) and ("%" in text or text in NUMBER_FORMATS)
            },
        )

    def to_json(self) -> dict[str, Any]:
        """Return how columns are written in plain values, for a model to keep."""
        return {
            "numbers": {name: known.to_json() for name, known in self.known_numbers.items()},
            "times": dict(self.known_times),
        }

    def found_in(self, table: pa.Table) -> pa.Table:
        """Return the table with the formats of its columns noted in its schema."""
        if not self.known_numbers and not self.known_times:
            return table
        metadata = dict(table.schema.metadata or {})
        metadata[_KEY] = json.dumps(self.to_json()).encode()
        return table.replace_schema_metadata(metadata)

    def knowing(self, other: "Reading") -> "Reading":
        """Return this reading with the formats of columns that another knows."""
        return replace(self, known_numbers=other.known_numbers, known_times=other.known_times)

    @property
    def time_formats(self) -> dict[str, str | None]:
        """The format of each column of times, as given; None where it is to be found out."""
        return dict.fromkeys(self.times, self.time_format)
