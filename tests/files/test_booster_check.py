import time

import numpy as np
import pytest
import xgboost

from files.ubjson_writer import written
from toprank.files import booster_check, ubjson
from toprank.files.booster_check import check_booster

N_FEATURES = 4


def trained(n_rounds=3, feature_types=None, n_rows=400, **settings):
    generator = np.random.default_rng(0)
    X = generator.normal(size=(n_rows, N_FEATURES))
    X[:, 3] = generator.integers(0, 40, n_rows)
    y = (X[:, 0] > 0) | (X[:, 3] % 3 == 0)
    X[generator.random(X.shape) < 0.1] = np.nan
    matrix = xgboost.DMatrix(X, y, feature_types=feature_types, enable_categorical=True)
    return xgboost.train(
        {"max_depth": 4, "base_score": 0.5, "nthread": 1, **settings}, matrix, n_rounds
    )


def raw_of(booster):
    return bytes(booster.save_raw("ubj"))


CATEGORIES = ["q", "q", "q", "c"]
GOOD = {
    "numeric": {},
    "many trees": {"n_rounds": 300, "max_depth": 2},
    "only roots": {"gamma": 1e9},
    "partitions of categories": {"feature_types": CATEGORIES, "max_cat_to_onehot": 1},
    "single categories": {"feature_types": CATEGORIES, "max_cat_to_onehot": 100},
    "leaf by leaf": {"max_depth": 0, "grow_policy": "lossguide", "max_leaves": 9},
    "pruned": {"n_rounds": 20, "tree_method": "exact", "gamma": 3, "max_depth": 6},
    "parallel trees": {"num_parallel_tree": 3},
    "probabilities": {"objective": "binary:logistic"},
    "log-odds": {"objective": "binary:logitraw"},
    "negative start": {"base_score": -4.5951195},
}


@pytest.mark.parametrize("settings", GOOD.values(), ids=GOOD.keys())
def test_what_xgboost_saves_is_valid(settings):
    check_booster(raw_of(trained(**settings)), N_FEATURES)


def test_a_pruned_tree_of_the_good_ones_has_deleted_nodes():
    trees = trees_of(ubjson.read(raw_of(trained(**GOOD["pruned"]))))

    assert any(tree["tree_param"]["num_deleted"] != "0" for tree in trees)


def test_a_slice_of_a_booster_is_valid():
    check_booster(raw_of(trained(n_rounds=6)[2:5]), N_FEATURES)


def test_names_and_attributes_of_a_booster_are_valid():
    booster = trained(feature_types=CATEGORIES)
    booster.feature_names = ["amount", "hour", "été", "merchant"]
    booster.set_attr(best_iteration="2", note="a note")

    check_booster(raw_of(booster), N_FEATURES)


def test_the_number_of_features_is_compared_when_given():
    raw = raw_of(trained())

    check_booster(raw, None)
    with pytest.raises(ValueError, match="num_feature must be 5; got 4"):
        check_booster(raw, 5)


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"booster": "dart"}, "must be 'gbtree'; got 'dart'"),
        ({"booster": "gblinear"}, "must be 'gbtree'; got 'gblinear'"),
        ({"objective": "multi:softprob", "num_class": 2}, "objective must be one of"),
        ({"objective": "count:poisson"}, "objective must be one of"),
    ],
)
@pytest.mark.filterwarnings("ignore::UserWarning")  # a linear booster has no depth
def test_other_kinds_of_booster_are_refused(settings, reason):
    with pytest.raises(ValueError, match=reason):
        check_booster(raw_of(trained(**settings)), N_FEATURES)


def test_category_names_of_a_data_frame_are_refused():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"merchant": pandas.Categorical(list("abcabcabca"))})
    matrix = xgboost.DMatrix(frame, np.arange(10), enable_categorical=True)

    with pytest.raises(ValueError, match="train on category codes"):
        check_booster(raw_of(xgboost.train({}, matrix, 1)), 1)


def trees_of(model):
    return model["learner"]["gradient_booster"]["model"]["trees"]


def set_in_tree(name, position, value):
    """Return an edit that puts `value` into one array of the second tree."""

    def edit(model):
        trees_of(model)[1][name][position] = value

    return edit


def replace_in_tree(name, value):
    """Return an edit that replaces one member of the second tree; `value` may make it anew."""

    def edit(model):
        tree = trees_of(model)[1]
        tree[name] = value(tree[name]) if callable(value) else value

    return edit


