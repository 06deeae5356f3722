"""The application of the tested pods:  app.py CONFIG.JSON

CONFIG.JSON: {"certificate": PATH, "uid": N, "listeners": [{"address", "port", "kind", "state"}]} with
kind http, https, tcp or grpc and state alive, failing or accepting. A dead application has no listener.
"""

import json
import socket
import ssl
import sys
import time
from collections.abc import Callable
from functools import partial
from http.server import BaseHTTPRequestHandler
from typing import Any
from urllib.parse import SplitResult, parse_qs, urlsplit

import grpc_health
import privileges
import server

TLS_HANDSHAKE = b"\x16"
OTHER_SCHEME = b"HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n"


class Website(BaseHTTPRequestHandler):
    """Implements the paths that the measured cases need."""

    # The response to a request that is not HTTP has a status line.
    default_request_version = "HTTP/1.1"

    def __init__(self, state: str, *arguments: Any):
        self.state = state
        super().__init__(*arguments)

    def do_GET(self) -> None:
        if self.state == "alive":
            self._answer(*self._decide(urlsplit(self.path)))
        else:
            self._answer(200 if self.state == "accepting" else 500)

    def _decide(self, url: SplitResult) -> tuple[int, str | None]:
        """Returns (status, location)."""
        path = url.path
        if path == "/slow":
            time.sleep(float(parse_qs(url.query)["s"][0]))
        if path == "/fail":
            return 500, None
        if path == "/needs-header":
            return (200 if self.headers["X-Probe"] == "yes" else 400), None
        if path == "/needs-host":
            return (200 if self.headers["Host"] == "app.example.test" else 400), None
        if path == "/redirect-ext":
            return 302, "http://example.test/"
        if path == "/redirect-local":
            return 302, "/healthz"
        if path == "/redirect-loop":
            return 302, path
        if path == "/redirect-https":
            return 301, f"https://{self.headers['Host'].rsplit(':', 1)[0]}/"
        return 200, None

    def _answer(self, status: int, location: str | None = None) -> None:
        self.send_response(status)
        if location:
            self.send_header("Location", location)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


def http(state: str, connection: socket.socket, client: Any) -> None:
    Website(state, connection, client, server.NO_SERVER)


def https(context: ssl.SSLContext, state: str, connection: socket.socket, client: Any) -> None:
    if connection.recv(1, socket.MSG_PEEK) != TLS_HANDSHAKE:
        # Unread data would end the connection with a reset, so the request is read first.
        connection.recv(65536)
        connection.sendall(OTHER_SCHEME)
        return
    with context.wrap_socket(connection, server_side=True) as secured:
        http(state, secured, client)


def tcp(_: str, connection: socket.socket, __: Any) -> None:
    while connection.recv(1024):
        pass


def grpc(state: str, connection: socket.socket, _: Any) -> None:
    def health(service: str) -> str | None:
        if state != "alive":
            return "SERVING" if state == "accepting" else "NOT_SERVING"
        return {"nosuch": None, "bad": "NOT_SERVING"}.get(service, "SERVING")

    grpc_health.serve(connection, health)


def main() -> None:
    with open(sys.argv[1], encoding="utf-8") as file:
        config = json.load(file)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(config["certificate"])
    kinds: dict[str, Callable[[str, socket.socket, Any], None]] = {
        "http": http, "https": partial(https, context), "tcp": tcp, "grpc": grpc}
    handlers = [(server.listen(listener["address"], listener["port"]),
                 partial(kinds[listener["kind"]], listener["state"])) for listener in config["listeners"]]
    privileges.drop_to(config["uid"])
    server.serve(handlers)


if __name__ == "__main__":
    main()
