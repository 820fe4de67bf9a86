"""A fitted ranker inside another: its members stand beside the other's, under a prefix."""

from typing import Any

from toprank.model_file.learners import Saved, learner_class


def kept_of(ranker: Any, prefix: str) -> tuple[dict[str, Any], Saved]:
    """Return the facts about a fitted ranker, and its arrays and boosters with `prefix` in front.

    The facts are JSON; the state of what comes back beside them is empty.
    """
    if not hasattr(ranker, "_to_saved"):
        raise TypeError(
            f"what is inside must be a ranker of toprank to be saved; got "
            f"{type(ranker).__name__}, which only Python itself can keep."
        )
    saved = ranker._to_saved()
    told = saved.parameters
    facts = {
        "learner": type(ranker).__name__,
        "parameters": ranker.get_params(deep=False) if told is None else told,
        "state": saved.state,
    }
    arrays = {f"{prefix}{name}": array for name, array in saved.arrays.items()}
    boosters = {f"{prefix}{name}": raw for name, raw in saved.boosters.items()}
    return facts, Saved({}, arrays, boosters)


def restored(facts: Any, saved: Saved, prefix: str, kind: type, name: str = "ranker") -> Any:
    """Return the ranker that `kept_of` told of; ValueError where it is not of `kind`."""
    learner = learner_class(facts["learner"])
    if not issubclass(learner, kind):
        raise ValueError(f"{name} must be a {kind.__name__.lower()}; got {facts['learner']!r}.")
    parts = Saved(facts["state"], _under(saved.arrays, prefix), _under(saved.boosters, prefix))
    return learner._from_saved(facts["parameters"], parts)


def _under(members: dict[str, Any], prefix: str) -> dict[str, Any]:
    """Return the members of a prefix under their own names."""
    return {
        name.removeprefix(prefix): each
        for name, each in members.items()
        if name.startswith(prefix)
    }
