"""Numbers as people write them: 1,234.56, 19.732,10, EUR 12.50, (12.50), and words for missing.

A column of text that is mostly numbers is read as numbers, all of it by one `NumberFormat`: the
one that reads most of its cells. Where two formats read all cells and disagree, as they do on
"1,234", the column is ambiguous, and the reading says what was assumed.
"""

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Self

from toprank.data.tables.columns import shortened

MISSING = ("", "NA", "N/A", "NaN", "nan", "null", "NULL")
"""What is missing in a file of text, whatever the column holds."""

_SINGLE_WORDS = """
    - -- --- . .. ? ?? na n.a. n.a n/a #n/a #na nan null nul nil none missing unknown unkn unk
    undefined undef blank empty tbd tba void (null) (blank) (empty) <na> <null> #null! #value!
    #ref! #div/0! #num! #name? not-available unavailable inconnu unbekannt desconocido sconosciuto
    onbekend k.a. k.a keine
"""
_PHRASES = ("not available", "not known", "not applicable", "no data", "no value")
_MISSING_WORDS = frozenset((*_SINGLE_WORDS.split(), *_PHRASES))
_CURRENCIES = """
    eur € euro euros; usd $ us$ dollar dollars; gbp £; chf fr sfr; jpy; cny rmb; inr ₹ rs
    aud a$ au$; cad c$ ca$; nzd nz$; hkd hk$; sgd s$; brl r$; mxn mx$; sek; nok; dkk; pln zł
    czk kč; huf ft; ron lei; try ₺ tl; rub ₽; uah ₴; ils ₪; krw ₩; thb ฿; vnd ₫; ngn ₦
    bgn; zar; ars; clp; cop; pen; twd; idr; myr; php; aed; sar; egp; kes; mad; tnd; xof; xaf
    cent cents ¢; ¥; kr; ₿
"""
_UNITS = {"%": "%"} | {
    sign: signs.split()[0]
    for signs in re.split(r"[;\n]", _CURRENCIES.strip())
    for sign in signs.split()
}
"""What may be written next to a number, and the name of the unit: € and EUR are one."""
_SIGN = r"[+\-−–]"
_UNIT = r"[^\d\s+\-−–(),.'’]{1,7}\.?"
_CELL = re.compile(
    rf"(\()?\s*({_SIGN})?\s*({_UNIT})?\s*({_SIGN})?\s*"
    r"(\d[\d.,'’\s]*|[.,]\d+)(e[+-]?\d+)?"
    rf"\s*({_UNIT})?\s*([-−])?\s*(\))?",
    re.IGNORECASE,
)
_SIMPLE = re.compile(r"(-)?(\d[\d.,]*)", re.ASCII)  # as most cells are
_PLAIN = re.compile(r"\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*", re.ASCII)
_INFINITE = re.compile(r"\s*[+-]?inf(inity)?\s*", re.IGNORECASE)
_SPACES = re.compile(r"\s")  # which for text are also those that do not break a line
_AMBIGUOUS = re.compile(r"\s*[+-]?([1-9]\d{0,2}[.,]\d{3}|\d{1,3})\s*", re.ASCII)
_DIGIT = re.compile(r"\d", re.ASCII)
_LONGEST = 60  # characters of a number
_CONVERT = "convert them to one unit"
_CODES_SHARE = 0.02  # with fewer cells that are no numbers, they are mistakes


class NumberFormat(NamedTuple):
    """The decimal separator and what separates thousands; nothing where they are not separated."""

    decimal: str = "."
    thousands: str = ""

    def number(self, body: str) -> float | None:
        """Return the number that digits and separators are in this format; None if in another.

        >>> NumberFormat(",", ".").number("19.732,10"), NumberFormat().number("19.732,10")
        (19732.1, None)
        """
        if not _body_of(self).fullmatch(body):
            return None
        if self.thousands:
            body = body.replace(self.thousands, "")
        return float(body.replace(self.decimal, "."))

    @property
    def is_plain(self) -> bool:
        """Whether numbers that a computer writes, 1234.56, mean the same in this format."""
        return self.decimal == "."

    def __str__(self) -> str:
        words = {" ": "spaces", "'": "apostrophes", ".": "points", ",": "commas"}
        separator = "decimal point" if self.decimal == "." else "decimal comma"
        return (
            f"{separator}, thousands separated by {words[self.thousands]}"
            if self.thousands
            else separator
        )


