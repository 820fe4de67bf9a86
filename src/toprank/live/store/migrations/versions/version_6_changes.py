"""How often others have changed something; `alembic_version` in place of SQLite's own number."""

import sqlalchemy as sa
from alembic import op

from toprank.live.store.desk_database import Text

revision, down_revision = "0006", "0005"


def upgrade() -> None:
    """Add them."""
    changes = op.create_table(
        "changes",
        sa.Column("writer", Text, nullable=False),
        sa.Column("number", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("writer"),
    )
    op.bulk_insert(changes, [{"writer": each, "number": 0} for each in ("engine", "others")])
