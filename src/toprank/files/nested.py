"""A fitted ranker inside another: its members are saved with the other's, under a prefix."""

from typing import Any

from toprank.files.saved_learners import Saved, learner_class
from toprank.files.state import part_of, parts_together


def kept_of(ranker: Any, part: str | int) -> tuple[dict[str, Any], Saved]:
    """Return the facts about a fitted ranker, and its arrays and boosters as those of `part`.

    The facts are JSON and contain the state; the state of the returned `Saved` is empty.
    """
    if not hasattr(ranker, "_to_saved"):
        raise TypeError(
            f"the inner ranker must be one of toprank's to be saved; got {type(ranker).__name__}."
        )
    saved = ranker._to_saved()
    own = saved.parameters
    facts = {
        "learner": type(ranker).__name__,
        "parameters": ranker.get_params(deep=False) if own is None else own,
        "state": saved.state,
    }
    arrays, boosters = parts_together({part: saved.arrays}), parts_together({part: saved.boosters})
    return facts, Saved({}, arrays, boosters)


def restored(facts: Any, saved: Saved, part: str | int, kind: type, name: str = "ranker") -> Any:
    """Return the ranker that `kept_of` described; ValueError if it is not of `kind`."""
    learner = learner_class(facts["learner"])
    if not issubclass(learner, kind):
        raise ValueError(f"{name} must be a {kind.__name__.lower()}; got {facts['learner']!r}.")
    parts = Saved(facts["state"], part_of(saved.arrays, part), part_of(saved.boosters, part))
    return learner._from_saved(facts["parameters"], parts)
