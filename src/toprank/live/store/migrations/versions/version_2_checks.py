"""People, their sessions, and what they do with alerts."""

import sqlalchemy as sa
from alembic import op

from toprank.live.store.desk_database import Number, Text

revision, down_revision = "0002", "0001"


def upgrade() -> None:
    """Add them."""
    op.create_table(
        "accounts",
        sa.Column("name", Text, nullable=False),
        sa.Column("role", Text, nullable=False),
        sa.Column("password", Text),
        sa.Column("made_at", sa.BigInteger, nullable=False),
        sa.Column("seen_at", sa.BigInteger),
        sa.Column("disabled_at", sa.BigInteger),
        sa.PrimaryKeyConstraint("name"),
    )
    op.create_table(
        "links",
        sa.Column("name", Text, nullable=False),
        sa.Column("hash", Text, nullable=False),
        sa.Column("until", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("name"),
        sa.UniqueConstraint("hash"),
    )
    op.create_table(
        "sessions",
        sa.Column("number", sa.Integer, nullable=False),
        sa.Column("hash", Text, nullable=False),
        sa.Column("name", Text, nullable=False),
        sa.Column("token", Text, nullable=False),
        sa.Column("made_at", sa.BigInteger, nullable=False),
        sa.Column("seen_at", sa.BigInteger, nullable=False),
        sa.Column("address", Text, nullable=False),
        sa.PrimaryKeyConstraint("number"),
        sa.UniqueConstraint("hash"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_sessions_name", "sessions", ["name"])
    op.create_table(
        "unmasks",
        sa.Column("who", Text, nullable=False),
        sa.Column("card", Text, nullable=False),
        sa.Column("until", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("who", "card"),
    )
    op.create_table(
        "checks",
        sa.Column("number", Number, nullable=False),
        sa.Column("alert", sa.BigInteger, nullable=False),
        sa.Column("who", Text, nullable=False),
        sa.Column("verdict", Text, nullable=False),
        sa.Column("positions", Text, nullable=False),
        sa.Column("reason_code", Text, nullable=False),
        sa.Column("note", Text, nullable=False),
        sa.Column("state", Text, nullable=False),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.Column("day", sa.Integer, nullable=False),
        sa.Column("decided_at", sa.BigInteger, nullable=False),
        sa.Column("due_at", sa.BigInteger, nullable=False),
        sa.Column("probability", sa.Double, nullable=False),
        sa.Column("is_random", sa.Boolean, nullable=False),
        sa.Column("seen", sa.BigInteger, nullable=False),
        sa.Column("corrects", sa.BigInteger),
        sa.Column("approver", Text),
        sa.PrimaryKeyConstraint("number"),
    )
    op.create_index("checks_in_state", "checks", ["state", "due_at"])
    op.create_index("checks_of_day", "checks", ["day"])
    op.create_index("checks_of_person", "checks", ["who", "day"])
    op.create_index("ix_checks_alert", "checks", ["alert"])
    op.create_table(
        "check_days",
        sa.Column("day", sa.Integer, autoincrement=False, nullable=False),
        sa.Column("n_checks", sa.Integer, nullable=False),
        sa.Column("n_found", sa.Integer, nullable=False),
        sa.Column("expected", sa.Double, nullable=False),
        sa.Column("variance", sa.Double, nullable=False),
        sa.Column("n_random", sa.Integer, nullable=False),
        sa.Column("n_random_found", sa.Integer, nullable=False),
        sa.PrimaryKeyConstraint("day"),
    )
    op.create_table(
        "notes",
        sa.Column("number", Number, nullable=False),
        sa.Column("alert", sa.BigInteger, nullable=False),
        sa.Column("who", Text, nullable=False),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.Column("text", Text, nullable=False),
        sa.PrimaryKeyConstraint("number"),
    )
    op.create_index("ix_notes_alert", "notes", ["alert"])
    op.create_table(
        "outbox",
        sa.Column("number", Number, nullable=False),
        sa.Column("alert", sa.BigInteger, nullable=False),
        sa.Column("who", Text, nullable=False),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.Column("key", Text, nullable=False),
        sa.Column("body", Text, nullable=False),
        sa.Column("state", Text, nullable=False),
        sa.Column("n_tries", sa.Integer, nullable=False),
        sa.Column("next_at", sa.BigInteger, nullable=False),
        sa.Column("outcome", Text, nullable=False),
        sa.PrimaryKeyConstraint("number"),
        sa.UniqueConstraint("key"),
    )
    op.create_index("ix_outbox_alert", "outbox", ["alert"])
    op.create_index("outbox_in_state", "outbox", ["state", "next_at"])
    op.create_table(
        "random_draws",
        sa.Column("day", sa.Integer, autoincrement=False, nullable=False),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.Column("since", sa.BigInteger, nullable=False),
        sa.Column("n_cards", sa.Integer, nullable=False),
        sa.Column("n_drawn", sa.Integer, nullable=False),
        sa.Column("seed", Text, nullable=False),
        sa.PrimaryKeyConstraint("day"),
    )
    op.create_table(
        "random_checks",
        sa.Column("alert", sa.BigInteger, autoincrement=False, nullable=False),
        sa.Column("day", sa.Integer, nullable=False),
        sa.Column("propensity", sa.Double, nullable=False),
        sa.PrimaryKeyConstraint("alert"),
    )
    op.create_index("ix_random_checks_day", "random_checks", ["day"])
