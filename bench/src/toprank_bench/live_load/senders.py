"""Payments sent one request after the other, as a file at night is."""

import http.client
import time
from collections.abc import Sequence
from typing import Any

from toprank_bench.live_load.live_world import encoded
from toprank_bench.live_load.served_process import ServedProcess

_PATIENCE = 300.0


def post_batch(address: tuple[str, int], key: str, bodies: Sequence[Any]) -> None:
    """Send payments in one request over a connection of its own."""
    BatchSender(address, key).post(bodies)


class BatchSender:
    """Sends lists of payments over one connection, again while the server is busy."""

    def __init__(self, address: tuple[str, int], key: str) -> None:
        self._connection = http.client.HTTPConnection(*address, timeout=_PATIENCE)
        self._headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
        self.n_busy = 0

    def post(self, bodies: Sequence[Any]) -> None:
        """Send payments in one request; raise if they are not taken."""
        self.post_text(encoded({"payments": list(bodies)}))

    def post_text(self, text: bytes) -> None:
        """Send a request's body; raise if it is not taken."""
        while True:
            self._connection.request("POST", "/v1/payments", text, self._headers)
            answer = self._connection.getresponse()
            said = answer.read()
            if answer.status == 200:
                return
            if answer.status != 503:
                raise ValueError(f"payments must be taken; got {answer.status}: {said[:300]!r}")
            self.n_busy += 1
            time.sleep(0.2)


def wait_until_scored(server: ServedProcess, key: str) -> None:
    """Wait until the model has seen every payment."""
    give_up = time.monotonic() + _PATIENCE
    while server.gauges(key)["unscored_payments"]:
        if time.monotonic() > give_up:
            raise TimeoutError(f"payments were not scored within {_PATIENCE:g} s.")
        time.sleep(0.02)
