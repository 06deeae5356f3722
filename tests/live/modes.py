"""The modes in which the pods are tried."""

NO_MESH = "none"
# File of fixtures/live/policies -> what it demands.
MODES = {
    "disable": "DISABLE",
    "unset": "no policy",
    "permissive": "PERMISSIVE",
    "strict": "STRICT",
    "permissive-authz": "PERMISSIVE, AuthorizationPolicy",
    "strict-portlevel-disable": "STRICT, ports DISABLE",
}
# One mode once more, with what the function wrote inside of `kustomize build`.
STRICT = "strict"
BUILT = "strict-kustomize"
# STRICT with a part of the mesh missing, as fixtures/live/degraded.csv calls it. These verify the
# stand-ins: if only the env is removed, the agent must know nothing.
NO_SIDECAR, NO_AGENT, NO_ENV, NO_ENVOY = DEGRADED = ("no-sidecar", "no-agent", "no-env", "no-envoy")
