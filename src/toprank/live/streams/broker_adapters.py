"""The adapter of an address; the library of a broker is imported when an address needs it."""

from importlib.util import find_spec

from toprank.live.streams.stream_address import StreamAddress
from toprank.live.streams.stream_contracts import StreamSink, StreamSource

_LIBRARIES = {"nats": ("nats", "nats-py"), "kafka": ("confluent_kafka", "confluent-kafka")}


def source_at(address: StreamAddress) -> StreamSource:
    """Return what reads the stream at an address; it is not connected yet."""
    check_library(address)
    if address.scheme == "nats":
        from toprank.live.streams.nats_stream import NatsSource

        return NatsSource(address)
    from toprank.live.streams.kafka_stream import KafkaSource

    return KafkaSource(address)


def sink_at(address: StreamAddress) -> StreamSink:
    """Return what writes to the stream at an address; it is not connected yet."""
    check_library(address)
    if address.scheme == "nats":
        from toprank.live.streams.nats_stream import NatsSink

        return NatsSink(address)
    from toprank.live.streams.kafka_stream import KafkaSink

    return KafkaSink(address)


def check_library(address: StreamAddress) -> None:
    """Raise, with the command that installs it, if the library of a broker is missing."""
    module, package = _LIBRARIES[address.scheme]
    if find_spec(module) is None:
        raise ImportError(
            f"{address.shown} needs {package}; install it with: "
            f"pip install 'toprank[desk,{address.scheme}]'"
        )
