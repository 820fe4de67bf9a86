"""Serves a desk with an engine of the tests in FOLDER, and prints its key and its address."""

import asyncio
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from live.web.fake_desk import FakeDesk, with_key
from toprank.live.web import http_protocol, server
from toprank.live.web.application import create_app
from toprank.live.web.request_body import BodyReader


class SlowDesk(FakeDesk):
    """A desk that takes its time for terminal `slow`, and says when it is closed."""

    def __init__(self, *stored):
        super().__init__(*stored)
        decide = self.engine.decide

        async def decide_slowly(payments):
            await asyncio.sleep(any(each.terminal == "slow" for each in payments))
            return await decide(payments)

        self.engine.decide = decide_slowly

    async def close(self):
        print("closed", flush=True)


if __name__ == "__main__":
    http_protocol.HEAD_TIMEOUT = 0.5
    http_protocol.MOST_CONNECTIONS = 50
    desk = SlowDesk(*with_key(sys.argv[1]))
    app = create_app(desk, bodies=BodyReader(timeout=0.5))
    server.run(app, port=0, started=lambda address: print(desk.key, address, flush=True))
    print("returned", flush=True)
