"""Payments, their scores and labels, alerts, rules, counts of the log, keys and the audit."""

from typing import Any

import sqlalchemy as sa
from alembic import op

from toprank.live.store.desk_database import Number, Text

revision, down_revision = "0001", None


def upgrade() -> None:
    """Add them."""
    op.create_table(
        "payments",
        sa.Column("position", Number, nullable=False),
        sa.Column("id", Text, nullable=False),
        sa.Column("card", Text, nullable=False),
        sa.Column("terminal", Text, nullable=False),
        sa.Column("paid_at", sa.BigInteger, nullable=False),
        sa.Column("received_at", sa.BigInteger, nullable=False),
        sa.Column("body", Text, nullable=False),
        sa.Column("features", sa.LargeBinary, nullable=False),
        sa.Column("decision", Text, nullable=False),
        sa.Column("matched", Text, nullable=False),
        sa.Column("rule_set", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("position"),
        sa.UniqueConstraint("id"),
    )
    op.create_index("payments_of_card", "payments", ["card", "paid_at"])
    op.create_table(
        "scores",
        sa.Column("position", Number, nullable=False),
        sa.Column("suspicion", sa.Double, nullable=False),
        sa.Column("probability", sa.Double, nullable=False),
        sa.Column("matched", Text, nullable=False),
        sa.Column("rule_set", sa.BigInteger, nullable=False),
        sa.Column("model", Text, nullable=False),
        sa.Column("scored_at", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("position"),
    )
    op.create_table(
        "labels",
        sa.Column("number", Number, nullable=False),
        sa.Column("id", Text, nullable=False),
        sa.Column("card", Text),
        sa.Column("is_fraud", sa.Boolean, nullable=False),
        sa.Column("known_at", sa.BigInteger, nullable=False),
        sa.Column("source", Text, nullable=False),
        sa.Column("who", Text, nullable=False),
        sa.Column("after_position", sa.BigInteger, nullable=False),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("number"),
    )
    op.create_index("ix_labels_after_position", "labels", ["after_position"])
    op.create_index("ix_labels_card", "labels", ["card"])
    op.create_index("ix_labels_id", "labels", ["id"])
    op.create_table(
        "alerts",
        sa.Column("number", Number, nullable=False),
        sa.Column("card", Text, nullable=False),
        sa.Column("state", Text, nullable=False),
        sa.Column("opened_at", sa.BigInteger, nullable=False),
        sa.Column("updated_at", sa.BigInteger, nullable=False),
        sa.Column("probability", sa.Double, nullable=False),
        sa.Column("suspicion", sa.Double, nullable=False),
        sa.Column("position", sa.BigInteger, nullable=False),
        sa.Column("reasons", Text, nullable=False),
        sa.Column("less_suspicious", Text, nullable=False),
        sa.Column("rules", Text, nullable=False),
        sa.Column("model", Text, nullable=False),
        sa.Column("reason_features", Text, nullable=False),
        sa.Column("expected", sa.Double, nullable=False),
        sa.Column("rank_value", sa.Double, nullable=False),
        sa.Column("n_payments", sa.Integer, nullable=False),
        sa.Column("amount", sa.Double, nullable=False),
        sa.Column("last_at", sa.BigInteger, nullable=False),
        sa.Column("held_by", Text),
        sa.Column("lease_until", sa.BigInteger),
        sa.Column("hidden_until", sa.BigInteger),
        sa.Column("escalated_by", Text),
        sa.PrimaryKeyConstraint("number"),
    )
    op.create_index(
        "alerts_away", "alerts", ["lease_until"], **_where("(state || '') IN ('taken', 'snoozed')")
    )
    op.create_index("alerts_by_age", "alerts", ["opened_at", "state", "rules", "probability"])
    op.create_index("alerts_by_change", "alerts", ["state", "updated_at"])
    op.create_index("alerts_in_order", "alerts", ["state", "probability", "opened_at"])
    op.create_index(
        "alerts_in_queue",
        "alerts",
        [sa.text("rank_value DESC"), "number"],
        **_where("(state || '') IN ('open', 'taken')"),
    )
    op.create_index("alerts_of_card", "alerts", ["card"])
    op.create_index(
        "one_open_alert_per_card", "alerts", ["card"], unique=True, **_where("state != 'closed'")
    )
    op.create_table(
        "alert_payments",
        sa.Column("alert", sa.BigInteger, nullable=False),
        sa.Column("position", sa.BigInteger, nullable=False),
        sa.ForeignKeyConstraint(
            ["alert"],
            ["alerts.number"],
        ),
        sa.PrimaryKeyConstraint("alert", "position"),
    )
    op.create_table(
        "fraud_terminals",
        sa.Column("position", Number, nullable=False),
        sa.Column("id", Text, nullable=False),
        sa.Column("card", Text, nullable=False),
        sa.Column("terminal", Text, nullable=False),
        sa.Column("paid_at", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("position"),
    )
    op.create_index("frauds_at_terminal", "fraud_terminals", ["terminal", "paid_at"])
    op.create_table(
        "rule_versions",
        sa.Column("name", Text, nullable=False),
        sa.Column("version", sa.Integer, autoincrement=False, nullable=False),
        sa.Column("kind", Text, nullable=False),
        sa.Column("text", Text, nullable=False),
        sa.Column("description", Text, nullable=False),
        sa.Column("author", Text, nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("state", Text, nullable=False),
        sa.Column("approver", Text),
        sa.PrimaryKeyConstraint("name", "version"),
    )
    op.create_table(
        "rule_sets",
        sa.Column("number", sa.Integer, nullable=False),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.Column("members", Text, nullable=False),
        sa.Column("last_snooze", sa.Integer, nullable=False),
        sa.PrimaryKeyConstraint("number"),
    )
    op.create_table(
        "rule_trials",
        sa.Column("number", Number, nullable=False),
        sa.Column("task", Text, nullable=False),
        sa.Column("rule", Text),
        sa.Column("text", Text, nullable=False),
        sa.Column("kind", Text, nullable=False),
        sa.Column("options", Text, nullable=False),
        sa.Column("who", Text, nullable=False),
        sa.Column("started_at", sa.BigInteger, nullable=False),
        sa.Column("state", Text, nullable=False),
        sa.Column("finished_at", sa.BigInteger),
        sa.Column("result", Text),
        sa.Column("error", Text),
        sa.PrimaryKeyConstraint("number"),
    )
    op.create_index("ix_rule_trials_rule", "rule_trials", ["rule"])
    op.create_table(
        "snoozes",
        sa.Column("number", sa.Integer, nullable=False),
        sa.Column("card", Text, nullable=False),
        sa.Column("rule", Text),
        sa.Column("reason", Text, nullable=False),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.Column("until", sa.BigInteger, nullable=False),
        sa.Column("who", Text, nullable=False),
        sa.PrimaryKeyConstraint("number"),
    )
    op.create_index("ix_snoozes_until", "snoozes", ["until"])
    op.create_table(
        "log_hours",
        sa.Column("hour", Number, autoincrement=False, nullable=False),
        sa.Column("first_position", sa.BigInteger, nullable=False),
        sa.Column("n_payments", sa.BigInteger, nullable=False),
        sa.Column("n_blocked", sa.BigInteger, nullable=False),
        sa.Column("n_labelled", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("hour"),
    )
    op.create_table(
        "rule_matches",
        sa.Column("position", sa.BigInteger, autoincrement=False, nullable=False),
        sa.Column("name", Text, nullable=False),
        sa.Column("version", sa.Integer, autoincrement=False, nullable=False),
        sa.Column("is_live", sa.Boolean, nullable=False),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.Column("card", Text, nullable=False),
        sa.Column("is_fraud", sa.Boolean),
        sa.PrimaryKeyConstraint("position", "name", "version"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "rule_days",
        sa.Column("day", sa.Integer, autoincrement=False, nullable=False),
        sa.Column("name", Text, nullable=False),
        sa.Column("version", sa.Integer, autoincrement=False, nullable=False),
        sa.Column("n_fraud", sa.Integer, nullable=False),
        sa.Column("n_genuine", sa.Integer, nullable=False),
        sa.Column("n_unknown", sa.Integer, nullable=False),
        sa.PrimaryKeyConstraint("day", "name", "version"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "known_frauds",
        sa.Column("position", Number, autoincrement=False, nullable=False),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.Column("card", Text, nullable=False),
        sa.Column("known_at", sa.BigInteger, nullable=False),
        sa.Column("source", Text, nullable=False),
        sa.PrimaryKeyConstraint("position"),
    )
    op.create_table(
        "digest_places",
        sa.Column("position", sa.BigInteger, nullable=False),
        sa.Column("label", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "purges",
        sa.Column("number", Number, nullable=False),
        sa.Column("after_position", sa.BigInteger, nullable=False),
        sa.Column("after_label", sa.BigInteger, nullable=False),
        sa.Column("before", sa.BigInteger, nullable=False),
        sa.Column("forget", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("number"),
    )
    op.create_table(
        "api_keys",
        sa.Column("hash", Text, nullable=False),
        sa.Column("name", Text, nullable=False),
        sa.Column("scopes", Text, nullable=False),
        sa.Column("made_at", sa.BigInteger, nullable=False),
        sa.Column("used_at", sa.BigInteger),
        sa.Column("revoked_at", sa.BigInteger),
        sa.PrimaryKeyConstraint("hash"),
        sa.UniqueConstraint("name"),
    )
    op.create_table(
        "audit",
        sa.Column("number", Number, nullable=False),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.Column("actor", Text, nullable=False),
        sa.Column("action", Text, nullable=False),
        sa.Column("subject", Text, nullable=False),
        sa.Column("details", Text, nullable=False),
        sa.Column("hash", Text, nullable=False),
        sa.PrimaryKeyConstraint("number"),
    )
    op.create_index(
        "audit_of_rules",
        "audit",
        ["subject", "number"],
        **_where("substr(subject, 1, 5) = 'rule:'"),
    )


def _where(condition: str) -> dict[str, Any]:
    """Return the condition of an index, for either database."""
    return {"sqlite_where": sa.text(condition), "postgresql_where": sa.text(condition)}
