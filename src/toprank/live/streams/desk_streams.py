"""The streams of a desk, as its settings name them."""

from collections.abc import Coroutine
from typing import Any

from toprank.live.desk_settings import STREAMS, DeskSettings
from toprank.live.engine.decision_engine import DecisionEngine
from toprank.live.streams.broker_adapters import check_library, sink_at, source_at
from toprank.live.streams.stream_address import StreamAddress
from toprank.live.streams.stream_intake import LabelIntake, PaymentIntake, StreamIntake
from toprank.live.streams.stream_outlet import StreamOutlet, alerts_outlet, decisions_outlet
from toprank.live.streams.stream_watcher import StreamWatcher
from toprank.live.web.payment_reader import PaymentReader


def addresses(settings: DeskSettings) -> dict[str, StreamAddress]:
    """Return the streams that are set, by the name of their setting.

    >>> addresses(DeskSettings(payments_from="nats://localhost/payments"))["payments_from"].shown
    'nats://localhost:4222/payments'
    """
    texts = {name: getattr(settings, name) for name in STREAMS}
    return {name: StreamAddress.of(text, name) for name, text in texts.items() if text}


def check_libraries(settings: DeskSettings) -> None:
    """Raise, with the command that installs it, if a broker's library is missing."""
    for address in addresses(settings).values():
        check_library(address)


class DeskStreams:
    """What reads and writes the streams of a desk.

    Parameters
    ----------
    engine
        What decides.
    reader
        What reads payments.
    watcher
        What counts what happens.
    """

    def __init__(
        self, engine: DecisionEngine, reader: PaymentReader, watcher: StreamWatcher
    ) -> None:
        found = addresses(engine.desk.settings)
        payments: StreamIntake | None = None
        self._intakes: list[StreamIntake] = []
        self._outlets: list[StreamOutlet] = []
        if "payments_from" in found:
            source = source_at(found["payments_from"])
            payments = PaymentIntake(source, engine, watcher, reader)
            self._intakes.append(payments)
        if "labels_from" in found:
            source = source_at(found["labels_from"])
            self._intakes.append(LabelIntake(source, engine, watcher, payments))
        if "decisions_to" in found:
            sink = sink_at(found["decisions_to"])
            self._outlets.append(decisions_outlet(sink, engine, watcher))
        if "alerts_to" in found:
            self._outlets.append(alerts_outlet(sink_at(found["alerts_to"]), engine, watcher))

    def begin(self) -> None:
        """Store where what is published begins; called before any payment is taken."""
        for each in self._outlets:
            each.begin()

    def jobs(self) -> list[Coroutine[Any, Any, None]]:
        """Return what runs until it is cancelled."""
        return [*(each.run() for each in self._intakes), *(each.run() for each in self._outlets)]
