"""Made-up payments, a model of the first weeks, and a desk to copy.

Payments and model are kept in a folder for the next run; the desk is made anew, since its form may
have changed.

    FOLDER/model.toprank     fitted on the first weeks
    FOLDER/later.parquet     the payments of the days after; there once the rest is
"""

import json
import os
import shutil
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from toprank.live.desk import Desk, init_desk
from toprank.live.desk_settings import DeskSettings
from toprank.live.rules import rule_life
from toprank.live.rules.model_fields import rule_fields
from toprank.live.rules.rule_fields import RuleKind
from toprank.live.store import api_keys
from toprank.payments.payment_model import PaymentModel
from toprank.simulator import simulate

COLUMNS = (
    "payment", "paid_at", "card", "terminal", "amount", "country", "channel", "merchant_type",
    "night",
)  # fmt: skip
AUTHOR, APPROVER = "person:anna", "person:ben"
N_RULES = 50
TEST_ALERT = "test-alert"
TEST_AMOUNT = 99_999.0
"""A payment of this amount puts its card on the list, by the rule `test-alert`."""

_LATER = "later.parquet"


class WorldSize(NamedTuple):
    """How large a world is: about two payments per card and day."""

    n_cards: int
    n_days: int
    n_later: int
    n_trees: int


class LiveWorld:
    """Payments, their model, and a desk with rules and a key, to which nothing was sent yet.

    Attributes
    ----------
    folder
        The folder of payments and model.
    desk
        The folder of the desk that is copied.
    key
        The key of the desk, which may do everything.
    """

    def __init__(self, folder: Path, desk: Path, key: str = "") -> None:
        self.folder, self.desk, self.key = folder, desk, key

    @classmethod
    def made(cls, folder: Path, size: WorldSize, seed: int, desk: Path) -> "LiveWorld":
        """Return the world of this size and seed in a folder, with a new desk."""
        name = "live-world-" + "-".join(str(each) for each in (*size, seed))
        world = cls(folder / name, desk)
        if not world.later_path.exists():
            shutil.rmtree(world.folder, ignore_errors=True)
            world.folder.mkdir(parents=True)
            world._make(size, seed)
        init_desk(desk, world.model_path, DeskSettings(clock="payments"))
        world._furnish()
        return world

    @property
    def model_path(self) -> Path:
        """The file of the model."""
        return self.folder / "model.toprank"

    @property
    def later_path(self) -> Path:
        """The file of the payments of later days."""
        return self.folder / _LATER

    @property
    def n_before(self) -> int:
        """The number of payments that the model was fitted on, which the desk remembers."""
        return int(self.later(1)["payment"][0].as_py().removeprefix("p"))

    def later(self, n_rows: int | None = None) -> pa.Table:
        """Return the first payments of the days after those that the model was fitted on."""
        table = pq.read_table(self.later_path)
        if n_rows is not None and n_rows > table.num_rows:
            raise ValueError(
                f"the world must have {n_rows:,} payments; it has {table.num_rows:,}."
            )
        return table.slice(0, n_rows)

    def bodies(self, n_rows: int) -> list[dict[str, Any]]:
        """Return later payments as they are sent."""
        return payment_bodies(self.later(n_rows))

    def new_desk(self, folder: Path, **settings: Any) -> Path:
        """Return a copy of the desk in a new folder, with these settings changed."""
        shutil.copytree(self.desk, folder)
        if settings:
            found = DeskSettings.read(folder)
            DeskSettings(**(found.__dict__ | settings)).write(folder)
        os.sync()  # or the server would wait for the disk to write the copy
        return folder

    def _make(self, size: WorldSize, seed: int) -> None:
        table = simulate(
            n_cards=size.n_cards, n_terminals=max(size.n_cards // 3, 10),
            n_days=size.n_days + size.n_later, random_state=seed,
        )  # fmt: skip
        ids = pa.array([f"p{number:08d}" for number in range(table.num_rows)])
        table = table.append_column("payment", ids).select([*COLUMNS, "is_fraud"])
        days = table["paid_at"].to_numpy().astype("datetime64[D]")
        n_first = int(np.count_nonzero(days < days.min() + size.n_days))
        model = PaymentModel(
            "is_fraud", time="paid_at", card="card", terminal="terminal", amount="amount",
            row_id="payment", effort="quick", n_estimators=size.n_trees, budget=100,
            random_state=seed, n_jobs=1,
        )  # fmt: skip
        model.fit(table.slice(0, n_first))
        model.save(self.model_path)
        model.close()
        pq.write_table(table.slice(n_first).drop_columns(["is_fraud"]), self.later_path)

    def _furnish(self) -> None:
        """Add rules, most of them blocking, and the key."""
        with PaymentModel.load(self.model_path) as model, Desk.open(self.desk) as desk:
            add_rules(desk, model, blocking_rules(N_RULES), "block")
            add_rules(desk, model, {TEST_ALERT: f"amount = {TEST_AMOUNT:g}"}, "alert")
            with desk.database.writing() as connection:
                scopes = ["payments", "labels", "read", "metrics"]
                self.key = api_keys.add(connection, "load", scopes, desk.wall_time(), AUTHOR)


def payment_bodies(table: pa.Table) -> list[dict[str, Any]]:
    """Return the rows of a table as they are sent, times as text."""
    rows = table.select(COLUMNS).to_pylist()
    return [row | {"paid_at": row["paid_at"].isoformat()} for row in rows]


def encoded(body: Any) -> bytes:
    """Return a body as it is sent."""
    return json.dumps(body, separators=(",", ":")).encode()


def blocking_rules(n_rules: int) -> dict[str, str]:
    """Return texts of rules over many fields and features, each of which blocks few payments.

    >>> len(set(blocking_rules(50).values()))
    50
    """
    texts = [text.format(number) for number in range(n_rules) for text in _RULES]
    return {f"rule-{number:02d}": text for number, text in enumerate(texts[:n_rules])}


_RULES = (
    "card_count_1h >= 12 + {0} AND amount > 20",
    "card_count_1d >= 25 + {0} AND channel = 'online'",
    "amount > (20 + {0}) * card_mean_amount_30d_before AND night",
    "card_sum_amount_1d > 5000 + 100 * {0} AND country <> 'FR'",
    "terminal_count_1h > 300 + {0} AND amount BETWEEN 900 AND 1000",
    "amount > 3000 + {0} OR (card_count_7d = 0 AND amount > 2000 + {0})",
    "country IN ('XX', 'YY') AND NOT night AND amount > 10 + {0}",
    "merchant_type LIKE 'jewel%' AND amount > 1500 + {0} AND card_count_30d < 3",
    "coalesce(card_mean_amount_7d_before, 50) * (8 + {0}) < amount AND channel = 'online'",
    "CASE WHEN night THEN amount > 1800 + {0} ELSE amount > 2600 + {0} END",
)


def add_rules(desk: Desk, model: PaymentModel, texts: dict[str, str], kind: RuleKind) -> None:
    """Add rules to a desk and make them live."""
    fields, now = rule_fields(model), desk.wall_time()
    with desk.database.writing() as connection:
        for name, text in texts.items():
            rule_life.add_rule(connection, now, AUTHOR, name, text, kind, fields)
            rule_life.stage(connection, now, AUTHOR, name)
            rule_life.approve(connection, now, APPROVER, name)
