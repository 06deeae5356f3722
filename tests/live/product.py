"""Runs meshprobe, and returns its predictions, findings and rewrites of the workloads."""

import json
import os
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import yaml

import manifests
import plants
from json_types import Json

SPOILED = ("fails", "always-passes", "target-changed")
ENV = "ISTIO_KUBE_APP_PROBERS"
OPT_OUT = "sidecar.istio.io/rewriteAppHTTPProbers"
PROXY_CONFIG = "proxy.istio.io/config"
# Uses the other form, so that both carriers of the env are tested.
FUNCTION = """\
apiVersion: meshprobe.dev/v1alpha1
kind: MeshProbe
metadata:
  name: default
  annotations:
    config.kubernetes.io/function: |
      exec:
        path: ./meshprobe-krm
spec:
  actions: [ACTION]
  form: container
  failOn: never
"""


@dataclass(frozen=True)
class Rewritten:
    """A workload after the rewrite: its probe, and the env that its agent would get."""

    probe: Json
    probers: str


@dataclass(frozen=True)
class Said:
    """The result of `predict` or `check` for one probe: the outcome, and the kubelet's text if there is one."""

    outcome: str
    text: str | None


# (workload, slot)
Slot = tuple[str, str]


class Meshprobe:
    """The binary on one tree: the Namespace and its Service, the workloads, one file of policies."""

    def __init__(self, binary: str, tree: Path, plant: str | None = None):
        self._binary, self._tree, self.plant = binary, tree, plant

    def predict(self, policies: str) -> dict[str, Said]:
        """Returns workload -> the prediction for its only probe."""
        options = ["--override", "mtls=permissive"] if self.plant == plants.BLIND else []
        found = self._predict([*options, *self._files("off", policies)])
        return {name: result for (name, _), result in found.items()}

    def check(self, policies: str) -> dict[str, list[Said]]:
        """Returns workload -> the findings about its probe, if they have an outcome."""
        options = ["--ignore", "strict-probe-not-rewritten"] if self.plant == plants.RULE_OFF else []
        found = self._check([*options, *self._files("off", policies)])
        return {name: result for (name, _), result in found.items()}

    def rewrite(self, policies: str) -> dict[str, Rewritten]:
        """Returns workload -> its rewrite, for those that were not refused."""
        base, workloads, policy = self._files("on", policies)
        return rewritten(self._run("rewrite", "--context", base, "--context", policy, workloads))

    def build(self, policies: str, folder: Path) -> dict[str, Rewritten]:
        """Returns workload -> its rewrite, from `kustomize build` with the function."""
        files = self._files("on", policies)
        for name in files:
            (folder / Path(name).name).write_text((self._tree / name).read_text())
        resources = [Path(name).name for name in files]
        (folder / "kustomization.yaml").write_text(
            json.dumps({"resources": resources, "transformers": ["meshprobe.yaml"]}))
        action = "check" if self.plant == plants.NO_REWRITE else "rewrite"
        (folder / "meshprobe.yaml").write_text(FUNCTION.replace("ACTION", action))
        os.symlink(self._binary, folder / "meshprobe-krm")
        command = ["kustomize", "build", str(folder), "--enable-alpha-plugins", "--enable-exec"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"kustomize build: {done.stderr.strip()}")
        return rewritten(done.stdout)

    def predict_osm(self, manifest: str) -> dict[Slot, Said]:
        """Returns the prediction for each probe in OSM."""
        return self._predict(["--mesh", "osm", manifest])

    def check_osm(self, manifest: str) -> dict[Slot, list[Said]]:
        """Returns the findings about each probe in OSM, if they have an outcome."""
        return self._check(["--mesh", "osm", manifest])

    def preview(self, manifest: str) -> str:
        """Returns the manifest as OSM would rewrite it."""
        return self._run("rewrite", "--mesh", "osm", "--preview", manifest)

    def emitted(self, manifest: str) -> list[Json]:
        """Returns the static listeners and clusters of OSM's proxy, for each workload."""
        printed = self._run("rewrite", "--mesh", "osm", "--emit-envoy", manifest)
        resources = [document["static_resources"] for document in manifests.documents(printed)]
        if self.plant == plants.OSM_PORT:
            for resource in resources:
                plants.mislead(resource["clusters"])
        return resources

    def _predict(self, arguments: Iterable[str]) -> dict[Slot, Said]:
        report = json.loads(self._run("predict", "--output-format", "json", *arguments))
        return {(workload["object"]["name"], handler["slot"]): Said(handler["outcome"], handler["kubelet"])
                for workload in report["workloads"] for handler in workload["handlers"]}

    def _check(self, arguments: Iterable[str]) -> dict[Slot, list[Said]]:
        report = json.loads(self._run("check", "--output-format", "json", *arguments))
        found: dict[Slot, list[Said]] = {}
        for finding in report["findings"]:
            if outcome := finding.get("outcome"):
                slot = finding["object"]["name"], finding["field"].rpartition(".")[2]
                found.setdefault(slot, []).append(Said(outcome, finding["kubelet"]))
        return found

    def _files(self, rewrite: str, policies: str) -> tuple[str, str, str]:
        return "base.yaml", f"workloads.{rewrite}.yaml", f"policies/{policies}.yaml"

    def _run(self, command: str, *arguments: str) -> str:
        done = subprocess.run([self._binary, command, "--isolated", "--no-context", *arguments],
                              cwd=self._tree, capture_output=True, text=True, check=False)
        # 1 means findings, or pods that were refused.
        if done.returncode not in (0, 1):
            raise RuntimeError(f"meshprobe {command}: {done.stderr.strip()}")
        return done.stdout


def rewritten(text: str) -> dict[str, Rewritten]:
    """Returns workload -> its rewrite, from rewritten manifests."""
    found = {}
    for name, template in manifests.templates(text).items():
        probers = _env(template)
        if probers is None:
            continue
        if template["metadata"]["annotations"][OPT_OUT] != "false":
            raise ValueError(f"{name}: the webhook would rewrite it again")
        [app] = [container for container in template["spec"]["containers"] if container["name"] != "istio-proxy"]
        found[name] = Rewritten(app["readinessProbe"], probers)
    return found


def _env(template: Json) -> str | None:
    """Returns the prober env that reaches the agent, from either carrier."""
    for container in template["spec"]["containers"]:
        for variable in container.get("env", []):
            if container["name"] == "istio-proxy" and variable["name"] == ENV:
                return str(variable["value"])
    config = yaml.safe_load(template["metadata"]["annotations"].get(PROXY_CONFIG, "{}"))
    written = config.get("proxyMetadata", {}).get(ENV)
    # The injection template sets the value between double quotes, and the result is read as YAML.
    return None if written is None else str(yaml.safe_load(f'"{written}"'))
