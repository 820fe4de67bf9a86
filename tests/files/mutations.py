"""Ways to break a model file, each by a generator of random numbers.

Some leave the hashes wrong; others correct them, so that the checks after the hashes are reached.
"""

import json

import numpy as np

from files.packing import bomb, members_of, npy_of, pack, rewrite, with_member
from files.ubjson_writer import written
from toprank.files import ubjson


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


UNKNOWN_KEYS = ["more", "", "leaf_weights", "weight_drop", "boosted_rounds", "gbtree", "config"]
UNKNOWN_KEYS += ["Config", "Model", "specified_updater", "updater", "gbtree_train_param", "name"]
UNKNOWN_KEYS += ["num_target", "size_leaf_vector", "num_output_group", "lambdarank_param"]


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
        action = generator.random()
        if action < 0.2:
            del place[key]
            return written(model)
        if action < 0.4:  # a key that is not checked, some of which XGBoost reads elsewhere
            key = UNKNOWN_KEYS[generator.integers(len(UNKNOWN_KEYS))]
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
