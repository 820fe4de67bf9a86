"""Sessions in memory, with the table of the database as the truth.

Every page asks for its session, so that must cost nothing: it is a look into a dictionary, which
`reload` fills again and again, since accounts may be changed by another process. Sessions end by
the clock of the machine, whatever the desk's own is.
"""

import secrets
import threading
from typing import NamedTuple

import sqlalchemy as sa

from toprank.live.desk_clock import wall_time
from toprank.live.desk_settings import DeskSettings
from toprank.live.people.desk_roles import Person
from toprank.live.store import account_table, audit_chain, session_table
from toprank.live.store.desk_database import Database
from toprank.live.store.secret_hash import hash_of
from toprank.live.store.session_table import Session

_MINUTE = 60_000_000
_MOST_SESSIONS = 20  # of a person: all are in memory
_MOST_MESSAGES = 5


class LoggedIn(NamedTuple):
    """A session and its person."""

    session: Session
    person: Person


class SessionBook:
    """Who is logged in.

    Parameters
    ----------
    database
        Where sessions and accounts are stored.
    settings
        How long sessions last.
    """

    def __init__(self, database: Database, settings: DeskSettings) -> None:
        self._database = database
        self._longest = int(settings.session_hours * 60) * _MINUTE
        self._idle = int(settings.idle_for.astype("timedelta64[us]").astype(int))
        self._lock = threading.Lock()
        self._state: tuple[int, int] | None = None
        self._found: dict[str, LoggedIn] = {}
        self._seen: dict[str, int] = {}
        self._messages: dict[str, list[str]] = {}
        self.reload()

    def reload(self) -> None:
        """Read sessions and accounts, so that what others have ended is not found any more.

        Whatever changes an account ends its sessions, so if these are the same, all is.
        """
        # one at a time: else an earlier reading could replace a later one
        with self._lock:
            with self._database.reading() as connection:
                state = session_table.state(connection)
                if state == self._state:
                    return
                rows = session_table.all_sessions(connection)
                accounts = account_table.all_accounts(connection)
            people = {
                each.name: Person(each.name, each.role)
                for each in accounts
                if each.disabled_at is None
            }
            self._found = {
                each.hash: LoggedIn(each, people[each.name])
                for each in rows
                if each.name in people
            }
            self._state = state
            for kept in (self._seen, self._messages):
                for hashed in [each for each in list(kept) if each not in self._found]:
                    kept.pop(hashed, None)

    def begin(self, connection: sa.Connection, name: str, address: str) -> str:
        """Store a new session and return its cookie; `reload` after the commit makes it known."""
        now = wall_time()
        session_table.drop_old(connection, now - self._longest, now - self._idle)
        session_table.keep_newest(connection, name, _MOST_SESSIONS - 1)
        cookie = secrets.token_urlsafe(32)
        token = secrets.token_urlsafe(32)
        session_table.add(connection, hash_of(cookie), name, token, now, address)
        account_table.change(connection, name, seen_at=now)
        actor = f"person:{name}"
        audit_chain.add(connection, now, actor, "logged in", actor, {"address": address})
        return cookie

    def find(self, cookie: str, *, is_use: bool = True) -> LoggedIn | None:
        """Return who has this cookie, None if nobody is logged in with it.

        With `is_use`, the session counts as used now; what a page asks for by itself does not.
        """
        found = self._found.get(hash_of(cookie))
        if found is None or not self.is_current(found.session):
            return None
        if is_use:
            self._seen[found.session.hash] = wall_time()
        return found

    def fetch(self, cookie: str) -> None:
        """Read one session: it may have begun, or been used, at another server of the desk."""
        with self._database.reading() as connection:
            session = session_table.by_hash(connection, hash_of(cookie))
            role = None if session is None else account_table.role_of(connection, session.name)
        if session is not None and role is not None:
            self._state = None  # the next time, all are read
            self._found[session.hash] = LoggedIn(session, Person(session.name, role))

    def is_current(self, session: Session) -> bool:
        """Return whether a session has not ended, by time or by somebody."""
        if session.hash not in self._found:
            return False
        now = wall_time()
        return now < session.made_at + self._longest and now < self._used(session) + self._idle

    def of(self, name: str) -> list[Session]:
        """Return the sessions of a person that have not ended, as last used, the newest first."""
        return [
            each.session._replace(seen_at=self._used(each.session))
            for each in self._found.values()
            if each.person.name == name and self.is_current(each.session)
        ]

    def numbered(self, number: int) -> Session | None:
        """Return a session that has not ended by its number."""
        found = (each.session for each in self._found.values())
        return next((e for e in found if e.number == number and self.is_current(e)), None)

    def end(self, session: Session, actor: str) -> None:
        """End one session."""
        with self._database.writing() as connection:
            if session_table.end(connection, session.number):
                details = {"session": session.number}
                subject = f"person:{session.name}"
                audit_chain.add(connection, wall_time(), actor, "logged out", subject, details)
        self.reload()

    def end_all(self, name: str, actor: str) -> None:
        """End all sessions of a person."""
        with self._database.writing() as connection:
            details = {"sessions": session_table.end_all(connection, name)}
            subject = f"person:{name}"
            audit_chain.add(connection, wall_time(), actor, "logged out", subject, details)
        self.reload()

    def write_uses(self) -> None:
        """Write when sessions were last used, for the next start; called now and then."""
        used = {hashed: at - at % _MINUTE for hashed, at in list(self._seen.items())}
        if used:
            with self._database.writing() as connection:
                session_table.saw(connection, used)

    def say(self, session: Session, message: str) -> None:
        """Keep a message for the next page of a session."""
        kept = self._messages.setdefault(session.hash, [])
        kept.append(message)
        del kept[:-_MOST_MESSAGES]

    def messages(self, session: Session) -> list[str]:
        """Return the messages that were kept for a session, and keep them no longer."""
        return self._messages.pop(session.hash, [])

    def _used(self, session: Session) -> int:
        return max(session.seen_at, self._seen.get(session.hash, 0))
