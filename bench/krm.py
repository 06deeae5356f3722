"""Measures kustomize builds with and without the KRM function. Called by krm.sh.

Arguments: kustomize.py of the end-to-end tests, meshprobe, an empty folder, Deployments, rounds.
"""

import os
import pathlib
import resource
import statistics
import subprocess
import sys
import time

judge, meshprobe = sys.argv[1:3]
work = pathlib.Path(sys.argv[3])
count, rounds = map(int, sys.argv[4:])

NAMESPACE = "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop, labels: {istio-injection: enabled}}\n"
DEPLOYMENT = """apiVersion: apps/v1
kind: Deployment
metadata:
  name: web-{0}
  namespace: shop
  labels: {{app.kubernetes.io/name: web-{0}, app.kubernetes.io/part-of: shop}}
spec:
  replicas: 2
  selector:
    matchLabels: {{app: web-{0}}}
  template:
    metadata:
      labels: {{app: web-{0}}}
    spec:
      containers:
        - name: web
          image: registry.example/web:{0}
          ports:
            - {{name: http, containerPort: 8080}}
            - {{name: admin, containerPort: 9090}}
          env:
            - {{name: LOG_LEVEL, value: info}}
            - {{name: SHARD, value: "{0}"}}
          readinessProbe:
            httpGet: {{path: /readyz, port: http}}
            periodSeconds: 5
          livenessProbe:
            tcpSocket: {{port: admin}}
            timeoutSeconds: 2
          resources:
            requests: {{cpu: 100m, memory: 128Mi}}
            limits: {{memory: 256Mi}}
"""

function = work / "meshprobe-krm"
function.symlink_to(meshprobe)
for name in ("plain", "function"):
    folder = work / name
    folder.mkdir()
    (folder / "all.yaml").write_text("---\n".join([NAMESPACE] + [DEPLOYMENT.format(i) for i in range(count)]))
    transformers = "transformers: [fn.yaml]\n" if name == "function" else ""
    (folder / "kustomization.yaml").write_text(f"resources: [all.yaml]\n{transformers}")
(work / "function/fn.yaml").write_text(
    "apiVersion: meshprobe.dev/v1alpha1\nkind: MeshProbe\nmetadata:\n  name: fn\n  annotations:\n"
    f"    config.kubernetes.io/function: |\n      exec: {{path: {function}}}\n"
    f'spec: {{actions: [rewrite], mesh: {{version: "1.28"}}}}\n'
)

build = "kustomize build --enable-alpha-plugins --enable-exec"
ways = {
    "build": f"{build} {work}/plain",
    "build with the function": f"{build} {work}/function",
    "build | meshprobe rewrite -": f"set -o pipefail; {build} {work}/plain | {meshprobe} rewrite --mesh-version 1.28 -",
}


def cpu():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


wall, busy = {name: [] for name in ways}, {name: [] for name in ways}
for _turn in range(rounds):
    for number, (name, command) in enumerate(ways.items()):
        with open(work / f"out-{number}.yaml", "wb") as out:
            started, used = time.monotonic(), cpu()
            subprocess.run(["bash", "-c", command], stdout=out, check=True)
            wall[name].append(time.monotonic() - started)
            busy[name].append(cpu() - used)
# The names of the objects do not change, so only the resources can differ.
subprocess.run([sys.executable, judge, "same", work / "out-1.yaml", work / "out-2.yaml"], check=True)

print(f"{count} Deployments, median of {rounds}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
print(f"{'':30}{'wall s':>8}{'ratio':>8}{'CPU s':>8}{'ratio':>8}")
base = [statistics.median(times["build"]) for times in (wall, busy)]
for name in ways:
    w, b = statistics.median(wall[name]), statistics.median(busy[name])
    print(f"{name:30}{w:8.2f}{w / base[0]:8.2f}{b:8.2f}{b / base[1]:8.2f}")
