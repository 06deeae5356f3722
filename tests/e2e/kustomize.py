"""Checks the output of `kustomize build` for kustomize.sh, independently of the tool.

    kustomize.py rewritten PLAIN MESHED NAME...
    kustomize.py same ONE OTHER
    kustomize.py strip-opt-out FOLDER
    kustomize.py strip-probes FOLDER
"""

import copy
import json
import pathlib
import re
import sys

import yaml

OPT_OUT = "sidecar.istio.io/rewriteAppHTTPProbers"
PROXY_CONFIG = "proxy.istio.io/config"
PROBERS = "ISTIO_KUBE_APP_PROBERS"
SLOTS = {"readinessProbe": "readyz", "livenessProbe": "livez", "startupProbe": "startupz"}
STATUS_PORT = 15020


def main(verb, *args):
    verbs = {"rewritten": rewritten, "same": same, "strip-opt-out": strip_opt_out, "strip-probes": strip_probes}
    verbs[verb](*args)


def rewritten(plain, meshed, *names):
    """Checks that exactly the named workloads are rewritten, and correctly."""
    before, after = load(plain), load(meshed)
    assert before.keys() == after.keys(), f"{before.keys() ^ after.keys()}"
    seen = set()
    for key, was in before.items():
        kind, name = key
        now = after[key]
        if name not in names or kind in ("Service", "Namespace"):
            assert was == now, f"{kind} {name} was changed"
            continue
        expected, probers = expectation(was)
        env = take_probers(now)
        assert env == probers, f"{name}: prober env\n  is       {env}\n  expected {probers}"
        assert now == expected, f"{name}:\n  is       {json.dumps(now)}\n  expected {json.dumps(expected)}"
        seen.add(name)
    assert seen == set(names), f"missing workloads: {set(names) - seen}"


def same(one, other):
    """Checks that both contain the same resources, in the same order."""
    first, second = load(one), load(other)
    assert list(first) == list(second), f"{first.keys() ^ second.keys()}"
    for key, value in first.items():
        assert value == second[key], f"{key}:\n  {json.dumps(value)}\n  {json.dumps(second[key])}"


def expectation(workload):
    """Returns the rewritten workload without its proxy config, and the prober env that it must contain."""
    workload = copy.deepcopy(workload)
    template = workload["spec"]["template"]
    template["metadata"].setdefault("annotations", {})[OPT_OUT] = "false"
    probers = {}
    for container in template["spec"]["containers"]:
        ports = {port.get("name"): port["containerPort"] for port in container.get("ports", [])}
        for slot, word in SLOTS.items():
            probe = container.get(slot)
            prober = probe and recorded(probe, ports)
            if not prober:
                continue
            path = f"/app-health/{container['name']}/{word}"
            probers[path] = prober
            # Only the address of an HTTP probe changes; other probes become HTTP probes.
            http = probe.pop("httpGet", {})
            for kind in ("tcpSocket", "grpc"):
                probe.pop(kind, None)
            if "scheme" in http:
                http["scheme"] = "HTTP"
            probe["httpGet"] = {**http, "path": path, "port": STATUS_PORT}
    # Go writes maps with sorted keys and structs in the order of their fields.
    return workload, json.dumps(dict(sorted(probers.items())), separators=(",", ":"), ensure_ascii=False)


def recorded(probe, ports):
    """Returns the entry of a probe for the agent, with the defaults of the API server."""

    def number(handler):
        return ports.get(handler["port"], handler["port"])

    timeout = {"timeoutSeconds": probe.get("timeoutSeconds", 1)}
    if http := probe.get("httpGet"):
        handler = {"path": http.get("path", "/"), "port": number(http), "scheme": http.get("scheme", "HTTP")}
        return {"httpGet": handler, **timeout}
    if tcp := probe.get("tcpSocket"):
        return {"tcpSocket": {"port": number(tcp)}, **timeout}
    if grpc := probe.get("grpc"):
        return {"grpc": {"port": grpc["port"], "service": grpc.get("service", "")}, **timeout}
    return None


def take_probers(workload):
    """Removes what the form of the rewrite added, and returns the prober env that the sidecar will receive."""
    template = workload["spec"]["template"]
    last = template["spec"]["containers"][-1]
    if last["name"] == "istio-proxy":
        template["spec"]["containers"].pop()
        assert last == {"name": "istio-proxy", "image": "auto", "env": last["env"]}, last
        assert [entry["name"] for entry in last["env"]] == [PROBERS], last
        return last["env"][0]["value"]
    # The injection template inserts the value between double quotes, so the sidecar receives the value that YAML
    # decodes from a double-quoted scalar.
    config = yaml.safe_load(template["metadata"]["annotations"].pop(PROXY_CONFIG))
    assert list(config) == ["proxyMetadata"], config
    assert list(config["proxyMetadata"]) == [PROBERS], config
    return yaml.safe_load('"' + config["proxyMetadata"][PROBERS] + '"')


def strip_opt_out(folder):
    """Removes the opt-outs, and annotations and comments that contained nothing else."""
    for path in sorted(pathlib.Path(folder).rglob("*.yaml")):
        text = path.read_text()
        path.write_text(re.sub(rf"( *)annotations:\n(?:\1  #.*\n)*\1  {re.escape(OPT_OUT)}: .*\n", "", text))
    assert OPT_OUT not in "".join(p.read_text() for p in pathlib.Path(folder).rglob("*.yaml"))


def strip_probes(folder):
    """Removes every probe, by indentation."""
    for path in sorted(pathlib.Path(folder).rglob("*.yaml")):
        kept, inside = [], None
        for line in path.read_text().splitlines(keepends=True):
            indent = len(line) - len(line.lstrip())
            if inside is not None and indent > inside:
                continue
            inside = indent if re.match(rf" *({'|'.join(SLOTS)}):", line) else None
            if inside is None:
                kept.append(line)
        path.write_text("".join(kept))


def load(path):
    documents = [d for d in yaml.safe_load_all(pathlib.Path(path).read_text()) if d]
    return {(d["kind"], d["metadata"]["name"]): d for d in documents}


if __name__ == "__main__":
    main(*sys.argv[1:])
