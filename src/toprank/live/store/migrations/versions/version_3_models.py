"""Models, shadow scores, alarms, the terminals of alerts, and two columns."""

from typing import Any

import sqlalchemy as sa
from alembic import op

from toprank.live.store.desk_database import Number, Text

revision, down_revision = "0003", "0002"


_DAY = 86_400_000_000  # microseconds


def upgrade() -> None:
    """Add them; earlier desks have a model, and alerts of payments at terminals."""
    kind = sa.Column("kind", Text, nullable=False, server_default="block")
    chances = sa.Column("chances", Text, nullable=False, server_default="[]")
    op.add_column("outbox", kind)
    op.add_column("check_days", chances)
    op.create_index(
        "rule_matches_of_frauds",
        "rule_matches",
        ["position"],
        sqlite_where=sa.text("is_fraud IS 1"),
        postgresql_where=sa.text("is_fraud IS true"),
    )
    op.create_table(
        "models",
        sa.Column("number", Number, nullable=False),
        sa.Column("file", Text, nullable=False),
        sa.Column("state", Text, nullable=False),
        sa.Column("who", Text, nullable=False),
        sa.Column("asked_at", sa.BigInteger, nullable=False),
        sa.Column("asked_on", sa.Integer, nullable=False),
        sa.Column("first_day", sa.Integer),
        sa.Column("last_day", sa.Integer),
        sa.Column("n_rows", sa.Integer),
        sa.Column("frauds", Text, nullable=False),
        sa.Column("figures", Text),
        sa.Column("trained_at", sa.BigInteger),
        sa.Column("approver", Text),
        sa.Column("approved_at", sa.BigInteger),
        sa.Column("replaced", sa.BigInteger),
        sa.Column("ended_at", sa.BigInteger),
        sa.Column("why", Text),
        sa.PrimaryKeyConstraint("number"),
        sa.UniqueConstraint("file"),
    )
    op.create_index(
        "one_model_per_state",
        "models",
        ["state"],
        unique=True,
        **_where("state IN ('training', 'challenger', 'champion')"),
    )
    op.create_table(
        "shadow_scores",
        sa.Column("position", Number, autoincrement=False, nullable=False),
        sa.Column("model", sa.Integer, autoincrement=False, nullable=False),
        sa.Column("suspicion", sa.Double, nullable=False),
        sa.Column("probability", sa.Double, nullable=False),
        sa.PrimaryKeyConstraint("position", "model"),
    )
    op.create_table(
        "alarms",
        sa.Column("number", Number, nullable=False),
        sa.Column("name", Text, nullable=False),
        sa.Column("raised_at", sa.BigInteger, nullable=False),
        sa.Column("value", sa.Double, nullable=False),
        sa.Column("limit", sa.Double, nullable=False),
        sa.Column("text", Text, nullable=False),
        sa.Column("n_calm", sa.Integer, nullable=False),
        sa.Column("acknowledged_by", Text),
        sa.Column("acknowledged_at", sa.BigInteger),
        sa.Column("ended_at", sa.BigInteger),
        sa.PrimaryKeyConstraint("number"),
    )
    op.create_index(
        "one_open_alarm_per_name", "alarms", ["name"], unique=True, **_where("ended_at IS NULL")
    )
    op.create_table(
        "alert_terminals",
        sa.Column("terminal", Text, nullable=False),
        sa.Column("alert", sa.BigInteger, nullable=False),
        sa.ForeignKeyConstraint(
            ["alert"],
            ["alerts.number"],
        ),
        sa.PrimaryKeyConstraint("terminal", "alert"),
        sqlite_with_rowid=False,
    )
    op.create_index("alert_terminals_of_alert", "alert_terminals", ["alert"])
    op.execute(_TERMINALS)
    _add_first_model()


_TERMINALS = """
INSERT INTO alert_terminals (terminal, alert)
SELECT DISTINCT payments.terminal, alert_payments.alert
FROM alert_payments JOIN payments ON payments.position = alert_payments.position
"""


def _add_first_model() -> None:
    """Store the model that there was as the first, and the champion."""
    made = sa.text(
        "SELECT at, actor FROM audit WHERE action = 'desk made' ORDER BY number LIMIT 1"
    )
    if (found := op.get_bind().execute(made).first()) is None:
        return  # a database without a desk
    names = ("number", "file", "state", "who", "asked_at", "asked_on", "frauds", "trained_at")
    day = found.at // _DAY
    values = (1, "0001.toprank", "champion", found.actor, found.at, day, "{}", found.at)
    models = sa.table("models", *(sa.column(name) for name in names))
    op.get_bind().execute(models.insert(), dict(zip(names, values, strict=True)))


def _where(condition: str) -> dict[str, Any]:
    """Return the condition of an index, for either database."""
    return {"sqlite_where": sa.text(condition), "postgresql_where": sa.text(condition)}
