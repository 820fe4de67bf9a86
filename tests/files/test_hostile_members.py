"""Members that would fill the memory, break what uses a model, or make its scores infinite."""

import zipfile
import zlib

import numpy as np
import pytest

import toprank
from files.packing import npy_of, refused, rewrite, with_member
from toprank.files import archive, load, save
from toprank.rankers.online.event_stream import EventStream

ROWS = np.random.default_rng(0).normal(size=(80, 3))
LABELS = ROWS[:, 0] > 0.8


@pytest.fixture
def saved(tmp_path):
    """A function that fits and saves a model, and returns its path."""

    def save_it(model):
        path = tmp_path / "payments.toprank"
        save(model, path)
        return path

    return save_it


def test_a_member_that_the_learner_does_not_ask_for_is_refused_and_never_inflated(
    saved, monkeypatch
):
    path = saved(toprank.MetaAP().fit(ROWS, LABELS))
    rewrite(path, with_member("big.npy", npy_of(np.zeros(1000))))
    inflated = []
    read = archive.zipfile.ZipFile.open
    monkeypatch.setattr(
        archive.zipfile.ZipFile,
        "open",
        lambda self, name, *more: inflated.append(name) or read(self, name, *more),
    )
    with refused("member 'big.npy' is no part of a MetaAP"):
        load(path)
    assert "big.npy" not in inflated


def test_a_part_that_an_inner_learner_does_not_ask_for_is_refused(saved):
    stream = EventStream(toprank.OnlineNonLinearBoost(n_buckets=8))
    stream.learn({"amount": 9.0}, True)
    path = saved(stream)
    rewrite(path, with_member("learner-big.npy", npy_of(np.zeros(1000))))
    with refused("member 'learner-big.npy' is no part of a EventStream"):
        load(path)


def test_two_gigabytes_of_zeros_in_a_small_file_are_refused_unread(saved):
    path = saved(toprank.MetaAP().fit(ROWS, LABELS))
    _append_zeros(path, "big.npy", 2 * 10**9)
    assert path.stat().st_size < 3_000_000
    with refused("it must inflate to at most 536870912 bytes"):
        load(path)


def _append_zeros(path, name, n_bytes):
    """Add a member of zeros without holding them: one block, deflated, is repeated."""
    block = 10**6
    deflate = zlib.compressobj(9, zlib.DEFLATED, -15)
    piece = deflate.compress(bytes(block)) + deflate.flush(zlib.Z_FULL_FLUSH)
    raw = piece * (n_bytes // block) + deflate.flush()
    info = zipfile.ZipInfo(name)
    info.compress_type, info.file_size, info.compress_size = 8, n_bytes, len(raw)
    info.CRC = 0  # the loader does not come that far
    with zipfile.ZipFile(path, "a") as opened:
        info.header_offset = opened.fp.seek(opened.start_dir)
        opened.fp.write(info.FileHeader())
        opened.fp.write(raw)
        opened.start_dir = opened.fp.tell()
        opened.filelist.append(info)
        opened.NameToInfo[name] = info
        opened._didModify = True


@pytest.mark.parametrize("name", ["seen_below", "seen_above"])
@pytest.mark.parametrize("tree", [toprank.MetaAP, toprank.TreeRank])
def test_a_value_at_a_cut_that_is_no_number_is_refused(name, tree, saved):
    path = saved(tree().fit(ROWS, LABELS))
    rewrite(path, with_member(f"{name}.npy", npy_of(np.full(_size(path, name), np.nan))))
    with refused("values around a threshold must be numbers"):
        load(path)


@pytest.mark.parametrize(
    ("model", "name", "value"),
    [
        (toprank.StreamBoost(n_buckets=8), "head", 1e308),
        (toprank.OnlineNonLinearBoost(n_buckets=8), "units_past", 1e308),
        (toprank.OnlineNonLinearBoost(n_buckets=8), "averaging", [1e-308, 5.0]),
        (toprank.RankForest(n_estimators=2), "union_mass", 1e308),
        (toprank.RankForest(n_estimators=2), "union_mass", 1e-308),
        (toprank.RankRLS(), "design_spread", 1e-308),
    ],
)
def test_numbers_that_would_make_scores_infinite_are_refused(model, name, value, saved):
    path = saved(model.fit(ROWS, LABELS))
    with zipfile.ZipFile(path) as opened, opened.open(f"{name}.npy") as member:
        array = np.load(member)
    rewrite(path, with_member(f"{name}.npy", npy_of(np.full_like(array, value))))
    with refused("must be"):
        load(path)


def test_a_number_of_jobs_that_no_machine_has_is_refused(saved):
    path = saved(toprank.AnomalyForest(n_estimators=2).fit(ROWS))

    def change(manifest, members):
        manifest["parameters"]["n_jobs"] = 10**30

    rewrite(path, change)
    with refused("n_jobs must be between"):
        load(path)


def test_a_sentence_about_a_file_is_short_however_long_its_names_are(saved):
    path = saved(toprank.MetaAP().fit(ROWS, LABELS))

    def change(manifest, members):
        manifest["parameters"] = {"x" * 100_000: 1}

    rewrite(path, change)
    with pytest.raises(toprank.files.ModelFileError) as caught:
        load(path)
    assert len(str(caught.value)) < 600


def _size(path, name):
    with zipfile.ZipFile(path) as opened, opened.open(f"{name}.npy") as member:
        return np.load(member).size
