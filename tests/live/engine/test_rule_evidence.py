import pytest

from live import databases
from live.checks.listed_cards import NOW, SETTINGS, add_alert, later
from toprank.live.checks import check_verdicts, claims
from toprank.live.engine.rule_evidence import read_evidence

ANNA = "person:anna"


@pytest.fixture
def connection(tmp_path):
    database = databases.create(tmp_path)
    with database.writing() as found:
        yield found
    database.close()


def checked(connection, chance, rules, verdict):
    number = add_alert(connection, chance, 1, rules=rules)
    claims.claim(connection, number, ANNA, NOW, SETTINGS)
    note = "who knows" if verdict == "unsure" else ""
    check = check_verdicts.decide(
        connection, number, ANNA, verdict, [number], "", note, NOW, SETTINGS
    )
    check_verdicts.finish(connection, check, later(31))


def test_a_rule_begins_where_the_model_lists_cards_and_moves_to_what_its_checks_find(connection):
    assert read_evidence(connection, 0.02).chance(["large"], 0.001) == 0.02
    for verdict in ("fraud", "fraud", "genuine", "unsure"):
        checked(connection, 0.001, ["large"], verdict)
    found = read_evidence(connection, 0.02)
    assert found.chance(["large"], 0.001) == pytest.approx((0.04 + 2) / (2 + 3))
    assert found.chance(["new", "large"], 0.001) == found.chance(["large"], 0.001)


def test_cards_that_the_model_lists_say_nothing_of_a_rule_and_get_nothing_from_it(connection):
    checked(connection, 0.9, ["large"], "fraud")
    found = read_evidence(connection, 0.02)
    assert found.chance(["large"], 0.001) == 0.02
    assert found.chance(["large"], 0.9) == found.chance([], 0.001) == 0
