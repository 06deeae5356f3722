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
# STRICT again, with manifests that the function rewrote inside of `kustomize build`.
STRICT = "strict"
BUILT = "strict-kustomize"
# STRICT without a part of the mesh, with the names of fixtures/live/degraded.csv. These modes verify the
# stand-ins: without the env, the agent must not know any probe.
NO_SIDECAR, NO_AGENT, NO_ENV, NO_ENVOY = DEGRADED = ("no-sidecar", "no-agent", "no-env", "no-envoy")