PLAIN = NumberFormat()
FORMATS = (
    PLAIN,
    NumberFormat(","),
    NumberFormat(".", ","),
    NumberFormat(",", "."),
    NumberFormat(".", " "),
    NumberFormat(",", " "),
    NumberFormat(".", "'"),
    NumberFormat(",", "'"),
)


class NumberReading(NamedTuple):
    """How a column of text is read as numbers.

    `example` is a cell and `value` what it was read as; `other` is the format that would read all
    cells as well, and differently. `words` counts the cells that became missing.
    """

    format: NumberFormat
    example: str
    value: float
    other: NumberFormat | None
    words: Mapping[str, int]
    is_whole: bool  # digits alone
    unit: str = ""  # such as "eur" or "%"

    @property
    def n_missing(self) -> int:
        """How many cells hold a word that means missing."""
        return sum(self.words.values())


class _Cell(NamedTuple):
    """One cell as a number: its digits with separators, and what surrounds them."""

    body: str
    unit: str
    is_negative: bool
    power: str

    @classmethod
    def of(cls, text: str) -> Self | None:
        """Return the cell in parts; None where it is no number in any format."""
        simple = _SIMPLE.fullmatch(text) if len(text) <= _LONGEST else None
        if simple:
            return cls(simple[2], "", simple[1] is not None, "")
        found = _CELL.fullmatch(text.strip()) if len(text) <= _LONGEST else None
        if found is None:
            return None
        opened, sign, before, inner, body, power, after, behind, closed = found.groups()
        signs = [each for each in (sign, inner, behind, opened) if each]
        if len(signs) > 1 or bool(opened) != bool(closed) or (before and after):
            return None
        unit = (before or after or "").casefold().rstrip(".")
        if unit and unit not in _UNITS:
            return None
        body = _SPACES.sub(" ", body.strip()).replace("’", "'")
        return cls(body, _UNITS.get(unit, ""), bool(signs) and signs[0] != "+", power or "")

    def number(self, form: NumberFormat) -> float | None:
        value = form.number(self.body)
        if value is None:
            return None
        value = float(f"{value!r}{self.power}") if self.power else value
        return -value if self.is_negative else value


class NotNumbers(NamedTuple):
    """Why a column of text that is mostly numbers cannot be read as such: one of its cells."""

    text: str
    reason: str
    way_out: str = (
        "correct or empty such cells, say how numbers are written with `decimal` and `thousands`"
    )


class NumericCodes(NamedTuple):
    """One cell of a column of codes, most of which happen to be whole numbers."""

    text: str

    @property
    def reason(self) -> str:
        """Why the column holds codes: a zero in front, or a cell that is no number."""
        if has_leading_zero(self.text):
            return (
                f"its numbers may start with a zero, as {shortened(self.text)} does; if they are "
                "amounts, write them without such zeros"
            )
        return f"most of it is whole numbers, but {shortened(self.text)} is not"


def looks_like_number(text: str) -> bool:
    """Return whether a text is a number in some format.

    >>> [looks_like_number(each) for each in ("-73,37", "EUR 1.234,56", "(5)", "1,2,3", "A12")]
    [True, True, True, False, False]
    """
    return bool(_INFINITE.fullmatch(text) or _number_cells([text])[0])


def has_leading_zero(text: str) -> bool:
    """Return whether a text is a code such as 007, which would lose its zeros as a number.

    >>> has_leading_zero("01234"), has_leading_zero("0"), has_leading_zero("0.5")
    (True, False, False)
    """
    return text[:1] == "0" and len(text) > 1 and text.isdigit()


def is_missing_word(text: str) -> bool:
    """Return whether a text says that there is no number.

    >>> is_missing_word("Unknown"), is_missing_word(" - "), is_missing_word("abc")
    (True, True, False)
    """
    word = text.strip()
    return not word or word.casefold() in _MISSING_WORDS


