"""The zip archive: written in one step, and refused when it is odd, damaged or too large."""

import re
import zipfile

import pytest

from files.packing import bomb, members_of, pack, refused, rewrite, with_member
from files.tiny_ranker import fitted
from toprank.files import ModelFileError, archive, load, save

pytestmark = pytest.mark.usefixtures("tiny_known")


def test_a_crash_while_writing_leaves_the_old_file_intact(saved_file, monkeypatch):
    before = saved_file.read_bytes()

    def crash(fileno):
        raise KeyboardInterrupt

    monkeypatch.setattr(archive.os, "fsync", crash)
    with pytest.raises(KeyboardInterrupt):
        save(fitted(n_estimators=5), saved_file)

    assert saved_file.read_bytes() == before
    assert list(saved_file.parent.iterdir()) == [saved_file]


def test_a_missing_folder_is_named(ranker, tmp_path):
    with pytest.raises(FileNotFoundError, match=r"there is no folder .*models"):
        save(ranker, tmp_path / "models" / "model.toprank")


@pytest.mark.parametrize("name", ["../evil.npy", "sub/a.npy", "code.pkl", "a.npy\n"])
def test_a_member_of_another_name_is_refused(name, saved_file):
    rewrite(saved_file, with_member(name, b""))

    with refused(f"members must be arrays .* got {re.escape(repr(name))}"):
        load(saved_file)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda members: members[1:], "manifest.json is missing"),
        (lambda members: members[:-1], "member 'trees.ubj' is in manifest.json only"),
        (lambda members: [*members, ("more.npy", b"")], "'more.npy' is not in manifest.json"),
        (lambda members: [*members, ("manifest.json", b"{}")], "a member occurs twice"),
        (lambda members: [(f"{i}.npy", b"") for i in range(1001)], "at most 1000 members"),
    ],
)
@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_other_members_than_listed_are_refused(change, reason, saved_file):
    pack(saved_file, change(list(members_of(saved_file).items())))

    with pytest.raises(ModelFileError, match=reason):
        load(saved_file)


def test_exotic_compression_is_refused(saved_file):
    pack(saved_file, members_of(saved_file).items(), zipfile.ZIP_LZMA)

    with pytest.raises(ModelFileError, match=r"manifest.json must be deflated or stored"):
        load(saved_file)


def test_an_encrypted_member_is_refused(saved_file):
    raw = bytearray(saved_file.read_bytes())
    raw[raw.index(b"PK\x01\x02") + 8] |= 1
    saved_file.write_bytes(raw)

    with pytest.raises(ModelFileError, match=r"manifest.json is encrypted"):
        load(saved_file)


def test_members_are_limited_together(saved_file, monkeypatch):
    monkeypatch.setattr(archive, "_MOST_MEMBER_BYTES", 1_000)

    with pytest.raises(ModelFileError, match="must inflate to at most 1000 bytes"):
        load(saved_file)


def test_a_large_file_is_refused_unread(saved_file, monkeypatch):
    monkeypatch.setattr(archive, "_MOST_FILE_BYTES", 1_000)

    with pytest.raises(ModelFileError, match="at most 1000 bytes long"):
        load(saved_file)


def test_a_zip_bomb_stops_at_the_size_it_declares(saved_file):
    bomb(saved_file, members_of(saved_file), declared=64)

    with pytest.raises(ModelFileError, match=r"center\.npy"):
        load(saved_file)


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (b"", "it is not a model of toprank"),
        (b"card,amount\n1,2\n", "it is not a model of toprank"),
        (b"PK", "the end of the zip archive is missing"),
        (b"PK\x05\x06" + bytes(18), "manifest.json is missing"),
    ],
)
def test_another_kind_of_file_is_refused(raw, reason, tmp_path):
    path = tmp_path / "payments.toprank"
    path.write_bytes(raw)

    with pytest.raises(ModelFileError, match=f"payments.toprank cannot be loaded: {reason}"):
        load(path)


def test_a_truncated_file_is_refused_with_the_reason(saved_file):
    saved_file.write_bytes(saved_file.read_bytes()[:-30])

    with pytest.raises(ModelFileError, match="the file is truncated"):
        load(saved_file)


def test_a_folder_is_refused(tmp_path):
    with pytest.raises(ModelFileError, match="it is not a file"):
        load(tmp_path)


def test_a_path_without_file_is_an_os_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "none.toprank")
