"""Messy tables for `rank`, `evaluate` and `fit`: read as they are meant, or refused in words.

A table that means the same in another form must give the same list, or a note or a sentence must
say what was made of it. Others need only end in a list or in a sentence.
"""

import csv
import gzip
import io
import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from toprank_bench.attack.commands_run import Outcome, run_here

_N_ROWS = 400
_HEADINGS = ["paid_at", "amount", "shop", "is_fraud"]
_FORMULAS = ("=", "+", "-", "@", "\t", "\r")

Rows = list[list[str]]


class Mess(NamedTuple):
    """A table as bytes, its suffix, and whether it means the same as the clean one.

    Where its labels are not those of the model, `evaluate` must refuse it.
    """

    raw: bytes
    suffix: str = ".csv"
    is_same: bool = True
    has_other_labels: bool = False


def messy_tables(n_trials: int, seed: int) -> Counter[str]:
    """Rank, evaluate and fit so many messy tables; return the failures by kind."""
    failures: Counter[str] = Counter()
    with TemporaryDirectory() as folder:
        clean, model = Path(folder, "clean.csv"), Path(folder, "m.toprank")
        clean.write_bytes(_written(_rows(random.Random(seed))))
        fitted = run_here("fit", clean, *_fit_options(model))
        if fitted.code != 0:
            return Counter({f"the clean table: {fitted.remarks}": n_trials})
        right = _listed(run_here("rank", model, clean, "-k", 20))
        for number in range(n_trials):
            make = _MESSES[number % len(_MESSES)]
            draw = random.Random(f"{seed} {number}")
            failure = _failure(make(draw, _rows(random.Random(seed))), model, right, number)
            if failure:
                failures[f"{make.__name__}: {failure}"] += 1
    return failures


def _failure(mess: Mess, model: Path, right: list[str], number: int) -> str:
    data = model.with_name(f"table{mess.suffix}")
    data.write_bytes(mess.raw)
    ranked = run_here("rank", model, data, "-k", 20)
    others = [run_here("evaluate", model, data)]
    if number % 10 == 0:  # a fit takes longer
        other = model.with_name("other.toprank")
        others.append(run_here("fit", data, *_fit_options(other)))
    if mess.has_other_labels and others[0].code == 0:
        return "figures of labels that the model does not know"
    if not all(each.is_sound for each in (ranked, *others)):
        return "traceback"
    if any("\x1b" in each.remarks for each in (ranked, *others)):
        return "escape codes in a remark"
    if ranked.code == 0 and _has_formula(ranked):
        return "a formula in the list"
    is_silent = ranked.code == 0 and "note: " not in ranked.remarks
    return (
        "another list, silently" if mess.is_same and is_silent and _listed(ranked) != right else ""
    )


def _fit_options(model: Path) -> tuple[object, ...]:
    options = ("--time", "paid_at", "--learner", "metaap", "-k", 20, "--jobs", 1)
    return ("--label", "is_fraud", *options, "-o", model)


def _listed(outcome: Outcome) -> list[str]:
    """Return the numbers of the rows on a list."""
    return [row["row"] for row in csv.DictReader(io.StringIO(outcome.printed))]


def _has_formula(outcome: Outcome) -> bool:
    cells = (cell for row in csv.reader(io.StringIO(outcome.printed)) for cell in row)
    return any(cell.startswith(_FORMULAS) and not _is_number(cell) for cell in cells)


def _is_number(text: str) -> bool:
    try:
        float(text.replace(",", "."))
    except ValueError:
        return False
    return True


def _rows(draw: random.Random) -> Rows:
    rows = []
    for number in range(_N_ROWS):
        amount = draw.lognormvariate(5.0, 1.5)
        is_fraud = amount > 800 and draw.random() < 0.8
        at = f"2024-{1 + number // 100:02d}-{1 + number % 28:02d} {draw.randrange(24):02d}:15:00"
        rows.append(
            [at, f"{amount:.2f}", draw.choice(["Bakery", "Bar", "Books"]), f"{is_fraud:d}"]
        )
    return sorted(rows)


def _written(rows: Rows, headings: list[str] | None = None, delimiter: str = ",") -> bytes:
    stream = io.StringIO()
    csv.writer(stream, delimiter=delimiter).writerows([headings or _HEADINGS, *rows])
    return stream.getvalue().encode("utf-8", "surrogateescape")


def _with_amounts(rows: Rows, change: Callable[[float], str]) -> Rows:
    return [[at, change(float(amount)), *rest] for at, amount, *rest in rows]


# Tables that mean the same


def semicolons(draw: random.Random, rows: Rows) -> Mess:
    """Separate columns in another way."""
    return Mess(_written(rows, delimiter=draw.choice(";\t|")))


