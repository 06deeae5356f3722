"""The modes in which the pods are tried."""

NO_MESH = "none"
# File of fixtures/live/policies -> column of the matrix.
MODES = {
    "disable": "DISABLE",
    "permissive": "PERMISSIVE",
    "strict": "STRICT",
    "permissive-authz": "PERMISSIVE, AuthorizationPolicy",
    "strict-portlevel-disable": "STRICT, ports DISABLE",
}
# One mode once more, with what the function wrote inside of `kustomize build`.
MODE_OF_BUILT = "strict"
BUILT = "strict-kustomize"
