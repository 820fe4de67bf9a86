"""Rows from a store and from PostgreSQL, at a size that tests have time for."""

import pyarrow as pa
import pytest

from postgres_server import missing, running_postgres
from s3_server import KEY_ID, SECRET, new_bucket, running_s3
from toprank_bench.speed.large_sources import in_any_order, ranked_from_both


@pytest.mark.slow
def test_memory_is_flat_and_lists_are_the_same(monkeypatch):
    if reason := missing():
        pytest.skip(reason)
    with running_s3() as server, running_postgres() as database:
        for name, value in {
            "AWS_ACCESS_KEY_ID": KEY_ID,
            "AWS_SECRET_ACCESS_KEY": SECRET,
            "AWS_ENDPOINT_URL": server,
            "AWS_DEFAULT_REGION": "us-east-1",
        }.items():
            monkeypatch.setenv(name, value)
        found = ranked_from_both(f"{new_bucket(server).url}/rows", database, 600_000, 60_000)

    assert [each.n_rows for each in found] == [60_000, 60_000, 600_000, 600_000]
    for source in ("object store", "PostgreSQL"):
        less, more = (each.peak_mb for each in found if each.source == source)
        # all rows would be 40 MB of columns, and twice that as batches of Arrow and of NumPy
        assert more < less + 40
    stored, queried = (in_any_order(each.listed) for each in found[2:])
    assert stored.num_rows == 100
    assert stored.equals(queried)
    assert isinstance(stored, pa.Table)
