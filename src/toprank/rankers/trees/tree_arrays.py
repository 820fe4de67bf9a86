"""Trees of trees as plain arrays, for the model file; what is read back is checked completely.

Following a path through invalid arrays could read stray memory or never end, so no path is
followed before every number is known to be in range and every link to lead forward.
"""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from toprank.data.tables import Schema
from toprank.rankers.trees.kernel.meta_tree import MetaTrees, Nodes, Unions, ranks

_LARGEST_COUNT = 1e100
_NODE, _UNION = "node_", "union_"
_WHOLE, _PLACE, _NUMBER, _FLAG = "i4", "i8", "f8", "?"
_NODE_TYPES = {
    **dict.fromkeys(("column", "set_start", "left", "right", "parent", "union"), _WHOLE),
    **dict.fromkeys(("threshold", "n_rows", "mass", "hits", "gain"), _NUMBER),
    "is_missing_left": _FLAG,
}
_UNION_TYPES = {
    **dict.fromkeys(("tree", "parent", "left", "right", "depth", "root", "rank"), _WHOLE),
    **dict.fromkeys(("n_rows", "mass", "hits"), _NUMBER),
    "place": _PLACE,
}


def arrays_of(trees: MetaTrees) -> dict[str, NDArray]:
    """Return the arrays of the trees by name."""
    nodes = {_NODE + name: values for name, values in trees.nodes._asdict().items()}
    unions = {_UNION + name: values for name, values in trees.unions._asdict().items()}
    return {**nodes, **unions, "roots": trees.roots, "goes_left": trees.goes_left}


def trees_in(arrays: Mapping[str, NDArray], schema: Schema, least_rows: int = 1) -> MetaTrees:
    """Return the trees that `arrays_of` gave; ValueError if they are not valid.

    Nodes must have `least_rows`: 0 in density trees.
    """
    nodes = Nodes(**_columns(arrays, _NODE, _NODE_TYPES))
    unions = Unions(**_columns(arrays, _UNION, _UNION_TYPES))
    roots = _vector(arrays, "roots", _WHOLE)
    goes_left = _vector(arrays, "goes_left", _FLAG)
    _check_counts(nodes, unions, least_rows)
    _check_unions(unions, nodes.column.size, roots.size)
    _check_nodes(nodes, unions)
    _check_cuts(nodes, goes_left, schema)
    _check_roots(roots, nodes, unions)
    return MetaTrees(nodes, unions, roots, goes_left)


def one_tree_in(arrays: Mapping[str, NDArray], schema: Schema, least_rows: int = 1) -> MetaTrees:
    """Return the one tree that `arrays_of` gave; ValueError if it is not valid."""
    trees = trees_in(arrays, schema, least_rows)
    _check(trees.n_trees == 1, f"there must be one tree; got {trees.n_trees}.")
    return trees


def _columns(
    arrays: Mapping[str, NDArray], prefix: str, types: dict[str, str]
) -> dict[str, NDArray]:
    columns = {name: _vector(arrays, prefix + name, kind) for name, kind in types.items()}
    sizes = {values.size for values in columns.values()}
    if len(sizes) != 1 or 0 in sizes:
        raise ValueError(
            f"arrays {prefix}* must be non-empty and of the same length; got lengths {sizes}."
        )
    return columns


def _vector(arrays: Mapping[str, NDArray], name: str, kind: str) -> NDArray:
    if name not in arrays:
        raise ValueError(f"array {name!r} is missing.")
    values = arrays[name]
    if values.ndim != 1 or values.dtype != np.dtype(kind):
        raise ValueError(
            f"array {name!r} must be one row of {np.dtype(kind)}; got {values.dtype} of shape "
            f"{values.shape}."
        )
    return values


def _check(is_sound: bool | np.bool_, sentence: str) -> None:
    if not is_sound:
        raise ValueError(sentence)


