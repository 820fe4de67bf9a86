"""What counts what happens with streams."""

from typing import Protocol

from toprank.live.messages import Answer
from toprank.payments.features.past import LabelCounts


class StreamWatcher(Protocol):
    """Counts messages that were taken in, and knows which streams are connected."""

    def saw_answers(self, answers: list[Answer]) -> None:
        """Count decisions."""

    def saw_labels(self, counts: LabelCounts) -> None:
        """Count labels."""

    def saw_rejects(self, stream: str, n_rejects: int) -> None:
        """Count rejected messages."""

    def saw_connection(self, stream: str, is_there: bool) -> None:
        """Take in whether a stream can be read or written to."""
