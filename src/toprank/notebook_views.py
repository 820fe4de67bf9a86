"""How results show themselves in a notebook: as HTML, made by a layer above that of their class.

What a result looks like is decided in `toprank.present.notebook`, which is imported when a cell
shows a result, and not before.
"""

from typing import Any

from toprank import registry

_VIEW = "toprank.present.notebook:html_of"


def html_of(shown: Any) -> str:
    """Return the HTML that a notebook shows of a result."""
    return registry.named(_VIEW)(shown)


class ShownInNotebooks:
    """A result that a notebook shows as HTML; its text stays what `repr` says."""

    def _repr_html_(self) -> str:
        return html_of(self)


class ShownWhenFitted:
    """An estimator that shows what it learned below scikit-learn's diagram of it.

    Before `fit`, and with `sklearn.set_config(display="text")`, all is as scikit-learn has it.
    It must come before scikit-learn's classes in the list of bases.
    """

    def _learned_html(self) -> str:
        """Return what was learned as HTML; "" if nothing was yet."""
        raise NotImplementedError

    def _repr_html_inner(self) -> str:
        return super()._repr_html_inner() + self._learned_html()  # type: ignore[misc]

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        bundle = super()._repr_mimebundle_(**kwargs)  # type: ignore[misc]
        if "text/html" in bundle:
            bundle["text/html"] += self._learned_html()
        return bundle
