"""Numbers and times of an event stream, read one cell at a time as `rank` reads whole columns.

A column shows how its numbers are written; a cell alone often does not. So a cell is read as the
model knows its column, or as the cells before it were written, or in the only way it can be read;
one that has two meanings, such as "1,234", is reported.
"""

from contextlib import suppress
from datetime import datetime
from typing import Any

from toprank.cli import screen


class StreamCells:
    """Reads cells by a `Reading`: what the user says of the file, and what a model knows.

    `numbers` are the columns that a fitted model has as numbers, `time` its column of times.
    """

    def __init__(
        self, reading: Any, numbers: frozenset[str] = frozenset(), time: str | None = None
    ) -> None:
        from toprank.data.tables.number_formats import allowed_formats

        self._reading = reading
        self._numbers = numbers
        self._time = time
        self._allowed = allowed_formats(reading.decimal, reading.thousands)
        self._is_said = reading.decimal is not None or reading.thousands is not None
        self.forms = {
            name: known.format
            for name, known in reading.known_numbers.items()
            if known.format in self._allowed
        }
        self._noted: set[str] = set()

    def is_number(self, name: str) -> bool:
        """Return whether a fitted model has the column as numbers."""
        return name in self._numbers

    def is_time(self, name: str) -> bool:
        """Return whether the column is that of the model's times."""
        return name == self._time

    def is_plain(self, name: str) -> bool:
        """Return whether numbers of the column are written as a computer writes them."""
        form = self._form(name)
        return form.is_plain and not form.thousands

    def number(self, text: str, name: str) -> float | str | None:
        """Return the number in a cell, None where it says missing, or its text if it is no number.

        ValueError where it has two meanings, and where a column of numbers holds something else.
        """
        from toprank.data.tables import number_formats

        form = self._form(name)
        value, unit = number_formats.number_and_unit(text, form)
        if value is None or self._may_be_thousands(value, text, name):
            forms = (form, *self._allowed)
            found = {each: number_formats.number_and_unit(text, each)[0] for each in forms}
            values = {each for each in found.values() if each is not None}
            if not values:
                return self._no_number(text, name)
            if len(values) > 1:
                raise ValueError(_two_meanings(name, text))
            (value,) = values
            form = next(each for each in found if found[each] is not None)
        self._check_unit(name, text, unit)
        if form != self._form(name) or (unit and not self._is_known(name, unit)):
            self._note(name, text, value, form)
        self.forms[name] = form
        return value

    def time(self, value: Any, name: str) -> Any:
        """Return a time as ISO text where the model or the user knows how it is written."""
        from toprank.data.tables.time_formats import EXCEL_DAYS

        given, known = self._reading.time_format, self._reading.known_times.get(name)
        if known == EXCEL_DAYS:
            return _day_of_spreadsheet(value)
        if not isinstance(value, str) or (given is None and known is None):
            return value
        if given is None:
            with suppress(ValueError):
                datetime.fromisoformat(value)
                return value
        return _written_time(value, name, given, known)

    def _form(self, name: str) -> Any:
        return self.forms.get(name, self._allowed[0])

    def _is_known(self, name: str, unit: str) -> bool:
        known = self._reading.known_numbers.get(name)
        return known is not None and known.unit == unit

    def _may_be_thousands(self, value: float, text: str, name: str) -> bool:
        """Return whether three decimals are odd: the column of the model never had so many."""
        known = self._reading.known_numbers.get(name)
        if self._is_said or text[-4:-3] not in (".", ",") or known is None:
            return False
        from toprank.data.tables.known_numbers import MANY_DECIMALS, may_be_thousands

        if known.decimals is None or known.decimals >= MANY_DECIMALS:
            return False
        import numpy as np

        return may_be_thousands(np.array([value])) is not None

    def _check_unit(self, name: str, text: str, unit: str) -> None:
        known = self._reading.known_numbers.get(name)
        if known is not None and not known.agrees_with(unit):
            was = f"in {known.unit!r}" if known.unit else "without a unit"
            raise ValueError(
                f"field {name!r:.80} must be {was}, as in the table the model was fitted on; got "
                f"{text!r:.80}; convert it."
            )

    def _no_number(self, text: str, name: str) -> str | None:
        """Return the text that is no number, None where it says missing; raise if it must be."""
        from toprank.data.tables.number_formats import is_missing_word, looks_like_number

        if self.is_number(name) and is_missing_word(text):
            return None
        if not self.is_number(name) and not looks_like_number(text):
            return text
        raise ValueError(
            f"field {name!r:.80} must be a number; got {text!r:.80}; correct it, or say how "
            "numbers are written with --decimal and --thousands."
        )

    def _note(self, name: str, text: str, value: float, form: Any) -> None:
        if name not in self._noted:
            self._noted.add(name)
            screen.remark(
                f"note: field {name!r:.80} is text such as {text!r:.80}, read as the number "
                f"{value:.12g} ({form})."
            )


def _two_meanings(name: str, text: str) -> str:
    separator = next(each for each in text if each in ".,")
    return (
        f"field {name!r:.80} has {text!r:.80}, in which {separator!r} may separate decimals or "
        f"thousands; say which with --decimal {separator} or --thousands {separator}."
    )


def _written_time(text: str, name: str, given: str | None, known: str | None) -> str:
    import pyarrow as pa

    from toprank.data.tables.times import times_of

    texts = pa.chunked_array([[text]])
    return str(times_of(texts, name, given, lambda _: "the line", known).moments[0])


def _day_of_spreadsheet(value: Any) -> Any:
    """Return the day that a spreadsheet counts as ISO text; other values as they are."""
    import numpy as np

    from toprank.data.tables.file_times import excel_moments, is_excel_day

    try:
        days = float(value)
    except (TypeError, ValueError):
        return value
    return str(excel_moments(np.array([days]))[0]) if is_excel_day(days, days) else value
