"""Saves and loads fitted models: the parts of a learner are the members of an archive."""

import os
from pathlib import Path
from typing import Any

from toprank.data.atomic import PRIVATE, atomic_path
from toprank.files.archive import MANIFEST, is_member_name, opened_archive, write_archive
from toprank.files.arrays import npy_bytes
from toprank.files.faults import BROKEN
from toprank.files.manifest import checked_manifest, manifest_bytes
from toprank.files.members import ArrayMembers, BoosterMembers, check_all_read, check_valid
from toprank.files.saved_learners import Saved, learner_class, learner_names


def save(model: Any, path: str | os.PathLike[str], facts: dict[str, Any] | None = None) -> None:
    """Write a fitted model to `path`; a file already there is replaced in one step.

    A Pipeline of scikit-learn whose last step is a ranker is a model, too, where the steps before
    it are ordinary transformers: they are written as numbers and texts, never as pickles.
    `facts` are saved with the model and returned by `read_manifest`: its training window, its
    metrics, anything that JSON can express. Tuples become lists.

    >>> save("a model", "payments.toprank")
    Traceback (most recent call last):
        ...
    TypeError: save takes a fitted AdaBoostOL, ...; got str.
    """
    model = _as_saved(model)
    name = _checked_learner(model)
    target = Path(path).resolve()  # a link is kept, and the file it names is replaced
    saved = model._to_saved()
    members = _members_of(saved)
    parameters = saved.parameters
    if parameters is None:
        parameters = model.get_params(deep=False)
    manifest = manifest_bytes(name, parameters, saved.state, facts or {}, members)
    with atomic_path(target, mode=PRIVATE if saved.is_private else None) as new:
        write_archive(new, {MANIFEST: manifest, **members})
        with opened_archive(new, shown_as=target.name) as archive:
            checked_manifest(archive)  # a model beyond the limits is refused now, not later


def load(path: str | os.PathLike[str]) -> Any:
    """Return the fitted model that `save` wrote to `path`.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     table = Path(folder, "cards.csv")
    ...     _ = table.write_text("card,amount")
    ...     load(table)
    Traceback (most recent call last):
        ...
    toprank.files.faults.ModelFileError: cards.csv cannot be loaded: it is not a model of toprank.
    """
    return open_model(path)[0]


def open_model(path: str | os.PathLike[str]) -> tuple[Any, dict[str, Any]]:
    """Return the fitted model in a file and its manifest, opening the file once."""
    with opened_archive(path) as archive:
        manifest = checked_manifest(archive)
        learner = learner_class(manifest["learner"])
        arrays, boosters = ArrayMembers(archive, manifest), BoosterMembers(archive, manifest)
        try:
            saved = Saved(manifest["state"], arrays, boosters)
            model = learner._from_saved(manifest["parameters"], saved)
        except BROKEN as error:
            raise ValueError(
                f"its contents do not make a {manifest['learner']}: {error}"
            ) from error
        check_all_read(arrays, boosters, manifest["learner"])
        return model, manifest


def read_manifest(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the manifest of a model file: learner, parameters, facts, versions, members.

    The manifest is checked against the list of members; their contents are not read.

    >>> from tempfile import TemporaryDirectory
    >>> from toprank import BoostedRanker
    >>> amounts, is_fraud = [[9.0], [12.0], [15.0], [980.0]], [0, 0, 0, 1]
    >>> ranker = BoostedRanker(n_estimators=2, n_jobs=1).fit(amounts, is_fraud)
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "payments.toprank")
    ...     save(ranker, path, facts={"until": "2024-02-01"})
    ...     read_manifest(path)["facts"]
    {'until': '2024-02-01'}
    """
    with opened_archive(path) as archive:
        return checked_manifest(archive)


def _as_saved(model: Any) -> Any:
    """Return what is saved of a model: of scikit-learn's pipelines, their steps."""
    if type(model).__module__ != "sklearn.pipeline":
        return model
    from sklearn.pipeline import Pipeline

    from toprank.files.saved_pipeline import SavedPipeline

    return SavedPipeline(model) if type(model) is Pipeline else model


def _checked_learner(model: Any) -> str:
    """Return the name of the learner, which must be fitted."""
    from sklearn.exceptions import NotFittedError
    from sklearn.utils.validation import check_is_fitted

    name, known = type(model).__name__, learner_names()
    if name not in known or type(model) is not learner_class(name):
        raise TypeError(f"save takes a fitted {', '.join(known)}; got {name}.")
    if not hasattr(model, "fit"):
        return name  # a stream, which is complete before its first row
    try:
        check_is_fitted(model)
    except NotFittedError as error:
        raise NotFittedError(f"this {name} is not fitted yet; call fit before save.") from error
    return name


def _members_of(saved: Saved) -> dict[str, bytes]:
    """Return the members by name, always in the same order."""
    members = {f"{name}.npy": npy_bytes(name, saved.arrays[name]) for name in saved.arrays}
    members |= {f"{name}.ubj": bytes(saved.boosters[name]) for name in saved.boosters}
    for name in members:
        if not is_member_name(name):
            raise ValueError(f"a member's name must be letters, digits, _ and -; got {name!r}.")
    for name, raw in saved.boosters.items():
        check_valid(name, raw)  # what load would refuse is not written
    return dict(sorted(members.items()))
