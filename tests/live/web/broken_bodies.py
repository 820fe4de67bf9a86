"""Bodies that are broken in every way we know, drawn at random."""

import json
import random

from live.web.fake_desk import payment

_ODD_VALUES = [
    "NaN", "Infinity", "-Infinity", "1e400", "-1e400", "1e-400", "9007199254740993", "true",
    "null", '""', '" "', '"\\ud800"', '"\\udfff x"', '"\\u0000"', '"\\u001b[31m"', "[]", "{}",
    "[[[[1]]]]", '{"a":{"b":[1,2]}}', '"12.5"', "0x10", "01", "+1", ".5", "1.", "--1", "'a'",
    '"' + "x" * 5_000 + '"', "1" * 5_000, '"4539148803436467"', "4539148803436467",
    '"2027-13-01T00:00:00Z"', '"9999-12-31T23:59:59Z"', '"1969-01-01"', "-1e300", "1e15",
    '"\u202e"', '"\\u202e"', '"' + "é" * 300 + '"', "undefined", '"\\x41"', "1,2",
]  # fmt: skip
_ODD_NAMES = ["tx", "", "amuont", "\\u0000", "\\ud800", "__proto__", "x" * 3_000, "payments"]


def broken_bodies(n_bodies, seed=0):
    """Yield bodies; a few of them are valid by chance."""
    draw = random.Random(seed)
    kinds = [_odd_value, _odd_name, _cut, _bytes, _deep, _batch, _noise, _encoded]
    for i in range(n_bodies):
        yield kinds[i % len(kinds)](draw)


def _text(draw):
    return json.dumps(payment(tx=f"t{draw.random()}", country="FR", online=True))


def _odd_value(draw):
    """One field with an odd value."""
    sent = payment(tx=f"t{draw.random()}", country="FR", online=True, expires=0)
    name = draw.choice(list(sent))
    sent[name] = "HERE"
    return json.dumps(sent).replace('"HERE"', draw.choice(_ODD_VALUES)).encode()


def _odd_name(draw):
    """One more field, perhaps a second time."""
    more = f'"{draw.choice(_ODD_NAMES)}": {draw.choice(_ODD_VALUES)}, '
    return _text(draw).replace("{", "{" + more * draw.choice([1, 1, 2]), 1).encode()


def _cut(draw):
    text = _text(draw)
    first, last = sorted(draw.sample(range(len(text)), 2))
    return (text[:first] + text[last:]).encode()


def _bytes(draw):
    """Some bytes replaced by others."""
    body = bytearray(_text(draw).encode())
    for _ in range(draw.randint(1, 5)):
        body[draw.randrange(len(body))] = draw.randrange(256)
    return bytes(body)


def _deep(draw):
    depth = draw.choice([10, 500, 1_000, 5_000, 30_000])
    begin, end = draw.choice([("[", "]"), ('{"a":', "}"), ('{"payments":[', "]}")])
    n_ends = depth * draw.choice([0, 1])
    return (begin * depth + "1" + end * n_ends).encode()[: 60 << 10]


def _batch(draw):
    items = [draw.choice([_text, _odd_text])(draw) for _ in range(draw.choice([0, 1, 3, 50]))]
    return ('{"payments": [' + ", ".join(items) + "]}").encode()


def _odd_text(draw):
    return _odd_value(draw).decode()


def _noise(draw):
    return draw.randbytes(draw.choice([0, 1, 50, 5_000]))


def _encoded(draw):
    encoding = draw.choice(["utf-16", "utf-32", "utf-16-le", "utf-8-sig", "cp037"])
    return _text(draw).encode(encoding)