def may_be_ambiguous(texts: Iterable[str]) -> bool:
    """Return whether each text could be grouped in thousands as well as have three decimals.

    >>> may_be_ambiguous(["1.234", "17"]), may_be_ambiguous(["1.234", "0.5"])
    (True, False)
    """
    return all(_AMBIGUOUS.fullmatch(text) for text in texts)


def allowed_formats(decimal: str | None, thousands: str | None) -> tuple[NumberFormat, ...]:
    """Return the formats that a given decimal separator and separator leave, the simplest first.

    >>> allowed_formats(",", None)[0], allowed_formats(None, ",")
    (NumberFormat(decimal=',', thousands=''), (NumberFormat(decimal='.', thousands=','),))
    """
    if thousands == "":
        thousands = None
        forms: Iterable[NumberFormat] = [form for form in FORMATS if not form.thousands]
    else:
        forms = FORMATS
    if thousands is not None:
        forms = [form for form in FORMATS if form.thousands == thousands]
    return tuple(form for form in forms if decimal is None or form.decimal == decimal)


def reading_of(
    counts: Mapping[str, int],
    *,
    decimal: str | None = None,
    thousands: str | None = None,
    known: NumberFormat | None = None,
    default: str = ".",
) -> NumberReading | NotNumbers | NumericCodes | None:
    """Return how a column that holds each text so often is read as numbers.

    `decimal` and `thousands` are what the user says of the file, `known` the format in which a
    model knows the column, `default` the decimal separator of ambiguous columns. None is a column
    of other things than numbers, `NotNumbers` one of numbers with something else among them.

    >>> found = reading_of({"1,234.56": 1, "12.50": 7, "unknown": 2})
    >>> found.format, found.words
    (NumberFormat(decimal='.', thousands=','), {'unknown': 2})
    >>> reading_of({"FR": 5, "12": 1}) is None
    True
    """
    cells, rest = _number_cells(counts)
    words = [text for text in rest if is_missing_word(text)]
    others = [text for text in rest if not is_missing_word(text)]
    n_words, n_others = (sum(counts[text] for text in each) for each in (words, others))
    n_numbers = sum(counts[text] for text in cells)
    if n_numbers <= n_others or 2 * n_numbers <= sum(counts.values()) - n_words:
        return None
    if others:
        return _said_of_others(cells, others)
    units = Counter(cell.unit for text, cell in cells.items() if cell.unit)
    if len(units) > 1:
        rare = units.most_common()[-1][0]
        text = next(text for text, cell in cells.items() if cell.unit == rare)
        return NotNumbers(text, f"its cells are in different units, {_listed(units)}", _CONVERT)
    whole = _are_whole(cells)
    if whole and (code := next(filter(has_leading_zero, cells), None)) is not None:
        return NumericCodes(code)
    if "%" in units and len({cell.unit for cell in cells.values()}) > 1:
        text = next(text for text, cell in cells.items() if not cell.unit)
        return NotNumbers(text, "only some of its cells are percentages", _CONVERT)
    allowed = allowed_formats(decimal, thousands)
    form, other, unread = _best_format(cells, allowed, known, default)
    if unread is not None:
        return NotNumbers(unread, f"most of its cells are numbers with a {form}")
    example = max(cells, key=lambda text: (cells[text].number(form) is not None, len(text)))
    return NumberReading(
        form,
        example,
        cells[example].number(form) or 0.0,
        other,
        {text: counts[text] for text in words},
        whole,
        next(iter(units), ""),
    )


def number_in(text: str, form: NumberFormat) -> float | None:
    """Return the number in a cell; NaN where it says missing, None where it is neither.

    >>> number_in("(1.250,00)", NumberFormat(",", ".")), number_in("n.a.", PLAIN)
    (-1250.0, nan)
    """
    if form.is_plain and _PLAIN.fullmatch(text):
        return float(text)
    cell = _Cell.of(text)
    value = None if cell is None else cell.number(form)
    if value is not None:
        return value
    if _INFINITE.fullmatch(text):
        return -math.inf if text.strip().startswith("-") else math.inf
    return math.nan if is_missing_word(text) else None


