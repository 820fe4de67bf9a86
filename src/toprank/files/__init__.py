"""Fitted models to and from disk: one `.toprank` file, never pickle.

The file is a zip of `manifest.json`, which describes the model and has the sha256 of every other
member, of `.npy` arrays, and of XGBoost models as `.ubj`. A file may come from anyone, so `load`
checks sizes, names, hashes and the structure of every member before it uses any.
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
