"""The commands with curl on the page about the live system: run for real, answers compared."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from live import desks
from live.served_desk import ServedProcess
from toprank.live.desk import Desk
from toprank.live.rules import rule_life
from toprank.live.rules.model_fields import rule_fields
from toprank.live.store import api_keys, payment_log
from toprank.payments.payment_model import PaymentModel

PAGE = Path(__file__).parents[2] / "docs" / "live.md"


def commands_with_answers():
    """The commands of the page that call curl, each with the line that it prints there."""
    blocks = re.findall(r"^```console\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    shown = "".join(block for block in blocks if "curl" in block)
    return re.findall(r"^\$ (curl(?:.*\\\n)*.*)\n(\{.*\})$", shown, re.MULTILINE)


@pytest.fixture
def served(model_file, tmp_path):
    with PaymentModel.load(model_file) as model:
        fields = rule_fields(model)
    with desks.new_desk(tmp_path / "desk", model_file) as desk, desk.database.writing() as change:
        text = "amount > 20 * card_mean_amount_30d_before"
        rule_life.add_rule(change, 1, "person:anna", "very-large", text, "block", fields)
        rule_life.stage(change, 2, "person:anna", "very-large")
        rule_life.approve(change, 3, "person:ben", "very-large")
        key = api_keys.add(change, "shop", ["payments", "labels"], 4, "person:anna")
    server = ServedProcess(tmp_path / "desk", key)
    server.start()
    yield server, key
    server.stop()


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
def test_the_commands_of_the_page_answer_as_it_says(served, made, tmp_path):
    server, key = served
    found = commands_with_answers()
    assert len(found) == 3
    card = made[0]["card"][0].as_py()
    environment = os.environ | {"DESK": server.address, "KEY": key}
    for command, answer in found:
        # the cards and terminals of this test have other names
        command = command.replace("card-007", card)
        result = subprocess.run(
            ["bash", "-c", command], env=environment, capture_output=True, text=True, check=True
        )
        assert result.stdout == answer
    with Desk.open(tmp_path / "desk") as desk, desk.database.reading() as connection:
        assert payment_log.last_position(connection) == 2
