"""Model files. As a script, `test_model_file.py FOLDER FIRST LAST`, it loads broken ones."""

import hashlib
import io
import json
import math
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import xgboost
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

from test_ubjson import written
from toprank import BoostedRanker, model_file, reasons, ubjson
from toprank.model_file import ModelFileError, Saved, load, read_manifest, save

N_FEATURES = 3
N_BROKEN = 1_200
ROWS = np.random.default_rng(5).normal(size=(10, N_FEATURES)).astype(np.float32)
ROWS[:, 2] = [0, 1, 2, 3, 4, 5, 6, np.nan, 700, 2]


class TinyRanker(BaseEstimator):
    """The least a learner must do to be kept in a file."""

    def __init__(self, n_estimators=2, missing=math.nan, random_state=0):
        self.n_estimators = n_estimators
        self.missing = missing
        self.random_state = random_state

    def fit(self, X, y):
        matrix = self._matrix(X, y)
        settings = {"max_depth": 3, "max_cat_to_onehot": 1, "nthread": 1, "base_score": 0.0}
        self.booster_ = xgboost.train(settings, matrix, self.n_estimators)
        self.center_ = np.nanmean(X, axis=0)
        return self

    def suspicion(self, X):
        return self.booster_.predict(self._matrix(X))

    def contributions(self, X):
        return self.booster_.predict(self._matrix(X), pred_contribs=True)

    def _matrix(self, X, y=None):
        return xgboost.DMatrix(
            X, y, feature_types=["q", "q", "c"], enable_categorical=True, missing=self.missing
        )

    def _to_saved(self):
        trees = bytes(self.booster_.save_raw("ubj"))
        return Saved({"n_features": N_FEATURES}, {"center": self.center_}, {"trees": trees})

    @classmethod
    def _from_saved(cls, parameters, saved):
        model = cls(**parameters)
        model.center_ = saved.arrays["center"]
        model.booster_ = xgboost.Booster({"nthread": 1})
        model.booster_.load_model(bytearray(saved.boosters["trees"]))
        if model.booster_.num_features() != saved.state["n_features"]:
            raise ValueError("trees have another number of features.")
        model.suspicion(ROWS)  # parameters it cannot work with show here
        return model


def fitted(**parameters):
    generator = np.random.default_rng(1)
    X = generator.normal(size=(200, N_FEATURES))
    X[:, 2] = generator.integers(0, 7, 200)
    return TinyRanker(**parameters).fit(X, (X[:, 0] > 0) | (X[:, 2] == 3))


@pytest.fixture(autouse=True)
def _known(monkeypatch):
    monkeypatch.setattr(model_file, "_LEARNERS", {"TinyRanker": __name__})


@pytest.fixture(scope="module")
def ranker():
    return fitted()


@pytest.fixture
def saved_file(ranker, tmp_path):
    save(ranker, tmp_path / "payments.toprank", facts={"window": ["2024-01-01", "2024-02-01"]})
    return tmp_path / "payments.toprank"


def members_of(path):
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def pack(path, members, compression=zipfile.ZIP_DEFLATED):
    """Write a zip of `members`, pairs of name and bytes, as they are."""
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, raw in members:
            archive.writestr(zipfile.ZipInfo(name), raw, compression)


def rewrite(path, change):
    """Change the members of a file, then make its sizes and hashes right again."""
    members = members_of(path)
    manifest = json.loads(members.pop("manifest.json"))
    change(manifest, members)
    pack(path, [("manifest.json", listing(manifest, members)), *members.items()])


def listing(manifest, members):
    manifest["members"] = {
        name: {"sha256": hashlib.sha256(raw).hexdigest(), "bytes": len(raw)}
        for name, raw in members.items()
    }
    return json.dumps(manifest).encode()


# What a file keeps


def test_a_loaded_model_scores_as_the_saved_one(ranker, saved_file):
    loaded = load(saved_file)

    assert type(loaded) is TinyRanker
    np.testing.assert_array_equal(loaded.suspicion(ROWS), ranker.suspicion(ROWS))
    np.testing.assert_array_equal(loaded.center_, ranker.center_)
    assert loaded.center_.dtype == ranker.center_.dtype
    loaded.center_[0] = 0  # and is writable as a fitted one


def test_parameters_come_back_with_nan_and_infinity(tmp_path):
    path = tmp_path / "model.toprank"
    for missing in (math.nan, math.inf, -math.inf, -999.0):
        save(fitted(missing=-1.0).set_params(missing=missing), path)

        found = load(path).missing
        assert found == missing or (math.isnan(found) and math.isnan(missing))


