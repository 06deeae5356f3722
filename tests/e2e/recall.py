#!/usr/bin/env python3
"""Counts, independently of meshprobe, the probes that fail in a STRICT mesh without rewrite, and
compares the count with the findings of `meshprobe check`.

    recall.py MESHPROBE FOLDER

Every manifest below FOLDER is copied to a scratch tree in which all namespaces request injection,
mutual TLS is STRICT and every pod template opts out of the rewrite. The expected findings
follow simple rules of the mesh; no code is shared with the program under test.
Exits with 1 if a handler is missed, reported without being expected, or reported by another rule.
"""

import collections
import copy
import json
import pathlib
import subprocess
import sys
import tempfile

import yaml

OPT_OUT = "sidecar.istio.io/rewriteAppHTTPProbers"
SYSTEM = {"kube-system", "kube-public", "kube-node-lease", "local-path-storage"}
PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
HOOKS = ("postStart", "preStop")
# Ports of the sidecar itself, which its redirect does not capture.
# Source: Istio, install/kubernetes: istio-iptables default exclusions.
OWN_PORTS = {15008, 15020, 15021, 15090}
RULES = {
    ("probe", "http"): "strict-probe-not-rewritten",
    ("probe", "grpc"): "strict-probe-not-rewritten",
    ("probe", "https"): "https-probe-strict",
    ("probe", "tcp"): "tcp-probe-always-passes",
    ("hook", "http"): "lifecycle-hook-strict",
    ("hook", "https"): "lifecycle-hook-strict",
}


def template_of(document):
    """Returns the pod template of a workload and its field path, or None."""
    if not isinstance(document, dict) or not isinstance(document.get("spec"), dict):
        return None
    if document.get("kind") == "Pod" and document.get("apiVersion") == "v1":
        return document, "spec"
    path = ["spec", "template"]
    if document.get("kind") == "CronJob":
        path = ["spec", "jobTemplate", "spec", "template"]
    node = document
    for key in path:
        node = node.get(key) if isinstance(node, dict) else None
    spec = node.get("spec") if isinstance(node, dict) else None
    if isinstance(spec, dict) and isinstance(spec.get("containers"), list):
        return node, ".".join(path) + ".spec"
    return None


def documents_of(path):
    """Returns the documents of a file, with the items of lists instead of the lists; None if it is not plain YAML."""
    try:
        loaded = list(yaml.safe_load_all(path.read_text(encoding="utf-8")))
    except (yaml.YAMLError, UnicodeDecodeError, ValueError):
        return None
    found = []
    for document in loaded:
        if isinstance(document, dict) and document.get("kind") == "List":
            found.extend(document.get("items") or [])
        else:
            found.append(document)
    return [document for document in found if isinstance(document, dict)]


def is_scenery(document):
    """Returns whether a document would add facts about the mesh."""
    group = str(document.get("apiVersion", "")).split("/")[0]
    return (
        document.get("kind") in ("Namespace", "Kustomization", "MutatingWebhookConfiguration")
        or "istio.io" in group
        or group.startswith("kustomize.")
        or (
            group in ("argoproj.io", "helm.toolkit.fluxcd.io", "kustomize.toolkit.fluxcd.io")
            and template_of(document) is None
        )
        or document.get("kind") in ("NetworkPolicy", "ConfigMap")
    )


def text(value):
    return "" if value is None else str(value)


def is_in_mesh(template, namespace):
    """Returns whether the pod gets a sidecar; a template such as `grpc-agent` adds none."""
    metadata = template.get("metadata") or {}
    labels = metadata.get("labels") or {}
    annotations = metadata.get("annotations") or {}
    if namespace in SYSTEM or template["spec"].get("hostNetwork") is True:
        return False
    templates = text(annotations.get("inject.istio.io/templates"))
    if templates and "sidecar" not in templates.split(","):
        return False
    word = text(labels.get("sidecar.istio.io/inject", annotations.get("sidecar.istio.io/inject")))
    return word.lower() not in ("false", "n", "no", "off")


def resolve(port, container):
    """Returns the number of a port, or None if the manifest does not contain one."""
    if isinstance(port, int):
        return port
    # The kubelet reads a name that is not the name of a port as a number.
    # Source: Kubernetes, pkg/probe/util.go, ResolveContainerPort.
    named = [declared for declared in container.get("ports") or [] if declared.get("name") == port]
    if not named and str(port).isdigit():
        return int(port)
    number = named[-1].get("containerPort") if named else None
    return number if isinstance(number, int) else None


def handlers_of(container):
    for slot in PROBES:
        if isinstance(container.get(slot), dict):
            yield "probe", slot, container[slot]
    for slot in HOOKS:
        hook = (container.get("lifecycle") or {}).get(slot)
        if isinstance(hook, dict):
            yield "hook", "lifecycle." + slot, hook


