"""A stand-in for osm-healthcheck, which runs the TCP checks of OSM:  healthcheck.py CONFIG.JSON

CONFIG.JSON: {"uid": N, "port": N}. A header of the rewritten probe contains the port to check.
"""

import json
import socket
import sys
from http.server import BaseHTTPRequestHandler
from typing import Any

import checks
import privileges
import server

PORT_HEADER = "Original-Tcp-Port"
WITHIN = 1


class HealthCheck(BaseHTTPRequestHandler):
    """Answers 200 if the port accepts connections, else 404; 400 without the header."""

    def do_GET(self) -> None:
        self.send_response(self._check(self.headers[PORT_HEADER]))
        self.send_header("Content-Length", "0")
        self.end_headers()

    def _check(self, port: str | None) -> int:
        if port is None or not port.isdigit():
            return 400
        try:
            checks.tcp("127.0.0.1", int(port), checks.Deadline(WITHIN))
        except checks.Failure:
            return 404
        return 200

    def log_message(self, *_: object) -> None:
        pass


def handle(connection: socket.socket, client: Any) -> None:
    HealthCheck(connection, client, server.NO_SERVER)


def main() -> None:
    with open(sys.argv[1], encoding="utf-8") as file:
        config = json.load(file)
    listener = server.listen("0.0.0.0", config["port"])
    privileges.drop_to(config["uid"])
    server.serve([(listener, handle)])


if __name__ == "__main__":
    main()