def test_the_manifest_says_what_the_model_is(saved_file):
    manifest = read_manifest(saved_file)

    assert manifest["format"] == "toprank"
    assert manifest["format_version"] == 1
    assert manifest["learner"] == "TinyRanker"
    assert manifest["parameters"]["n_estimators"] == 2
    assert manifest["facts"] == {"window": ["2024-01-01", "2024-02-01"]}
    assert manifest["versions"]["numpy"] == np.__version__
    assert manifest["versions"]["xgboost"] == xgboost.__version__
    assert set(manifest["versions"]) == {"toprank", "python", "numpy", "scikit-learn", "xgboost"}
    assert manifest["created"].endswith("+00:00")
    members = members_of(saved_file)
    for name, entry in manifest["members"].items():
        assert entry == {
            "sha256": hashlib.sha256(members[name]).hexdigest(),
            "bytes": len(members[name]),
        }


def test_the_manifest_is_read_without_the_members(saved_file):
    raw = saved_file.read_bytes()
    with zipfile.ZipFile(saved_file) as archive:
        start = archive.getinfo("trees.ubj").header_offset + 40
    saved_file.write_bytes(raw[:start] + bytes(20) + raw[start + 20 :])

    assert read_manifest(saved_file)["learner"] == "TinyRanker"
    with pytest.raises(ModelFileError, match=r"trees.ubj"):
        load(saved_file)


def test_no_member_is_pickled(saved_file):
    names = list(members_of(saved_file))

    assert names == ["manifest.json", "center.npy", "trees.ubj"]


@pytest.mark.parametrize(
    "array",
    [
        np.zeros((0, 3)),
        np.array(7),
        np.asfortranarray(np.arange(6.0).reshape(2, 3)),
        np.array([True, False]),
        np.array(["été", ""]),
        np.arange(5, dtype=">i2"),
        np.array([np.nan, np.inf]),
    ],
    ids=str,
)
def test_an_array_comes_back_as_it_was(array, ranker, tmp_path):
    other = fitted()
    other.center_ = array
    save(other, tmp_path / "model.toprank")

    found = load(tmp_path / "model.toprank").center_

    assert found.dtype == array.dtype
    assert found.shape == array.shape
    np.testing.assert_array_equal(found, array)


def test_numpy_numbers_in_facts_become_plain_ones(ranker, tmp_path):
    facts = {"ap": np.float32(0.5), "n": np.int64(3), "best": np.bool_(True), "pair": (1, 2)}
    save(ranker, tmp_path / "model.toprank", facts=facts)

    assert read_manifest(tmp_path / "model.toprank")["facts"] == {
        "ap": 0.5,
        "n": 3,
        "best": True,
        "pair": [1, 2],
    }


# Saving safely


def test_a_crash_while_writing_leaves_the_old_file_whole(ranker, saved_file, monkeypatch):
    before = saved_file.read_bytes()

    def crash(fileno):
        raise KeyboardInterrupt

    monkeypatch.setattr(model_file.os, "fsync", crash)
    with pytest.raises(KeyboardInterrupt):
        save(fitted(n_estimators=5), saved_file)

    assert saved_file.read_bytes() == before
    assert list(saved_file.parent.iterdir()) == [saved_file]


def test_saving_again_replaces_the_file(saved_file):
    save(fitted(n_estimators=5), saved_file)

    assert load(saved_file).booster_.num_boosted_rounds() == 5
    assert list(saved_file.parent.iterdir()) == [saved_file]


def test_a_link_stays_a_link(ranker, saved_file):
    link = saved_file.with_name("current.toprank")
    link.symlink_to(saved_file)
    save(fitted(n_estimators=4), link)

    assert link.is_symlink()
    assert load(saved_file).n_estimators == 4


def test_an_unfitted_model_is_not_saved(tmp_path):
    with pytest.raises(NotFittedError, match="this TinyRanker has learned nothing yet; call fit"):
        save(TinyRanker(), tmp_path / "model.toprank")

    assert not list(tmp_path.iterdir())


def test_only_a_known_learner_is_saved(tmp_path):
    impostor = type("TinyRanker", (TinyRanker,), {})()
    for model in (object(), impostor):
        with pytest.raises(TypeError, match="save takes a fitted TinyRanker; got"):
            save(model, tmp_path / "model.toprank")


