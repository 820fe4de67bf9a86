"""A log of records: what was written comes back, a torn tail is left out, damage is an error."""

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toprank.files import ModelFileError
from toprank.payments.history_store.record_log import RecordLog, records

FIRST = [b"a card", b"", b"\x00" * 300, b"TRec" * 9]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "log-000001"


def filled(path, payloads=FIRST):
    log = RecordLog.create(path, 1, is_synced=False)
    for payload in payloads:
        log.append(payload[:3], memoryview(payload)[3:])
    log.close()
    return path


def payloads_in(path):
    return [bytes(record.payload) for record in records(path)]


@given(payloads=st.lists(st.binary(max_size=40)))
def test_what_was_added_comes_back_in_order(tmp_path_factory, payloads):
    path = filled(tmp_path_factory.mktemp("log") / "log", payloads)

    assert payloads_in(path) == payloads
    assert [record.start for record in records(path)][1:] == [
        record.stop for record in records(path)
    ][:-1]


@pytest.mark.parametrize("every", [7, pytest.param(1, marks=pytest.mark.slow)])
def test_wherever_a_writer_is_killed_the_complete_records_stay(path, every):
    whole = filled(path).read_bytes()
    stops = [RecordLog.HEAD_BYTES, *(record.stop for record in records(path))]
    for n_bytes in range(RecordLog.HEAD_BYTES, len(whole), every):
        path.write_bytes(whole[:n_bytes])

        n_whole = sum(stop <= n_bytes for stop in stops) - 1
        assert payloads_in(path) == FIRST[:n_whole]

        log = RecordLog(path, stops[n_whole], is_synced=True)  # which cuts the torn tail
        log.append(b"after")
        log.close()
        assert payloads_in(path) == [*FIRST[:n_whole], b"after"]


def test_zeros_at_the_end_are_a_torn_tail(path):
    whole = filled(path).read_bytes()
    path.write_bytes(whole + bytes(5000))  # what a file system may leave when power fails
    assert payloads_in(path) == FIRST

    last = len(FIRST[-1])
    path.write_bytes(whole[:-last] + bytes(last))
    assert payloads_in(path) == FIRST[:-1]


def test_damage_before_the_last_record_is_an_error_wherever_it_is(path):
    whole = filled(path).read_bytes()
    last = [record.start for record in records(path)][-1]
    for at in range(last):
        damaged = bytearray(whole)
        damaged[at] ^= 0x10
        path.write_bytes(damaged)

        with pytest.raises(ModelFileError, match="log-000001"):
            payloads_in(path)


def test_the_place_of_the_damage_is_named(path):
    whole = bytearray(filled(path).read_bytes())
    second = list(records(path))[2].start
    whole[second + 30] ^= 1
    path.write_bytes(whole)

    with pytest.raises(ModelFileError, match=f"is damaged at byte {second}, .* from a copy"):
        payloads_in(path)


def test_a_record_inside_a_payload_does_not_pass_for_one(path, tmp_path):
    other = filled(tmp_path / "other").read_bytes()
    whole = filled(path, [b"first", other[RecordLog.HEAD_BYTES :] + bytes(100)]).read_bytes()
    first = next(iter(records(path)))
    torn = bytearray(whole[:-50])
    torn[first.stop + 2] ^= 1  # the header of the last is lost as well

    path.write_bytes(torn)

    assert payloads_in(path) == [b"first"]


def test_a_record_that_cannot_be_written_leaves_nothing(path, monkeypatch):
    log = RecordLog.create(path, 1, is_synced=False)
    log.append(b"first")
    real, calls = os.pwrite, []

    def full_disk(descriptor, raw, at):
        calls.append(at)
        if len(calls) == 2:
            raise OSError("No space left on device")
        return real(descriptor, raw[:9], at)

    monkeypatch.setattr(os, "pwrite", full_disk)
    with pytest.raises(OSError, match="No space"):
        log.append(b"second")
    log.append(b"third")
    log.close()

    assert payloads_in(path) == [b"first", b"third"]


def test_a_file_that_is_not_a_log_is_refused(tmp_path):
    path = tmp_path / "cards.csv"
    path.write_text("card,amount")

    with pytest.raises(ModelFileError, match=r"cards.csv must be a log"):
        payloads_in(path)