def replace(path, value):
    """Return an edit that replaces what the dotted path names."""

    def edit(model):
        *outer, last = path.split(".")
        for key in outer:
            model = model[key]
        model[last] = value(model[last]) if callable(value) else value

    return edit


def detach_a_cycle(model):
    # Nodes 1 and 2 keep exactly one parent each, yet the root no longer leads to them.
    tree = trees_of(model)[1]
    grandchildren = tree["left_children"][1], tree["right_children"][1]
    tree["left_children"][0], tree["right_children"][0] = grandchildren
    tree["parents"][list(grandchildren)] = 0
    tree["left_children"][1], tree["right_children"][1] = 1, 2
    tree["parents"][[1, 2]] = 1


def share_children(model):
    tree = trees_of(model)[1]
    for name in ("left_children", "right_children"):
        tree[name][0] = tree[name][1]


def put_children_at(place):
    """Return an edit that moves the root's children in the second tree."""

    def edit(model):
        tree = trees_of(model)[1]
        tree["left_children"][0], tree["right_children"][0] = place, place + 1

    return edit


def swap_children(model):
    tree = trees_of(model)[1]
    tree["left_children"][0], tree["right_children"][0] = 2, 1


def make_a_chain(model):
    n_nodes = 2 * 1_500 + 1
    evens = np.arange(0, n_nodes - 1, 2)
    tree = trees_of(model)[1]
    for name in NODE_ARRAYS:
        tree[name] = np.zeros(n_nodes, dtype=tree[name].dtype)
    for side, name in ((1, "left_children"), (2, "right_children")):
        tree[name] -= 1
        tree[name][evens] = evens + side
        tree["parents"][evens + side] = evens
    tree["parents"][0] = 2**31 - 1
    tree["tree_param"]["num_nodes"] = str(n_nodes)
    for name in ("categories", "categories_nodes", "categories_segments", "categories_sizes"):
        tree[name] = tree[name][:0]


NODE_ARRAYS = (
    "base_weights",
    "default_left",
    "left_children",
    "loss_changes",
    "parents",
    "right_children",
    "split_conditions",
    "split_indices",
    "split_type",
    "sum_hessian",
)
MODEL = "learner.gradient_booster.model"