def test_a_missing_folder_is_named(ranker, tmp_path):
    with pytest.raises(FileNotFoundError, match=r"there is no folder .*models"):
        save(ranker, tmp_path / "models" / "model.toprank")


@pytest.mark.parametrize(
    ("facts", "reason"),
    [
        ({"when": object()}, "facts.when must be a number.*got object"),
        ({"a": [1, {2}]}, r"facts.a\[1\] must be a number.*got set"),
        ({1: 2}, "keys of facts must be strings"),
        ({"$float": "nan"}, "keys of facts must be strings other than"),
    ],
)
def test_what_json_cannot_hold_is_refused(facts, reason, ranker, tmp_path):
    with pytest.raises(TypeError, match=reason):
        save(ranker, tmp_path / "model.toprank", facts=facts)


def test_facts_that_hold_themselves_are_refused(ranker, tmp_path):
    facts = {}
    facts["self"] = facts
    with pytest.raises(ValueError, match="must nest at most 64 deep"):
        save(ranker, tmp_path / "model.toprank", facts=facts)


def test_a_parameter_that_is_an_object_is_refused(tmp_path):
    with pytest.raises(TypeError, match=r"parameters.random_state must be.*got RandomState"):
        save(fitted(random_state=np.random.RandomState(0)), tmp_path / "model.toprank")


def test_an_array_of_objects_is_refused(tmp_path):
    model = fitted()
    model.center_ = np.array([None])
    with pytest.raises(
        ValueError, match="array 'center' must hold numbers or strings; got object"
    ):
        save(model, tmp_path / "model.toprank")


def test_a_booster_that_could_not_be_loaded_is_not_saved(tmp_path):
    model = fitted()
    model.booster_ = xgboost.train(
        {"booster": "dart", "nthread": 1}, xgboost.DMatrix(ROWS, np.arange(10)), 1
    )
    with pytest.raises(ValueError, match=r"booster 'trees' is not sound.*got 'dart'"):
        save(model, tmp_path / "model.toprank")

    assert not list(tmp_path.iterdir())


# Refusing what is broken


def edited(key, value):
    def change(manifest, members):
        manifest[key] = value

    return change


def without(key):
    def change(manifest, members):
        del manifest[key]

    return change


def with_member(name, raw):
    def change(manifest, members):
        members[name] = raw

    return change


def npy(header, data=b""):
    text = header.encode().ljust(118) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + data


def npy_of(array, **options):
    stream = io.BytesIO()
    np.save(stream, array, **options)
    return stream.getvalue()


NO_ARRAY = "center.npy must be a .npy array of numbers or strings"


def header(descr, shape):
    return f"{{'descr': {descr!r}, 'fortran_order': False, 'shape': {shape}, }}"


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (edited("format", "zip"), "does not say that this is a toprank model"),
        (edited("format_version", 2), r"written by a newer toprank \(format 2.*upgrade toprank"),
        (edited("format_version", 10**400), "written by a newer toprank"),
        (edited("format_version", 0), "format_version must be a whole number from 1; got 0"),
        (edited("format_version", True), "format_version must be a whole number from 1; got True"),
        (edited("format_version", "1"), "format_version must be a whole number from 1; got '1'"),
        (edited("learner", "os.system"), "learner 'os.system' is unknown.*knows TinyRanker"),
        (edited("learner", 3), "'learner' of manifest.json must be a str"),
        (without("parameters"), "'parameters' of manifest.json must be a dict"),
        (without("state"), "'state' of manifest.json must be a dict"),
        (edited("facts", []), "'facts' of manifest.json must be a dict"),
        (edited("parameters", {"depth": 3}), "do not make a TinyRanker.*depth"),
        (edited("state", {}), "do not make a TinyRanker.*n_features"),
        (edited("state", {"n_features": 4}), "do not make a TinyRanker: trees have another"),
        (edited("facts", {"$float": "1"}), "float must be one of nan, inf, -inf"),
        (with_member("center.npy", b""), NO_ARRAY),
        (with_member("center.npy", b"\x93NUMPY\x02\x00"), NO_ARRAY),
        (with_member("center.npy", npy("(" * 110)), NO_ARRAY),
        (with_member("center.npy", npy_of(np.array([None]), allow_pickle=True)), NO_ARRAY),
        (with_member("center.npy", npy(header("|V8", (1,)), bytes(8))), NO_ARRAY),
        (with_member("center.npy", npy(header("<f8", (-1, -1)), bytes(8))), NO_ARRAY),
        (with_member("center.npy", npy(header("<f3", (1,)), bytes(3))), "data type '<f3'"),
        (with_member("center.npy", npy(header("<U0", (10**15,)))), "it has 0 bytes"),
        (with_member("center.npy", npy(header("<f8", (10**12,)), bytes(8))), "it has 8 bytes"),
        (with_member("center.npy", npy(header("|b1", (2,)), b"\x01\x02")), "neither 0 nor 1"),
        (with_member("trees.ubj", b"{}"), "booster 'trees' is not sound: the booster must hold"),
        (with_member("trees.ubj", b'{"a":1}'), "booster 'trees' is not sound: UBJSON is broken"),
        (with_member("../evil.npy", b""), "members must be arrays .* got '../evil.npy'"),
        (with_member("sub/a.npy", b""), "members must be arrays .* got 'sub/a.npy'"),
        (with_member("code.pkl", b""), "members must be arrays .* got 'code.pkl'"),
        (with_member("a.npy\n", b""), "members must be arrays"),
    ],
)
def test_a_fault_is_named(change, reason, saved_file):
    rewrite(saved_file, change)

    with pytest.raises(
        ModelFileError, match=f"(?s)^payments.toprank cannot be loaded: .*{reason}"
    ):
        load(saved_file)


