"""The counts of scores, counted from the log by and by, and alerts that fill the list."""

import sqlalchemy as sa
from alembic import op

from toprank.live.store.desk_database import Text

revision, down_revision = "0004", "0003"


def upgrade() -> None:
    """Add them."""
    op.create_table(
        "score_days",
        sa.Column("day", sa.Integer, autoincrement=False, nullable=False),
        sa.Column("model", Text, nullable=False),
        sa.Column("against", Text, nullable=False),
        sa.Column("first_position", sa.BigInteger, nullable=False),
        sa.Column("n_payments", sa.BigInteger, nullable=False),
        sa.Column("counts", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("day", "model", "against"),
    )
    op.create_table("score_places", sa.Column("position", sa.BigInteger, nullable=False))
    op.create_table(
        "listed_scores",
        sa.Column("position", sa.BigInteger, autoincrement=False, nullable=False),
        sa.Column("model", Text, nullable=False),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.Column("card", Text, nullable=False),
        sa.Column("suspicion", sa.Double, nullable=False),
        sa.Column("is_listed", sa.Boolean, nullable=False),
        sa.PrimaryKeyConstraint("position", "model"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "filled_alerts",
        sa.Column("alert", sa.BigInteger, autoincrement=False, nullable=False),
        sa.PrimaryKeyConstraint("alert"),
    )
