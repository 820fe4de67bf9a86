"""Alerts that are open when another model takes over: their payments are scored again by it.

A payment's score then names the new model, so that a replay compares it with that one. The score
that it got when it came in is kept for comparisons. What rules said of the payment stays.
"""

from collections.abc import Sequence

import numpy as np
import sqlalchemy as sa

from toprank.live.engine.alerting import with_score
from toprank.live.engine.card_chance import card_chance
from toprank.live.engine.payment_scores import Scorer
from toprank.live.engine.rule_evidence import RuleEvidence
from toprank.live.store import (
    alert_table,
    listed_score_table,
    payment_log,
    payment_reads,
    random_check_table,
)
from toprank.live.store.payment_log import NewScore
from toprank.live.stored_payment import StoredPayments


def rescore(
    connection: sa.Connection,
    numbers: Sequence[int],
    scorer: Scorer,
    stored: StoredPayments,
    model: str,
    now: int,
    evidence: RuleEvidence,
) -> None:
    """Score the payments of alerts by a model, and rank the alerts by that.

    When something last happened to an alert does not change: nothing has.
    """
    positions = alert_table.positions_of_all(connection, numbers)
    rows = payment_reads.at(connection, positions)
    if rows:
        features = np.stack([row.feature_values for row in rows])
        found = scorer.score([stored.read(row) for row in rows], features)
        assert found.probability is not None
        columns = (found.suspicion.tolist(), found.probability.tolist())
        listed_score_table.keep_first(connection, positions)
        payment_log.replace_scores(
            connection,
            [
                NewScore(row.position, suspicion, probability, model, now)
                for row, suspicion, probability in zip(rows, *columns, strict=True)
            ],
        )
    places = {row.position: place for place, row in enumerate(rows)}
    chances = alert_table.open_chances(connection, numbers)
    for number in numbers:
        alert = alert_table.by_number(connection, number)
        top = alert_table.top_unlabelled(connection, number)
        if alert is None or alert.state == "closed":
            continue
        if top is not None:
            sentences = scorer.sentences(found.encoded.take([places[top.position]]))[0]
            alert = with_score(alert, top.position, top, sentences)
            expected = max(
                card_chance(chances[number]), evidence.chance(alert.rules, top.probability)
            )
            is_drawn = random_check_table.is_random(connection, number)
            rank_value = alert.rank_value if is_drawn else expected
            alert = alert._replace(expected=expected, rank_value=rank_value)
        alert_table.update(connection, [alert._replace(model=model)])
