"""Databases of earlier versions, brought up to the present one in the transaction of a step each.

Nothing that was stored is changed: each step only adds.
"""

from collections.abc import Callable

import sqlalchemy as sa

from toprank.live.store.desk_database import metadata


def _add_models(connection: sa.Connection) -> None:
    """Version 3 has a table of models: the one that there was is the first, and the champion."""
    from toprank.live.store import model_table, shadow_score_table
    from toprank.live.store.audit_chain import audit
    from toprank.live.store.model_table import FIRST, StoredModel

    tables = [model_table.models, shadow_score_table.shadow_scores]
    metadata.create_all(connection, tables)
    made = sa.select(audit.c.at, audit.c.actor).where(audit.c.action == "desk made")
    found = connection.execute(made.order_by(audit.c.number).limit(1)).first()
    at, who = found or (0, "person:command line")
    file = model_table.file_name(FIRST)
    day = at // 86_400_000_000
    model_table.add(connection, StoredModel(FIRST, file, "champion", who, at, day, trained_at=at))


STEPS: dict[int, Callable[[sa.Connection], None]] = {2: _add_models}
"""What leads from a version to the next one."""
