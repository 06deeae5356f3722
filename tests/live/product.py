"""Asking meshprobe: what it predicts, reports and writes for the workloads."""

import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

import yaml

import manifests

SPOILED = ("fails", "always-passes", "target-changed")
ENV = "ISTIO_KUBE_APP_PROBERS"
OPT_OUT = "sidecar.istio.io/rewriteAppHTTPProbers"
PROXY_CONFIG = "proxy.istio.io/config"
# In the other form, so that both places of the env are used.
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
  actions: [rewrite]
  form: stub
  failOn: never
"""


@dataclass
class Rewritten:
    """A workload after the rewrite: its probe, and the env that its agent would get."""

    probe: dict
    probers: str


class Meshprobe:
    """The binary on one tree: the Namespace and its Service, the workloads, one file of policies."""

    def __init__(self, binary, tree, options=()):
        self.binary, self.tree, self.options = binary, tree, list(options)

    def predict(self, policies):
        """Workload -> (outcome, text of the kubelet or None)."""
        report = json.loads(self._run("predict", "--output-format", "json", *self._files("off", policies)))
        found = {}
        for workload in report["workloads"]:
            [handler] = workload["handlers"]
            found[workload["object"]["name"]] = (handler["outcome"], handler["kubelet"])
        return found

    def check(self, policies):
        """Workload -> outcome, of what is reported as spoiled."""
        report = json.loads(self._run("check", "--output-format", "json", *self.options,
                                      *self._files("off", policies)))
        return {finding["object"]["name"]: finding["outcome"] for finding in report["findings"]
                if finding.get("outcome") in SPOILED}

    def rewrite(self, policies):
        """Workload -> Rewritten, for those that were not refused."""
        base, workloads, policy = self._files("on", policies)
        return rewritten(self._run("rewrite", "--context", base, "--context", policy, workloads))

    def build(self, policies, folder):
        """The same, out of `kustomize build` with the function."""
        files = self._files("on", policies)
        for name in files:
            (folder / Path(name).name).write_text((self.tree / name).read_text())
        resources = [Path(name).name for name in files]
        (folder / "kustomization.yaml").write_text(
            json.dumps({"resources": resources, "transformers": ["meshprobe.yaml"]}))
        (folder / "meshprobe.yaml").write_text(FUNCTION)
        os.symlink(self.binary, folder / "meshprobe-krm")
        command = ["kustomize", "build", str(folder), "--enable-alpha-plugins", "--enable-exec"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"kustomize build: {done.stderr.strip()}")
        return rewritten(done.stdout)

    def preview(self, manifest, rewrite=True):
        """The manifest as OSM would have it, or as it is."""
        if not rewrite:
            return (self.tree / manifest).read_text()
        return self._run("rewrite", "--mesh", "osm", "--preview", manifest)

    def emitted(self, manifest):
        """The static listeners and clusters of OSM's proxy, of each workload in turn."""
        printed = self._run("rewrite", "--mesh", "osm", "--emit-envoy", manifest)
        return [document["static_resources"] for document in manifests.documents(printed)]

    def _files(self, rewrite, policies):
        return "base.yaml", f"workloads.{rewrite}.yaml", f"policies/{policies}.yaml"

    def _run(self, command, *arguments):
        done = subprocess.run([self.binary, command, "--isolated", *arguments],
                              cwd=self.tree, capture_output=True, text=True, check=False)
        # 1 means findings, or pods that were refused.
        if done.returncode not in (0, 1):
            raise RuntimeError(f"meshprobe {command}: {done.stderr.strip()}")
        return done.stdout


def rewritten(text):
    """Workload -> Rewritten, of manifests after the rewrite."""
    found = {}
    for name, template in manifests.templates(text).items():
        probers = _env(template)
        if probers is None:
            continue
        if template["metadata"]["annotations"][OPT_OUT] != "false":
            raise ValueError(f"{name}: the webhook would rewrite it once more")
        [app] = [one for one in template["spec"]["containers"] if one["name"] != "istio-proxy"]
        found[name] = Rewritten(app["readinessProbe"], probers)
    return found


def _env(template):
    """The prober env as it reaches the agent, from either place where a rewrite keeps it."""
    for container in template["spec"]["containers"]:
        for variable in container.get("env", []):
            if container["name"] == "istio-proxy" and variable["name"] == ENV:
                return variable["value"]
    config = yaml.safe_load(template["metadata"]["annotations"].get(PROXY_CONFIG, "{}"))
    written = config.get("proxyMetadata", {}).get(ENV)
    # The injection template sets it between double quotes, and what comes out is read as YAML.
    return None if written is None else yaml.safe_load(f'"{written}"')
