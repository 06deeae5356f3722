//! All symptoms, with the patterns of the texts that lead to them.
//!
//! Sources of the texts: `crates/predict/src/predict/istio/kubelet.rs` (measured with the prober of Kubernetes 1.36);
//! `pkg/probe/{http,grpc,tcp}`, `pkg/kubelet/prober`, `pkg/kubelet/lifecycle`, `pkg/kubelet/kuberuntime` and
//! `pkg/apis/core/validation` of Kubernetes 1.36; `pkg/apiserver/pkg/util/webhook` of its API server; `k8s.io/pod-security-admission`;
//! `pilot/cmd/pilot-agent/status/server.go`, `pilot/cmd/pilot-agent/app/wait.go` and `pkg/kube/inject` of Istio 1.31;
//! `pkg/config/validation` of Istio for WorkloadGroups; `src/proxy.rs` of ztunnel; `linkerd/app/inbound/src/policy.rs` of
//! linkerd2-proxy; `internal/controller/kustomization_controller.go` of Flux's kustomize-controller; `reposerver` of Argo CD.

use crate::symptoms::pattern::{Pattern, Specificity};
use crate::symptoms::symptom::Symptom;

/// Declares the symptoms: the id, then for each pattern its specificity and its fragments.
macro_rules! symptoms {
    ($($id:literal: $($specificity:ident [$($fragment:literal),+]),+;)+) => {
        static ALL: &[Symptom] = &[$(Symptom {
            id: $id,
            page: include_str!(concat!(env!("MESHPROBE_DOCS"), "/symptoms/", $id, ".md")),
            patterns: &[$(Pattern {
                specificity: Specificity::$specificity,
                fragments: &[$($fragment),+],
            }),+],
        }),+];
    };
}

