"""The people of a desk in a replay: investigators who know the truth, and an approver."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import sqlalchemy as sa

from toprank.live.desk import Desk
from toprank.live.desk_clock import wall_time
from toprank.live.people import accounts
from toprank.live.served_days.desk_visitor import DeskVisitor
from toprank.live.store import alert_table, model_table, payment_reads
from toprank.live.store.model_table import StoredModel

APPROVER = "approver"
_ACTOR = "person:replay"


class CheckedCard(NamedTuple):
    """A card that somebody has decided on, and its payments that the verdict is about."""

    card: str
    ids: list[str]
    is_fraud: bool


class _Investigator(NamedTuple):
    who: str
    visitor: DeskVisitor
    is_hostile: bool


class DeskTeam:
    """Investigators who take cards in turn, and an approver of models, at a served desk.

    Parameters
    ----------
    desk
        The desk, to make accounts and to look up which payments a page is about.
    address
        Where it is served.
    is_fraud
        The truth of a payment, by its id.
    n_people
        How many investigators there are.
    n_hostile
        How many of them say the opposite of the truth.
    """

    def __init__(
        self,
        desk: Desk,
        address: str,
        is_fraud: Callable[[str], bool],
        n_people: int,
        n_hostile: int = 0,
    ) -> None:
        self._desk, self._is_fraud = desk, is_fraud
        names = [f"investigator-{number}" for number in range(1, n_people + 1)]
        roles = dict.fromkeys(names, "investigator") | {APPROVER: "approver"}
        with desk.database.writing() as connection:
            links = {
                name: accounts.add(connection, name, role, wall_time(), _ACTOR)
                for name, role in roles.items()
            }
        self._people = [
            _Investigator(f"person:{name}", DeskVisitor(address, links[name]), place < n_hostile)
            for place, name in enumerate(names)
        ]
        self._approver = DeskVisitor(address, links[APPROVER])
        self._turn = 0

    def check(self, n_checks: int) -> list[CheckedCard]:
        """Work on the first cards of the queue, in turn; return what was said of them."""
        checked: list[CheckedCard] = []
        for _ in range(n_checks):
            _, person, is_hostile = self._people[self._turn % len(self._people)]
            person.get("/queue")
            person.post("/queue/next")
            if person.alert is None:
                break  # no card is left
            checked.append(self._decide(person, is_hostile))
            self._turn += 1
            if person.alert is not None:  # the card that has opened is the next person's
                person.post(f"/alerts/{person.alert}/release")
        return checked

    def dismiss(self, who: str) -> None:
        """Let the others do the checks of a person from now on; somebody stays."""
        others = [each for each in self._people if each.who != who]
        self._people = others or self._people

    def promote(self, is_good: Callable[[StoredModel], bool]) -> StoredModel | None:
        """Let the challenger rank if it `is_good`; return it, None if there is none that is."""
        with self._desk.database.reading() as connection:
            challenger = model_table.in_state(connection, "challenger")
        if challenger is None or not is_good(challenger):
            return None
        self._approver.get("/models")
        self._approver.post(f"/models/{challenger.number}/promote")
        return challenger

    def _decide(self, person: DeskVisitor, is_hostile: bool) -> CheckedCard:
        """Give the verdict on the card that is open in front of a person; the next one opens."""
        alert, ticked = person.alert, person.ticked
        assert alert is not None
        with self._desk.database.reading() as connection:
            card = alert_table.by_number(connection, alert)
            ids = _ids(connection, ticked)
        assert card is not None
        frauds = [at for at in ticked if self._is_fraud(ids[at])]
        is_fraud = bool(frauds) != is_hostile
        said = frauds or ticked
        fields = {
            "verdict": "fraud" if is_fraud else "genuine",
            "position": [str(at) for at in said],
            "reason_code": "",
            "note": "",
        }
        person.post(f"/alerts/{alert}/decide", fields)
        return CheckedCard(card.card, [ids[at] for at in said], is_fraud)


def _ids(connection: sa.Connection, positions: Sequence[int]) -> dict[int, str]:
    return {row.position: row.id for row in payment_reads.at(connection, positions)}
