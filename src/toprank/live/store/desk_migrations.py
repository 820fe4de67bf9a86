"""Databases of earlier versions, brought up to the present one by Alembic's operations.

Each version is a file in `migrations/versions`, with what leads to it from the one before. Nothing
that was stored is changed: each step only adds. A new database is made as it is today, which a
test compares with all steps after one another.
"""

from pathlib import Path

import sqlalchemy as sa

NEWEST = "0007"
"""The version of the tables; it is written into the database."""

_FOLDER = Path(__file__).with_name("migrations")
# the table in which Alembic keeps the version: as it makes it itself
_versions = sa.Table(
    "alembic_version",
    sa.MetaData(),
    sa.Column("version_num", sa.String(32), nullable=False),
    sa.PrimaryKeyConstraint("version_num", name="alembic_version_pkc"),
)


def version_of(connection: sa.Connection) -> str | None:
    """Return the version of a database, None of one without tables of a desk."""
    if sa.inspect(connection).has_table(_versions.name):
        return connection.execute(sa.select(_versions.c.version_num)).scalar()
    if connection.dialect.name == "sqlite":  # versions 2 to 5 were written there
        found = connection.exec_driver_sql("PRAGMA user_version").scalar_one()
        return f"{found:04}" if found else None
    return None


def stamp(connection: sa.Connection, version: str = NEWEST) -> None:
    """Write down the version of a database."""
    _versions.create(connection, checkfirst=True)
    connection.execute(_versions.delete())
    connection.execute(_versions.insert().values(version_num=version))
    if connection.dialect.name == "sqlite":
        # earlier releases look here, and must not take it for theirs
        connection.exec_driver_sql(f"PRAGMA user_version = {int(version)}")


def bring_up(connection: sa.Connection, where: object, target: str = NEWEST) -> None:
    """Bring a database up to a version; ValueError if it is of a later or an unknown one.

    `where` says in sentences which it is. One without tables gets those of each version in turn.
    """
    from alembic.migration import MigrationContext
    from alembic.operations import Operations
    from alembic.script import ScriptDirectory

    scripts = ScriptDirectory(_FOLDER)
    found = version_of(connection)  # another process may have done it meanwhile
    if found == target:
        return
    known = {each.revision for each in scripts.walk_revisions()}
    if found is not None and found not in known:
        raise ValueError(
            f"{where} must be of version {int(NEWEST)} for this toprank; it is of version "
            f"{found.lstrip('0')}."
        )
    steps = list(scripts.iterate_revisions(target, found))
    with Operations.context(MigrationContext.configure(connection)):
        for step in reversed(steps):
            step.module.upgrade()
            stamp(connection, step.revision)
