"""A client that talks to an application in this process, message by message."""

import asyncio
import json

WAIT, DISCONNECT = "wait", "disconnect"  # in place of a piece of a body


class Reply:
    """The answer to a request."""

    def __init__(self, status, headers, content):
        self.status, self.headers, self.content = status, dict(headers), content

    @property
    def json(self):
        return json.loads(self.content)

    @property
    def error(self):
        return self.json["error"]


class AsgiClient:
    """Runs the application's life and its requests in one event loop; a context manager."""

    def __init__(self, app, key=None):
        self._app, self.key, self._runner = app, key, asyncio.Runner()

    def __enter__(self):
        self._lifespan = self._app.router.lifespan_context(self._app)
        self._runner.run(self._lifespan.__aenter__())
        return self

    def __exit__(self, *_):
        self._runner.run(self._lifespan.__aexit__(None, None, None))
        self._runner.close()

    def get(self, path, **options):
        return self.request("GET", path, **options)

    def post(self, path, value, **options):
        """Send a value as JSON, or bytes as they are, or a list of bytes piece by piece."""
        if not isinstance(value, bytes) and not (
            isinstance(value, list) and value and isinstance(value[0], bytes)
        ):
            value = json.dumps(value).encode()
        return self.request("POST", path, body=value, **options)

    def request(self, method, path, body=b"", headers=None):
        return self._runner.run(self.ask(method, path, body, headers))

    def together(self, path, bodies):
        """Post several bodies at the same time."""

        async def ask_all():
            return await asyncio.gather(*(self.ask("POST", path, body) for body in bodies))

        return self._runner.run(ask_all())

    def run(self, work):
        """Return what a coroutine returns, in the event loop of the application."""
        return self._runner.run(work)

    def wait(self, seconds):
        """Let the application run."""
        self._runner.run(asyncio.sleep(seconds))

    async def ask(self, method, path, body, headers=None):
        """Send a request; headers of None are left out."""
        headers = {
            "host": "localhost:8321", "content-type": "application/json",
            "authorization": f"Bearer {self.key}", **(headers or {}),
        }  # fmt: skip
        plain, _, query = path.partition("?")
        scope = {
            "type": "http", "method": method, "path": plain, "raw_path": plain.encode(),
            "query_string": query.encode(), "http_version": "1.1", "scheme": "http",
            "root_path": "", "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 8321),
            "headers": [
                (name.encode(), value.encode("utf-8", "surrogateescape"))
                for name, value in headers.items()
                if value is not None
            ],
        }  # fmt: skip
        pieces = body if isinstance(body, list) else [body]
        pending = iter(enumerate(pieces, 1))

        async def receive():
            i, piece = next(pending, (0, DISCONNECT))
            if piece == WAIT:
                await asyncio.sleep(60)
            if piece == DISCONNECT:
                return {"type": "http.disconnect"}
            return {"type": "http.request", "body": piece, "more_body": i < len(pieces)}

        sent = []

        async def send(message):
            sent.append(message)

        await self._app(scope, receive, send)
        if not sent:
            return None
        headers = [(name.decode(), value.decode()) for name, value in sent[0]["headers"]]
        content = b"".join(message.get("body", b"") for message in sent[1:])
        return Reply(sent[0]["status"], headers, content)
