"""Which checks were made without reasons."""

import sqlalchemy as sa
from alembic import op

revision, down_revision = "0005", "0004"


def upgrade() -> None:
    """Add them."""
    op.create_table(
        "blind_checks",
        sa.Column("number", sa.BigInteger, autoincrement=False, nullable=False),
        sa.Column("alert", sa.BigInteger, nullable=False),
        sa.Column("is_blind", sa.Boolean, nullable=False),
        sa.PrimaryKeyConstraint("number"),
    )
    op.create_index("ix_blind_checks_alert", "blind_checks", ["alert"])
