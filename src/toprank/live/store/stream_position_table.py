"""How far streams were read and written: stored with what followed from their messages.

A stream that is read has an offset per partition, that of the newest message taken in. One that is
written to has the partition 0, and the position in the log, or the number in the audit, of the
newest row that was published.
"""

import sqlalchemy as sa

from toprank.live.store.desk_database import Text, metadata

stream_positions = sa.Table(
    "stream_positions",
    metadata,
    sa.Column("stream", Text, primary_key=True),
    sa.Column("partition", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("position", sa.BigInteger, nullable=False),
)


def of_stream(connection: sa.Connection, stream: str) -> dict[int, int]:
    """Return the position of each partition of a stream that has one."""
    table = stream_positions
    query = sa.select(table.c.partition, table.c.position).where(table.c.stream == stream)
    return {row.partition: row.position for row in connection.execute(query)}


def all_streams(connection: sa.Connection) -> list[tuple[str, int, int]]:
    """Return stream, partition and position of all that were stored, in this order."""
    table = stream_positions
    query = sa.select(table).order_by(table.c.stream, table.c.partition)
    return [(row.stream, row.partition, row.position) for row in connection.execute(query)]


def put(connection: sa.Connection, stream: str, positions: dict[int, int]) -> None:
    """Store the positions of some partitions of a stream."""
    table = stream_positions
    for partition, position in positions.items():
        changed = connection.execute(
            table.update()
            .where(table.c.stream == stream, table.c.partition == partition)
            .values(position=position)
        )
        if not changed.rowcount:
            values = {"stream": stream, "partition": partition, "position": position}
            connection.execute(table.insert().values(values))
