"""Broken bodies: each gets a 4xx in the one shape, none an error of the server, memory is flat."""

import gc
import tracemalloc

import pytest

from live.web.broken_bodies import broken_bodies


def check_bodies(client, bodies):
    """Send bodies to both routes; return how many were refused."""
    n_refused = 0
    for path in ("/v1/payments", "/v1/labels"):
        for body in bodies:
            reply = client.post(path, body)
            assert reply.status in (200, 400, 404, 409, 413, 422), (reply.status, body[:200])
            if reply.status != 200:
                n_refused += 1
                assert set(reply.error) >= {"code", "message"}
                assert len(reply.content) < 100_000
                assert b"453914880343" not in reply.content
    return n_refused


def test_broken_bodies_are_refused_in_the_shape_of_all_errors(client):
    assert check_bodies(client, list(broken_bodies(160))) > 250


@pytest.mark.slow
def test_two_thousand_broken_bodies_leave_no_error_of_the_server_and_no_memory(client, desk):
    bodies = list(broken_bodies(2_000, seed=1))
    check_bodies(client, bodies)
    metrics = client.get("/metrics").content
    assert b'code="internal"' not in metrics and b'status="500"' not in metrics

    def kept():
        desk.engine.payments.clear()
        gc.collect()
        return tracemalloc.get_traced_memory()[0]

    tracemalloc.start()
    check_bodies(client, bodies)  # the second time, caches are filled
    first = kept()
    check_bodies(client, bodies)
    assert kept() - first < 100_000
    tracemalloc.stop()
