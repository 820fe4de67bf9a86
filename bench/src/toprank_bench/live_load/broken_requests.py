"""Requests that are broken: each gets an answer in the 400s, and memory stays as it is."""

import contextlib
import http.client
import json
import random
import socket
from collections import Counter
from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any

from toprank_bench.live_load.live_figures import LiveFigure, StageOutcome, none_of
from toprank_bench.live_load.live_stage import StageSetting
from toprank_bench.live_load.live_world import encoded
from toprank_bench.live_load.open_loop import LOST
from toprank_bench.live_load.served_process import ServedProcess

_PATHS = ("/v1/payments", "/v1/labels")
_TIMEOUT = 30.0  # seconds; a server gives up a slow client earlier
_VALUES = (
    "NaN", "Infinity", "1e400", "-1e400", "1" * 400, "null", "true", '""', "[]", "{}", "[[[]]]",
    '"\\ud800"', '"\\u0000"', '"\\u202e"', '"9999-99-99"', "-1e308", "01", "'x'",
    '"4539148803436467"', '"' + "x" * 9_000 + '"', "undefined", "1,1", '"1e400"', "0x1", "9" * 20,
)  # fmt: skip


def broken(setting: StageSetting) -> StageOutcome:
    """Count the answers to broken requests by status, and measure the memory they leave."""
    key, n_bodies = setting.world.key, setting.options["bodies"]
    template = setting.world.bodies(1)[0]
    bodies = list(broken_bodies(template, n_bodies, setting.seed))
    with setting.served(setting.new_desk()) as server:
        _send(server, key, bodies[: n_bodies // 2])  # fills caches
        before = server.resident_megabytes()
        statuses = _send(server, key, bodies)
        statuses += Counter(_raw_status(server, pieces) for pieces in _raw_requests(key))
        after = server.resident_megabytes()
        drawn = _drawn(server, key, setting.options["examples"])
        metrics = server.get("/metrics", key).decode()
        is_alive = server.process.poll() is None
    n_internal = metrics.count('status="500"') + metrics.count('code="internal"')
    whole = statuses + drawn
    return StageOutcome(
        [
            LiveFigure("sent", whole.total(), "requests"),
            none_of("errors of the server", n_internal + sum(_are_500(whole)) + (not is_alive)),
            none_of("without an answer", whole[LOST], "requests"),
            LiveFigure("memory gained", after - before, "MB", at_most=20),
        ],
        {
            "statuses": {str(status): count for status, count in sorted(statuses.items())},
            "drawn_from_description": {str(s): count for s, count in sorted(drawn.items())},
            "server_megabytes": [round(before, 1), round(after, 1)],
        },
    )


def broken_bodies(template: dict[str, Any], n_bodies: int, seed: int) -> Iterator[bytes]:
    """Yield bodies that are broken in many ways; a few are valid by chance."""
    draw = random.Random(seed)
    kinds = (_odd_value, _odd_name, _cut, _other_bytes, _deep, _list, _noise)
    for number in range(n_bodies):
        payment = template | {"payment": f"broken{seed}-{number}"}
        yield kinds[number % len(kinds)](payment, draw)


def _odd_value(payment: dict[str, Any], draw: random.Random) -> bytes:
    """One field with an odd value."""
    changed = payment | {draw.choice(list(payment)): "HERE"}
    return encoded(changed).replace(b'"HERE"', draw.choice(_VALUES).encode())


def _odd_name(payment: dict[str, Any], draw: random.Random) -> bytes:
    """One more field, or one of them twice."""
    name = draw.choice([*payment, "amuont", "", "\\ud800", "__proto__", "x" * 3_000])
    return f'{{"{name}":{draw.choice(_VALUES)},'.encode() + encoded(payment)[1:]


def _cut(payment: dict[str, Any], draw: random.Random) -> bytes:
    text = encoded(payment)
    return text[: draw.randrange(len(text))]


def _other_bytes(payment: dict[str, Any], draw: random.Random) -> bytes:
    text = bytearray(encoded(payment))
    for _ in range(draw.randint(1, 4)):
        text[draw.randrange(len(text))] = draw.randrange(256)
    return bytes(text)


def _deep(payment: dict[str, Any], draw: random.Random) -> bytes:
    begin, end = draw.choice([(b"[", b"]"), (b'{"a":', b"}")])
    depth = draw.choice([50, 2_000, 9_000])
    return begin * depth + b"1" + end * draw.choice([0, depth])


def _list(payment: dict[str, Any], draw: random.Random) -> bytes:
    items = [_odd_value(payment, draw) for _ in range(draw.choice([1, 3, 40]))]
    return b'{"payments":[' + b",".join(items) + b"]}"


def _noise(payment: dict[str, Any], draw: random.Random) -> bytes:
    noise = draw.randbytes(draw.choice([0, 1, 80, 70_000]))
    return draw.choice([noise, encoded(payment).decode().encode("utf-16"), b"\xff" + noise])


def _raw_requests(key: str) -> Iterator[list[bytes]]:
    """Yield requests that no library would send, in the pieces in which they are sent."""
    head = (
        "POST /v1/payments HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        f"Authorization: Bearer {key}\r\n"
    ).encode()
    chunk = b"10000\r\n" + b" " * 65_536 + b"\r\n"
    yield [head + b"Transfer-Encoding: chunked\r\n\r\n", *[chunk] * 200]  # larger than 8 MiB
    yield [head + b"Content-Length: 99999999999\r\n\r\n"]
    yield [head + b"Content-Length: -1\r\n\r\n{}"]
    yield [head + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\n{}"]
    yield [head + b"X: " + b"y" * 200_000 + b"\r\n\r\n"]
    yield [b"\x16\x03\x01\x02\x00\x01"]
    yield [b"GET /\x00 HTTP/1.1\r\n\r\n"]
    yield [head + b"Content-Length: 10\r\n\r\n{"]  # and no more: a slow client
    yield [b"POST /v1/pay"]


def _send(server: ServedProcess, key: str, bodies: list[bytes]) -> Counter[int]:
    statuses: Counter[int] = Counter()
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    connection = http.client.HTTPConnection(*server.address, timeout=_TIMEOUT)
    for number, body in enumerate(bodies):
        try:
            connection.request("POST", _PATHS[number % 5 == 0], body, headers)
            answer = connection.getresponse()
            json.loads(answer.read())
            statuses[answer.status] += 1
        except (OSError, http.client.HTTPException, ValueError):
            statuses[LOST] += 1
            connection.close()
    connection.close()
    return statuses


def _raw_status(server: ServedProcess, pieces: list[bytes]) -> int:
    with socket.create_connection(server.address, timeout=_TIMEOUT) as connection:
        with contextlib.suppress(ConnectionError):  # refused before it was sent
            for piece in pieces:
                connection.sendall(piece)
        with contextlib.suppress(OSError, ValueError, IndexError):
            return int(connection.recv(65_536).split()[1])
    return LOST


def _drawn(server: ServedProcess, key: str, n_examples: int) -> Counter[int]:
    """Send requests that schemathesis makes from the description of the API."""
    statuses: Counter[int] = Counter()
    if find_spec("schemathesis") is None:
        return statuses
    import schemathesis
    from hypothesis import HealthCheck, Phase, given, seed, settings
    from schemathesis import GenerationMode

    described = schemathesis.openapi.from_url(
        f"http://{server.address[0]}:{server.address[1]}/openapi.json"
    )
    quietly = settings(
        max_examples=n_examples, deadline=None, database=None, phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    for operation in described.get_all_operations():
        for mode in GenerationMode:

            @seed(0)
            @quietly
            @given(case=operation.ok().as_strategy(generation_mode=mode))
            def send(case: Any) -> None:
                answer = case.call(headers={"Authorization": f"Bearer {key}"})
                statuses[answer.status_code] += 1

            with contextlib.suppress(Exception):  # nothing to draw for this operation
                send()
    return statuses


def _are_500(statuses: Counter[int]) -> Iterator[int]:
    return (count for status, count in statuses.items() if status >= 500)
