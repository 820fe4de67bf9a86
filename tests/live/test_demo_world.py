import pytest

from toprank.live.demo_feed import DemoPayments
from toprank.live.demo_world import LATER, WORLD, is_world, make_world
from toprank.live.desk import Desk
from toprank.live.rules.model_fields import rule_fields
from toprank.live.rules.rule_life import load_rule_set


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("demo") / "demo-desk"
    make_world(path, n_cards=60)  # with fewer, no fraud is left to choose a model by
    return path


def test_a_world_is_a_desk_with_live_rules_and_payments_to_come(folder):
    assert is_world(folder)
    with Desk.open(folder) as desk, desk.database.reading() as connection:
        model, _ = desk.load_newest()
        rules = load_rule_set(connection, rule_fields(model))
    assert {rule.state for rule in rules.rules} == {"live"}
    assert {rule.kind for rule in rules.rules} == {"block", "alert"}


def test_events_come_in_order_frauds_are_claimed_later_and_days_end(folder):
    world = DemoPayments(folder)
    events = list(world.events())
    times = [at for at, payment, _ in events if payment is not None]
    assert times == sorted(times) and len(times) == len(world.rows)
    paid = {payment["payment"]: at for at, payment, _ in events if payment is not None}
    claimed = {name: at for at, _, name in events if name is not None}
    frauds = {row["payment"] for row in world.rows if row["is_fraud"]}
    assert claimed and set(claimed) <= frauds
    assert all(at > paid[name] for name, at in claimed.items())
    n_ends = sum(payment is None and name is None for _, payment, name in events)
    assert n_ends == len({at // 86_400 for at in times}) - 1


def test_investigators_know_the_truth(folder):
    world = DemoPayments(folder)
    row = next(row for row in world.rows if row["is_fraud"])
    (verdict,) = world.verdicts([{"payments": [row["payment"]]}])
    assert verdict == {"id": row["payment"], "is_fraud": True, "source": "investigator"}


def test_another_folder_is_left_alone(tmp_path):
    with pytest.raises(FileExistsError, match="not a demo"):
        make_world(tmp_path)
    assert not (tmp_path / WORLD / LATER).exists()
