"""Generates a tree of manifests like those in GitOps repositories: `tree.py FOLDER FILES [ENVIRONMENTS]`.

The tree contains Deployments with probes, Services, kustomizations with overlays, ConfigMaps, and definitions of
resources, which have most of the bytes. With ENVIRONMENTS, the tree is the monorepo of a platform: each environment is
a namespace whose overlay includes five of the first 200 applications; Flux deploys every second one, and Argo CD the
others. The same arguments generate the same bytes.
"""

import pathlib
import sys

DEPLOYMENT = """apiVersion: apps/v1
kind: Deployment
metadata:
  name: web-{0}
  labels: {{app.kubernetes.io/name: web-{0}}}
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
          image: example/web:{0}
          ports:
            - {{name: http, containerPort: 8080}}
          readinessProbe:
            httpGet: {{path: /ready, port: http}}
          livenessProbe:
            tcpSocket: {{port: 8080}}
            timeoutSeconds: 2
"""
SERVICE = """apiVersion: v1
kind: Service
metadata: {{name: web-{0}}}
spec:
  selector: {{app: web-{0}}}
  ports: [{{name: http, port: 80, targetPort: http}}]
"""
CONFIG = """apiVersion: v1
kind: ConfigMap
metadata: {{name: settings-{0}}}
data:
  application.properties: |
{1}
"""
BASE = "resources: [deployment.yaml, service.yaml, settings.yaml]\n"
OVERLAY = """namespace: {1}-{0}
resources: [../../base]
patches:
  - patch: |
      apiVersion: apps/v1
      kind: Deployment
      metadata: {{name: web-{0}}}
      spec: {{replicas: 3}}
"""
NAMESPACE = "apiVersion: v1\nkind: Namespace\nmetadata: {{name: {1}-{0}, labels: {{istio-injection: enabled}}}}\n"
DEFINITION = """apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {{name: things{0}.example.com}}
spec:
  group: example.com
  names: {{kind: Thing{0}, plural: things{0}}}
  scope: Namespaced
  versions:
    - name: v1
      served: true
      storage: true
      schema:
        openAPIV3Schema:
          type: object
          properties:
{1}
"""
ENVIRONMENT = """namespace: env-{0}
resources: [namespace.yaml, {1}]
patches:
  - target: {{kind: Deployment}}
    patch: '[{{"op": "replace", "path": "/spec/replicas", "value": 3}}]'
"""
ENVIRONMENT_NAMESPACE = """apiVersion: v1
kind: Namespace
metadata: {{name: env-{0}, labels: {{istio-injection: enabled}}}}
"""
FLUX = """apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {{name: env-{0}, namespace: flux-system}}
spec:
  interval: 10m
  path: ./environments/env-{0}
  prune: true
  sourceRef: {{kind: GitRepository, name: flux-system}}
"""
ARGO = """apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {{name: env-{0}, namespace: argocd}}
spec:
  project: default
  source: {{repoURL: "https://git.example/platform.git", path: environments/env-{0}, targetRevision: main}}
  destination: {{server: "https://kubernetes.default.svc", namespace: env-{0}}}
"""
SHARED = 200
INCLUDED = 5


def environment(number):
    """Returns path -> text for the files of one environment."""
    bases = ", ".join(f"../../apps/app-{(number * 7 + i) % SHARED}/base" for i in range(INCLUDED))
    deployer, tool = (ARGO, "argocd") if number % 2 else (FLUX, "flux")
    folder = f"environments/env-{number}"
    return {
        f"{folder}/kustomization.yaml": ENVIRONMENT.format(number, bases),
        f"{folder}/namespace.yaml": ENVIRONMENT_NAMESPACE.format(number),
        f"clusters/{tool}/env-{number}.yaml": deployer.format(number),
    }


def files_of(number):
    """Returns path -> text for the files of one application."""
    lines = "\n".join(f"    setting.number.{i}=value of setting {i}" for i in range(20))
    fields = "\n".join(
        f"            field{i}:\n              description: What field {i} of the thing is for, in a sentence.\n"
        f"              type: string"
        for i in range(150)
    )
    app = f"apps/app-{number}"
    made = {
        f"{app}/base/deployment.yaml": DEPLOYMENT.format(number),
        f"{app}/base/service.yaml": SERVICE.format(number),
        f"{app}/base/settings.yaml": CONFIG.format(number, lines),
        f"{app}/base/kustomization.yaml": BASE,
        f"{app}/crds/thing.yaml": DEFINITION.format(number, fields),
    }
    for environment in ("stage", "prod"):
        made[f"{app}/overlays/{environment}/kustomization.yaml"] = OVERLAY.format(number, environment)
        made[f"{app}/overlays/{environment}/namespace.yaml"] = NAMESPACE.format(number, environment)
    return made


def write(folder, files):
    for path, text in files.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
    return len(files)


def main():
    folder, count = pathlib.Path(sys.argv[1]), int(sys.argv[2])
    environments = int(sys.argv[3]) if len(sys.argv) > 3 else 0
    written = sum(write(folder, environment(number)) for number in range(environments))
    number = 0
    while written < count:
        written += write(folder, files_of(number))
        number += 1


main()