def _check_counts(nodes: Nodes, unions: Unions, least_rows: int) -> None:
    for part, name in ((nodes, "nodes"), (unions, "unions")):
        numbers = np.stack([part.n_rows, part.mass, part.hits])
        is_sum = np.abs(numbers) <= _LARGEST_COUNT  # larger ones would overflow when added up
        _check(is_sum.all(), f"counts of {name} must be finite, at most {_LARGEST_COUNT:g}.")
        is_sound = (part.mass > 0) & (part.hits >= 0) & (part.n_rows >= least_rows)
        _check(is_sound.all(), f"counts of {name} must not be negative.")
        is_tiny = (numbers > 0) & (numbers < 1 / _LARGEST_COUNT)  # quotients would overflow
        _check(
            not is_tiny.any(), f"counts of {name} must be 0 or {1 / _LARGEST_COUNT:g} and more."
        )
        _check(
            (part.hits <= part.mass * (1 + 1e-9)).all(),
            f"hits of {name} must not exceed their mass.",
        )
    _check(np.isfinite(nodes.gain).all(), "gains of nodes must be finite.")


def _check_unions(unions: Unions, n_nodes: int, n_trees: int) -> None:
    number = np.arange(unions.tree.size)
    is_group = unions.root < 0
    _check((unions.root < n_nodes).all(), "a union's root must be a node.")
    _check(((unions.tree >= 0) & (unions.tree < n_trees)).all(), "a union's tree must exist.")
    for child in (unions.left, unions.right):
        _check((child[is_group] == -1).all(), "a group must have no children.")
        inner = child[~is_group]
        is_behind = (inner > number[~is_group]) & (inner < number.size)
        _check(is_behind.all(), "children of a union must come after it.")
        _check(
            (unions.parent[inner] == number[~is_group]).all(), "children must name their union."
        )
        _check(
            (unions.tree[inner] == unions.tree[~is_group]).all(),
            "children must be in the tree of their union.",
        )
    above = unions.parent
    is_first = above < 0
    _check((above < number).all(), "a union must come after the one above it.")
    named = np.concatenate([unions.left[~is_group], unions.right[~is_group]])
    _check(np.array_equal(np.sort(named), number[~is_first]), "each union must be a child once.")
    _check((unions.rank == ranks(unions)).all(), "groups must be ranked from left to right.")


def _check_nodes(nodes: Nodes, unions: Unions) -> None:
    number = np.arange(nodes.column.size)
    is_leaf = nodes.column < 0
    _check(
        ((nodes.union >= 0) & (nodes.union < unions.tree.size)).all(), "a node's union must exist."
    )
    _check((nodes.parent < number).all(), "a node must come after the one above it.")
    onward = unions.root[nodes.union[is_leaf]]
    for child in (nodes.left, nodes.right):
        is_behind = (child > number) & (child < number.size)
        _check(is_behind[~is_leaf].all(), "a cut must lead to nodes after it.")
        _check((child[is_leaf] == onward).all(), "a leaf must lead to the root of its union.")
        _check(is_behind[is_leaf][onward >= 0].all(), "a leaf must lead to a node after it.")


def _check_cuts(nodes: Nodes, goes_left: NDArray[np.bool_], schema: Schema) -> None:
    is_cut = nodes.column >= 0
    _check((nodes.column < len(schema.columns)).all(), "a cut must be of an existing column.")
    sizes = np.array([len(column.categories) for column in schema.columns])
    size = sizes[nodes.column[is_cut]]
    is_set = size > 0
    start = nodes.set_start[is_cut]
    _check((nodes.set_start[~is_cut] == -1).all(), "a leaf must have no set of categories.")
    _check(((start >= 0) == is_set).all(), "a set of categories must belong to a category.")
    _check((start + size <= goes_left.size)[is_set].all(), "a set of categories must be complete.")
    thresholds = nodes.threshold[is_cut][~is_set]
    _check((~np.isnan(thresholds)).all(), "a threshold must be a number.")
    is_far = np.abs(thresholds) > np.finfo(np.float32).max
    _check(
        (np.isinf(thresholds) | ~is_far).all(), "a threshold must be within the range of float32."
    )


def _check_roots(roots: NDArray[np.int32], nodes: Nodes, unions: Unions) -> None:
    n_nodes = nodes.column.size
    _check(roots.size >= 1, "there must be at least one tree.")
    _check(((roots >= 0) & (roots < n_nodes)).all(), "a tree must begin with a node.")
    first = np.flatnonzero(unions.parent < 0)
    _check(
        np.array_equal(unions.tree[first], np.arange(roots.size)),
        "each tree must have its unions.",
    )
    begins = np.where(unions.root[first] >= 0, unions.root[first], roots)
    _check((begins == roots).all(), "a tree must begin with its first union's root.")
    _check(
        (unions.tree[nodes.union[roots]] == np.arange(roots.size)).all(),
        "each root must belong to its tree.",
    )