def decimal_commas(draw: random.Random, rows: Rows) -> Mess:
    """Write numbers as in Germany, thousands separated or not."""
    form = draw.choice(["{:.2f}", "{:,.2f}"])
    swap = str.maketrans(".,", ",.")
    changed = _with_amounts(rows, lambda amount: form.format(amount).translate(swap))
    return Mess(_written(changed, delimiter=draw.choice(",;")))


def thousands(draw: random.Random, rows: Rows) -> Mess:
    """Separate thousands."""
    separator = draw.choice([",", " ", "'", "\u00a0"])
    return Mess(_written(_with_amounts(rows, lambda a: f"{a:,.2f}".replace(",", separator))))


def currencies(draw: random.Random, rows: Rows) -> Mess:
    """Write a currency next to each amount."""
    form = draw.choice(["${:.2f}", "{:.2f} EUR", "€ {:.2f}", "USD {:.2f}", "{:.2f}€"])
    return Mess(_written(_with_amounts(rows, form.format)))


def encodings(draw: random.Random, rows: Rows) -> Mess:
    """Use another encoding, and end lines in another way."""
    text = _written(rows).decode().replace("\r\n", draw.choice("\n\r"))
    return Mess(text.encode(draw.choice(["utf-8-sig", "utf-16", "latin-1"])))


def other_order(draw: random.Random, rows: Rows) -> Mess:
    """Shuffle the columns, and add one."""
    places = draw.sample(range(4), 4)
    headings = [*(_HEADINGS[place] for place in places), "more"]
    return Mess(_written([[*(row[p] for p in places), "x"] for row in rows], headings))


def spaces(draw: random.Random, rows: Rows) -> Mess:
    """Put spaces around cells and names."""
    return Mess(_written([[f" {cell} " for cell in row] for row in rows]))


def packed(draw: random.Random, rows: Rows) -> Mess:
    """Compress the table."""
    return Mess(gzip.compress(_written(rows)), ".csv.gz")


# Tables that mean something else, or nothing


def cut_rows(draw: random.Random, rows: Rows) -> Mess:
    """Lose the end of the file, or cells of some rows."""
    raw = _written(rows)
    if draw.random() < 0.5:
        return Mess(raw[: draw.randrange(len(raw))], is_same=False)
    return Mess(_written([row[: draw.randrange(5)] for row in rows]), is_same=False)


def random_bytes(draw: random.Random, rows: Rows) -> Mess:
    """Change some bytes, NUL and quotes among them."""
    raw = bytearray(_written(rows))
    for _ in range(draw.randrange(1, 30)):
        raw[draw.randrange(len(raw))] = draw.choice([0, 0x22, 0x0A, 0x1B, draw.randrange(256)])
    return Mess(bytes(raw), draw.choice([".csv", ".parquet", ".json", ".xlsx"]), is_same=False)


def hostile_texts(draw: random.Random, rows: Rows) -> Mess:
    """Write formulas and escape codes into cells and names."""
    evil = ["=HYPERLINK(1)", "+cmd|' /C calc'!A0", "@SUM(1)", "\x1b]0;x\x07", "\t=1", "-2+3"]
    changed = [[*row[:2], draw.choice(evil), row[3], draw.choice(evil)] for row in rows]
    return Mess(_written(changed, [*_HEADINGS, draw.choice(evil)]), is_same=False)


def odd_values(draw: random.Random, rows: Rows) -> Mess:
    """Set some amounts or times to odd values."""
    odd = ["inf", "-inf", "nan", "1e309", "", "NULL", "#REF!", "9" * 400, "2099-01-01", "0x10"]
    changed = [list(row) for row in rows]
    for row in draw.sample(changed, 5):
        row[draw.randrange(3)] = draw.choice(odd)
    return Mess(_written(changed), is_same=False)


def odd_headings(draw: random.Random, rows: Rows) -> Mess:
    """Lose, repeat or rename names of columns, or rows altogether."""
    headings = draw.choice(
        [_HEADINGS[:3], ["a"] * 4, ["", *_HEADINGS[1:]], ["x" * 5_000, *_HEADINGS[1:]]]
    )
    return Mess(_written(rows if draw.random() < 0.7 else [], headings), is_same=False)


def other_labels(draw: random.Random, rows: Rows) -> Mess:
    """Use labels that the model does not know."""
    names = draw.choice([("1", "2"), ("a", "b"), ("0", "0"), ("2", "3"), ("", "1")])
    changed = [[*row[:3], names[int(row[3])]] for row in rows]
    return Mess(_written(changed), is_same=False, has_other_labels=True)


_MESSES = (
    semicolons, decimal_commas, thousands, currencies, encodings, other_order, spaces, packed,
    cut_rows, random_bytes, hostile_texts, odd_values, odd_headings, other_labels,
)  # fmt: skip
