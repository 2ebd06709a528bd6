"""`admin_port`: an admin port that answers every question with the same status."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any


@contextmanager
def admin_port(**status: Any) -> Iterator[str]:
    """Serve the status of a kproxy that is ready, and is what `status` says; yield the URL."""
    answer = {"asOf": "2026-11-21T12:00:00.000Z", "items": [{"state": "ready", **status}]}

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(json.dumps(answer).encode())

        def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002 - the base class calls it so
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()