def test_a_changed_member_is_told_by_its_hash(saved_file):
    members = members_of(saved_file)
    members["center.npy"] = members["center.npy"][:-1] + b"!"
    pack(saved_file, members.items())

    with pytest.raises(
        ModelFileError, match=r"says sha256 \w{12}\.\.\. of center.npy but the member has \w{12}"
    ):
        load(saved_file)


def test_a_member_of_another_length_is_told_before_it_is_read(saved_file):
    members = members_of(saved_file)
    members["center.npy"] += b"!"
    pack(saved_file, members.items())

    with pytest.raises(ModelFileError, match=r"bytes of center.npy but the member has"):
        read_manifest(saved_file)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda members: members[1:], "manifest.json is missing"),
        (lambda members: members[:-1], "member 'trees.ubj' is in manifest.json only"),
        (lambda members: [*members, ("more.npy", b"")], "'more.npy' is not in manifest.json"),
        (lambda members: [*members, ("manifest.json", b"{}")], "a member comes twice"),
        (lambda members: [("manifest.json", b"[" * 10**6)], "not sound JSON"),
        (lambda members: [("manifest.json", b'{"a":' * 10**6)], "not sound JSON"),
        (lambda members: [("manifest.json", b'{"a":' + b"9" * 10**5 + b"}")], "not sound JSON"),
        (lambda members: [("manifest.json", b'{"a":1,"a":1}')], "a key comes twice"),
        (lambda members: [("manifest.json", b'{"a":NaN}')], "NaN is not a JSON value"),
        (lambda members: [("manifest.json", b"\xff")], "not sound JSON"),
        (lambda members: [("manifest.json", b"[]")], "does not say that this is a toprank model"),
        (lambda members: [("manifest.json", bytes(17 * 2**20))], "at most 16777216 bytes long"),
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
    monkeypatch.setattr(model_file, "_MOST_MEMBER_BYTES", 1_000)

    with pytest.raises(ModelFileError, match="must inflate to at most 1000 bytes"):
        load(saved_file)


def test_a_large_file_is_refused_unread(saved_file, monkeypatch):
    monkeypatch.setattr(model_file, "_MOST_FILE_BYTES", 1_000)

    with pytest.raises(ModelFileError, match="at most 1000 bytes long"):
        load(saved_file)


def test_a_zip_bomb_stops_at_the_size_it_declares(saved_file):
    bomb(saved_file, members_of(saved_file), declared=64)

    with pytest.raises(ModelFileError, match=r"center\.npy"):
        load(saved_file)


def bomb(path, members, declared):
    """Make center.npy inflate to 50 MB of zeros while every header says `declared` bytes."""
    manifest = json.loads(members["manifest.json"])
    manifest["members"]["center.npy"]["bytes"] = declared
    zeros = bytes(50_000_000)
    members = members | {"manifest.json": json.dumps(manifest).encode(), "center.npy": zeros}
    pack(path, members.items())
    said, true = (size.to_bytes(4, "little") for size in (declared, len(zeros)))
    path.write_bytes(path.read_bytes().replace(true, said))


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (b"", "it is not a zip archive"),
        (b"card,amount\n1,2\n", "it is not a zip archive"),
        (b"PK", "the end of the zip archive is missing"),
        (b"PK\x05\x06" + bytes(18), "manifest.json is missing"),
    ],
)
def test_another_kind_of_file_is_refused(raw, reason, tmp_path):
    path = tmp_path / "payments.toprank"
    path.write_bytes(raw)

    with pytest.raises(ModelFileError, match=f"payments.toprank cannot be loaded: {reason}"):
        load(path)


