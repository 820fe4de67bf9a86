"""A server that answers every request at once: what the load itself can do is measured on it.

Run as `python -m toprank_bench.live_load.trivial_server`; it prints its port.
"""

import asyncio

_ANSWER = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}"


class TrivialProtocol(asyncio.Protocol):
    """Takes whatever comes in one piece for a request."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the connection."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Answer."""
        self._transport.write(_ANSWER)


async def serve() -> None:
    """Serve until the process is killed."""
    server = await asyncio.get_running_loop().create_server(TrivialProtocol, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(serve())
