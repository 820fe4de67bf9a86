"""Payments sent to a server, and the same rows as one table: what is computed must be equal."""

import itertools
import json
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa

from toprank.live.desk import Desk
from toprank.live.rules.model_fields import rule_fields
from toprank.live.rules.rule_life import load_rule_set
from toprank.live.rules.rule_rows import typed_columns
from toprank.payments.payment_model import PaymentModel
from toprank_bench.live_load.desk_contents import DeskContents, n_different
from toprank_bench.live_load.live_figures import LiveFigure, StageOutcome, none_of
from toprank_bench.live_load.live_stage import StageSetting
from toprank_bench.live_load.live_world import COLUMNS, payment_bodies
from toprank_bench.live_load.senders import BatchSender, wait_until_scored

_SIZES = (1, 2, 9, 64, 65, 400, 1_000)  # payments per request, again and again


def live_equals_batch(setting: StageSetting) -> StageOutcome:
    """Count the payments whose features, scores or rules differ from those of a table."""
    table = setting.world.later(setting.options["payments"]).select(COLUMNS)
    bodies, key = payment_bodies(table), setting.world.key
    desk, begin = setting.new_desk(), 0
    with setting.served(desk) as server:
        sender, sizes = BatchSender(server.address, key), itertools.cycle(_SIZES)
        while begin < len(bodies):
            size = next(sizes)
            sender.post(bodies[begin : begin + size])
            begin += size
        wait_until_scored(server, key)
        server.kill()
    found = DeskContents.of(desk)
    features, scores, rules = _in_batch(setting, table)
    n_matches = sum(map(len, rules))
    return StageOutcome(
        [
            LiveFigure("sent", len(bodies), "payments"),
            none_of("features differ", n_different([row.features for row in found.log], features),
                    "payments"),
            none_of("scores differ", n_different([_score(each) for each in found.scores], scores),
                    "payments"),
            none_of("rules differ", n_different([json.loads(row.matched) for row in found.log],
                                                rules), "payments"),
        ],
        {"features": len(features[0]) // 8, "rule_matches": n_matches},
    )  # fmt: skip


def _in_batch(
    setting: StageSetting, table: pa.Table
) -> tuple[list[bytes], list[tuple[float, float]], list[Any]]:
    """Return the features, the scores and the rules of all payments, as the log has them."""
    with PaymentModel.load(setting.world.model_path) as model:
        assert model.state_ is not None
        rows, names = model.with_features(table), model.state_.history.names
        features = np.column_stack([rows[name].to_numpy() for name in names])
        suspicion = model.ranker_.suspicion(rows)
        probability = model.ranker_.calibration_.probability(suspicion)
        fields = rule_fields(model)
    with Desk.open(setting.world.desk) as desk, desk.database.reading() as connection:
        blocking = load_rule_set(connection, fields).of_kind("block")
    frame = pl.DataFrame(pl.from_arrow(rows)).select(typed_columns(fields, blocking.names))
    matched = [
        [[each.name, each.version, each.state] for each in of_payment]
        for of_payment in blocking.matches(frame)
    ]
    scores = list(zip(suspicion.tolist(), probability.tolist(), strict=True))
    return [row.astype("<f8").tobytes() for row in features], scores, matched


def _score(stored: Any) -> tuple[float, float] | None:
    return None if stored is None else (stored.suspicion, stored.probability)
