"""A stand-in for the prober of the kubelet:  prober.py < PROBES.JSON > RESULTS.JSON

PROBES.JSON: a list of {"key", "address", "ports", "probe"}; `probe` is the probe of the manifest, `ports`
the named ports of its container. RESULTS.JSON: key -> {"passed", "text"}.
"""

import json
import sys
from concurrent.futures import ThreadPoolExecutor

import checks
from json_types import Json

AT_ONCE = 64
DEFAULT_TIMEOUT = 1
HEADERS = [("User-Agent", "kube-probe/1.36"), ("Accept", "*/*")]


class Errored(Exception):
    """The probe could not be run; the kubelet has another message for that."""


def port_number(port: int | str, ports: dict[str, int]) -> int:
    """Returns the port of a number, of a port name of the container, or of digits in quotes."""
    if isinstance(port, int):
        return port
    if port in ports:
        return ports[port]
    if port.isdigit():
        return int(port)
    raise Errored(f'strconv.Atoi: parsing "{port}": invalid syntax')


def http_get(check: Json, address: str, ports: dict[str, int], deadline: checks.Deadline) -> None:
    own = [(header["name"], header["value"]) for header in check.get("httpHeaders", [])]
    named = {name.lower() for name, _ in own}
    headers = own + [(name, value) for name, value in HEADERS if name.lower() not in named]
    host = check.get("host") or address
    scheme = check.get("scheme", "HTTP").lower()
    url = f"{scheme}://{host}:{port_number(check['port'], ports)}/{check.get('path', '').removeprefix('/')}"
    status = checks.http_get(url, headers, deadline)
    if not 200 <= status < 400:
        raise checks.Failure(f"HTTP probe failed with statuscode: {status}")


def tcp_socket(check: Json, address: str, ports: dict[str, int], deadline: checks.Deadline) -> None:
    checks.tcp(check.get("host") or address, port_number(check["port"], ports), deadline)


def grpc(check: Json, address: str, _: dict[str, int], deadline: checks.Deadline) -> None:
    checks.grpc(address, check["port"], check.get("service") or "", deadline)


def make(request: Json) -> Json:
    """Runs one readiness probe, and returns its result."""
    probe = request["probe"]
    deadline = checks.Deadline(probe.get("timeoutSeconds", DEFAULT_TIMEOUT))
    try:
        for kind, check in (("httpGet", http_get), ("tcpSocket", tcp_socket), ("grpc", grpc)):
            if kind in probe:
                check(probe[kind], request["address"], request["ports"], deadline)
                return {"passed": True, "text": ""}
        raise ValueError(f"{request['key']}: the probe does not use the network")
    except checks.Failure as failure:
        return {"passed": False, "text": f"Readiness probe failed: {failure}"}
    except Errored as error:
        return {"passed": False, "text": f"Readiness probe errored and resulted in unknown state: {error}"}


def main() -> None:
    probes = json.load(sys.stdin)
    with ThreadPoolExecutor(AT_ONCE) as pool:
        json.dump(dict(zip((request["key"] for request in probes), pool.map(make, probes), strict=True)), sys.stdout)


if __name__ == "__main__":
    main()
