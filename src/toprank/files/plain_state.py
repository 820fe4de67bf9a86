"""The state of scikit-learn's transformers as JSON and arrays, and back.

What a transformer has learned are numbers, texts, arrays and containers of these; each is written
with a tag that says what it was. Only transformers of a list are made again, by setting these
values: nothing that could be executed is in a file, or comes out of one.
"""

import math
import re
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toprank.files.faults import shown

# Their modules, all of scikit-learn.
TRANSFORMERS = {
    "Binarizer": "preprocessing",
    "ColumnTransformer": "compose",
    "FeatureUnion": "pipeline",
    "FunctionTransformer": "preprocessing",  # without a function: what passes columns through
    "KBinsDiscretizer": "preprocessing",
    "MaxAbsScaler": "preprocessing",
    "MinMaxScaler": "preprocessing",
    "MissingIndicator": "impute",
    "Normalizer": "preprocessing",
    "OneHotEncoder": "preprocessing",
    "OrdinalEncoder": "preprocessing",
    "PCA": "decomposition",
    "Pipeline": "pipeline",
    "PolynomialFeatures": "preprocessing",
    "PowerTransformer": "preprocessing",
    "QuantileTransformer": "preprocessing",
    "RobustScaler": "preprocessing",
    "SimpleImputer": "impute",
    "StandardScaler": "preprocessing",
    "TargetEncoder": "preprocessing",
    "TruncatedSVD": "decomposition",
    "VarianceThreshold": "feature_selection",
}
_HIDDEN = ("Pipeline", "FunctionTransformer", "MissingIndicator")
_ATTRIBUTE = re.compile(r"_?[A-Za-z][A-Za-z0-9_]*", re.ASCII)
_KINDS = "biufSU"
_DEEPEST = 20


class PlainWriter:
    """Writes values as JSON; their arrays of numbers and texts are in `arrays`, by name."""

    def __init__(self) -> None:
        self.arrays: dict[str, NDArray] = {}

    def transformer(self, step: Any, where: str) -> dict[str, Any]:
        """Return the class and the state of a transformer; TypeError if it is not on the list."""
        name = type(step).__name__
        if name not in TRANSFORMERS or type(step) is not _class(name):
            known = ", ".join(each for each in TRANSFORMERS if each not in _HIDDEN)
            raise TypeError(
                f"{where} is a {name}, which no .toprank file can contain; those of scikit-learn "
                f"that can be are {known}. Save the ranker alone, toprank.save(pipeline[-1], "
                "path), and the other steps with skops.io.dump."
            )
        state = {
            key: self.value(value, f"{key} of {where}")
            for key, value in vars(step).items()
            if key != "memory"  # a folder of pickles, which only fit reads
        }
        return {"$transformer": name, "state": state}

    def value(self, value: Any, where: str) -> Any:
        """Return a value as JSON that `PlainReader.value` reads."""
        if isinstance(value, np.generic) and value.dtype.kind in _KINDS:
            return {"$number": value.dtype.str, "is": value.item()}  # np.float64 is a float, too
        if value is None or isinstance(value, bool | int | float | str):
            return value
        if isinstance(value, list):
            return [self.value(each, where) for each in value]
        if isinstance(value, tuple):
            return {"$tuple": [self.value(each, where) for each in value]}
        if isinstance(value, dict):
            return {
                "$dict": [[self.value(each, where) for each in pair] for pair in value.items()]
            }
        if isinstance(value, slice):
            ends = (value.start, value.stop, value.step)
            return {"$slice": [self.value(each, where) for each in ends]}
        if isinstance(value, np.ndarray):
            return self._array(value, where)
        if isinstance(value, np.dtype) and value.kind in _KINDS:
            return {"$dtype": value.str}
        if isinstance(value, type) and issubclass(value, np.number):
            return {"$type": np.dtype(value).str}
        if hasattr(value, "get_params"):
            return self.transformer(value, where)
        raise TypeError(
            f"{where} is a {type(value).__name__}, which no .toprank file can contain: numbers, "
            "texts and arrays of them can be. Save the ranker alone, toprank.save(pipeline[-1], "
            "path), and the other steps with skops.io.dump."
        )

    def _array(self, array: NDArray, where: str) -> Any:
        if array.dtype.kind in _KINDS:
            name = f"step{len(self.arrays)}"
            self.arrays[name] = array
            return {"$array": name}
        if array.dtype.kind != "O":
            raise TypeError(f"{where} is an array of {array.dtype}, not of numbers or texts.")
        items = [self.value(each, where) for each in array.ravel().tolist()]
        return {"$objects": items, "shape": list(array.shape)}


class PlainReader:
    """Reads what `PlainWriter` wrote; ValueError for anything else."""

    def __init__(self, arrays: Any) -> None:
        self._arrays = arrays

    def transformer(self, plain: Any, depth: int = 0) -> Any:
        """Return a transformer of the list with its state."""
        name, state = plain["$transformer"], plain["state"]
        if name not in TRANSFORMERS:
            raise ValueError(
                f"a step must be one of {', '.join(TRANSFORMERS)}; got {shown(name)}."
            )
        kind = _class(name)
        made = kind.__new__(kind)
        for key, value in state.items():
            if not _ATTRIBUTE.fullmatch(key) or key == "memory" or hasattr(kind, key):
                raise ValueError(f"a {name} must not have {shown(key)} in its state.")
            vars(made)[key] = self.value(value, depth + 1)
        if name in ("Pipeline", "FeatureUnion"):
            made.memory = None
        return made

    def value(self, plain: Any, depth: int = 0) -> Any:
        """Return the value."""
        if depth > _DEEPEST:
            raise ValueError(f"steps must nest at most {_DEEPEST} deep.")
        if isinstance(plain, list):
            return [self.value(each, depth + 1) for each in plain]
        if not isinstance(plain, dict):
            return plain
        tag = next(iter(plain), "")
        if tag == "$transformer":
            return self.transformer(plain, depth)
        if tag == "$array":
            return self._arrays[plain[tag]]
        if tag in ("$number", "$dtype", "$type"):
            dtype = np.dtype(plain[tag])
            if dtype.kind not in _KINDS:
                raise ValueError(f"a step must hold numbers or texts; got {dtype}.")
            if tag == "$number":
                return dtype.type(plain["is"])
            return dtype if tag == "$dtype" else dtype.type
        items = [self.value(each, depth + 1) for each in plain[tag]]
        if tag == "$tuple":
            return tuple(items)
        if tag == "$dict":
            return dict(items)
        if tag == "$slice":
            return slice(*items)
        if tag == "$objects":
            return _objects(items, plain["shape"])
        raise ValueError(f"a value of a step must have a known tag; got {shown(tag)}.")


def _objects(items: list[Any], shape: list[int]) -> NDArray:
    if math.prod(shape) != len(items):
        raise ValueError(f"an array of {len(items)} values must have that many; got {shape}.")
    array = np.empty(len(items), dtype=object)
    for place, item in enumerate(items):
        array[place] = item
    return array.reshape(shape)


def _class(name: str) -> Any:
    return getattr(import_module(f"sklearn.{TRANSFORMERS[name]}"), name)
