import pytest

from toprank.live.desk_settings import DeskSettings
from toprank.live.streams.stream_address import StreamAddress


@pytest.mark.parametrize(
    ("text", "servers", "name"),
    [
        ("nats://localhost/payments", ("localhost:4222",), "payments"),
        ("nats://a:1,b:2/bank.payments", ("a:1", "b:2"), "bank.payments"),
        ("kafka://localhost/payments", ("localhost:9092",), "payments"),
        ("nats://[::1]:4333/p", ("[::1]:4333",), "p"),
        ("kafka://u:p%40s@h/p?security.protocol=SASL_SSL", ("h:9092",), "p"),
    ],
)
def test_servers_and_name_are_read(text, servers, name):
    found = StreamAddress.of(text, "payments_from")
    assert (found.servers, found.name) == (servers, name)


def test_what_is_secret_is_read_and_not_shown():
    found = StreamAddress.of("kafka://u:p%40s@h/p?sasl.mechanism=PLAIN", "payments_from")
    assert (found.user, found.password) == ("u", "p@s")
    assert found.options == (("sasl.mechanism", "PLAIN"),)
    assert found.shown == "kafka://h:9092/p"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("localhost:4222/payments", "begins with 'localhost'"),
        ("nat://h/payments", "did you mean 'nats'"),
        ("nats://h", "subject .*got ''"),
        ("kafka://h/a b", "topic .*got 'a b'"),
        ("nats://h:99999/p", "65535"),
        ("nats:///p", "host"),
        ("nats://h/a..b", "got 'a..b'"),
    ],
)
def test_an_address_that_is_none_is_refused_by_the_name_of_its_setting(text, says):
    with pytest.raises(ValueError, match=f"(?s)payments_from must be .*{says}"):
        DeskSettings(payments_from=text)


def test_a_stream_is_used_once():
    with pytest.raises(ValueError, match="alerts_to must be another stream than payments_from"):
        DeskSettings(payments_from="nats://h/p", alerts_to="nats://x:y@h:4222/p")