def number_and_unit(text: str, form: NumberFormat) -> tuple[float | None, str]:
    """Return the number in a cell, None where it is none in this format, and its unit.

    >>> number_and_unit("EUR 12,50", NumberFormat(",")), number_and_unit("12,50", PLAIN)
    ((12.5, 'eur'), (None, ''))
    """
    cell = _Cell.of(text)
    return (None, "") if cell is None else (cell.number(form), cell.unit)


def _number_cells(texts: Iterable[str]) -> tuple[dict[str, _Cell], list[str]]:
    """Return the texts that are numbers in some format, and all others but infinite numbers."""
    cells: dict[str, _Cell] = {}
    others = []
    is_number: dict[str, bool] = {}  # by shape: cells differ by their digits more than by these
    for text in texts:
        cell = _Cell.of(text)
        if cell is not None:
            shape = _shape(cell.body)
            if shape not in is_number:
                is_number[shape] = any(form.number(shape) is not None for form in FORMATS)
            if is_number[shape]:
                cells[text] = cell
                continue
        if not _INFINITE.fullmatch(text):
            others.append(text)
    return cells, others


def _said_of_others(
    cells: Mapping[str, _Cell], others: Sequence[str]
) -> NotNumbers | NumericCodes:
    """Return what cells that are no numbers make of a column that is mostly numbers."""
    if _are_whole(cells) and len(others) >= _CODES_SHARE * len(cells):
        return NumericCodes(others[0])
    return NotNumbers(others[0], "most of its cells are numbers")


def _are_whole(cells: Mapping[str, _Cell]) -> bool:
    return all(cell.body.isdigit() and not cell.unit for cell in cells.values())


def _best_format(
    cells: Mapping[str, _Cell],
    allowed: Sequence[NumberFormat],
    known: NumberFormat | None,
    default: str,
) -> tuple[NumberFormat, NumberFormat | None, str | None]:
    """Return the format, another that reads all cells differently, and a cell it cannot read."""
    example_of: dict[str, str] = {}
    for text, cell in cells.items():
        example_of.setdefault(_shape(cell.body), text)
    n_of = Counter(_shape(cell.body) for cell in cells.values())
    read = {form: [form.number(shape) for shape in example_of] for form in allowed}
    n_read = {
        form: sum(n_of[shape] for shape in example_of if form.number(shape) is not None)
        for form in allowed
    }
    most = max(n_read.values())
    best = [form for form in allowed if n_read[form] == most]
    if most < len(cells):
        chosen = known if known is not None and known in best else best[0]
        unread = next(shape for shape in example_of if chosen.number(shape) is None)
        return chosen, None, example_of[unread]
    if known is not None and known in best:
        return known, None, None
    chosen = next((form for form in best if form.decimal == default), best[0])
    other = next((form for form in best if read[form] != read[chosen]), None)
    return chosen, other, None


def _shape(body: str) -> str:
    """Return digits and separators with all digits alike, but for a zero in front.

    >>> _shape("19.732,10"), _shape("0,75")
    ('11.111,11', '0,11')
    """
    return body[0] + _DIGIT.sub("1", body[1:]) if body[0] == "0" else _DIGIT.sub("1", body)


_BODIES: dict[NumberFormat, re.Pattern[str]] = {}


def _body_of(form: NumberFormat) -> re.Pattern[str]:
    if form not in _BODIES:
        separator, gap = re.escape(form.decimal), re.escape(form.thousands)
        # groups of three, or of two before the last as in 1,23,456
        grouped = rf"[1-9]\d{{0,2}}(?:{gap}\d{{2,3}})*{gap}\d{{3}}|" if gap else ""
        _BODIES[form] = re.compile(
            rf"(?:{grouped}\d+)(?:{separator}\d+)?|{separator}\d+", re.ASCII
        )
    return _BODIES[form]


def _listed(units: Mapping[str, Any]) -> str:
    return " and ".join(repr(unit) for unit in sorted(units)[:3])
