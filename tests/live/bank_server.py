"""A bank that is asked to block cards: a server of this machine."""

import threading
from http.server import BaseHTTPRequestHandler, HTTPServer


class Bank:
    """A server of this machine that answers with the statuses that it is given."""

    def __init__(self):
        self.statuses, self.seen = [], []
        bank = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                bank.seen.append((dict(self.headers), body))
                self.send_response(bank.statuses.pop(0) if bank.statuses else 200)
                self.send_header("Location", "http://localhost:1/elsewhere")
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass

        self._server = HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}/block"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self._thread.start()

    def close(self):
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
