"""A stand-in for the agent in the sidecar:  agent.py CONFIG.JSON

CONFIG.JSON: {"uid": N, "agents": [{"address": POD IP, "port": N, "probers": TEXT OR NULL}]}. Whatever
it checks it knows from `probers`, the value of ISTIO_KUBE_APP_PROBERS of that pod, and from nothing else.
"""

import json
import sys
from functools import partial
from http.server import BaseHTTPRequestHandler

import checks
import privileges
import server

# The redirect leaves connections from here alone; from elsewhere they would meet Envoy.
SOURCE = "127.0.0.6"
KINDS = {"httpGet", "tcpSocket", "grpc"}
# Of one connection to the next; never forwarded.
HOP = {"connection", "accept-encoding"}


class Agent(BaseHTTPRequestHandler):
    """Answers /app-health/CONTAINER/SLOT with the outcome of the check behind it."""

    def __init__(self, pod, port, probers, *arguments):
        self.pod, self.port, self.probers = pod, port, probers
        super().__init__(*arguments)

    def do_GET(self):
        prober = self.probers.get(self.path)
        self.send_response(400 if prober is None else self._check(prober))
        self.send_header("Content-Length", "0")
        self.end_headers()

    def _check(self, prober):
        """The status to answer with."""
        deadline = checks.Deadline(prober.get("timeoutSeconds"))
        try:
            if "httpGet" in prober:
                return self._http(prober["httpGet"], deadline)
            if "tcpSocket" in prober:
                checks.tcp(self.pod, prober["tcpSocket"]["port"], deadline, SOURCE)
                return 200
            # Without a timeout a gRPC check is over before it starts.
            deadline = checks.Deadline(prober.get("timeoutSeconds", 0))
            check = prober["grpc"]
            checks.grpc(self.pod, check["port"], check.get("service") or "", deadline, SOURCE)
            return 200
        except checks.Failure:
            return 500

    def _http(self, check, deadline):
        scheme = "https" if check.get("scheme") == "HTTPS" else "http"
        path = check.get("path") or "/"
        url = f"{scheme}://{self.pod}:{check['port']}/{path.removeprefix('/')}"
        own, other = f":{self.port}", f":{check['port']}"
        headers = []
        for name, value in self.headers.items():
            if name.lower() == "host" and value.endswith(own):
                value = value.removesuffix(own) + other
            if name.lower() not in HOP:
                headers.append((name, value))
        status = checks.http_get(url, headers, deadline, SOURCE)
        return 200 if 300 <= status < 400 else status

    def log_message(self, *_):
        pass


def read_probers(text):
    """The probers by path; what the agent would not start on is an error."""
    probers = json.loads(text) if text else {}
    for path, prober in probers.items():
        if len(KINDS & prober.keys()) != 1 or not path.startswith("/app-"):
            raise ValueError(f"the agent does not start on {path}: {prober}")
    return probers


def handle(pod, port, probers, connection, client):
    Agent(pod, port, probers, connection, client, None)


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        config = json.load(file)
    handlers = []
    for one in config["agents"]:
        pod, port = one["address"], one["port"]
        handlers.append((server.listen(pod, port), partial(handle, pod, port, read_probers(one["probers"]))))
    privileges.drop_to(config["uid"])
    server.serve(handlers)


if __name__ == "__main__":
    main()