symptoms! {
    "connection-reset": Error ["connection reset"];
    "agent-connection-refused":
        Place ["/app-health/", "connection refused"],
        Place ["/app-lifecycle/", "connection refused"],
        Place [":15020", "connection refused"];
    "connection-refused": Error ["connection refused"];
    "istio-proxy-not-ready":
        Place [":15021/healthz/ready"],
        Error ["envoy proxy is not ready"],
        Event ["15021"];
    "https-client-certificate":
        Error ["https://", "broken pipe"],
        Error ["tls: certificate required"],
        Error ["tls: handshake failure"],
        Error ["tls: bad certificate"],
        Error ["https://", "unexpected eof"];
    "http-response-to-https-client":
        Error ["server gave http response to https client"],
        Error ["first record does not look like a tls handshake"];
    "connection-closed-eof": Error [": eof"];
    "deadline-exceeded":
        Error ["context deadline exceeded"],
        Error ["client.timeout exceeded"],
        Error ["i/o timeout"],
        Event ["169.254.7.127"];
    "grpc-connect-timeout":
        Place ["failed to connect service"],
        Error ["health rpc did not complete"];
    "grpc-unavailable":
        Place ["rpc error: code = unavailable"],
        Error ["health rpc probe failed"],
        Error ["does not implement the grpc health protocol"],
        Error ["service unhealthy (responded with"],
        Event ["rpc error"],
        Event ["service unreachable"];
    "rbac-access-denied":
        Place ["rbac: access denied"],
        Place ["rpc error: code = permissiondenied"];
    "linkerd-unauthorized":
        Place ["unauthorized request on route"],
        Place ["unauthorized connection on"],
        Place ["permissiondenied", "unauthorized connection on"];
    "hbone-blocked": Place ["blocking hbone port 15008"];
    "source-127-0-0-6":
        Place ["tls handshake error from 127.0.0.6"],
        Event ["127.0.0.6"];
    "statuscode-400": Error ["statuscode: 400"];
    "statuscode-403": Error ["statuscode: 403"];
    "statuscode-404": Error ["statuscode: 404"];
    "statuscode-500": Error ["statuscode: 500"];
    "statuscode-502": Error ["statuscode: 502"];
    "statuscode-503": Error ["statuscode: 503"];
    "statuscode-other": Event ["probe failed with statuscode"];
    "port-name-unknown":
        Error ["errored", "strconv.atoi: parsing", "invalid syntax"],
        Error ["probe errored", "port", "not found"];
    "no-host-in-url": Error ["no host in request url"];
    "probe-redirects":
        Error ["probe terminated redirects"],
        Error ["stopped after 10 redirects"],
        Event ["probewarning"];
    "ready-but-down":
        Error ["ready but", "down"],
        Error ["probe", "never fails"],
        Error ["probe", "always passes"],
        Error ["probe", "false positive"],
        Event ["ready", "application is down"],
        Event ["ready", "app is down"];
    "failed-post-start-hook":
        Error ["failedpoststarthook"],
        Error ["poststarthook failed"],
        Error ["poststarthookerror"],
        Event ["poststart"];
    "sidecar-wait-failed":
        Place ["pilot-agent wait"],
        Place ["timeout waiting for envoy proxy to become ready"];
    "failed-pre-stop-hook":
        Error ["failedprestophook"],
        Error ["prestophook failed"],
        Event ["prestop"];
    "admission-webhook":
        Event ["admission webhook", "denied the request"],
        Error ["configuration is invalid"],
        Error ["exec.command is required"],
        Error ["unknown health check method"],
        Error ["must be in the range 1..65535"],
        Error ["scheme must be one of"],
        Error ["template is required"],
        Error ["requested template", "not found"],
        Error ["port for probe cannot be set to"],
        Error ["cannot have port level mtls"],
        Place ["failed calling webhook"];
    "x509-unknown-authority": Place ["x509: certificate signed by unknown authority"];
    "cannot-unmarshal":
        Error ["cannot unmarshal", "into go"],
        Error ["cannot be handled as a"],
        Error ["strict decoding error"];
    "flux-substitution-failed":
        Error ["post build failed for"],
        Error ["envsubst error"],
        Error ["variable substitution failed"];
    "kustomize-build-failed":
        Error ["kustomize build", "failed"],
        Error ["accumulating resources"],
        Error ["no matches for id"],
        Error ["failed to find unique target for patch"],
        Error ["mapping key", "already defined at line"],
        Error ["failed to generate manifest for source"];
    "invalid-quantity":
        Place ["quantities must match the regular expression"],
        Place ["unable to parse quantitys suffix"],
        Error ["invalid quantity"];
    "prometheus-scrape-refused": Place ["invalid prometheus scrape configuration"];
    "pod-security-host":
        Place ["probe or lifecycle host"],
        Event ["violates podsecurity"];
    "api-server-rejects-probe":
        Error ["may not specify more than 1 handler type"],
        Error ["must specify a handler type"],
        Error ["probe", "must be between 1 and 65535"],
        Error ["lifecycle", "must be between 1 and 65535"],
        Event ["probe", ": invalid value"],
        Event ["probe", ": forbidden"];
    "agent-rejects-probers":
        Error ["failed to decode app prober"],
        Error ["invalid prober type"],
        Error ["invalid prober config", "port must be int type"],
        Error ["invalid path, must be in form of regex pattern"],
        Event ["istio_kube_app_probers"];
    "startup-probe-failed":
        Event ["startup probe failed"],
        Event ["failed startup probe"];
    "stuck-in-init":
        State ["podinitializing"],
        State ["init:0/"],
        State ["init:1/"],
        State ["init:2/"],
        State ["stuck in init"];
    "crash-loop-back-off":
        Event ["failed liveness probe", "will be restarted"],
        State ["crashloopbackoff"],
        State ["back-off restarting failed container"];
}

/// Returns every symptom, in the order of the list.
#[must_use]
pub const fn all() -> &'static [Symptom] {
    ALL
}
