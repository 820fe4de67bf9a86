"""The manifest of a file: what it says, what it can contain, and how faults are reported."""

import hashlib
import zipfile

import numpy as np
import pytest
import xgboost

from files.packing import members_of, pack, refused, rewrite
from toprank.files import ModelFileError, load, read_manifest, save

pytestmark = pytest.mark.usefixtures("tiny_known")


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


def test_numpy_numbers_in_facts_become_plain_ones(ranker, tmp_path):
    facts = {"ap": np.float32(0.5), "n": np.int64(3), "best": np.bool_(True), "pair": (1, 2)}
    save(ranker, tmp_path / "model.toprank", facts=facts)

    assert read_manifest(tmp_path / "model.toprank")["facts"] == {
        "ap": 0.5,
        "n": 3,
        "best": True,
        "pair": [1, 2],
    }


@pytest.mark.parametrize(
    ("facts", "reason"),
    [
        ({"when": object()}, "facts.when must be a number.*got object"),
        ({"a": [1, {2}]}, r"facts.a\[1\] must be a number.*got set"),
        ({1: 2}, "keys of facts must be strings"),
        ({"$float": "nan"}, "keys of facts must be strings other than"),
    ],
)
def test_what_json_cannot_express_is_refused(facts, reason, ranker, tmp_path):
    with pytest.raises(TypeError, match=reason):
        save(ranker, tmp_path / "model.toprank", facts=facts)


def test_facts_that_contain_themselves_are_refused(ranker, tmp_path):
    facts = {}
    facts["self"] = facts
    with pytest.raises(ValueError, match="must nest at most 64 deep"):
        save(ranker, tmp_path / "model.toprank", facts=facts)


def edited(key, value):
    def change(manifest, members):
        manifest[key] = value

    return change


def without(key):
    def change(manifest, members):
        del manifest[key]

    return change


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
    ],
)
def test_a_fault_is_named(change, reason, saved_file):
    rewrite(saved_file, change)

    with refused(reason):
        load(saved_file)


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (b"[" * 10**6, "not valid JSON"),
        (b'{"a":' * 10**6, "not valid JSON"),
        (b'{"a":' + b"9" * 10**5 + b"}", "not valid JSON"),
        (b'{"a":1,"a":1}', "a key occurs twice"),
        (b'{"a":NaN}', "NaN is not a JSON value"),
        (b"\xff", "not valid JSON"),
        (b"[]", "does not say that this is a toprank model"),
        (bytes(17 * 2**20), "at most 16777216 bytes long"),
    ],
)
def test_a_manifest_that_cannot_be_read_is_refused(raw, reason, saved_file):
    pack(saved_file, [("manifest.json", raw)])

    with pytest.raises(ModelFileError, match=reason):
        load(saved_file)


def test_a_changed_member_is_found_by_its_hash(saved_file):
    members = members_of(saved_file)
    members["center.npy"] = members["center.npy"][:-1] + b"!"
    pack(saved_file, members.items())

    with pytest.raises(
        ModelFileError, match=r"says sha256 \w{12}\.\.\. of center.npy but the member has \w{12}"
    ):
        load(saved_file)


def test_a_member_of_another_length_is_refused_before_it_is_read(saved_file):
    members = members_of(saved_file)
    members["center.npy"] += b"!"
    pack(saved_file, members.items())

    with pytest.raises(ModelFileError, match=r"bytes of center.npy but the member has"):
        read_manifest(saved_file)