BAD = [
    (replace("version", [3, 2]), "version must be a list"),
    (replace("version", [1, 7, 0]), "XGBoost 3 or later"),
    (replace("version", [True, 2, 0]), "version must be a list"),
    (replace("learner", []), "learner must be an object; got list"),
    (lambda model: model.pop("version"), "the booster must have learner, version; got learner"),
    (
        lambda model: model["learner"]["objective"]["reg_loss_param"].update(more=1),
        "'more' of reg_loss_param must be a string; got 1",
    ),
    (
        lambda model: trees_of(model)[1]["tree_param"].update(more=[]),
        "'more' of tree_param of tree 1 must be a string",
    ),
    (replace("learner.attributes", {"a": 1}), "attributes must be an object of strings"),
    (replace("learner.feature_names", ["a"]), "feature_names must have 4 strings; got 1"),
    (replace("learner.feature_names", [1, 2, 3, 4]), "feature_names must be a list of strings"),
    (replace("learner.feature_types", list("qqqx")), "feature_types must be among .*; got 'x'"),
    (replace("learner.objective.name", "rank:map"), "objective must be one of"),
    (
        replace("learner.objective.reg_loss_param.scale_pos_weight", "x"),
        "scale_pos_weight must be",
    ),
    (replace("learner.learner_model_param.num_class", "2"), "num_class must be 0; got 2"),
    (replace("learner.learner_model_param.num_target", "2"), "num_target must be 1; got 2"),
    (replace("learner.learner_model_param.num_feature", "-4"), "num_feature must be a whole"),
    (replace("learner.learner_model_param.num_feature", "٤"), "num_feature must be a whole"),
    (replace("learner.learner_model_param.num_feature", 4), "num_feature must be a whole"),
    (
        replace("learner.learner_model_param.num_feature", "999999999"),
        "num_feature must be between",
    ),
    (replace("learner.learner_model_param.base_score", "[nan]"), "base_score must be a number"),
    (replace("learner.learner_model_param.base_score", "[1E39]"), "number that float32 can hold"),
    (
        replace("learner.learner_model_param.base_score", "[0E0,1E0]"),
        "base_score must be a number",
    ),
    (replace(f"{MODEL}.tree_info", [0, 0, 1]), "tree_info must be 3 zeros"),
    (replace(f"{MODEL}.tree_info", [0, 0]), "tree_info must be 3 zeros"),
    (replace(f"{MODEL}.iteration_indptr", [0, 2, 1, 3]), "must rise from 0 to 3"),
    (replace(f"{MODEL}.iteration_indptr", [0, 1, 2]), "must rise from 0 to 3"),
    (replace(f"{MODEL}.iteration_indptr", []), "iteration_indptr must be a list"),
    (replace(f"{MODEL}.gbtree_model_param.num_trees", "4"), "num_trees must be 3; got 4"),
    (replace(f"{MODEL}.gbtree_model_param.num_parallel_tree", "0"), "num_parallel_tree must be"),
    (replace(f"{MODEL}.trees", lambda trees: trees[:2]), "num_trees must be 2; got 3"),
    (replace(f"{MODEL}.cats.enc", [{}]), "cats must be empty"),
    (replace(f"{MODEL}.cats.enc", 0), "cats must be empty"),
    (replace_in_tree("id", 0), "id of tree 1 must be its position; got 0"),
    (replace_in_tree("tree_param", {}), "tree_param of tree 1 must have"),
    (set_in_tree("tree_param", "num_nodes", "3"), "of tree 1 must have 3 nodes"),
    (set_in_tree("tree_param", "num_feature", "5"), "num_feature of tree 1 must be 4; got 5"),
    (set_in_tree("tree_param", "size_leaf_vector", "2"), "size_leaf_vector of tree 1"),
    (set_in_tree("tree_param", "num_deleted", "1"), "must have 1 deleted nodes"),
    *(
        (replace_in_tree(name, lambda a: a[:-1]), f"{name} of tree 1 must have")
        for name in NODE_ARRAYS
    ),
    (replace_in_tree("parents", lambda parents: parents.tolist()), "typed array of int32"),
    (replace_in_tree("parents", lambda parents: parents.astype("i8")), "typed array of int32"),
    (put_children_at(10**6), "must be one node's child"),
    (put_children_at(0), "must be one node's child"),
    (set_in_tree("left_children", 0, -1), "two children or none"),
    (set_in_tree("left_children", -1, -7), "two children or none"),
    (set_in_tree("right_children", -1, 1), "two children or none"),
    (share_children, "must be one node's child"),
    (swap_children, "right child of tree 1 must directly follow"),
    (detach_a_cycle, "some form a cycle"),
    (make_a_chain, "at most 1000 levels"),
    (set_in_tree("parents", 0, 1), "must be the nodes they are children of"),
    (set_in_tree("parents", 2, 1), "must be the nodes they are children of"),
    (set_in_tree("split_indices", 0, 4), "split_indices of tree 1 must be between 0 and 3"),
    (set_in_tree("split_indices", 0, -1), "split_indices of tree 1 must be between 0 and 3"),
    (set_in_tree("split_indices", -1, 2**31 - 1), "must have 0 deleted nodes"),
    (set_in_tree("default_left", 0, 2), "default_left of tree 1 must be 0 or 1"),
    (set_in_tree("split_type", 0, 2), "split_type of tree 1 must be 0 or 1"),
    (set_in_tree("split_conditions", 0, np.nan), "split_conditions of tree 1 must contain finite"),
    (set_in_tree("base_weights", 0, np.inf), "base_weights of tree 1 must contain finite"),
    (set_in_tree("sum_hessian", 0, -np.inf), "sum_hessian of tree 1 must contain finite"),
    (set_in_tree("loss_changes", 0, np.nan), "loss_changes of tree 1 must contain finite"),
    (set_in_tree("split_conditions", -1, 3e38), "theirs may overflow"),
    (set_in_tree("categories", 0, -1), "categories of tree 1 must be between 0 and 16777215"),
    (set_in_tree("categories", 0, 2**24), "categories of tree 1 must be between 0 and 16777215"),
    (set_in_tree("categories_nodes", 0, 10**6), "nodes whose split_type is 1"),
    (set_in_tree("categories_sizes", 0, 2**62), "categories_sizes of tree 1 must be above 0"),
    (set_in_tree("categories_sizes", 0, 0), "categories_sizes of tree 1 must be above 0"),
    (set_in_tree("categories_segments", 0, 1), "categories_segments of tree 1 must follow"),
    (replace_in_tree("categories_sizes", lambda sizes: sizes[:-1]), "one categories_sizes"),
]


