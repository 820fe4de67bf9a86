"""The log of a search: what was tried and why the winner won."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Self

from toprank.metrics import Comparison
from toprank.rankers.auto.search import Outcome


@dataclass(frozen=True)
class SearchedRecipe:
    """One recipe of the log; `lead` is over plain log-loss on the judged rows.

    `name` is the kind, `words` distinguishes it from others of its kind. `seconds` are not
    kept in a model file, so that the same seed writes the same file.
    """

    name: str
    words: str
    average_precision: float
    lead: Comparison
    seconds: float | None


@dataclass(frozen=True)
class SearchLog:
    """Everything tried, plain log-loss first; which won, and why.

    `judged_on` says which rows the figures are from; `left_out` lists what was skipped for lack
    of time, `beyond_effort` what the effort did not allow.
    """

    tried: tuple[SearchedRecipe, ...]
    winner: str
    reason: str
    judged_on: str
    left_out: tuple[str, ...] = ()
    beyond_effort: tuple[str, ...] = ()

    @property
    def is_plain(self) -> bool:
        """Whether plain log-loss was kept."""
        return self.winner == self.tried[0].words

    @property
    def chosen(self) -> SearchedRecipe:
        """The winner."""
        return next(each for each in self.tried if each.words == self.winner)

    def __str__(self) -> str:
        width = max(len(each.words) for each in self.tried)
        lines = [f"{'':{width}}   {'AP':>5}  against plain log-loss  seconds"]
        for each in self.tried:
            star = "*" if each.words == self.winner else " "
            lead = "" if each is self.tried[0] else lead_text(each.lead)
            seconds = "" if each.seconds is None else f"{each.seconds:7.1f}"
            lines.append(
                f"{each.words:{width}} {star} {each.average_precision:.3f}  {lead:22}  {seconds}"
            )
        lines.append(f"Judged on {self.judged_on}. Kept {self.winner}: {self.reason}.")
        if self.left_out:
            lines.append(f"Skipped (time limit): {'; '.join(self.left_out)}.")
        if self.beyond_effort:
            lines.append(f"Skipped (effort): {'; '.join(self.beyond_effort)}.")
        return "\n".join(line.rstrip() for line in lines)

    def to_json(self) -> dict[str, Any]:
        tried = [
            {
                "name": each.name,
                "words": each.words,
                "average_precision": each.average_precision,
                "lead": each.lead._asdict(),
            }
            for each in self.tried
        ]
        skipped = {
            "left_out": list(self.left_out),
            "beyond_effort": list(self.beyond_effort),
        }
        return {**asdict(self), "tried": tried, **skipped}

    @classmethod
    def from_json(cls, facts: dict[str, Any]) -> Self:
        tried = tuple(
            SearchedRecipe(
                str(each["name"]),
                str(each["words"]),
                float(each["average_precision"]),
                Comparison(**{name: float(value) for name, value in each["lead"].items()}),
                None,
            )
            for each in facts["tried"]
        )
        account = cls(
            tried,
            str(facts["winner"]),
            str(facts["reason"]),
            str(facts["judged_on"]),
            tuple(map(str, facts["left_out"])),
            tuple(map(str, facts.get("beyond_effort", ()))),
        )
        if account.winner not in {each.words for each in tried}:
            raise ValueError(f"winner must be one of the recipes tried; got {account.winner!r}.")
        return account


def account_of(outcome: Outcome, judged_on: str) -> SearchLog:
    """Return the log of a search."""
    plain = outcome.plain.standing
    tried = tuple(
        SearchedRecipe(
            trial.name,
            trial.words,
            trial.standing.average_precision,
            Comparison(*trial.standing.lead(plain), trial.standing.ahead_of(plain)),
            trial.seconds,
        )
        for trial in outcome.trials
    )
    return SearchLog(
        tried,
        outcome.winner.words,
        outcome.reason,
        judged_on,
        tuple(outcome.left_out),
        tuple(outcome.beyond_effort),
    )


def lead_text(lead: Comparison) -> str:
    """Return the lead with its interval, e.g. "+.021 (-.003 to +.047)"."""
    value, low, high = (f"{each:+.3f}".replace("0.", ".", 1) for each in lead[:3])
    return f"{value} ({low} to {high})"
