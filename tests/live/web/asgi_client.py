"""A client that talks to an application in this process, message by message."""

import asyncio
import json


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

    def request(self, method, path, body=b"", headers=None, key=None):
        sent = {"host": "localhost:8321", "content-type": "application/json"}
        key = self.key if key is None else key
        if key:
            sent["authorization"] = f"Bearer {key}"
        return self._runner.run(self.ask(method, path, body, {**sent, **(headers or {})}))

    async def ask(self, method, path, body, headers):
        """Send a request; headers of None are left out."""
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
        pending = [
            {"type": "http.request", "body": piece, "more_body": i < len(pieces) - 1}
            for i, piece in enumerate(pieces)
        ]
        pending.reverse()
        sent = []

        async def receive():
            return pending.pop() if pending else {"type": "http.disconnect"}

        async def send(message):
            sent.append(message)

        await self._app(scope, receive, send)
        if not sent:
            return None
        headers = [(name.decode(), value.decode()) for name, value in sent[0]["headers"]]
        content = b"".join(message.get("body", b"") for message in sent[1:])
        return Reply(sent[0]["status"], headers, content)
