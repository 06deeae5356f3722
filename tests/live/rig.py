"""One running mode of the mesh: the applications, Envoy, the agents, and the prober."""

import http.client
import json
import os
import socket
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import envoy

import network
from json_types import Json
from kubelet import Prober
from network import Namespaces
from processes import Processes

APP_USER, PROXY_USER = 1000, 1337
START_WITHIN = 20


def envoy_binary() -> Path:
    return Path(envoy.__file__).parent / "_bin" / "envoy"


def make_certificate(folder: Path) -> Path:
    """Returns a certificate that the applications and the sidecar use, and that is its own authority."""
    pem = folder / "all.pem"
    network.run("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                "-days", "2", "-subj", "/CN=live", "-keyout", str(pem), "-out", str(folder / "crt.pem"))
    pem.write_text(pem.read_text() + (folder / "crt.pem").read_text())
    pem.chmod(0o644)
    return pem


class TestedPod(Protocol):
    """An address, and the ports on which the application listens there."""

    @property
    def address(self) -> str: ...

    def listeners(self) -> list[Json]: ...


@dataclass
class Sidecar:
    """The programs between the prober and the application."""

    # The configuration of Envoy without its admin socket; None for no Envoy.
    bootstrap: Json | None
    excluded: list[str]
    # The stand-in script that runs checks next to Envoy, and its configuration; None without one.
    checker: str | None
    config: Json
    redirect: bool = True


class Rig:
    """The data that the modes share: the pods and the certificate."""

    def __init__(self, folder: Path, pods: Sequence[TestedPod], certificate: Path, prober: Prober):
        self._folder, self._pods, self.certificate, self._prober = folder, pods, certificate, prober

    def measure(self, name: str, sidecar: Sidecar | None, probes: list[Json]) -> dict[str, Json]:
        """Returns key -> {"passed", "text"} of each probe; without a mesh if `sidecar` is None."""
        folder = self._folder / name
        folder.mkdir()
        folder.chmod(0o755)
        with Namespaces(name) as namespaces, Processes() as processes:
            namespaces.add_pods([pod.address for pod in self._pods if pod.address != network.pod_address(0)])
            self._start_app(folder, namespaces, processes)
            if sidecar:
                namespaces.capture(sidecar.excluded, sidecar.redirect)
                if sidecar.checker:
                    self._start_checker(folder, namespaces, processes, sidecar.checker, sidecar.config)
                if sidecar.bootstrap:
                    self._start_envoy(folder, namespaces, processes, sidecar.bootstrap)
            processes.wait_for_scripts()
            seen = self._prober.run(name, namespaces.node, processes, probes)
        if len(seen) != len(probes):
            raise RuntimeError(f"expected results of {len(probes)} probes, got {len(seen)}")
        return seen

    def _start_app(self, folder: Path, namespaces: Namespaces, processes: Processes) -> None:
        # Several pods may have the same listener on the loopback address; from outside, they are indistinguishable.
        listeners = {(listener["address"], listener["port"]): listener
                     for pod in self._pods for listener in pod.listeners()}
        config = folder / "app.json"
        config.write_text(json.dumps({"certificate": str(self.certificate), "uid": APP_USER,
                                      "listeners": list(listeners.values())}))
        processes.python(namespaces.pod, "app.py", config)

    def _start_checker(self, folder: Path, namespaces: Namespaces, processes: Processes,
                       script: str, knows: Json) -> None:
        config = folder / "checker.json"
        config.write_text(json.dumps({"uid": PROXY_USER, **knows}))
        processes.python(namespaces.pod, script, config)

    def _start_envoy(self, folder: Path, namespaces: Namespaces, processes: Processes, bootstrap: Json) -> None:
        # Envoy creates its socket here, as its own user.
        own = folder / "envoy"
        own.mkdir()
        os.chown(own, PROXY_USER, PROXY_USER)
        admin = str(own / "admin")
        config = own / "envoy.json"
        config.write_text(json.dumps({"admin": {"address": {"pipe": {"path": admin}}}, **bootstrap}))
        started = processes.program(namespaces.pod, PROXY_USER, envoy_binary(), "-c", config, "--concurrency", 1,
                                    "--disable-hot-restart", "--log-level", "critical")
        wait_until_live(admin, started)


def wait_until_live(admin: str, process: "subprocess.Popen[str]") -> None:
    """Returns when Envoy reports LIVE on its admin socket."""
    end = time.monotonic() + START_WITHIN
    while time.monotonic() < end:
        if process.poll() is not None:
            raise RuntimeError(f"Envoy ended with status {process.returncode}")
        try:
            with socket.socket(socket.AF_UNIX) as connection:
                connection.connect(admin)
                client = http.client.HTTPConnection("envoy")
                client.sock = connection
                client.request("GET", "/ready")
                if client.getresponse().read().strip() == b"LIVE":
                    return
        except OSError:
            pass
        time.sleep(0.05)
    raise RuntimeError(f"Envoy was not live within {START_WITHIN} seconds")
