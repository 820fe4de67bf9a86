"""How far streams were read and written, and which of their messages were rejected."""

import sqlalchemy as sa
from alembic import op

from toprank.live.store.desk_database import Text

revision, down_revision = "0007", "0006"


def upgrade() -> None:
    """Add them."""
    op.create_table(
        "stream_positions",
        sa.Column("stream", Text, nullable=False),
        sa.Column("partition", sa.BigInteger, autoincrement=False, nullable=False),
        sa.Column("position", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("stream", "partition"),
    )
    op.create_table(
        "stream_rejects",
        sa.Column("stream", Text, nullable=False),
        sa.Column("partition", sa.BigInteger, autoincrement=False, nullable=False),
        sa.Column("position", sa.BigInteger, autoincrement=False, nullable=False),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.Column("code", Text, nullable=False),
        sa.Column("reason", Text, nullable=False),
        sa.PrimaryKeyConstraint("stream", "partition", "position"),
    )
    op.create_index("ix_stream_rejects_at", "stream_rejects", ["at"])
