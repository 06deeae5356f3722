//! Rule `osm-https-collision`.

use super::rule::declare_rule;
use super::{Scene, scene};
use crate::finding::Finding;
use crate::predict::{Cause, HandlerPrediction, Trouble, WorkloadPrediction};

declare_rule! {
    /// Finds HTTPS probes that share a listener of OSM with another probe.
    ///
    /// ## What it checks
    /// A pod that OSM injects, in which two containers have HTTPS probes of one kind; and, up to 1.2,
    /// one with an HTTPS and one with an HTTP probe of that kind.
    ///
    /// ## Why it matters
    /// OSM cannot look into TLS, so it passes the bytes of an HTTPS probe on to one port per kind of
    /// probe. A second one is asked there as well, and which of two wins is chance on the development
    /// head. An HTTP probe at such a listener speaks plain text to a TLS port, and fails.
    ///
    /// ## Example
    /// ```yaml
    /// apiVersion: v1
    /// kind: Namespace
    /// metadata:
    ///   name: bookstore
    ///   labels:
    ///     openservicemesh.io/monitored-by: osm
    ///   annotations:
    ///     openservicemesh.io/sidecar-injection: enabled
    /// ---
    /// apiVersion: v1
    /// kind: Pod
    /// metadata:
    ///   name: web
    ///   namespace: bookstore
    /// spec:
    ///   containers:
    ///     - name: web
    ///       image: registry.example/web:1
    ///       livenessProbe:
    ///         httpGet:
    ///           path: /healthz
    ///           port: 8443
    ///           scheme: HTTPS
    ///     - name: admin
    ///       image: registry.example/admin:1
    ///       livenessProbe:
    ///         httpGet:
    ///           path: /alive
    ///           port: 9443
    ///           scheme: HTTPS
    /// ```
    ///
    /// ## Use instead
    /// ```yaml
    /// apiVersion: v1
    /// kind: Namespace
    /// metadata:
    ///   name: bookstore
    ///   labels:
    ///     openservicemesh.io/monitored-by: osm
    ///   annotations:
    ///     openservicemesh.io/sidecar-injection: enabled
    /// ---
    /// apiVersion: v1
    /// kind: Pod
    /// metadata:
    ///   name: web
    ///   namespace: bookstore
    /// spec:
    ///   containers:
    ///     - name: web
    ///       image: registry.example/web:1
    ///       livenessProbe:
    ///         httpGet:
    ///           path: /healthz
    ///           port: 8443
    ///           scheme: HTTPS
    ///     - name: admin
    ///       image: registry.example/admin:1
    ///       livenessProbe:
    ///         exec:
    ///           command: [curl, -kf, "https://127.0.0.1:9443/alive"]
    /// ```
    ///
    /// ## Fix safety
    /// There is no fix by machine: the command of an `exec` probe depends on what the image holds.
    ///
    /// ## References
    /// - OSM v1.2.4, `pkg/injector/health_probes.go` and `envoy_config_health_probes.go`
    "osm-https-collision", Error, fix: None, scope: Workloads
}

fn check(scene: &Scene<'_, '_>) -> Vec<Finding> {
    scene
        .handlers()
        .filter_map(|(pod, handler)| report(pod, handler))
        .collect()
}

fn report(pod: &WorkloadPrediction<'_>, handler: &HandlerPrediction<'_>) -> Option<Finding> {
    let Cause::Other(trouble) = handler.verdict.cause else {
        return None;
    };
    let what = match trouble {
        Trouble::TlsAnsweredByOther => {
            "shares a listener with the HTTPS probe of another container"
        }
        Trouble::TlsMixed => "shares a listener with a probe of the other scheme",
        _ => return None,
    };
    let message = format!(
        "{} {what}; OSM passes on one HTTPS probe per kind",
        handler.title()
    );
    let span = handler.handler.kind_span();
    let mut finding = scene::about_handler(&RULE, pod, handler, span, message);
    finding.help = Some("make one of the checks an `exec` probe that asks 127.0.0.1".to_owned());
    Some(finding)
}
