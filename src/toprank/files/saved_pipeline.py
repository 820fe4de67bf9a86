"""scikit-learn's Pipeline around a ranker, in a model file.

The ranker is saved as it would be alone, and the steps before it as their numbers and texts.
"""

import warnings
from typing import Any

import sklearn
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from toprank.files.nested import kept_of, restored
from toprank.files.plain_state import PlainReader, PlainWriter
from toprank.files.saved_learners import Saved
from toprank.files.state import part_of, parts_together

_RANKER, _STEPS = "ranker", "steps"


class SavedPipeline:
    """What `save` and `load` know a pipeline by; `load` gives the pipeline itself."""

    def __init__(self, pipeline: Pipeline) -> None:
        self.pipeline = pipeline

    def _to_saved(self) -> Saved:
        """Return what a model file keeps of a fitted pipeline."""
        *steps, (name, ranker) = self.pipeline.steps
        if not hasattr(ranker, "_to_saved"):
            raise TypeError(
                "the last step of a pipeline must be a ranker of toprank to be saved; got "
                f"{name!r}, a {type(ranker).__name__}."
            )
        check_is_fitted(ranker)
        writer = PlainWriter()
        plain = [
            [each, step if isinstance(step, str) else writer.transformer(step, f"step {each!r}")]
            for each, step in steps
        ]
        facts, parts = kept_of(ranker, _RANKER)
        state = {
            "steps": plain,
            "ranker": [name, facts],
            "transform_input": self.pipeline.transform_input,
            "scikit-learn": sklearn.__version__,
        }
        arrays = {**parts_together({_STEPS: writer.arrays}), **parts.arrays}
        return Saved(state, arrays, parts.boosters, parameters={})

    @classmethod
    def _from_saved(cls, parameters: dict[str, Any], saved: Saved) -> Pipeline:
        """Return the pipeline that `_to_saved` described; ValueError if it does not fit."""
        reader = PlainReader(part_of(saved.arrays, _STEPS))
        steps = [(str(name), _step(reader, plain)) for name, plain in saved.state["steps"]]
        name, facts = saved.state["ranker"]
        steps.append((str(name), restored(facts, saved, _RANKER, object)))
        _warn_of_version(str(saved.state["scikit-learn"]))
        inputs = saved.state["transform_input"]
        return Pipeline(steps, transform_input=inputs)


def _step(reader: PlainReader, plain: Any) -> Any:
    if isinstance(plain, str):
        if plain != "passthrough":
            raise ValueError(f"a step must be a transformer or 'passthrough'; got {plain[:50]!r}.")
        return plain
    return reader.transformer(plain)


def _warn_of_version(fitted_with: str) -> None:
    here = sklearn.__version__
    if fitted_with.split(".")[:2] != here.split(".")[:2]:
        warnings.warn(
            f"the pipeline was fitted with scikit-learn {fitted_with[:20]} and is loaded with "
            f"{here}, whose transformers may work in another way; compare a few scores, or fit it "
            "again.",
            stacklevel=6,
        )
