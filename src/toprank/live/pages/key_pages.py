"""The API keys of a desk: make and revoke."""

from starlette.responses import Response

from toprank.live.desk_clock import wall_time
from toprank.live.pages.page_kit import PageError, PageRequest, PageRoute
from toprank.live.store import api_keys
from toprank.live.store.api_keys import SCOPES, ApiKey

_DOES = {
    "payments": "Send payments.",
    "labels": "Send labels.",
    "read": "Read payments and alerts.",
    "metrics": "Read metrics.",
}


async def keys_page(page: PageRequest) -> Response:
    """Return all keys, and a form for a new one."""
    return await _keys(page, 200)


async def add_key(page: PageRequest) -> Response:
    """Make a key, and show it once."""
    name, scopes = page.field("name").strip(), page.form.get("scope", [])

    def write() -> str:
        with page.desk.database.writing() as connection:
            key = api_keys.add(connection, name, scopes, wall_time(), page.person.actor)
        page.desk.keys.reload()
        return key

    try:
        key = await page.desk.run(write)
    except ValueError as error:
        return await _keys(page, 422, error=str(error), name=name, chosen=scopes)
    return await _keys(page, 200, key=key)


async def revoke_key(page: PageRequest) -> Response:
    """Revoke a key."""
    name = page.request.path_params["name"]

    def write() -> None:
        with page.desk.database.writing() as connection:
            api_keys.revoke(connection, name, wall_time(), page.person.actor)
        page.desk.keys.reload()

    try:
        await page.desk.run(write)
    except ValueError as error:
        raise PageError(422, str(error)) from None
    return page.redirect("/keys", f"The key {name} is revoked.")


async def _keys(
    page: PageRequest,
    status: int,
    *,
    error: str = "",
    name: str = "",
    chosen: list[str] | None = None,
    key: str = "",
) -> Response:
    def read() -> list[ApiKey]:
        with page.desk.database.reading() as connection:
            return api_keys.all_keys(connection)

    return page.render(
        "keys.html",
        status,
        keys=await page.desk.run(read),
        scopes={each: _DOES[each] for each in SCOPES},
        error=error,
        name=name,
        chosen=chosen or [],
        key=key,
    )


KEY_PAGES = [
    PageRoute("GET", "/keys", "keys.view", keys_page),
    PageRoute("POST", "/keys", "keys.change", add_key),
    PageRoute("POST", "/keys/{name}/revoke", "keys.change", revoke_key),
]
