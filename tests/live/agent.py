"""A stand-in for the agent in the sidecar:  agent.py CONFIG.JSON

CONFIG.JSON: {"uid": N, "agents": [{"address": POD IP, "port": N, "probers": TEXT OR NULL}]}. `probers` is
the value of ISTIO_KUBE_APP_PROBERS of that pod, and the only source of the checks.
"""

import json
import re
import socket
import sys
from functools import partial
from http.server import BaseHTTPRequestHandler
from typing import Any

import checks
import privileges
import server
from json_types import Json

# The redirect does not capture connections from this address. Envoy would receive others.
SOURCE = "127.0.0.6"
PATH = re.compile("/(app-health|app-lifecycle)/[^/]+/(livez|readyz|startupz|prestopz|poststartz)")
KINDS = {"httpGet", "tcpSocket", "grpc"}
# Headers of a single connection, which are not forwarded.
HOP = {"connection", "accept-encoding"}


class Agent(BaseHTTPRequestHandler):
    """Answers /app-health/CONTAINER/SLOT with the outcome of the original check."""

    def __init__(self, pod: str, port: int, probers: dict[str, Json], *arguments: Any):
        self.pod, self.port, self.probers = pod, port, probers
        super().__init__(*arguments)

    def do_GET(self) -> None:
        prober = self.probers.get(self.path)
        self.send_response(400 if prober is None else self._check(prober))
        self.send_header("Content-Length", "0")
        self.end_headers()

    def _check(self, prober: Json) -> int:
        """Returns the status of the answer."""
        deadline = checks.Deadline(prober.get("timeoutSeconds"))
        try:
            if "httpGet" in prober:
                return self._http(prober["httpGet"], deadline)
            if "tcpSocket" in prober:
                checks.tcp(self.pod, prober["tcpSocket"]["port"], deadline, SOURCE)
                return 200
            # Without a timeout, a gRPC check expires immediately.
            deadline = checks.Deadline(prober.get("timeoutSeconds", 0))
            check = prober["grpc"]
            checks.grpc(self.pod, check["port"], check.get("service") or "", deadline, SOURCE)
            return 200
        except checks.Failure:
            return 500

    def _http(self, check: Json, deadline: checks.Deadline) -> int:
        scheme = "https" if check.get("scheme") == "HTTPS" else "http"
        path = check.get("path") or "/"
        url = f"{scheme}://{self.pod}:{check['port']}/{path.removeprefix('/')}"
        own, other = f":{self.port}", f":{check['port']}"
        headers = []
        for name, value in self.headers.items():
            is_own = name.lower() == "host" and value.endswith(own)
            if name.lower() not in HOP:
                headers.append((name, value.removesuffix(own) + other if is_own else value))
        status = checks.http_get(url, headers, deadline, SOURCE)
        return 200 if 300 <= status < 400 else status

    def log_message(self, *_: object) -> None:
        pass


def read_probers(text: str | None) -> dict[str, Json]:
    """Returns path -> prober. Raises ValueError for an entry with which the agent would not start."""
    probers: dict[str, Json] = json.loads(text) if text else {}
    for path, prober in probers.items():
        kinds = KINDS & prober.keys()
        if len(kinds) != 1 or not PATH.fullmatch(path) or not isinstance(prober[kinds.pop()].get("port"), int):
            raise ValueError(f"the agent does not start on {path}: {prober}")
    return probers


def handle(pod: str, port: int, probers: dict[str, Json], connection: socket.socket, client: Any) -> None:
    Agent(pod, port, probers, connection, client, server.NO_SERVER)


def main() -> None:
    with open(sys.argv[1], encoding="utf-8") as file:
        config = json.load(file)
    handlers = []
    for agent in config["agents"]:
        pod, port = agent["address"], agent["port"]
        handlers.append((server.listen(pod, port), partial(handle, pod, port, read_probers(agent["probers"]))))
    privileges.drop_to(config["uid"])
    server.serve(handlers)


if __name__ == "__main__":
    main()