def test_a_file_cut_short_is_told_so(saved_file):
    saved_file.write_bytes(saved_file.read_bytes()[:-30])

    with pytest.raises(ModelFileError, match="the file is cut short, copy it again"):
        load(saved_file)


def test_a_folder_is_refused(tmp_path):
    with pytest.raises(ModelFileError, match="it is not a file"):
        load(tmp_path)


def test_a_path_without_file_is_an_os_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "none.toprank")


# BoostedRanker in a file


def payments(n=300):
    generator = np.random.default_rng(3)
    amount = np.where(generator.random(n) < 0.1, np.nan, generator.gamma(2, 40, n))
    country = generator.choice(["FR", "DE", "US", None], n).tolist()
    online = generator.random(n) < 0.5
    frame = pa.table({"amount": amount, "country": country, "online": online})
    return frame, np.where((amount > 100) & online, "fraud", "genuine")


def real_rankers():
    """Both engines; categories, booleans and missing values; text, whole and bool labels."""
    frame, labels = payments()
    numbers = frame.select(["amount", "online"])
    array = np.nan_to_num(np.column_stack([frame["amount"], frame["online"]]).astype(float))
    is_fraud = labels == "fraud"
    small = {"n_estimators": 4, "max_depth": 2, "n_jobs": 1}
    return [
        BoostedRanker(**small, early_stopping_rounds=2).fit(frame, labels),
        BoostedRanker("log", **small, loss_options={}, positive_label="genuine").fit(
            frame, labels
        ),
        BoostedRanker(**small, engine="paper").fit(numbers, is_fraud.astype(int)),
        BoostedRanker(**small, engine="paper", positive_label=True).fit(array, is_fraud),
    ]


def rows_for(ranker, n=10):
    """Return rows of the columns the ranker says it has, with missing and unknown values."""
    columns = {}
    for column in ranker.schema_.columns:
        known = {
            "number": [0.0, -1e30, 1e30, 150.0, 7.5],
            "boolean": [True, False],
            "category": [*column.categories[:5], "not seen"],
        }[column.kind]
        columns[column.name] = ([None, *known] * n)[:n]
    table = pa.table(columns)
    if hasattr(ranker, "feature_names_in_"):
        return table
    return ranker.schema_.encode(table)


def check_scores_and_reasons(ranker):
    """What a file became must score, explain and count like any fitted ranker."""
    rows = rows_for(ranker)
    scores = ranker.suspicion(rows)
    assert scores.shape == (10,)
    assert np.isfinite(scores).all()
    probability = ranker.predict_proba(rows)
    assert probability.shape == (10, 2)
    assert ((probability >= 0) & (probability <= 1)).all()
    assert set(ranker.predict(rows).tolist()) <= set(ranker.classes_.tolist())
    assert np.isfinite(ranker.decision_function(rows)).all()
    assert np.isfinite(ranker.calibration_.expected_positives(scores)).all()
    shares = ranker.contributions(rows)
    assert shares.shape == (10, len(ranker.schema_.columns) + 1)
    given = reasons.explain(ranker, rows)
    assert len(given) == 10
    for reason in (reason for row in given for reason in row):
        assert reason.feature in ranker.schema_.names
        assert math.isfinite(reason.contribution)
        assert len(str(reason)) < 1_000_000
    assert ranker.feature_importances_.shape == (len(ranker.schema_.columns),)


@pytest.fixture(scope="module")
def boosted():
    return real_rankers()


@pytest.fixture
def boosted_known(monkeypatch):
    monkeypatch.setattr(model_file, "_LEARNERS", {"BoostedRanker": "toprank.boosting.ranker"})


