"""`toprank explain --tree`: the tree of a model in words and as a picture."""

from pathlib import Path
from typing import Any

import click

from toprank import registry

_PICTURES = (".svg", ".dot")


def explain_tree(model: Path, output: Path | None, as_json: bool) -> None:
    """Print the tree of a model and the rules of its groups; draw it if requested."""
    from toprank import files
    from toprank.cli import paths, screen
    from toprank.data.atomic import atomic_path
    from toprank.present import summary

    if output is not None:
        if output.suffix.lower() not in _PICTURES:
            raise click.UsageError(f"-o must name a picture, .svg or .dot; got {output.name!r}.")
        paths.check_output(output, model, "picture")
    ranker, manifest = files.open_model(model)
    _check_tree(ranker, model)
    noun = paths.tree_noun(ranker, str(manifest["facts"].get("label") or ""))
    groups = summary.rules_of(ranker)
    if as_json:
        screen.print_json(tree_facts(ranker, groups, noun))
    else:
        screen.show(tree_text(ranker, groups, noun))
    if groups is None:
        screen.remark(
            f"note: the tree is too large to be written as rules; toprank explain {model.name} "
            "DATA --row N gives the rule of one row."
        )
    if output is not None:
        is_svg = output.suffix.lower() == ".svg"
        picture = ranker.to_svg(noun, model.stem) if is_svg else ranker.to_dot(noun)
        with atomic_path(output) as unfinished:
            unfinished.write_text(picture, encoding="utf-8", newline="\n")
        screen.remark(f"Wrote {output}")


def tree_text(ranker: Any, groups: list[Any] | None, noun: str) -> str:
    """Return a tree in words and, unless it is too large, the rules of its groups."""
    return "\n\n".join([ranker.to_text(noun), *(group.text(noun) for group in groups or [])])


def tree_facts(ranker: Any, groups: list[Any] | None, noun: str) -> dict[str, Any]:
    """Return the groups in plain values; null where a tree is too large for rules."""
    listed = None if groups is None else [_group_facts(group, noun) for group in groups]
    return {"learner": type(ranker).__name__, "groups": listed}


def path_facts(path: Any, noun: str) -> dict[str, Any]:
    """Return one row's way through a tree in plain values."""
    return {
        "group": path.rank + 1,
        "groups": path.n_groups,
        "tests": list(path.rule.tests),
        "text": path.text(noun),
    }


def _check_tree(ranker: Any, model: Path) -> None:
    from toprank.workflow.alert_list import has_probabilities

    if hasattr(ranker, "to_text"):
        return
    if has_probabilities(ranker):
        choices = registry.fit_choices().items()
        one_tree = [name for name, choice in choices if choice.row.trees == "one"]
        way = f"fit one with --learner {' or '.join(one_tree)}"
    else:
        way = "make one with toprank anomalies --detector tree"
    raise ValueError(
        f"{model.name} must hold a single tree for --tree; its learner is "
        f"{type(ranker).__name__}; {way}, or ask about a row of DATA with --row."
    )


def _group_facts(group: Any, noun: str) -> dict[str, Any]:
    rules = [
        {"tests": list(rule.tests), **_counts(rule.tally, noun), "text": rule.text(noun)}
        for rule in group.rules
    ]
    return {"group": group.rank + 1, **_counts(group.tally, noun), "rules": rules}


def _counts(tally: Any, noun: str) -> dict[str, float]:
    """Return how many training rows, their weight and that of the positives; or their volume."""
    from toprank.rankers.trees.reading.words import SPACE

    if noun == SPACE:
        return {"rows": int(tally.n_rows), "volume": tally.hits}
    return {"rows": int(tally.n_rows), "weight": tally.mass, "positives": tally.hits}
