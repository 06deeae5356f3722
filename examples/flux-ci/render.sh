#!/usr/bin/env bash
# Renders a kustomization with the rewrite: render.sh FOLDER >manifests.yaml
set -euo pipefail
kustomize build -- "$1" | meshprobe rewrite --mesh istio --mesh-version 1.28 -
