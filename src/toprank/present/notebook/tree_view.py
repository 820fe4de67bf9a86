"""A fitted tree in a notebook: its drawing, and the rules of its groups."""

from toprank.present.notebook.frame import MOST_ROWS, drawing, frame, list_table
from toprank.present.report.markup import count, text
from toprank.present.summary import rules_of
from toprank.rankers.anomaly.readable_density import ReadableSpace
from toprank.rankers.trees.readable import Readable
from toprank.rankers.trees.reading.rules import GroupRules
from toprank.rankers.trees.reading.words import SPACE, headline, tally_text
from toprank.wording import plural

_RULES_SHOWN = 3


def view_of_tree(tree: Readable) -> str:
    """Return the drawing of a tree, and the rules of its groups, the most suspicious first."""
    if tree.seen_ is None:
        return frame("The tree has too many cuts to be drawn here; to_svg() and to_text() do so.")
    noun = SPACE if isinstance(tree, ReadableSpace) else "positives"
    picture = drawing(tree.to_svg(noun))
    groups = rules_of(tree)
    if groups is None:
        return frame("A tree with too many paths for a table of rules", picture)
    n_groups = f"{count(len(groups))} {plural('group', len(groups))}"
    rows = [_cells(group, noun) for group in groups[:MOST_ROWS]]
    table = list_table(["Group", "Training rows", "Rules"], rows, len(groups))
    return frame(
        f"A tree that sorts rows into {n_groups}, the most suspicious on the left",
        picture,
        f"<details><summary>The rules of the groups</summary>{table}</details>",
    )


def _cells(group: GroupRules, noun: str) -> list[str]:
    met = [rule for rule in group.rules if rule.tally is None or rule.tally.n_rows]
    items = [f"<li>{text(rule.text(noun))}</li>" for rule in met[:_RULES_SHOWN]]
    if (n_more := len(group.rules) - len(items)) > 0:
        more = f"and {n_more} more {plural('rule', n_more)} that few rows meet, or none"
        items.append(f'<li class="toprank-soft">{more}</li>')
    tally = f"{text(tally_text(group.tally, noun))} ({text(headline(group.tally, noun))})"
    return [str(group.rank + 1), tally, f"<ul>{''.join(items)}</ul>"]
