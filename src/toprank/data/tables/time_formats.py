"""Times as people write them: 31/12/2018 17:45, 12/31/2018 5:45 PM, 31 Dec 2018, 20181231.

The format of a column is the one that most of its cells have, written as `strptime` has it. Where
day and month could change places in every cell, the order of the rows decides, or the user has to.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

EXCEL_DAYS, OTHER_NUMBERS = "Excel days", "numbers"
NUMBER_FORMATS = (EXCEL_DAYS, OTHER_NUMBERS)
"""How times are written that are numbers: the days of a spreadsheet, or any of the others."""

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*"
_DAY_NAME = r"(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*"
_DIRECTIVES = {
    "d": r"(?P<d>[0-9]{1,2})",
    "m": r"(?P<m>[0-9]{1,2})",
    "Y": r"(?P<Y>[0-9]{4})",
    "y": r"(?P<y>[0-9]{2})",
    "H": r"(?P<H>[0-9]{1,2})",
    "I": r"(?P<I>[0-9]{1,2})",
    "M": r"(?P<M>[0-9]{1,2})",
    "S": r"(?P<S>[0-9]{1,2})",
    "f": r"(?P<f>[0-9]{1,9})",
    "p": r"(?P<p>[ap])\.?m\.?",
    "b": rf"(?P<b>{_MONTH})",
    "B": rf"(?P<b>{_MONTH})",
    "a": _DAY_NAME,
    "A": _DAY_NAME,
    "z": r"(?P<z>z|[+-][0-9]{2}:?[0-9]{2})",
}
_SECONDS = rf"(?::{_DIRECTIVES['S']}(?:[.,]{_DIRECTIVES['f']})?)?"
_DATES = (
    (re.compile(r"(\d{4})([-/.])\d{1,2}\2\d{1,2}"), ("%Y{0}%m{0}%d",)),
    (re.compile(r"\d{1,2}([-/.])\d{1,2}\1\d{4}"), ("%d{0}%m{0}%Y", "%m{0}%d{0}%Y")),
    (re.compile(r"\d{1,2}([-/.])\d{1,2}\1\d{2}(?!\d)"), ("%d{0}%m{0}%y", "%m{0}%d{0}%y")),
    (re.compile(rf"\d{{1,2}}([- /]){_MONTH}\1\d{{4}}", re.I), ("%d{0}%b{0}%Y",)),
    (re.compile(rf"\d{{1,2}}([- /]){_MONTH}\1\d{{2}}(?!\d)", re.I), ("%d{0}%b{0}%y",)),
    (re.compile(rf"{_MONTH} \d{{1,2}}(,?) \d{{4}}", re.I), ("%b %d{0} %Y",)),
    (re.compile(r"()(19|20)\d\d[01]\d[0-3]\d(?!\d)"), ("%Y%m%d",)),
    (re.compile(r"()(19|20)\d\d[01]\d[0-3]\d(?=\d{6}(?!\d))"), ("%Y%m%d",)),
)
_CLOCK = re.compile(
    r"(?P<join>,? +|T|)(?P<digits>\d{6}(?!\d))?"
    r"(?:(?P<hour>\d{1,2}):\d{2}(?P<second>:\d{2})?(?P<part>\.\d{1,9})?)?"
    r"(?P<half> ?[ap]\.?m\.?)?(?P<zone> ?(?:Z|[+-]\d{2}:?\d{2}))?",
    re.IGNORECASE,
)
_SHORT_DATE = re.compile(r"\s*(\d{2})[-/.]\d{1,2}[-/.](\d{2})(?!\d)")
_SHORT_FORM = re.compile(r"%[dm]([-/.])%[dm]\1%y")
_DAY_NAME_FIRST = re.compile(rf"({_DAY_NAME})(,?) ", re.IGNORECASE)


class TimeFormat(NamedTuple):
    """The format of a column of times; `other` has day and month the other way round.

    `is_by_order` says that the order of the rows chose between the two.
    """

    text: str
    other: str | None = None
    is_by_order: bool = False


def format_of(texts: Sequence[str]) -> TimeFormat | None:
    """Return the format that most of the texts have; None where most are no times.

    `other` is set where every text can be read both ways.

    >>> format_of(["31/12/2018 17:45", "01/12/2018 09:00"])
    TimeFormat(text='%d/%m/%Y %H:%M', other=None, is_by_order=False)
    >>> format_of(["01/12/2018", "02/12/2018"]).other
    '%m/%d/%Y'
    """
    counts: Counter[str] = Counter()
    n_times = 0
    is_year_first = _year_comes_first(texts)
    for text in texts:
        forms = _formats_of(text.strip())
        if is_year_first:
            forms = list({_SHORT_FORM.sub(r"%y\1%m\1%d", form) for form in forms})
        counts.update(forms)
        n_times += bool(forms)
    alike: Counter[str] = Counter()  # but for seconds, which some cells may leave out
    for form, n in counts.items():
        alike[_without_seconds(form)] += n
    if not n_times or 2 * n_times < len(texts):
        return None
    ((best, most),) = alike.most_common(1)
    longest = max((form for form in counts if _without_seconds(form) == best), key=len)
    is_both = alike[swapped(best)] == most and swapped(best) != best
    return TimeFormat(longest, swapped(longest) if is_both else None)


def _year_comes_first(texts: Sequence[str]) -> bool:
    """Return whether dates such as 24-01-05 begin with the year: the part that changes least.

    >>> _year_comes_first(["24-01-05", "24-01-06"]), _year_comes_first(["05/01/24", "06/01/24"])
    (True, False)
    """
    found = [each.groups() for each in map(_SHORT_DATE.match, texts) if each]
    first, last = ({each[place] for each in found} for place in (0, 1))
    return len(first) < len(last)


def ordered_format(found: TimeFormat, values: pa.ChunkedArray) -> TimeFormat:
    """Return the one of two readings in which the rows are in order of time, if just one is.

    >>> dates = pa.chunked_array([["01/11/2018", "02/11/2018", "01/12/2018"]])
    >>> ordered_format(format_of(dates.to_pylist()), dates)
    TimeFormat(text='%d/%m/%Y', other=None, is_by_order=True)
    """
    if found.other is None:
        return found
    readings = {text: parsed(values, text) for text in (found.text, found.other)}
    whole = [text for text, (_, is_time) in readings.items() if is_time.all()]
    if len(whole) == 1:
        return TimeFormat(whole[0])
    in_order = [text for text, (moments, is_time) in readings.items() if _rise(moments[is_time])]
    if len(in_order) == 1:
        return TimeFormat(in_order[0], is_by_order=True)
    if re.search(r"%d[.]%m|%m[.]%d", found.text):  # 01.02.2018: with points, the day comes first
        return TimeFormat(min(found.text, found.other))
    return found


def is_day_first(form: str) -> bool | None:
    """Return whether the day comes before the month; None where that is never unclear.

    >>> is_day_first("%d/%m/%Y"), is_day_first("%m/%d/%y"), is_day_first("%Y-%m-%d")
    (True, False, None)
    """
    found = re.search(r"%([dm])[-/.]%[dm][-/.]%[Yy]", form)
    return None if found is None else found[1] == "d"


def parsed(values: pa.ChunkedArray, form: str) -> tuple[NDArray[np.datetime64], NDArray[np.bool_]]:
    """Return the moments, in UTC where there is a zone, and which of the values have the format.

    >>> values = pa.chunked_array([["31/12/2018 5:45 PM", "13/13/2018 1:00 AM"]])
    >>> moments, is_time = parsed(values, "%d/%m/%Y %I:%M %p")
    >>> print(moments[0], is_time.tolist())
    2018-12-31T17:45:00.000000 [True, False]
    """
    texts = pc.utf8_trim_whitespace(values.cast(pa.string())).combine_chunks()
    pattern = _pattern_of(form)
    if pattern is None:
        return _parsed_one_by_one(texts, form)
    fields = pc.extract_regex(texts, pattern)
    return _moments(fields, [each.name for each in fields.type])


def check_format(form: str) -> str:
    """Return a format as `strptime` has it; ValueError for another text.

    >>> check_format("%d/%m/%Y")
    '%d/%m/%Y'
    """
    if "%" in form:
        try:
            now = datetime(2001, 2, 3, 4, 5, 6, tzinfo=UTC)
            datetime.strptime(now.strftime(form), form)
            return form
        except ValueError:
            pass
    raise ValueError(
        f"`time_format` must be a format such as '%d/%m/%Y %H:%M:%S', as strptime has it; "
        f"got {form!r}."
    )


def _formats_of(text: str) -> list[str]:
    """Return all formats that a text may have.

    >>> _formats_of("2018-04-01 10:30"), _formats_of("13.04.2018"), _formats_of("Paris")
    (['%Y-%m-%d %H:%M'], ['%d.%m.%Y'], [])
    """
    front = ""
    named = _DAY_NAME_FIRST.match(text)
    if named:
        front, text = f"%a{named[2]} ", text[named.end() :]
    for pattern, forms in _DATES:
        date = pattern.match(text)
        if date is None:
            continue
        clock = _clock_of(text[date.end() :])
        if clock is None:
            continue
        separator = next((each for each in date.groups() if each in tuple("-/. ,")), "")
        found = [form.format(separator) for form in forms]
        return [
            f"{front}{form}{clock}" for form in found if _is_possible(date[0], form, separator)
        ]
    return []


def _clock_of(text: str) -> str | None:
    """Return the format of what follows a date; None where it is no time of day."""
    found = _CLOCK.fullmatch(text)
    if found is None or (found["hour"] is None and found["half"] is not None):
        return None
    form = found["join"]
    if found["digits"]:
        form += "%H%M%S"
    elif found["hour"] is not None:
        form += "%I:%M" if found["half"] else "%H:%M"
        form += (":%S" if found["second"] else "") + (".%f" if found["part"] else "")
        if found["half"]:
            form += " %p" if found["half"].startswith(" ") else "%p"
    elif form and not found["zone"]:
        return None
    if found["zone"]:
        form += " %z" if found["zone"].startswith(" ") else "%z"
    return form


def _is_possible(date: str, form: str, separator: str) -> bool:
    """Return whether day and month are in their range."""
    if not separator or "%b" in form:
        return True
    parts = dict(zip(form.split(separator), date.split(separator), strict=True))
    return 1 <= int(parts["%m"]) <= 12 and 1 <= int(parts["%d"]) <= 31


def _rise(moments: NDArray[np.datetime64]) -> bool:
    """Return whether moments are in order, and not all the same."""
    return bool(moments.size and (moments[1:] >= moments[:-1]).all() and moments[0] < moments[-1])


def _without_seconds(form: str) -> str:
    return form.replace(".%f", "").replace(":%S", "")


def swapped(form: str) -> str:
    """Return the format with day and month the other way round."""
    return form.replace("%d", "\0").replace("%m", "%d").replace("\0", "%m")


def _pattern_of(form: str) -> str | None:
    """Return the regular expression of a format; None where it has parts unknown here."""
    pattern, seen = "", set()
    form = _without_seconds(form)
    for literal, directive in re.findall(r"([^%]*)(?:%(.))?", form):
        pattern += re.sub(r"\\? +", r"\\s+", re.escape(literal).replace(r"\ ", " "))
        if directive == "%":
            pattern += "%"
        elif directive:
            if directive not in _DIRECTIVES or directive in seen:
                return None
            seen.add(directive)
            pattern += _DIRECTIVES[directive]
    has_date = seen & {"Y", "y"} and seen & {"m", "b", "B"} and "d" in seen
    if not has_date or ("I" in seen) != ("p" in seen) or ("H" in seen and "I" in seen):
        return None
    pattern = pattern.replace(r"\s+(?P<p>", r"\s*(?P<p>")
    minutes = rf":{_DIRECTIVES['M']}"
    pattern = pattern.replace(minutes, minutes + _SECONDS)
    return rf"(?i)^{pattern}$"


def _moments(
    fields: pa.StructArray, names: Iterable[str]
) -> tuple[NDArray[np.datetime64], NDArray[np.bool_]]:
    """Return the moments that the fields of texts make, and which of them are there."""
    is_time = fields.is_valid().to_numpy(zero_copy_only=False)
    given = {name: pc.struct_field(fields, name).fill_null("") for name in names}

    def number(name: str, default: int = 0) -> NDArray[np.int64]:
        if name not in given:
            return np.full(len(fields), default, dtype=np.int64)
        texts = pc.if_else(pc.equal(given[name], ""), str(default), given[name])
        return texts.cast(pa.int64()).to_numpy()

    year = number("Y", 1970)
    if "y" in given:
        short = number("y")
        year = np.where(short < 69, 2000 + short, 1900 + short)  # as strptime has it
    month, day = number("m", 1), number("d", 1)
    if "b" in given:
        first = pc.utf8_lower(pc.utf8_slice_codeunits(given["b"], 0, 3))
        month = pc.index_in(first, pa.array(_MONTHS)).fill_null(0).to_numpy() + 1
    hour = number("H")
    if "I" in given:
        is_late = pc.equal(pc.utf8_lower(given["p"]), "p").to_numpy(zero_copy_only=False)
        hour = number("I", 12)
        is_time = is_time & (hour >= 1) & (hour <= 12)
        hour = hour % 12 + 12 * is_late
    minute, second = number("M"), number("S")
    is_time = is_time & (month >= 1) & (month <= 12) & (day >= 1) & (year >= 1)
    is_time &= (hour < 24) & (minute < 60) & (second < 60)
    month = np.where(is_time, month, 1)
    first_day = ((year - 1970) * 12 + month - 1).astype("datetime64[M]")
    date = first_day.astype("datetime64[D]") + (day - 1)
    is_time &= date.astype("datetime64[M]") == first_day  # there is no 31 April
    seconds = (hour * 60 + minute) * 60 + second
    moments: Any = date.astype("datetime64[us]") + seconds * np.timedelta64(1_000_000, "us")
    if "f" in given:
        padded = pc.utf8_slice_codeunits(pc.utf8_rpad(given["f"], 9, "0"), 0, 6)
        moments = moments + padded.cast(pa.int64()).to_numpy() * np.timedelta64(1, "us")
    if "z" in given:
        ahead = _offsets(given["z"]) * np.timedelta64(60_000_000, "us")
        moments = moments - ahead
    return moments, is_time


def _offsets(zones: pa.Array) -> NDArray[np.int64]:
    """Return how many minutes each zone is ahead of UTC."""
    found = []
    for zone in zones.to_pylist():
        digits = zone[1:].replace(":", "")
        minutes = int(digits[:2]) * 60 + int(digits[2:]) if digits else 0
        found.append(-minutes if zone.startswith("-") else minutes)
    return np.array(found, dtype=np.int64)


def _parsed_one_by_one(
    texts: pa.Array, form: str
) -> tuple[NDArray[np.datetime64], NDArray[np.bool_]]:
    """Return what `parsed` does, for formats with parts that are rarely used."""
    known: dict[str | None, np.datetime64] = {}
    for text in texts.unique().to_pylist():
        known[text] = np.datetime64("NaT", "us")
        if text is not None:
            with suppress(ValueError):
                known[text] = _moment(datetime.strptime(text, form))
    moments = np.array([known[text] for text in texts.to_pylist()], dtype="datetime64[us]")
    is_time = ~np.isnat(moments)
    return np.where(is_time, moments, np.datetime64(0, "us")), is_time


def _moment(found: datetime) -> np.datetime64:
    if found.tzinfo is not None:
        found = found.astimezone(UTC).replace(tzinfo=None)
    return np.datetime64(found, "us")
