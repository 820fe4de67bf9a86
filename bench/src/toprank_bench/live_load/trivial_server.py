"""A server that answers at once, or after computing for a while: the floor of load and machine.

Run as `python -m toprank_bench.live_load.trivial_server MILLISECONDS`; it prints its port.
"""

import asyncio
import sys
import time

_ANSWER = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}"


class TrivialProtocol(asyncio.Protocol):
    """Takes whatever comes in one piece for a request.

    Parameters
    ----------
    milliseconds
        Time of the processor that each request takes.
    """

    def __init__(self, milliseconds: float) -> None:
        self._nanoseconds = int(milliseconds * 1e6)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the connection."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Answer."""
        end = time.thread_time_ns() + self._nanoseconds
        while time.thread_time_ns() < end:
            pass
        self._transport.write(_ANSWER)


async def serve(milliseconds: float) -> None:
    """Serve until the process is killed."""
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: TrivialProtocol(milliseconds), "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(serve(float(sys.argv[1])))
