"""Fitted models to and from disk: one `.toprank` file, never pickle.

The file is a zip of `manifest.json`, which says what the model is and holds the sha256 of every
other member; `.npy` arrays; and XGBoost models as `.ubj`. A file that reaches `load` may come from
anyone: sizes, names, hashes and the structure of every member are checked before any is used.
"""

from toprank.files.faults import ModelFileError
from toprank.files.manifest import FORMAT_VERSION
from toprank.files.saved_learners import Saved
from toprank.files.saving import load, open_model, read_manifest, save

__all__ = [
    "FORMAT_VERSION",
    "ModelFileError",
    "Saved",
    "load",
    "open_model",
    "read_manifest",
    "save",
]