@pytest.mark.usefixtures("boosted_known")
@pytest.mark.parametrize("which", range(4))
def test_a_loaded_boosted_ranker_is_the_saved_one(which, boosted, tmp_path):
    ranker = boosted[which]
    path, again = tmp_path / "payments.toprank", tmp_path / "again.toprank"
    save(ranker, path)
    loaded = load(path)

    check_scores_and_reasons(loaded)
    rows = rows_for(ranker)
    np.testing.assert_array_equal(loaded.predict_proba(rows), ranker.predict_proba(rows))
    assert reasons.explain(loaded, rows) == reasons.explain(ranker, rows)
    assert loaded.predict(rows).tolist() == ranker.predict(rows).tolist()
    assert loaded.get_params() == ranker.get_params()
    assert loaded.positive_label_ == ranker.positive_label_
    assert loaded.history_ == ranker.history_
    save(loaded, again)
    assert members_of(again)["trees.ubj"] == members_of(path)["trees.ubj"]


@pytest.mark.usefixtures("boosted_known")
@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("classes", ["fraud"]),
        ("classes", ["fraud", "fraud"]),
        ("classes", ["genuine", "fraud"]),
        ("classes", ["fraud", 1]),
        ("classes", [0, 10**400]),
        ("classes", [0, None]),
        ("classes", [{}, {"a": 1}]),
        ("classes", [0.0, {"$float": "nan"}]),
        ("classes", "01"),
        ("positive", 2),
        ("positive", -1),
        ("positive", True),
        ("positive", None),
        ("positive", []),
        ("positive", [0, 1]),
        ("named_columns", "no"),
        ("calibration", [1.0]),
        ("calibration", [0.0, 1.0, 0.0, 0.0, 0.0]),
        ("calibration", [{"$float": "inf"}, 1.0, 0.0, 0.0, 0.0]),
        ("calibration", [1e308, -1e308, 0.0, 0.0, 0.0]),
        ("usual", []),
        ("usual", None),
        ("history", {"a": 1}),
        ("schema", {"columns": []}),
        ("schema", {"columns": [{"name": "amount", "kind": "number", "categories": []}]}),
    ],
)
def test_a_boosted_ranker_of_odd_state_is_refused(key, value, boosted, tmp_path):
    path = tmp_path / "payments.toprank"
    save(boosted[0], path)

    def change(manifest, members):
        manifest["state"][key] = value

    rewrite(path, change)
    with pytest.raises(ModelFileError, match="its contents do not make a BoostedRanker"):
        load(path)


@pytest.mark.usefixtures("boosted_known")
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("loss", "hinge"),
        ("loss_options", {"alpha": []}),
        ("engine", "pickle"),
        ("n_estimators", -1),
        ("max_depth", 10**30),
        ("learning_rate", {"$float": "nan"}),
        ("unknown", 1),
    ],
)
def test_a_boosted_ranker_of_odd_parameters_is_refused(name, value, boosted, tmp_path):
    path = tmp_path / "payments.toprank"
    save(boosted[0], path)

    def change(manifest, members):
        manifest["parameters"][name] = value

    rewrite(path, change)
    with pytest.raises(ModelFileError, match="its contents do not make a BoostedRanker"):
        load(path)


# More than a thousand broken files, in a process of their own since a crash would end this one


@pytest.mark.parametrize("chunk", range(2))
def test_no_broken_file_crashes_or_loads_into_nonsense(chunk, tmp_path):
    first, last = chunk * N_BROKEN // 2, (chunk + 1) * N_BROKEN // 2
    run = subprocess.run(
        [sys.executable, __file__, str(tmp_path), str(first), str(last)],
        capture_output=True,
        text=True,
        timeout=300,
    )

    seed_reached = (run.stdout.split() or ["none"])[-1]
    assert run.returncode == 0, f"seed {seed_reached}, exit {run.returncode}: {run.stderr[-2000:]}"
    assert seed_reached == str(last - 1)


def load_broken_files(folder, first, last):
    model_file._LEARNERS |= {"TinyRanker": "__main__"}
    tiny = [fitted(n_estimators=n_estimators) for n_estimators in (1, 2, 6)]
    good = {False: written_files(tiny, folder), True: written_files(real_rankers(), folder)}
    path = folder / "broken.toprank"
    n_loaded = 0
    for seed in range(first, last):
        print(seed, flush=True)
        generator = np.random.default_rng(seed)
        breaks = BREAKS[seed % len(BREAKS)]
        files = good[breaks in BREAKS_OF_REAL]
        path.write_bytes(files[generator.integers(len(files))])
        breaks(path, generator)
        n_loaded += loads_soundly(path)
    print(f"{n_loaded} of {last - first} loaded", file=sys.stderr)


def written_files(rankers, folder):
    path = folder / "good.toprank"
    files = []
    for ranker in rankers:
        save(ranker, path, facts={"ap": 0.5, "none": math.nan})
        files.append(path.read_bytes())
    return files


