"""RankRLS and RankSVM in files: what is damaged is refused, what loads scores."""

import io
from functools import cache

import numpy as np
import pytest
from sklearn.base import clone

from files.boosted import check_scores_and_reasons, payments, rows_for
from files.mutations import change_parameters, change_state
from files.packing import members_of, npy_of, refused, rewrite
from toprank import RankRLS, RankSVM
from toprank.files import ModelFileError, load, save
from toprank.rankers.pairwise.design import PairwiseDesign

LINE = RankRLS()
BUMPS = RankSVM(kernel="gaussian", n_centres=20)
EVERY_RANKER = pytest.mark.parametrize("ranker", [LINE, BUMPS], ids=["line", "bumps"])
DESIGN = [f"design_{name}" for name in PairwiseDesign._fields]
NUMBERS = ["design_centre", "design_spread", "design_missing_share", "design_code_share"]


@cache
def fitted(ranker):
    return clone(ranker).fit(*payments())


def kept(ranker, folder):
    save(fitted(ranker), folder / "payments.toprank")
    return folder / "payments.toprank"


def with_array(path, name, change):
    """Change one array of the file."""

    def change_member(manifest, members):
        array = np.load(io.BytesIO(members[f"{name}.npy"])).copy()
        members[f"{name}.npy"] = npy_of(change(array))

    rewrite(path, change_member)


def spoiled(value):
    def change(array):
        array.flat[-1] = value
        return array

    return change


@EVERY_RANKER
def test_a_loaded_ranker_is_the_saved_one(ranker, tmp_path):
    path, saved = kept(ranker, tmp_path), fitted(ranker)
    loaded = load(path)
    check_scores_and_reasons(loaded)
    rows = rows_for(saved)
    np.testing.assert_array_equal(loaded.predict_proba(rows), saved.predict_proba(rows))
    np.testing.assert_array_equal(loaded.contributions(rows), saved.contributions(rows))
    again = tmp_path / "again.toprank"
    save(loaded, again)
    before, after = members_of(path), members_of(again)
    assert before.keys() == after.keys()
    assert all(before[name] == after[name] for name in before if name != "manifest.json")


@pytest.mark.parametrize(
    ("ranker", "name"),
    [(LINE, name) for name in [*NUMBERS, "weights", "importances"]]
    + [(BUMPS, name) for name in ("centres", "heights", "gamma")],
    ids=str,
)
@pytest.mark.parametrize(
    ("odd", "reason"),
    [
        (spoiled(np.nan), "must be between"),
        (spoiled(-np.inf), "must be between"),
        (spoiled(1e60), "must be between"),
        (lambda array: array[..., :-1], "must be float64 of shape"),
        (lambda array: array[None], "must be float64 of shape"),
        (lambda array: array.astype(np.float32), "must be float64 of shape"),
        (lambda array: array.astype(str), "must be float64 of shape"),
    ],
    ids=["nan", "infinite", "huge", "short", "deep", "float32", "text"],
)
def test_numbers_that_do_not_fit_are_refused(ranker, name, odd, reason, tmp_path):
    path = kept(ranker, tmp_path)
    with_array(path, name, odd)
    with refused(f"its contents do not make a {type(ranker).__name__}: {name} {reason}"):
        load(path)


@pytest.mark.parametrize("name", ["number", "missing", "category", "code"])
@pytest.mark.parametrize("odd", [-1, 3, 2**62], ids=str)
def test_columns_that_are_not_there_are_refused(name, odd, tmp_path):
    path = kept(LINE, tmp_path)
    with_array(path, f"design_{name}", spoiled(odd))
    with refused(f"design_{name} must contain valid"):
        load(path)


@pytest.mark.parametrize(
    ("name", "change", "reason"),
    [
        ("design_number", spoiled(0), "must contain every column once"),
        ("design_number", lambda array: array.astype(float), "must contain valid"),
        ("design_code", lambda array: array[1:], "one code for each"),
        ("design_spread", spoiled(0.0), "must be greater than 0"),
        ("design_spread", spoiled(-1.0), "must be greater than 0"),
    ],
)
def test_a_design_of_odd_contents_is_refused(name, change, reason, tmp_path):
    path = kept(LINE, tmp_path)
    with_array(path, name, change)
    with refused(reason):
        load(path)


@pytest.mark.parametrize("gamma", [0.0, -1.0])
def test_a_kernel_of_no_width_is_refused(gamma, tmp_path):
    path = kept(BUMPS, tmp_path)
    with_array(path, "gamma", lambda array: np.array([gamma]))
    with refused("gamma must be greater than 0"):
        load(path)


@pytest.mark.parametrize(
    ("ranker", "name"),
    [(LINE, name) for name in [*DESIGN, "weights", "importances"]]
    + [(BUMPS, name) for name in ("centres", "heights", "gamma")],
    ids=str,
)
def test_a_missing_array_is_refused(ranker, name, tmp_path):
    path = kept(ranker, tmp_path)

    def change(manifest, members):
        del members[f"{name}.npy"]

    rewrite(path, change)
    with refused(f"its contents do not make a {type(ranker).__name__}"):
        load(path)


@pytest.mark.parametrize(
    ("ranker", "part", "name", "value"),
    [
        (LINE, "state", "regularization", {"$float": "nan"}),
        (LINE, "state", "regularization", -1.0),
        (LINE, "state", "regularization", "much"),
        (LINE, "parameters", "kernel", "gaussian"),
        (LINE, "parameters", "kernel", "rbf"),
        (LINE, "parameters", "gamma", 0),
        (LINE, "parameters", "C", 1.0),
        (BUMPS, "state", "n_iter", -1),
        (BUMPS, "state", "n_iter", None),
        (BUMPS, "parameters", "kernel", "linear"),
        (BUMPS, "parameters", "C", 0),
        (BUMPS, "parameters", "n_centres", 0),
    ],
    ids=str,
)
def test_odd_settings_are_refused(ranker, part, name, value, tmp_path):
    path = kept(ranker, tmp_path)

    def change(manifest, members):
        manifest[part][name] = value

    rewrite(path, change)
    with refused(f"its contents do not make a {type(ranker).__name__}"):
        load(path)


@EVERY_RANKER
def test_no_broken_file_loads_into_nonsense(ranker, tmp_path):
    path = kept(ranker, tmp_path)
    good, n_loaded = path.read_bytes(), 0
    for seed in range(60):
        path.write_bytes(good)
        (change_state, change_parameters)[seed % 2](path, np.random.default_rng(seed))
        try:
            loaded = load(path)
        except ModelFileError:
            continue
        check_scores_and_reasons(loaded)
        n_loaded += 1
    assert n_loaded < 60
