"""Writes a tree of workloads: python html_tree.py FOLDER COUNT

Each workload has two probes. Every second one opts out of the probe rewrite, so that its probes are broken.
"""

import os
import sys

WORKLOAD = """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web-{number}
  namespace: team-{team}
spec:
  selector:
    matchLabels: {{app: web-{number}}}
  template:
    metadata:
      labels: {{app: web-{number}}}
      annotations:
        sidecar.istio.io/rewriteAppHTTPProbers: "{rewrite}"
    spec:
      containers:
        - name: web
          image: example.com/web:{number}
          ports:
            - containerPort: {port}
          readinessProbe:
            httpGet:
              path: /ready
              port: {port}
          livenessProbe:
            tcpSocket:
              port: {port}
"""

TEAM = """\
apiVersion: v1
kind: Namespace
metadata:
  name: team-{team}
  labels:
    istio-injection: enabled
---
apiVersion: security.istio.io/v1
kind: PeerAuthentication
metadata:
  name: default
  namespace: team-{team}
spec:
  mtls:
    mode: STRICT
"""

TEAMS = 20


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


folder, count = sys.argv[1], int(sys.argv[2])
for team in range(TEAMS):
    write(f"{folder}/namespaces/team-{team}.yaml", TEAM.format(team=team))
for number in range(count):
    values = {"team": number % TEAMS, "number": number, "port": 8000 + number % 7}
    text = WORKLOAD.format(rewrite=str(number % 2 == 0).lower(), **values)
    write(f"{folder}/apps/team-{number % TEAMS}/web-{number}.yaml", text)
