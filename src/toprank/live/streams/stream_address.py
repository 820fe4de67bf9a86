"""Addresses of streams: nats://localhost:4222/payments, kafka://localhost:9092/payments."""

import re
from typing import NamedTuple, Self
from urllib.parse import parse_qsl, unquote, urlsplit

from toprank.data import checks

SCHEMES = {"nats": 4222, "kafka": 9092}
"""The brokers, and the port of each if an address has none."""

_WORDS = "an address such as nats://localhost:4222/payments or kafka://localhost:9092/payments"
_is_name = re.compile(r"[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*").fullmatch
_HOST = re.compile(r"(?P<host>[^:\[\]@/]+|\[[0-9a-fA-F:]+\])(:(?P<port>\d{1,5}))?")


class StreamAddress(NamedTuple):
    """Where a stream is: the broker's servers, and its subject (NATS) or topic (Kafka)."""

    scheme: str
    servers: tuple[str, ...]
    name: str
    user: str = ""
    password: str = ""
    options: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(cls, text: str, setting: str) -> Self:
        """Return the parts of an address; ValueError names the setting that it is in.

        Several servers are separated by commas; a user and a password may precede them; options
        follow a '?'. The errors do not contain the address, which may have a password.

        >>> StreamAddress.of("nats://a,b:4333/bank.payments", "payments_from").servers
        ('a:4222', 'b:4333')
        """
        parts = urlsplit(text)
        if parts.scheme not in SCHEMES:
            hint = checks.nearest_name(parts.scheme, list(SCHEMES))
            raise ValueError(
                f"{setting} must be {_WORDS}; it begins with {text.split(':')[0][:20]!r}{hint}."
            )
        login, _, hosts = parts.netloc.rpartition("@")
        user, _, password = login.partition(":")
        servers = tuple(_server(each, parts.scheme, setting) for each in hosts.split(","))
        name = parts.path.removeprefix("/")
        if not _is_name(name):
            kind = "subject" if parts.scheme == "nats" else "topic"
            raise ValueError(
                f"{setting} must be {_WORDS}: its {kind} has letters, digits, '-', '_' and dots "
                f"between them; got {name[:80]!r}."
            )
        options = tuple(parse_qsl(parts.query, keep_blank_values=True))
        return cls(parts.scheme, servers, name, unquote(user), unquote(password), options)

    @property
    def shown(self) -> str:
        """The address without what is secret in it.

        >>> StreamAddress.of("nats://bank:secret@host/payments", "payments_from").shown
        'nats://host:4222/payments'
        """
        return f"{self.scheme}://{','.join(self.servers)}/{self.name}"


def _server(text: str, scheme: str, setting: str) -> str:
    found = _HOST.fullmatch(text)
    port = int((found and found["port"]) or SCHEMES[scheme])
    if found is None or not 1 <= port <= 65_535:
        raise ValueError(
            f"{setting} must be {_WORDS}: a host and a port from 1 to 65535 per server; got "
            f"{text[:80]!r}."
        )
    return f"{found['host']}:{port}"
