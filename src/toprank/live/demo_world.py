"""A world of its own for a first look: cards that pay in fast time, some of them stolen.

FOLDER/desk files                the desk, with a model of the world's first two months
FOLDER/world/later.parquet       the payments of the months after, and which are frauds
FOLDER/world/key                 the key with which they are sent
"""

import shutil
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from toprank.data.atomic import atomic_path
from toprank.live.desk import Desk, init_desk
from toprank.live.desk_clock import wall_time
from toprank.live.desk_settings import DeskSettings
from toprank.live.learning.retraining import OnProgress
from toprank.live.people import accounts
from toprank.live.rules import rule_life
from toprank.live.rules.model_fields import rule_fields
from toprank.live.rules.rule_fields import RuleKind
from toprank.live.store import api_keys
from toprank.payments.payment_model import PaymentModel
from toprank.simulator import simulate

WORLD, LATER, KEY = "world", "later.parquet", "key"
N_DAYS, N_LATER, CAPACITY = 60, 30, 20
COLUMNS = ("payment", "paid_at", "card", "terminal", "amount", "country", "channel", "night")
PEOPLE = {
    "investigator": "investigator",
    "lead": "senior",
    "author": "rule_author",
    "approver": "approver",
    "admin": "admin",
}
"""A person for each part of the work; rules need two of them."""
NAMES = {"night": "at night", "distance_from_home": "distance from home"}

_RULES: tuple[tuple[str, RuleKind, str, str], ...] = (
    (
        "far-above-usual",
        "block",
        "amount > 400 AND amount > 5 * card_mean_amount_30d_before",
        "A large amount, five times as much as the card usually pays.",
    ),
    (
        "abroad-online",
        "alert",
        "country <> 'FR' AND channel = 'online' AND amount > 3 * card_mean_amount_30d_before",
        "An online payment abroad, three times as large as usual.",
    ),
)


def is_world(folder: Path) -> bool:
    """Return whether a folder has a world."""
    return (folder / WORLD / LATER).is_file()


def make_world(
    folder: Path, seed: int = 0, n_cards: int = 1_000, progress: OnProgress | None = None
) -> None:
    """Make a world in a new folder: a desk with a model and rules, and payments to come."""
    if folder.exists():
        raise FileExistsError(
            f"{folder} exists and is not a demo; name another folder for the demo, or remove it."
        )
    table = simulate(
        n_cards=n_cards, n_terminals=n_cards // 3, n_days=N_DAYS + N_LATER, random_state=seed
    )
    ids = pa.array([f"p{number:07d}" for number in range(table.num_rows)])
    table = table.append_column("payment", ids).select([*COLUMNS, "is_fraud"])
    days = table["paid_at"].to_numpy().astype("datetime64[D]")
    is_later = days >= days.min() + N_DAYS
    model = folder.with_name(f".{folder.name}.model") / "world.toprank"
    model.parent.mkdir(parents=True, exist_ok=True)
    try:
        _fit(table.filter(pa.array(~is_later)), model, seed, progress)
        init_desk(folder, model, DeskSettings(capacity=CAPACITY, clock="payments"))
        _furnish(folder, model, table.filter(pa.array(is_later)))
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    finally:
        shutil.rmtree(model.parent)


def start_paying(folder: Path, address: str, seconds_per_day: float) -> subprocess.Popen[bytes]:
    """Start the process that sends the world's payments to a server.

    It prints a line once the first days are paid, and cards are on the list.
    """
    command = [
        sys.executable, "-m", "toprank.live.demo_feed", str(folder), address, str(seconds_per_day)
    ]  # fmt: skip
    return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)


def new_links(folder: Path) -> dict[str, str]:
    """Return by name, for each person of a world, the path of a one-time link to log in with."""
    with Desk.open(folder) as desk, desk.database.writing() as connection:
        now, actor = wall_time(), "person:command line"
        secrets = {name: accounts.new_link(connection, name, now, actor) for name in PEOPLE}
    return {name: f"/link/{secret}" for name, secret in secrets.items()}


def _fit(table: pa.Table, path: Path, seed: int, progress: OnProgress | None) -> None:
    """Fit the model of a world."""
    model = PaymentModel(
        "is_fraud", time="paid_at", card="card", terminal="terminal", amount="amount",
        row_id="payment", effort="quick", n_estimators=60, budget=CAPACITY, names=NAMES,
        random_state=seed, n_jobs=1,
    )  # fmt: skip
    model.fit(table, progress=progress)
    model.save(path)
    model.close()


def _furnish(folder: Path, model: Path, later: pa.Table) -> None:
    """Add rules, people, the key of the world and its payments; with these it is complete."""
    with PaymentModel.load(model) as loaded:
        fields = rule_fields(loaded)
    with Desk.open(folder) as desk, desk.database.writing() as connection:
        now = wall_time()
        for name, kind, text, says in _RULES:
            rule_life.add_rule(connection, now, "person:anna", name, text, kind, fields, says)
            rule_life.stage(connection, now, "person:anna", name)
            rule_life.approve(connection, now, "person:ben", name)
        for name, role in PEOPLE.items():
            accounts.add(connection, name, role, now, "person:anna")
        key = api_keys.add(connection, "world", ["payments", "labels", "read"], now, "person:anna")
    world = folder / WORLD
    world.mkdir(mode=0o700)
    with atomic_path(world / KEY, mode=0o600) as unfinished:
        unfinished.write_text(key)
    with atomic_path(world / LATER) as unfinished:
        pq.write_table(later, unfinished)
