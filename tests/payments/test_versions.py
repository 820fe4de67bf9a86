"""Versions of a model side by side."""

import shutil
from pathlib import Path

import numpy as np
import pytest

from toprank import BoostedRanker, files
from toprank.payments.versions import (
    next_version,
    other_versions,
    promote,
    rollback,
    version_of,
    version_path,
)


@pytest.fixture(scope="module")
def ranker():
    X = np.arange(60.0).reshape(-1, 1)
    return BoostedRanker(n_estimators=2).fit(X, np.arange(60) > 50)


@pytest.fixture
def model(ranker, tmp_path):
    """The first version, written before there were versions."""
    path = tmp_path / "payments.toprank"
    files.save(ranker, path, {})
    return path


def add(ranker, model, number):
    files.save(ranker, version_path(model, number), {"version": number})


def current(model):
    return version_of(files.read_manifest(model)["facts"])


@pytest.mark.parametrize("noted", [None, "2", 0, -1, True, 2.0])
def test_an_invalid_number_counts_as_the_first(noted):
    assert version_of({"version": noted}) == 1


def test_versions_are_found_by_their_names_alone(ranker, model):
    for number in (10, 2, 9):
        add(ranker, model, number)
    for name in (
        "payments.v.toprank",
        "payments.v3.toprank.bak",
        "other.v4.toprank",
        "payments.v5x.toprank",
    ):
        Path(model.parent, name).touch()
    assert other_versions(model) == [2, 9, 10]
    assert next_version(model) == 11


def test_a_name_with_dots_and_brackets_is_no_pattern(ranker, tmp_path):
    model = tmp_path / "a.[b]+.toprank"
    files.save(ranker, model, {})
    add(ranker, model, 2)
    Path(tmp_path, "axb.v3.toprank").touch()
    assert other_versions(model) == [2]
    assert promote(model) == (2, 1)


def test_the_newest_becomes_current_and_the_one_before_is_kept(ranker, model):
    first = model.read_bytes()
    add(ranker, model, 2)
    add(ranker, model, 3)
    newest = version_path(model, 3).read_bytes()
    assert promote(model) == (3, 1)
    assert model.read_bytes() == newest
    assert version_path(model, 1).read_bytes() == first
    assert other_versions(model) == [1, 2, 3]
    assert next_version(model) == 4


def test_one_may_be_named_and_rolling_back_goes_to_the_version_before(ranker, model):
    for number in (2, 3):
        add(ranker, model, number)
    assert promote(model, 2) == (2, 1)
    assert promote(model) == (3, 2)
    assert rollback(model) == (2, 3)
    assert rollback(model) == (1, 2)
    assert current(model) == 1
    with pytest.raises(ValueError, match="there is no version before 1"):
        rollback(model)
    assert promote(model) == (3, 1)


def test_what_cannot_be_promoted_is_reported(ranker, model):
    with pytest.raises(ValueError, match=r"no version newer than 1.*toprank refit payments"):
        promote(model)
    add(ranker, model, 2)
    with pytest.raises(ValueError, match=r"next to payments\.toprank: 2; got 7"):
        promote(model, 7)
    with pytest.raises(ValueError, match=r"version 1 of payments\.toprank is the current one"):
        promote(model, 1)
    assert current(model) == 1
    with pytest.raises(ValueError, match="no version before"):
        rollback(model)


def test_a_promotion_that_fails_half_way_leaves_a_complete_model(ranker, model, monkeypatch):
    add(ranker, model, 2)
    first, n_copies = model.read_bytes(), 0
    copy = shutil.copyfile

    def copy_once(*given):
        nonlocal n_copies
        n_copies += 1
        if n_copies == 2:
            raise OSError("no space left")
        return copy(*given)

    monkeypatch.setattr(shutil, "copyfile", copy_once)
    with pytest.raises(OSError, match="no space left"):
        promote(model)
    monkeypatch.undo()
    assert model.read_bytes() == first
    assert promote(model) == (2, 1)
