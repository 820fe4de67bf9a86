"""Pages: what a stage publishes, many payments in one message.

    {"from": 812, "until": 1300, "rows": [[815, {...}], ...], "features": "..."}

A page has all that its writer has for its reader of the sequence numbers after `from` up to
`until`, which may be nothing. `features` are the bytes of float64, row by
row, in Base64, so that no value loses a bit.
"""

import base64
import json
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray


class StagePage(NamedTuple):
    """The rows between two sequence numbers, with the features of each."""

    since: int
    until: int
    rows: list[tuple[int, dict[str, Any]]]
    features: NDArray[np.float64]

    def after(self, number: int) -> "StagePage":
        """Return the rest of a page after a sequence number.

        >>> page = StagePage(0, 9, [(3, {}), (7, {})], np.array([[1.0], [2.0]]))
        >>> page.after(5).rows, page.after(5).features.tolist()
        ([(7, {})], [[2.0]])
        """
        is_left = np.array([each > number for each, _ in self.rows], dtype=bool)
        rows = [row for row in self.rows if row[0] > number]
        return StagePage(max(self.since, number), self.until, rows, self.features[is_left])

    def parts(self, largest: int) -> "list[StagePage]":
        """Return the page, or several in its place if its message has too many bytes."""
        middle = len(self.rows) // 2
        if not middle or len(self.body()) <= largest:
            return [self]
        until = self.rows[middle - 1][0]
        first = StagePage(self.since, until, self.rows[:middle], self.features[:middle])
        rest = StagePage(until, self.until, self.rows[middle:], self.features[middle:])
        return [*first.parts(largest), *rest.parts(largest)]

    def body(self) -> bytes:
        """Return the page as a message."""
        values = np.ascontiguousarray(self.features, dtype="<f8").tobytes()
        content = {
            "from": self.since,
            "until": self.until,
            "rows": self.rows,
            "features": base64.b64encode(values).decode(),
        }
        return json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode()

    @classmethod
    def of(cls, body: bytes) -> "StagePage":
        """Return the page in a message.

        >>> page = StagePage(0, 9, [(3, {"id": "a"})], np.array([[0.1, np.nan]]))
        >>> StagePage.of(page.body()).features
        array([[0.1, nan]])
        """
        content = json.loads(body)
        rows = [(number, row) for number, row in content["rows"]]
        values = np.frombuffer(base64.b64decode(content["features"]), "<f8")
        n_columns = values.size // len(rows) if rows else 0
        return cls(content["from"], content["until"], rows, values.reshape(len(rows), n_columns))
