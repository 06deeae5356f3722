"""A pod and a node: two network namespaces, and the redirect of a sidecar in the first.

The node contains the prober. The pod has one address per tested pod, all behind the same sidecar, so
that one Envoy serves all of them and every tested pod still has its own port 8080 and its own agent.
"""

import os
import subprocess
from collections.abc import Iterable
from typing import Self

from leftovers import PREFIX as RUN

NODE = "10.77.0.1"
PREFIX = 16
PROXY_USER = "1337"
# The source address of the agent's connections, which the redirect does not capture.
PROXY_SOURCE = "127.0.0.6/32"
INBOUND, OUTBOUND, TUNNEL = "15006", "15001", "15008"
# The ports of the agent and of Envoy itself are never captured.
OWN_PORTS = (TUNNEL, "15090", "15021", "15020")
PODS_AT_MOST = 250 * 250


def pod_address(index: int) -> str:
    """Returns the address of the n-th tested pod."""
    if not 0 <= index < PODS_AT_MOST:
        raise ValueError(f"no address for pod {index}")
    return f"10.77.{1 + index // 250}.{1 + index % 250}"


def run(*command: str, stdin: str | None = None) -> str:
    """Runs a command that must succeed; the error contains its output."""
    done = subprocess.run(command, input=stdin, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr.strip() or done.stdout.strip()}")
    return done.stdout


def missing_privilege() -> str | None:
    """Returns the reason why this user cannot build networks here, or None."""
    if os.geteuid() != 0:
        return "it needs root, for network namespaces and iptables"
    try:
        with Namespaces("try") as namespaces:
            namespaces.in_pod("iptables", "-t", "nat", "-A", "OUTPUT", "-p", "tcp", "-m", "owner",
                              "--uid-owner", PROXY_USER, "-j", "REDIRECT", "--to-ports", INBOUND)
    except (RuntimeError, OSError) as error:
        return f"network namespaces or iptables do not work: {error}"
    return None


class Namespaces:
    """Two connected namespaces, which are removed when the block ends."""

    def __init__(self, name: str):
        self.pod = f"{RUN}{os.getpid()}-{name}"
        self.node = self.pod + "-node"

    def __enter__(self) -> Self:
        try:
            self._join()
        except BaseException:
            self._delete()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._delete()

    def in_pod(self, *command: str, stdin: str | None = None) -> str:
        return run("ip", "netns", "exec", self.pod, *command, stdin=stdin)

    def add_pods(self, addresses: Iterable[str]) -> None:
        lines = "".join(f"address add {address}/{PREFIX} dev eth0\n" for address in addresses)
        run("ip", "-netns", self.pod, "-batch", "-", stdin=lines)

    def capture(self, excluded: list[str], redirect: bool = True) -> None:
        """Adds the rules of Istio's init container. Without `redirect`, the rule that captures traffic is missing."""
        rules: list[str] = []

        def rule(chain: str, match: str) -> None:
            rules.append(f"-A {chain} {match}")

        rule("PREROUTING", "-p tcp -j ISTIO_INBOUND")
        for port in [*OWN_PORTS, *excluded]:
            rule("ISTIO_INBOUND", f"-p tcp --dport {port} -j RETURN")
        if redirect:
            rule("ISTIO_INBOUND", "-p tcp -j ISTIO_IN_REDIRECT")
        rule("ISTIO_IN_REDIRECT", f"-p tcp -j REDIRECT --to-ports {INBOUND}")
        rule("ISTIO_REDIRECT", f"-p tcp -j REDIRECT --to-ports {OUTBOUND}")
        rule("OUTPUT", "-p tcp -j ISTIO_OUTPUT")
        rule("ISTIO_OUTPUT", f"-s {PROXY_SOURCE} -o lo -j RETURN")
        owned = f"-m owner --uid-owner {PROXY_USER}"
        rule("ISTIO_OUTPUT", f"! -d 127.0.0.1/32 -o lo -p tcp ! --dport {TUNNEL} {owned} -j ISTIO_IN_REDIRECT")
        rule("ISTIO_OUTPUT", f"-o lo -m owner ! --uid-owner {PROXY_USER} -j RETURN")
        rule("ISTIO_OUTPUT", f"{owned} -j RETURN")
        rule("ISTIO_OUTPUT", "-d 127.0.0.1/32 -j RETURN")
        rule("ISTIO_OUTPUT", "-j ISTIO_REDIRECT")
        chains = [f":{name} - [0:0]" for name in
                  ("ISTIO_INBOUND", "ISTIO_IN_REDIRECT", "ISTIO_REDIRECT", "ISTIO_OUTPUT")]
        self.in_pod("iptables-restore", stdin="\n".join(["*nat", *chains, *rules, "COMMIT", ""]))

    def _join(self) -> None:
        for namespace in (self.pod, self.node):
            run("ip", "netns", "add", namespace)
            run("ip", "-netns", namespace, "link", "set", "lo", "up")
        run("ip", "link", "add", "eth0", "netns", self.pod, "type", "veth",
            "peer", "name", "eth0", "netns", self.node)
        run("ip", "-netns", self.node, "address", "add", f"{NODE}/{PREFIX}", "dev", "eth0")
        for namespace in (self.pod, self.node):
            run("ip", "-netns", namespace, "link", "set", "eth0", "up")
        # Without a default route, connections fail before iptables processes them; a pod always has one.
        self.add_pods([pod_address(0)])
        run("ip", "-netns", self.pod, "route", "add", "default", "via", NODE)

    def _delete(self) -> None:
        # Deleting a namespace deletes its interfaces and rules.
        for namespace in (self.pod, self.node):
            subprocess.run(("ip", "netns", "delete", namespace), capture_output=True, check=False)
