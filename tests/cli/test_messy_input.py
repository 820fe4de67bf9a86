"""Mistakes and messy files: each is read as it was meant, or stops with a sentence.

One table of cases. What is read must give what the clean file gives; what is refused must say so
in words that help, on stderr, with exit code 1 for the data and 2 for the call.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest

from cli.running import run_main
from toprank.workflow.training import PLAIN

FIT = "fit {data} --label is_fraud --time paid_at -k 5 --trees 5 --minutes 0.001 --jobs 1 --json"
RANK = "rank {model} {data} -k 5"
EVALUATE = "evaluate {model} {data} -k 5 --json"
COMPARE = "compare {data} --label is_fraud --time paid_at -k 5 --learners log --trees 5 --jobs 1"
LABEL = "label {cards} {data}"

# what nobody who typed a command should read
NEVER = (
    "Traceback",
    "np.str_",
    "np.int",
    "is_positive",
    "positive_label",
    "`",
    "pyarrow",
    "Errno",
)


def made_payments(n_rows=600):
    rng = np.random.default_rng(0)
    amount = rng.gamma(1.5, 400.0, n_rows).round(2) + 0.01
    country = rng.choice(["FR", "DE", "US"], n_rows, p=[0.6, 0.2, 0.2])
    is_fraud = ((amount > 900) & (country != "FR")) | (rng.random(n_rows) < 0.02)
    days = pd.to_timedelta(np.sort(rng.random(n_rows)) * 60, unit="D")
    return pd.DataFrame(
        {
            "paid_at": (pd.Timestamp("2024-01-05") + days)
            .floor("s")
            .strftime("%Y-%m-%d %H:%M:%S"),
            "amount": amount,
            "country": country,
            "items": rng.integers(1, 9, n_rows),
            "is_fraud": is_fraud.astype(int),
        }
    )


PAYMENTS = made_payments()


class Case(NamedTuple):
    """A file, a command, the exit code, and words that must be printed.

    With `same`, the result must be that of the clean file: the AP of fit, the rows of rank.
    """

    name: str
    write: Callable[[pd.DataFrame], str]
    command: str
    exit_code: int
    words: tuple[str, ...] = ()
    same: bool = False


# How files are written


def csv(change=lambda frame: frame, name="data.csv", **options):
    def write(frame):
        change(frame).to_csv(name, index=False, **options)
        return name

    return write


def text(content, name="data.csv"):
    def write(_frame):
        Path(name).write_bytes(content if isinstance(content, bytes) else content.encode())
        return name

    return write


def with_amounts(written, **options):
    """The amounts as some people write them."""
    return csv(lambda frame: frame.assign(amount=frame["amount"].map(written)), **options)


def with_times(form, **options):
    return csv(
        lambda frame: frame.assign(paid_at=pd.to_datetime(frame["paid_at"]).dt.strftime(form)),
        **options,
    )


def with_cell(column, row, value):
    """One cell that is not like the others; row 0 is line 2."""

    def change(frame):
        changed = frame.astype({column: object})
        changed.loc[row, column] = value
        return changed

    return csv(change)


def other_kind(name):
    def write(frame):
        if name.endswith(".parquet"):
            frame.to_parquet(name)
        elif name.endswith(".feather"):
            frame.to_feather(name)
        elif name.endswith(".xlsx"):
            frame.to_excel(name, index=False)
        else:
            frame.to_json(name, orient="records", lines=name.endswith("l"))
        return name

    return write


def and_then(write, then):
    """A file of another kind, its columns changed first."""
    return lambda frame: write(then(frame))


def us(amount):
    return f"{amount:,.2f}"


def eu(amount):
    return us(amount).translate(str.maketrans(",.", ".,"))


def us_text(frame):
    return frame.assign(amount=frame["amount"].map(us))


def sometimes(word):
    def change(frame):
        is_unknown = np.arange(len(frame)) % 10 == 0
        return frame.assign(amount=frame["amount"].astype(object).where(~is_unknown, word))

    return change


def days_by_month(frame):
    """Rows of the first twelve days of months, on which day and month can change places."""
    times = pd.to_datetime(frame["paid_at"])
    return frame.assign(paid_at=times.dt.strftime("%d/%m/%Y"))[times.dt.day <= 12].sample(
        frac=1, random_state=0
    )


def giving_away(frame):
    return frame.assign(chargeback=np.where(frame["is_fraud"] == 1, 50.0 + frame["items"], np.nan))


def label_values(values):
    return csv(lambda frame: frame.assign(is_fraud=frame["is_fraud"].map(values)))


def only_positives(rows):
    def change(frame):
        return frame.assign(is_fraud=np.isin(np.arange(len(frame)), rows).astype(int))

    return csv(change)


def with_codes(frame):
    """Postcodes, Namibia and the days of a spreadsheet."""
    days = (pd.to_datetime(frame["paid_at"]) - pd.Timestamp("1899-12-30")) / pd.Timedelta("1D")
    return frame.assign(
        paid_at=days.round(6),
        postcode=np.resize(["01234", "75001", "69002"], len(frame)),
        country=frame["country"].replace("US", "NA"),
    )


def thousands(separator):
    """Whole amounts that could as well have three decimals."""
    return with_amounts(lambda a: f"{1000 + int(a):,}".replace(",", separator))


def cards_in(change):
    """Payments of cards, for a model that knows times with the day first."""

    def write(frame):
        facts = {"tx": [f"N{i}" for i in range(600)], "card": np.arange(600) % 40}
        return csv(lambda f: change(f.assign(**facts, shop=f["country"])))(frame)

    return write


READ_AS_NUMBERS = [
    Case("thousands with commas", with_amounts(us), FIT, 0, ("'amount'", "thousands"), True),
    Case("european numbers", with_amounts(eu, sep=";"), FIT, 0, ("'amount'", "comma"), True),
    Case("european numbers, quoted", with_amounts(eu), RANK, 0, ("decimal comma",), True),
    Case(
        "spaces between thousands",
        with_amounts(lambda amount: us(amount).replace(",", "\u202f").replace(".", ",")),
        RANK,
        0,
        ("separated by spaces",),
        True,
    ),
    Case(
        "apostrophes",
        with_amounts(lambda a: us(a).replace(",", "'")),
        RANK,
        0,
        ("apostrophes",),
        True,
    ),
    Case("EUR 12.50", with_amounts(lambda a: f"EUR {a:.2f}"), FIT, 0, ("'EUR ",), True),
    Case("12.50 euro sign", with_amounts(lambda a: f"{a:.2f} €"), EVALUATE, 0, (), True),
    Case("$1,200.00", with_amounts(lambda a: f"${us(a)}"), FIT, 0, ("'$",), True),
    Case(
        "minus behind and brackets",
        csv(
            lambda frame: frame.assign(
                amount=[
                    f"({a:.2f})" if i % 2 else f"{a:.2f}-" for i, a in enumerate(frame["amount"])
                ]
            )
        ),
        FIT,
        0,
        ("read as the number -",),
    ),
    Case("unknown among numbers", csv(sometimes("unknown")), FIT, 0, ("60 cells", "'unknown'")),
    Case("a dash among numbers", csv(sometimes("-")), RANK, 0, ("60 cells", "missing")),
    Case("n.a. among numbers", csv(sometimes("n.a.")), EVALUATE, 0, ("60 cells",)),
    Case(
        "three decimals only",
        with_amounts(lambda a: f"{1 + a % 900:.3f}", sep=";"),
        FIT,
        0,
        ("taken to have a decimal point", "--thousands ."),
    ),
    Case(
        "quoted 1,234 only",
        with_amounts(lambda a: f"{1000 + int(a):,}"),
        FIT,
        0,
        ("assumption", "--decimal ,"),
    ),
    Case("--thousands .", with_amounts(eu, sep=";"), f"{FIT} --thousands .", 0, (), True),
    Case(
        "--decimal ,",
        with_amounts(lambda a: f"{a:.2f}".replace(".", ",")),
        f"{RANK} --decimal ,",
        0,
        (),
        True,
    ),
    Case(
        "codes among whole numbers",
        csv(
            lambda frame: frame.assign(department=np.resize(["75", "13", "2A", "69"], len(frame)))
        ),
        FIT,
        0,
        ("'2A'", "categories"),
    ),
]

REFUSED_NUMBERS = [
    Case(
        "a word among numbers",
        with_cell("amount", 15, "abc"),
        FIT,
        1,
        ("'amount'", "line 17", "'abc'", "--drop amount"),
    ),
    Case(
        "both separators in one column",
        with_cell("amount", 15, "12,5"),
        FIT,
        1,
        ("'amount'", "line 17", "'12,5'", "--decimal"),
    ),
    Case(
        "two currencies",
        csv(
            lambda frame: frame.assign(
                amount=[
                    f"{'USD' if i % 5 else 'EUR'} {a:.2f}" for i, a in enumerate(frame["amount"])
                ]
            )
        ),
        FIT,
        1,
        ("'eur' and 'usd'", "line 2"),
    ),
    Case("thousands or decimals?", thousands("."), RANK, 1, ("line 2", "--thousands .")),
    Case("evaluate: thousands?", thousands("."), EVALUATE, 1, ("'amount' in data.csv", "--dec")),
    Case("with --thousands .", thousands("."), f"{RANK} --thousands .", 0),
    Case("with --decimal .", thousands("."), f"{EVALUATE} --decimal .", 0),
    Case(
        "percentages for a model of numbers",
        with_amounts(lambda a: f"{a:.2f} %"),
        RANK,
        1,
        ("'amount' in data.csv", "in percent"),
    ),
    Case(
        "currencies in a file to score",
        csv(lambda f: f.assign(amount=[f"{'$€'[i % 2]}5" for i in range(600)])),
        RANK,
        1,
        ("'eur' and 'usd'", "line 3"),
    ),
    Case("against --decimal", csv(), f"{FIT} --decimal ,", 1, ("'amount'", "--decimal", "line 2")),
    Case(
        "--decimal and --thousands alike",
        csv(),
        f"{FIT} --decimal , --thousands ,",
        2,
        ("--thousands must be another separator than --decimal",),
    ),
    Case("infinite numbers", with_cell("amount", 3, "inf"), FIT, 1, ("'amount'", "finite")),
]

TIMES = [
    Case("day first", with_times("%d/%m/%Y %H:%M:%S"), FIT, 0, (), True),
    Case("month first, AM and PM", with_times("%m/%d/%Y %I:%M:%S %p"), EVALUATE, 0, (), True),
    Case("points", with_times("%d.%m.%Y %H:%M:%S"), EVALUATE, 0, (), True),
    Case("T and Z", with_times("%Y-%m-%dT%H:%M:%SZ"), EVALUATE, 0, (), True),
    Case("month by name", with_times("%d-%b-%Y %H:%M:%S"), EVALUATE, 0, (), True),
    Case(
        "epoch seconds",
        csv(
            lambda frame: frame.assign(
                paid_at=(pd.to_datetime(frame["paid_at"]) - pd.Timestamp(0)) // pd.Timedelta("1s")
            )
        ),
        EVALUATE,
        0,
        (),
        True,
    ),
    Case(
        "epoch milliseconds",
        csv(
            lambda frame: frame.assign(
                paid_at=(pd.to_datetime(frame["paid_at"]) - pd.Timestamp(0)) // pd.Timedelta("1ms")
            )
        ),
        EVALUATE,
        0,
        (),
        True,
    ),
    Case("20240131", with_times("%Y%m%d"), EVALUATE, 0, (), True),
    Case(
        "--time-format",
        with_times("%H:%M:%S on day %d of %m in %Y"),
        EVALUATE + " --time-format '%H:%M:%S on day %d of %m in %Y'",
        0,
        (),
        True,
    ),
    Case(
        "a wrong --time-format",
        csv(),
        f"{FIT} --time-format %d.%m.%Y",
        1,
        ("'paid_at'", "%d.%m.%Y", "line 2", "--time-format"),
    ),
    Case("no format at all", csv(), f"{FIT} --time-format d/m/y", 2, ("--time-format", "'d/m/y'")),
    Case(
        "day or month first?",
        csv(days_by_month),
        FIT,
        1,
        ("'paid_at'", "day or the month first", "--time-format %d/%m/%Y"),
    ),
    Case(
        "one ISO time among d/m/Y",
        csv(
            lambda frame: frame.assign(
                paid_at=[
                    "2024-01-31T10:00:00Z"
                    if i == 99
                    else pd.Timestamp(t).strftime("%d/%m/%Y %H:%M")
                    for i, t in enumerate(frame["paid_at"])
                ]
            )
        ),
        FIT,
        1,
        ("'paid_at'", "line 101", "'2024-01-31T10:00:00Z'", "%d/%m/%Y %H:%M"),
    ),
    Case(
        "one time missing",
        with_cell("paid_at", 99, None),
        FIT,
        1,
        ("'paid_at'", "1 of 600", "line 101"),
    ),
    Case(
        "--time on an id",
        csv(
            lambda frame: frame.assign(
                customer=np.random.default_rng(1).integers(0, 5000, len(frame))
            )
        ),
        "fit {data} --label is_fraud --time customer --drop paid_at -k 5 --trees 5 --minutes .01",
        0,
        ("'customer'", "1970", "--time"),
    ),
    Case(
        "--time on a category",
        csv(),
        "fit {data} --label is_fraud --time country --drop paid_at",
        1,
        ("'country' must hold times", "line 2", "--time"),
    ),
    Case(
        "--time nearly constant",
        csv(
            lambda frame: frame.assign(
                paid_at=np.where(np.arange(len(frame)) < 300, "2024-01-01", "2024-01-02")
            )
        ),
        FIT,
        1,
        ("only 2 different times", "there would be no", "--gap"),
    ),
    Case(
        "a date as a feature",
        csv(lambda frame: frame.assign(born="31/12/1980")),
        FIT,
        1,
        ("'born' holds dates", "--time born", "--drop born"),
    ),
    Case(
        "no --time, but times",
        csv(),
        "fit {data} --label is_fraud",
        1,
        ("'paid_at' holds dates", "--time paid_at", "--drop paid_at"),
    ),
]

CODES = [
    Case(
        "postcodes, NA and days of a spreadsheet",
        csv(with_codes),
        FIT,
        0,
        ("'postcode' is read as categories", "'01234'", "'country' has 'NA' in", "2024-01-05"),
    ),
]

KINDS = [
    Case(
        "parquet with an index",
        lambda frame: other_kind("data.parquet")(frame.set_index(np.roll(np.arange(600), 1))),
        FIT,
        0,
        ("__index_level_0__", "--keep"),
        True,
    ),
    Case(
        "parquet with amounts as text",
        and_then(other_kind("data.parquet"), us_text),
        FIT,
        0,
        ("'amount'", "thousands"),
        True,
    ),
    Case("JSON", other_kind("data.json"), FIT, 0, (), True),
    Case(
        "JSON lines of text amounts",
        and_then(other_kind("data.jsonl"), us_text),
        RANK,
        0,
        ("thousands",),
        True,
    ),
    Case("Excel", other_kind("data.xlsx"), FIT, 0, (), True),
    Case(
        "a broken line of JSON",
        text('{"a": 1, "is_fraud": 0}\n{"a": 2, \n', "data.jsonl"),
        FIT,
        1,
        ("data.jsonl", "line 2"),
    ),
    Case("JSON that is no table", text("[1, 2, 3]", "data.json"), FIT, 1, ("array of objects",)),
    Case(
        "semicolons, BOM and decimal commas",
        csv(sep=";", decimal=",", encoding="utf-8-sig"),
        EVALUATE,
        0,
        (),
        True,
    ),
    Case("tabs, gzipped", csv(name="data.tsv.gz", sep="\t"), EVALUATE, 0, (), True),
    Case(
        "spaces around headers",
        csv(lambda frame: frame.rename(columns=lambda name: f" {name} ")),
        FIT,
        0,
        (),
        True,
    ),
    Case(
        "headers alike but for spaces",
        text("a,a ,is_fraud,paid_at\n1,2,0,2024-01-01\n"),
        FIT,
        1,
        ("'a'", "spaces"),
    ),
    Case(
        "an index without a name",
        lambda frame: (frame.to_csv("data.csv"), "data.csv")[1],
        FIT,
        0,
        ("'Unnamed: 0'", "--keep 'Unnamed: 0'"),
        True,
    ),
    Case(
        "latin-1",
        csv(lambda frame: frame.assign(city="Zürich"), encoding="latin-1"),
        FIT,
        1,
        ("byte 0xfc in line 2", "--encoding cp1252"),
    ),
    Case(
        "--encoding latin-1",
        csv(lambda frame: frame.assign(city="Zürich"), encoding="latin-1"),
        f"{FIT} --encoding latin-1",
        0,
    ),
    Case("UTF-16", csv(encoding="utf-16"), FIT, 1, ("UTF-16", "--encoding utf-16")),
    Case(
        "--encoding utf-16", csv(encoding="utf-16"), f"{EVALUATE} --encoding utf-16", 0, (), True
    ),
    Case("an unknown encoding", csv(), f"{FIT} --encoding latn-9", 2, ("--encoding", "'latn-9'")),
    Case("a picture", text(b"\x89PNG\r\n\x1a\n"), FIT, 1, ("PNG picture",)),
    Case("an empty file", text(""), FIT, 1, ("empty",)),
    Case("a header alone", text("paid_at,amount,is_fraud\n"), FIT, 1, ("no rows",)),
    Case("one row", csv(lambda frame: frame[:1]), FIT, 1, ("two classes", "one class only")),
    Case(
        "a ragged line",
        text("a,is_fraud,paid_at\n1,0,2024-01-01\n1,0\n"),
        FIT,
        1,
        ("line 3 has 2", "3 fields"),
    ),
    Case(
        "a header twice",
        text("a,a,is_fraud,paid_at\n1,2,0,2024-01-01\n"),
        FIT,
        1,
        ("'a' comes 2",),
    ),
    Case("no such file", lambda frame: "nosuch.csv", FIT, 1, ("there is no file nosuch.csv",)),
    Case("a folder without a name", lambda frame: ".", FIT, 2, ("-o must name the model",)),
]

COLUMNS = [
    Case(
        "an id",
        csv(lambda frame: frame.assign(tx=[f"T{i:05}" for i in range(600)])),
        FIT,
        0,
        ("'tx' is left out", "--keep tx"),
        True,
    ),
    Case(
        "a row number and a uuid",
        csv(
            lambda frame: frame.assign(
                row=np.arange(600), uuid=[f"{i * 7919:032x}" for i in range(600)]
            )
        ),
        FIT,
        0,
        ("2 columns that look like ids are left out", "'row'", "'uuid'"),
        True,
    ),
    Case("--keep", csv(lambda frame: frame.assign(row=np.arange(600))), f"{FIT} --keep row", 0),
    Case("--keep the label", csv(), f"{FIT} --keep is_fraud", 2, ("--keep", "'is_fraud'")),
    Case(
        "a column that gives the label away",
        csv(giving_away),
        FIT,
        0,
        ("'chargeback' alone", "AP 1.00", "--drop chargeback"),
    ),
    Case(
        "a category that gives the label away",
        csv(lambda frame: frame.assign(status=np.where(frame["is_fraud"] == 1, "blocked", "ok"))),
        FIT,
        0,
        ("'status' alone", "--drop status"),
    ),
    Case(
        "numbers that collapse",
        csv(lambda frame: frame.assign(card=4_000_123_412_340_000 + np.arange(600) % 40)),
        FIT,
        0,
        ("'card'", "40 different values become 1", "--drop card"),
    ),
    Case(
        "a column without values",
        csv(lambda frame: frame.assign(empty=np.nan)),
        FIT,
        1,
        ("'empty'", "--drop empty"),
    ),
    Case("--drop nosuch", csv(), f"{FIT} --drop nosuch", 1, ("'nosuch' is not in data.csv",)),
    Case("--label fraud", csv(), "fit {data} --label fraud", 1, ("did you mean 'is_fraud'?",)),
    Case(
        "--label IS_FRAUD", csv(), "fit {data} --label IS_FRAUD", 1, ("did you mean 'is_fraud'?",)
    ),
    Case("--time paidat", csv(), "fit {data} --label is_fraud --time paidat", 1, ("'paid_at'?",)),
]

LABELS = [
    Case("no --label", csv(), "fit {data}", 2, ("--label",)),
    Case("Yes and No", label_values({0: "No", 1: "Yes"}), FIT, 0, (), True),
    Case(
        "--positive yes of Yes and No",
        label_values({0: "No", 1: "Yes"}),
        f"{FIT} --positive yes",
        0,
        (),
        True,
    ),
    Case(
        "--positive that is not there",
        label_values({0: "No", 1: "Yes"}),
        f"{FIT} --positive maybe",
        1,
        ("--positive", "'No' or 'Yes'", "'maybe'"),
    ),
    Case(
        "good and bad",
        label_values({0: "good", 1: "bad"}),
        FIT,
        0,
        ("'bad' is taken as positive", "--positive good"),
        True,
    ),
    Case(
        "mostly positive",
        label_values({0: 1, 1: 0}),
        FIT,
        0,
        ("1 is taken as positive", "although most rows have it", "--positive 0"),
    ),
    Case(
        "one class",
        csv(lambda frame: frame.assign(is_fraud="No")),
        FIT,
        1,
        ("one class only", "'No'"),
    ),
    Case(
        "three labels",
        csv(lambda frame: frame.assign(is_fraud=frame["items"] % 3)),
        FIT,
        1,
        ("3 different values", "--label"),
    ),
    Case(
        "amounts as the label",
        csv(),
        "fit {data} --label amount --time paid_at",
        1,
        ("different values", "--label"),
    ),
    Case(
        "one positive",
        only_positives([50]),
        "fit {data} --label is_fraud --drop paid_at",
        1,
        ("at least 3 positives", "got 1 in 600"),
    ),
    Case(
        "no positives in the test",
        only_positives(range(50)),
        FIT,
        1,
        ("rows must have both classes", "got 0 positives", "--gap", "--time"),
    ),
    Case("no labels at all", csv(lambda frame: frame.assign(is_fraud=None)), FIT, 1, ("missing",)),
]

CALLS = [
    Case("--gap 400", csv(), f"{FIT} --gap 400", 1, ("there would be no", "400 days", "--gap")),
    Case(
        "-k larger than a day",
        csv(),
        FIT.replace("-k 5", "-k 5000000"),
        0,
        ("-k 5,000,000 is more than", "the longest day has"),
    ),
    Case("-k 0", csv(), f"{FIT} -k 0", 2, ("x>=1",)),
    Case(
        "--card without --time",
        csv(),
        "fit {data} --label is_fraud --card country",
        2,
        ("--time",),
    ),
    Case(
        "--minutes with a tree",
        csv(),
        "fit {data} --label is_fraud --time paid_at -k 5 --learner metaap --minutes 1 --jobs 1",
        0,
        ("--minutes has no effect",),
    ),
    Case("an unknown learner", csv(), f"{FIT} --learner xgboost", 2, ("rank-forest",)),
    Case("-o in no folder", csv(), f"{FIT} -o nosuch/model.toprank", 1, ("no folder nosuch",)),
    Case(
        "compare: a word, an id and times",
        lambda frame: with_times("%d/%m/%Y %H:%M")(
            sometimes("unknown")(frame.assign(row=np.arange(600)))
        ),
        COMPARE,
        0,
        ("60 cells", "'row' is left out"),
    ),
    Case(
        "compare: a word among numbers",
        with_cell("amount", 15, "abc"),
        COMPARE,
        1,
        ("line 17", "'abc'", "--drop amount"),
    ),
    Case(
        "anomalies: thousands",
        with_amounts(us),
        "anomalies {data} -k 3 --drop paid_at --drop is_fraud",
        0,
        ("thousands",),
    ),
    Case("anomalies: dates", csv(), "anomalies {data} -k 3", 1, ("--drop paid_at",)),
    Case(
        "anomalies: -k",
        csv(lambda frame: frame[:200]),
        "anomalies {data} -k 5000 --drop paid_at --json",
        0,
        ("-k 5,000 is more than the 200",),
    ),
]

RANKED = [
    Case("rank: thousands", with_amounts(us), RANK, 0, (), True),
    Case("rank: european", with_amounts(eu, sep=";"), RANK, 0, (), True),
    Case("rank: EUR", with_amounts(lambda a: f"EUR {a:.2f}"), RANK, 0, (), True),
    Case("rank: JSON lines", other_kind("data.jsonl"), RANK, 0, (), True),
    Case("rank: Excel", other_kind("data.xlsx"), RANK, 0, (), True),
    Case("rank: Feather", other_kind("data.feather"), RANK, 0, (), True),
    Case(
        "rank: parquet of text", and_then(other_kind("data.parquet"), us_text), RANK, 0, (), True
    ),
    Case(
        "rank: latin-1",
        csv(lambda frame: frame.assign(city="Zürich"), encoding="latin-1"),
        f"{RANK} --encoding latin-1",
        0,
        (),
        True,
    ),
    Case("rank: unknown", csv(sometimes("unknown")), RANK, 0, ("'amount'", "60 cells", "missing")),
    Case(
        "rank: a word among numbers",
        with_cell("amount", 15, "abc"),
        RANK,
        1,
        ("'amount' in data.csv", "line 17", "'abc'"),
    ),
    Case(
        "rank: lower-case headers",
        csv(lambda frame: frame.rename(columns=str.upper)),
        RANK,
        1,
        ("'amount' is not in data.csv; did you mean 'AMOUNT'?",),
    ),
    Case(
        "rank: a missing column",
        csv(lambda frame: frame.drop(columns="amount")),
        RANK,
        1,
        ("'amount' is not in data.csv",),
    ),
    Case("rank: more columns", csv(lambda frame: frame.assign(note="x")), RANK, 0, (), True),
    Case("rank: swapped arguments", csv(), "rank {data} {model}", 2, ("swap", "MODEL")),
    Case("rank: a model as data", csv(), "rank {model} {model}", 1, ("it is a model of toprank",)),
    Case("rank: no model", csv(), "rank nosuch.toprank {data}", 1, ("nosuch.toprank",)),
    Case(
        "rank: -k larger than the file",
        csv(),
        RANK.replace("-k 5", "-k 100000"),
        0,
        ("-k 100,000 is more than the 600 rows",),
    ),
    Case("rank: -o a.xlsx", csv(), f"{RANK} -o a.xlsx", 1, ("must end in", ".csv")),
    Case("rank: --remember without cards", csv(), f"{RANK} --remember", 2, ("--remember",)),
    Case(
        "evaluate: no labels",
        csv(lambda frame: frame.drop(columns="is_fraud")),
        EVALUATE,
        1,
        ("'is_fraud' is not in data.csv",),
    ),
    Case(
        "evaluate: other labels",
        csv(lambda frame: frame.assign(vip=np.resize(["Yes", "No"], 600))),
        f"{EVALUATE} --label vip",
        1,
        ("'vip'", "'Yes'", "--label"),
    ),
    Case(
        "evaluate: labels 2 and 1",
        csv(lambda frame: frame.assign(is_fraud=frame["is_fraud"] + 1)),
        EVALUATE,
        1,
        ("'is_fraud' must hold 1", "and 0", "it holds '1' and '2'", "--label"),
    ),
    Case(
        "evaluate: new categories and no values",
        csv(lambda frame: frame.assign(country="GB", items=np.nan)),
        EVALUATE,
        0,
        ("600 of 600 values of column 'country'", "'GB'", "'items' in data.csv has no value"),
    ),
    Case("evaluate: d/m/Y", with_times("%d/%m/%Y %H:%M:%S"), EVALUATE, 0, (), True),
    Case(
        "evaluate: one class",
        csv(lambda frame: frame.assign(is_fraud=0)),
        EVALUATE,
        1,
        ("two classes",),
    ),
    Case(
        "evaluate: -k", csv(), EVALUATE.replace("-k 5", "-k 5000"), 0, ("-k 5,000 is more than",)
    ),
    Case("explain: no such row", csv(), "explain {model} {data} --row 9999", 1, ("600 rows",)),
    Case("explain: thousands", with_amounts(us), "explain {model} {data} --row 3", 0),
]

WITH_CARDS = [
    Case("label: a model without ids", csv(), "label {model} {data}", 1, ("--card and --id",)),
    Case(
        "label: unknown ids",
        text("tx,verdict\nnosuch,fraud\n"),
        LABEL,
        1,
        ("no payment for 1", "'nosuch'"),
    ),
    Case(
        "label: twice the same",
        text("tx,verdict\nT7,fraud\nT7,fraud\n"),
        LABEL,
        0,
        ("2 labels: ", "1 known already"),
    ),
    Case("label: already known", text("tx,verdict\nT8,genuine\n"), LABEL, 0, ("1 label: 1 ",)),
    Case(
        "label: another word", text("tx,verdict\nT9,perhaps\n"), LABEL, 1, ("'perhaps'", "unsure")
    ),
    Case(
        "label: swapped arguments",
        text("tx,verdict\nT9,fraud\n"),
        "label {data} {cards}",
        2,
        ("swap",),
    ),
    Case(
        "label: d/m/Y of --known-at",
        text("tx,verdict,on\nT9,fraud,31/03/2024\n"),
        f"{LABEL} --known-at on",
        0,
        ("1 label: 1 corrected",),
    ),
    Case(
        "rank with cards: d/m/Y on a day that could be a month",
        lambda frame: csv(
            lambda f: f.assign(
                paid_at="03/04/2024 10:00",
                tx=[f"N{i}" for i in range(600)],
                shop=frame["country"],
                card=np.arange(600) % 40,
            )
        )(frame),
        "rank {cards} {data} -k 3 -o list.csv",
        0,
        ("600 rows scored", "Wrote list.csv and list.html"),
    ),
    Case(
        "rank with cards: the month first, against the model",
        cards_in(lambda frame: frame.assign(paid_at="03/25/2024 10:00")),
        "rank {cards} {data} -k 3",
        1,
        ("'paid_at' must have the day first", "line 2", "--time-format '%m/%d/%Y %H:%M'"),
    ),
    Case(
        "stream: decimal commas",
        cards_in(lambda frame: frame.head(3).assign(amount="12,50", paid_at="03/04/2024 10:00")),
        "stream {data} --model {cards}",
        0,
        ("3 rows scored", "'12,50', read as the number 12.5"),
    ),
]

CASES = [
    *READ_AS_NUMBERS,
    *REFUSED_NUMBERS,
    *TIMES,
    *CODES,
    *KINDS,
    *COLUMNS,
    *LABELS,
    *CALLS,
    *RANKED,
    *WITH_CARDS,
]


def run(command, **names):
    """Run a command as it is typed; words in quotes are one."""
    from shlex import split

    return run_main(*(word.format(**names) for word in split(command)))


@pytest.fixture(scope="session")
def clean(tmp_path_factory):
    """The models of the clean file, with and without cards, what they print and what they rank."""
    folder = tmp_path_factory.mktemp("clean")
    data, model = folder / "payments.csv", folder / "payments.toprank"
    PAYMENTS.to_csv(data, index=False)
    fitted = run(f"{FIT} -o {model}", data=data)
    assert fitted.exit_code == 0, fitted
    ranked = run(RANK, model=model, data=data)
    with_cards = PAYMENTS.assign(
        paid_at=pd.to_datetime(PAYMENTS["paid_at"]).dt.strftime("%d/%m/%Y %H:%M"),
        tx=[f"T{i}" for i in range(600)],
        shop=PAYMENTS["country"],
        card=np.arange(600) % 40,
    )
    with_cards.to_csv(folder / "cards.csv", index=False)
    cards = folder / "cards.toprank"
    outcome = run(
        f"{FIT} --card card --terminal shop --amount amount --id tx -o {cards}",
        data=folder / "cards.csv",
    )
    assert outcome.exit_code == 0, outcome
    evaluated = run(EVALUATE, model=model, data=data)
    return {
        "model": model,
        "cards": cards,
        "ap": ap_of(fitted),
        "ranked": ranked_rows(ranked),
        "evaluated": json.loads(evaluated.stdout)["average_precision"],
    }


def ap_of(outcome):
    """The AP of plain trees, which are fitted however little time there is for others."""
    return json.loads(outcome.stdout)["test"][PLAIN]["average_precision"]


def ranked_rows(outcome):
    from io import StringIO

    table = pd.read_csv(StringIO(outcome.stdout))
    return table["row"].tolist(), table["probability"].tolist()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_mess_is_read_as_it_was_meant_or_refused_with_a_sentence(case, clean):
    data = case.write(PAYMENTS)

    outcome = run(case.command, data=data, model=clean["model"], cards=clean["cards"])

    said = outcome.stderr + (outcome.stdout if case.exit_code == 0 else "")
    assert outcome.exit_code == case.exit_code, outcome
    for word in case.words:
        assert word in said, said
    assert not any(word in said for word in NEVER), said
    if case.exit_code == 1:
        assert outcome.stdout == "", "nothing useful was done, so there is nothing to print"
    if case.same and case.command.startswith("fit"):
        assert ap_of(outcome) == clean["ap"], outcome.stderr
    if case.same and case.command.startswith("rank"):
        assert ranked_rows(outcome) == clean["ranked"], outcome.stderr
    if case.same and case.command.startswith("evaluate"):
        assert json.loads(outcome.stdout)["average_precision"] == clean["evaluated"]


def test_the_table_has_many_cases_each_of_its_own_name():
    assert len(CASES) >= 70
    assert len({case.name for case in CASES}) == len(CASES)