def loads_soundly(path):
    """Return whether the file loads; what it loads into must score."""
    try:
        model = load(path)
    except (ModelFileError, OSError):
        return False
    if isinstance(model, BoostedRanker):
        check_scores_and_reasons(model)
        return True
    scores = model.suspicion(ROWS)
    assert scores.shape == (10,)
    assert np.isfinite(scores).all()
    assert model.contributions(ROWS).shape == (10, N_FEATURES + 1)
    return True


def flip_bits(path, generator):
    raw = bytearray(path.read_bytes())
    for place in generator.integers(0, len(raw), generator.integers(1, 4)):
        raw[place] ^= 1 << generator.integers(8)
    path.write_bytes(raw)


def cut_short(path, generator):
    raw = path.read_bytes()
    path.write_bytes(raw[: generator.integers(len(raw))])


def remove_bytes(path, generator):
    raw = path.read_bytes()
    start = generator.integers(len(raw))
    path.write_bytes(raw[:start] + raw[start + generator.integers(1, 50) :])


def insert_bytes(path, generator):
    raw = path.read_bytes()
    start = generator.integers(len(raw))
    path.write_bytes(raw[:start] + generator.bytes(generator.integers(1, 50)) + raw[start:])


def disturb_members(path, generator):
    members = list(members_of(path).items())
    chosen = generator.integers(len(members))
    name, raw = members[chosen]
    other = members[generator.integers(len(members))][1]
    replacements = [
        [],
        [("renamed.npy", raw)],
        [(name, raw), (f"{name}2", raw)],
        [(name, raw), ("more.ubj", raw)],
        [(name, other)],
        [(f"../{name}", raw)],
        [(name.upper(), raw)],
    ]
    members[chosen : chosen + 1] = replacements[generator.integers(len(replacements))]
    pack(path, members)


def disturb_manifest(path, generator):
    odd = [None, True, -1, 2, 10**30, 1e308, "", "x" * 10**5, "\ud800", [], {}, [[]], {"a": 1}]
    odd += [{"$float": "nan"}, {"$float": []}, "2", "TinyRanker", "manifest.json"]
    value = odd[generator.integers(len(odd))]
    members = members_of(path)
    manifest = json.loads(members["manifest.json"])
    outer = manifest
    while True:
        key = list(outer)[generator.integers(len(outer))]
        if not (isinstance(outer[key], dict) and outer[key] and generator.random() < 0.7):
            break
        outer = outer[key]
    if generator.random() < 0.3:
        del outer[key]
    elif generator.random() < 0.2:
        outer["more"] = value
    else:
        outer[key] = value
    members["manifest.json"] = json.dumps(manifest).encode()
    pack(path, members.items())


ODD_VALUES = [
    *(None, True, False, 0, 1, -1, 2, 7, 10**30, -(10**400), 0.5, -2.5, 1e-300, 1e308, -1e308),
    *("", "x", "nan", "inf", "1", "number", "category", "x" * 10**5, "{'a': 1}"),
    *([], [[]], [1], ["a"], ["a", "a"], ["a", "b"], [None, None], [[1], [2]], [1, 2, 3], [{}]),
    *({}, {"a": 1}, {"low": 1, "high": 0, "values": [], "share": 2}),
    *({"$float": "nan"}, {"$float": "inf"}),
]


def put_odd_value(tree, generator):
    """Replace, remove, add or repeat one thing somewhere in nested lists and dicts."""
    odd = ODD_VALUES[generator.integers(len(ODD_VALUES))]
    while True:
        keys = list(tree) if isinstance(tree, dict) else range(len(tree))
        if not keys:
            return
        key = keys[generator.integers(len(keys))]
        if not (isinstance(tree[key], dict | list) and tree[key] and generator.random() < 0.8):
            break
        tree = tree[key]
    action = generator.random()
    if action < 0.65:
        tree[key] = odd
    elif action < 0.8:
        del tree[key]
    elif isinstance(tree, dict):
        tree[str(odd)[:20]] = odd
    else:
        tree.insert(key, tree[key] if action < 0.9 else odd)


def change_state(path, generator):
    def change(manifest, members):
        for _ in range(generator.integers(1, 3)):
            put_odd_value(manifest["state"], generator)

    rewrite(path, change)


def change_parameters(path, generator):
    def change(manifest, members):
        put_odd_value(manifest["parameters"], generator)

    rewrite(path, change)