def kind_of(handler, container):
    """Returns (kind, port) of a handler that targets the pod itself, or None."""
    actions = [key for key in ("httpGet", "tcpSocket", "grpc", "exec") if handler.get(key)]
    if len(actions) != 1 or actions[0] == "exec":
        return None
    action = handler[actions[0]]
    if action.get("host"):
        return None
    port = resolve(action.get("port"), container)
    if port is None or port in OWN_PORTS:
        return None
    if actions[0] == "httpGet":
        return ("https" if action.get("scheme") == "HTTPS" else "http"), port
    return ("tcp" if actions[0] == "tcpSocket" else "grpc"), port


def excluded(template):
    annotations = (template.get("metadata") or {}).get("annotations") or {}
    ports = text(annotations.get("traffic.sidecar.istio.io/excludeInboundPorts"))
    return {int(port) for port in ports.split(",") if port.strip().isdigit()}


def expected_in(document, namespace):
    """Yields (field, family, kind) of every handler that check must report."""
    template, path = template_of(document)
    if not is_in_mesh(template, namespace):
        return
    excluded_ports = excluded(template)
    for key in ("containers", "initContainers"):
        for index, container in enumerate(template["spec"].get(key) or []):
            if key == "initContainers" and container.get("restartPolicy") != "Always":
                continue
            if container.get("name") == "istio-proxy":
                continue
            for family, slot, handler in handlers_of(container):
                found = kind_of(handler, container)
                if found and found[1] not in excluded_ports:
                    yield f"{path}.{key}[{index}].{slot}", family, found[0]


def prepare(document):
    """Sets the namespace and the opt-out, and returns the namespace."""
    metadata = document.setdefault("metadata", {})
    namespace = metadata.get("namespace") or "corpus"
    metadata["namespace"] = namespace
    template, _ = template_of(document)
    if template.get("metadata") is None:
        template["metadata"] = {}
    if template["metadata"].get("annotations") is None:
        template["metadata"]["annotations"] = {}
    template["metadata"]["annotations"][OPT_OUT] = "false"
    return namespace


class Plain(yaml.SafeDumper):
    """Writes aliases as copies, so that each handler has its own line."""

    def ignore_aliases(self, _):
        return True


def overlay(source, target):
    """Writes the scratch tree. Returns (file, document, field) -> expected kind, and the number of templates."""
    expected, namespaces, templates = {}, set(), 0
    files = sorted(path for path in source.rglob("*") if path.suffix in (".yaml", ".yml", ".json"))
    for path in files:
        kept = []
        for read in documents_of(path) or []:
            if is_scenery(read) or not isinstance(read.get("metadata") or {}, dict):
                continue
            document = copy.deepcopy(read)
            if template_of(document):
                namespace = prepare(document)
                namespaces.add(namespace)
                rows = list(expected_in(document, namespace))
                templates += bool(rows)
                for field, family, kind in rows:
                    name = str(path.relative_to(source))
                    expected[(name, len(kept), field)] = (family, kind)
            kept.append(document)
        if kept:
            copied = target / path.relative_to(source)
            copied.parent.mkdir(parents=True, exist_ok=True)
            copied.write_text(yaml.dump_all(kept, Dumper=Plain, sort_keys=False))
    write_mesh(target / "mesh.yaml", namespaces)
    return expected, templates


def write_mesh(path, namespaces):
    documents = [
        {
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": {"name": name, "labels": {"istio-injection": "enabled"}},
        }
        for name in sorted(namespaces)
    ]
    documents.append(
        {
            "apiVersion": "security.istio.io/v1",
            "kind": "PeerAuthentication",
            "metadata": {"name": "default", "namespace": "istio-system"},
            "spec": {"mtls": {"mode": "STRICT"}},
        }
    )
    path.write_text(yaml.dump_all(documents, sort_keys=False))


def found_by(meshprobe, folder):
    command = [meshprobe, "check", "--isolated", "--no-context", "--fail-on", "never"]
    command += ["--output-format", "json", "."]
    run = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    found = {}
    for finding in json.loads(run.stdout)["findings"]:
        if finding["rule"] in RULES.values():
            found[(finding["path"], finding["document"], finding["field"])] = finding["rule"]
    return found


def main():
    meshprobe, source = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2])
    with tempfile.TemporaryDirectory() as scratch:
        expected, templates = overlay(source, pathlib.Path(scratch))
        found = found_by(meshprobe, scratch)
    counts = collections.Counter(expected.values())
    hits = collections.Counter(
        kind for key, kind in expected.items() if found.get(key) == RULES[kind]
    )
    print(f"{templates} pod templates, {len(expected)} handlers expected")
    for kind, count in sorted(counts.items()):
        print(f"  {kind[0]:5} {kind[1]:5} expected {count:4} found {hits[kind]:4}")
    missed = [key for key, kind in expected.items() if found.get(key) != RULES[kind]]
    surplus = [key for key in found if key not in expected]
    for title, keys in (("missed", missed), ("not expected", surplus)):
        print(f"{title}: {len(keys)}")
        for key in keys:
            print("  ", *key, found.get(key, ""))
    return 1 if missed or surplus or not expected else 0


sys.exit(main())
