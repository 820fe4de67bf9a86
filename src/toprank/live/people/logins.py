"""Logging in and setting passwords: what is checked, in which order, and what is written."""

import asyncio

from toprank.live.desk_clock import wall_time
from toprank.live.desk_settings import DeskSettings
from toprank.live.people import accounts
from toprank.live.people.login_limits import LoginLimits
from toprank.live.people.passwords import Passwords
from toprank.live.people.sessions import SessionBook
from toprank.live.store import account_table, audit_chain, link_table
from toprank.live.store.desk_database import Database
from toprank.live.store.secret_hash import hash_of

_WRONG = "The name or the password is wrong."


class LoginError(ValueError):
    """A login that failed; its sentence is the same whether or not there is such an account."""


class TooManyLoginsError(LoginError):
    """A login that must wait, without a look at its password; `wait` is in seconds."""

    def __init__(self, wait: float) -> None:
        self.wait = max(1, round(wait))
        super().__init__(f"Too many failed logins. Try again in {self.wait} s.")


class Logins:
    """Lets people in.

    Parameters
    ----------
    database, settings
        Of the desk.
    sessions
        Where new sessions begin.
    passwords
        What checks passwords.
    """

    def __init__(
        self,
        database: Database,
        settings: DeskSettings,
        sessions: SessionBook,
        passwords: Passwords | None = None,
    ) -> None:
        self._database, self._sessions = database, sessions
        self._passwords = passwords or Passwords()
        self._limits = LoginLimits(settings.lock_after)

    async def log_in(self, name: str, password: str, address: str) -> str:
        """Return the cookie of a new session; LoginError if name or password are wrong."""
        stored = await self._check(name, password, address)
        return await asyncio.to_thread(self._begin, name, stored, address)

    async def _check(self, name: str, password: str, address: str) -> str:
        """Return the hash of an account's password; LoginError if this is another password."""
        wait = self._limits.begin(name, address)
        if wait:
            raise TooManyLoginsError(wait)
        stored = await asyncio.to_thread(self._stored, name)
        if not await self._passwords.is_right(password, stored):
            await asyncio.to_thread(self._write_failure, name, address)
            raise LoginError(_WRONG)
        self._limits.succeeded(name, address)
        assert stored is not None
        if self._passwords.is_outdated(stored):
            hashed = await self._passwords.hashed(password)
            await asyncio.to_thread(self._upgrade, name, stored, hashed)
            stored = hashed
        return stored

    async def set_by_link(self, secret: str, password: str, address: str) -> str:
        """Set a password by a one-time link, and return the cookie of a new session."""
        name = await asyncio.to_thread(self.name_of_link, secret)
        if name is None:
            raise accounts.EndedLinkError
        accounts.check_password(name, password)
        hashed = await self._passwords.hashed(password)

        def change() -> str:
            with self._database.writing() as connection:
                accounts.set_by_link(connection, secret, hashed, wall_time())
                cookie = self._sessions.begin(connection, name, address)
            self._sessions.reload()
            return cookie

        return await asyncio.to_thread(change)

    async def change_password(self, name: str, old: str, new: str, address: str) -> str:
        """Replace a password, end all sessions, and return the cookie of a new one."""
        await self._check(name, old, address)
        accounts.check_password(name, new)
        hashed = await self._passwords.hashed(new)

        def change() -> str:
            with self._database.writing() as connection:
                accounts.set_password(connection, name, hashed, wall_time())
                cookie = self._sessions.begin(connection, name, address)
            self._sessions.reload()
            return cookie

        return await asyncio.to_thread(change)

    def name_of_link(self, secret: str) -> str | None:
        """Return whose link this is, None if it cannot be used."""
        with self._database.reading() as connection:
            return link_table.name_of(connection, hash_of(secret), wall_time())

    def _begin(self, name: str, stored: str, address: str) -> str:
        with self._database.writing() as connection:
            if account_table.password_of(connection, name) != stored:
                raise LoginError(_WRONG)  # it was changed, or the account disabled, meanwhile
            cookie = self._sessions.begin(connection, name, address)
        self._sessions.reload()
        return cookie

    def _stored(self, name: str) -> str | None:
        with self._database.reading() as connection:
            return account_table.password_of(connection, name)

    def _write_failure(self, name: str, address: str) -> None:
        """Write a failed login; a name that is none may be a password in the wrong field."""
        with self._database.writing() as connection:
            is_known = accounts.find(connection, name) is not None
            subject = f"person:{name}" if is_known else "an unknown name"
            audit_chain.add(connection, wall_time(), f"address:{address}", "login failed", subject)

    def _upgrade(self, name: str, before: str, hashed: str) -> None:
        """Store the password by the parameters of now, unless it was changed meanwhile."""
        with self._database.writing() as connection:
            if account_table.password_of(connection, name) == before:
                account_table.change(connection, name, password=hashed)