def rewrite_booster(path, change):
    def change_member(manifest, members):
        members["trees.ubj"] = change(members["trees.ubj"])

    rewrite(path, change_member)


def change_booster_bytes(path, generator):
    def change(raw):
        raw = bytearray(raw)
        for place in generator.integers(0, len(raw), generator.integers(1, 4)):
            raw[place] = (
                generator.integers(256) if generator.random() < 0.5 else b"0129lLdU"[place % 8]
            )
        return bytes(raw)

    rewrite_booster(path, change)


def change_booster_length(path, generator):
    def change(raw):
        start, n_bytes = generator.integers(len(raw)), generator.integers(1, 9)
        inserted = generator.bytes(n_bytes) if generator.random() < 0.5 else b""
        return raw[:start] + inserted + raw[start + (0 if inserted else n_bytes) :]

    rewrite_booster(path, change)


def change_tree(path, generator):
    """Put an odd number into one array of one tree, or make the array longer or shorter."""

    def change(raw):
        model = ubjson.read(raw)
        trees = model["learner"]["gradient_booster"]["model"]["trees"]
        tree = trees[generator.integers(len(trees))]
        names = sorted(name for name in tree if isinstance(tree[name], np.ndarray))
        name = names[generator.integers(len(names))]
        array = tree[name]
        if generator.random() < 0.2 or not array.size:
            tree[name] = np.resize(array, generator.integers(0, 2 * array.size + 2))
        elif array.dtype.kind == "f":
            array[generator.integers(array.size)] = generator.choice(
                [np.nan, np.inf, 3e38, -1e30, 0]
            )
        elif generator.random() < 0.5:
            generator.shuffle(array)
        else:
            odd = [-(2**31), -2, -1, 0, 1, 2, array.size, 10**6, 2**31 - 1, *range(3, 9)]
            value = odd[generator.integers(len(odd))]
            array[generator.integers(array.size)] = np.int64(value).astype(array.dtype)
        return written(model)

    rewrite_booster(path, change)


def change_parameter(path, generator):
    """Put an odd value in place of one of the numbers XGBoost keeps as strings."""

    def change(raw):
        odd = [
            "0",
            "1",
            "2",
            "-1",
            "2147483647",
            "4294967296",
            "nan",
            "inf",
            "[1E38]",
            "",
            "x",
            3,
            [],
        ]
        model = ubjson.read(raw)
        learner = model["learner"]
        booster = learner["gradient_booster"]["model"]
        places = [
            learner["learner_model_param"],
            learner["objective"],
            learner["objective"]["reg_loss_param"],
            learner,
            booster,
            booster["cats"],
            booster["gbtree_model_param"],
            booster["trees"][0]["tree_param"],
            booster["trees"][0],
            model,
        ]
        place = places[generator.integers(len(places))]
        key = sorted(place)[generator.integers(len(place))]
        if generator.random() < 0.2:
            del place[key]
        else:
            place[key] = odd[generator.integers(len(odd))]
        return written(model)

    rewrite_booster(path, change)


def change_array_bytes(path, generator):
    def change(manifest, members):
        raw = bytearray(members["center.npy"])
        for place in generator.integers(0, len(raw), generator.integers(1, 4)):
            raw[place] = (
                generator.integers(256)
                if generator.random() < 0.5
                else b"0123456789OUVbf("[place % 16]
            )
        members["center.npy"] = bytes(raw)

    rewrite(path, change)


def become_another_file(path, generator):
    kinds = [
        lambda: path.write_bytes(generator.bytes(generator.integers(1, 3_000))),
        lambda: path.write_bytes(b"PK" + generator.bytes(generator.integers(1, 3_000))),
        lambda: path.write_bytes(b""),
        lambda: path.write_text("card,amount\n1,20\n"),
        lambda: rewrite(
            path, with_member("center.npy", npy_of(np.array([None]), allow_pickle=True))
        ),
        lambda: bomb(path, members_of(path), declared=int(generator.integers(1, 10_000))),
    ]
    kinds[generator.integers(len(kinds))]()


BREAKS_OF_REAL = (change_state, change_state, change_parameters)
BREAKS = (
    flip_bits,
    cut_short,
    remove_bytes,
    insert_bytes,
    disturb_members,
    disturb_manifest,
    change_booster_bytes,
    change_booster_bytes,
    change_booster_length,
    change_tree,
    change_tree,
    change_parameter,
    change_array_bytes,
    become_another_file,
    *BREAKS_OF_REAL,
)


if __name__ == "__main__":
    load_broken_files(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