@pytest.fixture(scope="module")
def sound():
    return raw_of(trained(feature_types=CATEGORIES, max_cat_to_onehot=1))


def objects_in(value, path=()):
    """Return the objects of a document by their paths, lists walked through."""
    if isinstance(value, list):
        inner = [objects_in(each, (*path, str(i))) for i, each in enumerate(value)]
    elif isinstance(value, dict):
        inner = [objects_in(each, (*path, key)) for key, each in value.items()]
    else:
        return {}
    own = {".".join(path): value} if isinstance(value, dict) else {}
    return own | {name: each for part in inner for name, each in part.items()}


def scores_of(raw):
    booster = xgboost.Booster({"nthread": 1})
    booster.load_model(bytearray(raw))
    X = np.random.default_rng(1).normal(size=(50, N_FEATURES))
    X[:, 3] = np.arange(50) % 41
    return booster.predict(xgboost.DMatrix(X, feature_types=CATEGORIES, enable_categorical=True))


def unknown_keys(path):
    """Return what a later XGBoost might write there."""
    more = {"more": "1E0"}
    if not path.endswith("_param"):  # whose values are all strings
        more |= {"more_numbers": np.arange(3.0), "more_still": {"deep": [None, True, 2]}}
    return more


def test_unknown_keys_are_allowed_in_every_object_and_change_no_score(sound):
    expected = scores_of(sound)
    paths = [path for path in objects_in(ubjson.read(sound)) if path != "learner.attributes"]
    assert len(paths) == 8 + 1 + 2 * 3  # up to `cats` and the parameters; three trees with theirs

    for path in paths:
        model = ubjson.read(sound)
        objects_in(model)[path].update(unknown_keys(path))
        raw = written(model)
        check_booster(raw, N_FEATURES)
        np.testing.assert_array_equal(scores_of(raw), expected, err_msg=path)


def test_unknown_keys_are_allowed_in_all_objects_at_once(sound):
    model = ubjson.read(sound)
    for path, each in objects_in(model).items():
        if path != "learner.attributes":
            each.update(unknown_keys(path))

    check_booster(written(model), N_FEATURES)
    np.testing.assert_array_equal(scores_of(written(model)), scores_of(sound))


@pytest.mark.parametrize(("edit", "reason"), BAD, ids=[reason for _, reason in BAD])
def test_a_fault_is_named(edit, reason, sound, monkeypatch):
    model = ubjson.read(sound)
    edit(model)
    monkeypatch.setattr(ubjson, "read", lambda raw: model)

    with pytest.raises(ValueError, match=reason):
        check_booster(sound, N_FEATURES)


def test_a_deleted_node_is_not_reached_and_has_a_valid_parent(monkeypatch):
    raw = raw_of(trained(**GOOD["pruned"]))
    model = ubjson.read(raw)
    tree = next(t for t in trees_of(model) if t["tree_param"]["num_deleted"] != "0")
    deleted = np.flatnonzero(tree["split_indices"] == 2**31 - 1)[0]
    monkeypatch.setattr(ubjson, "read", lambda raw: model)

    check_booster(raw, N_FEATURES)
    tree["parents"][deleted] = 10**6
    with pytest.raises(ValueError, match=r"parents of tree .* must be between"):
        check_booster(raw, N_FEATURES)


def test_the_bits_of_all_categories_together_are_limited(sound, monkeypatch):
    monkeypatch.setattr(booster_check, "_MOST_CATEGORY_BITS", 50)

    with pytest.raises(ValueError, match="category codes must be smaller"):
        check_booster(sound, N_FEATURES)


def test_a_base_score_outside_0_to_1_is_refused_for_probabilities(monkeypatch):
    raw = raw_of(trained(objective="binary:logistic"))
    model = ubjson.read(raw)
    model["learner"]["learner_model_param"]["base_score"] = "[1E0]"
    monkeypatch.setattr(ubjson, "read", lambda raw: model)

    with pytest.raises(ValueError, match="must be between 0 and 1; got 1"):
        check_booster(raw, N_FEATURES)


def test_300_trees_of_depth_6_are_checked_in_a_moment():
    raw = raw_of(trained(n_rounds=300, n_rows=5_000, max_depth=6, min_child_weight=0))
    seconds = []
    for _ in range(3):
        start = time.perf_counter()
        check_booster(raw, N_FEATURES)
        seconds.append(time.perf_counter() - start)

    assert min(seconds) < 0.6  # 0.1 on an idle machine
