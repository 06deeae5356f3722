"""The application of the tested pods:  app.py CONFIG.JSON

CONFIG.JSON: {"certificate": PATH, "uid": N, "listeners": [{"address", "port", "kind", "state"}]} with
kind http, https, tcp or grpc and state alive or failing. A dead application has no listener.
"""

import json
import socket
import ssl
import sys
import time
from functools import partial
from http.server import BaseHTTPRequestHandler
from urllib.parse import parse_qs, urlsplit

import grpc_health
import privileges
import server

TLS_HANDSHAKE = b"\x16"
OTHER_SCHEME = b"HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n"


class Website(BaseHTTPRequestHandler):
    """Paths that behave as the measured cases need them."""

    # So that what is no HTTP gets an answer with a status line.
    default_request_version = "HTTP/1.1"

    def __init__(self, state, *arguments):
        self.state = state
        super().__init__(*arguments)

    def do_GET(self):
        parts = urlsplit(self.path)
        if self.state == "failing":
            return self._answer(500)
        if parts.path == "/slow":
            time.sleep(float(parse_qs(parts.query)["s"][0]))
        return self._answer(*self._decide(parts.path))

    def _decide(self, path):
        """(status, location)"""
        if path == "/fail":
            return (500,)
        if path == "/needs-header":
            return (200,) if self.headers["X-Probe"] == "yes" else (400,)
        if path == "/needs-host":
            return (200,) if self.headers["Host"] == "app.example.test" else (400,)
        if path == "/redirect-ext":
            return 302, "http://example.test/"
        if path == "/redirect-local":
            return 302, "/healthz"
        if path == "/redirect-loop":
            return 302, path
        if path == "/redirect-https":
            return 301, f"https://{self.headers['Host'].rsplit(':', 1)[0]}/"
        return (200,)

    def _answer(self, status, location=None):
        self.send_response(status)
        if location:
            self.send_header("Location", location)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


def http(state, connection, client):
    Website(state, connection, client, None)


def https(context, state, connection, client):
    if connection.recv(1, socket.MSG_PEEK) != TLS_HANDSHAKE:
        # Read first: what is left unread turns the end of the connection into a reset.
        connection.recv(65536)
        connection.sendall(OTHER_SCHEME)
        return
    with context.wrap_socket(connection, server_side=True) as secured:
        http(state, secured, client)


def tcp(_, connection, __):
    while connection.recv(1024):
        pass


def grpc(state, connection, _):
    def health(service):
        if service == "nosuch":
            return None
        return "SERVING" if service != "bad" and state == "alive" else "NOT_SERVING"

    grpc_health.serve(connection, health)


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        config = json.load(file)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(config["certificate"])
    kinds = {"http": http, "https": partial(https, context), "tcp": tcp, "grpc": grpc}
    handlers = [(server.listen(one["address"], one["port"]), partial(kinds[one["kind"]], one["state"]))
                for one in config["listeners"]]
    privileges.drop_to(config["uid"])
    server.serve(handlers)


if __name__ == "__main__":
    main()
