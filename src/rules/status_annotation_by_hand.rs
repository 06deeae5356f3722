//! Rule `status-annotation-by-hand`.

use super::pod_key::{self, Place};
use super::rule::declare_rule;
use super::{Scene, scene};
use crate::context::proxy_container;
use crate::finding::{Applicability, Finding};
use crate::mesh::istio::keys;
use crate::predict::WorkloadPrediction;

declare_rule! {
    /// Finds pods that are marked as injected and are not.
    ///
    /// ## What it checks
    /// The annotation `sidecar.istio.io/status` on a pod whose manifest holds no sidecar: no container
    /// `istio-proxy`, or one with `image: auto`, which is a request to the injector.
    ///
    /// ## Why it matters
    /// The injector writes this annotation, and others go by it: the CNI plugin and ambient mode take the pod for
    /// an injected one, so without a sidecar it is in no mesh, or has no network. It is sometimes set to keep
    /// a prober env; switching the rewrite off does that without the side effects.
    ///
    /// ## Example
    /// ```yaml
    /// apiVersion: v1
    /// kind: Namespace
    /// metadata:
    ///   name: shop
    ///   labels:
    ///     istio-injection: enabled
    /// ---
    /// apiVersion: v1
    /// kind: Pod
    /// metadata:
    ///   name: web
    ///   namespace: shop
    ///   annotations:
    ///     sidecar.istio.io/rewriteAppHTTPProbers: "false"
    ///     sidecar.istio.io/status: '{}'
    /// spec:
    ///   containers:
    ///     - name: web
    ///       image: registry.example/web:1
    ///       livenessProbe:
    ///         httpGet:
    ///           path: /app-health/web/livez
    ///           port: 15020
    ///     - name: istio-proxy
    ///       image: auto
    ///       env:
    ///         - name: ISTIO_KUBE_APP_PROBERS
    ///           value: '{"/app-health/web/livez":{"httpGet":{"path":"/healthz","port":8080,"scheme":"HTTP"},"timeoutSeconds":1}}'
    /// ```
    ///
    /// ## Use instead
    /// ```yaml
    /// apiVersion: v1
    /// kind: Namespace
    /// metadata:
    ///   name: shop
    ///   labels:
    ///     istio-injection: enabled
    /// ---
    /// apiVersion: v1
    /// kind: Pod
    /// metadata:
    ///   name: web
    ///   namespace: shop
    ///   annotations:
    ///     sidecar.istio.io/rewriteAppHTTPProbers: "false"
    /// spec:
    ///   containers:
    ///     - name: web
    ///       image: registry.example/web:1
    ///       livenessProbe:
    ///         httpGet:
    ///           path: /app-health/web/livez
    ///           port: 15020
    ///     - name: istio-proxy
    ///       image: auto
    ///       env:
    ///         - name: ISTIO_KUBE_APP_PROBERS
    ///           value: '{"/app-health/web/livez":{"httpGet":{"path":"/healthz","port":8080,"scheme":"HTTP"},"timeoutSeconds":1}}'
    /// ```
    ///
    /// ## Fix safety
    /// Removing the annotation is unsafe: the CNI plugin and ambient mode then treat the pod in another way.
    /// There is no fix where the pod carries a prober env and leaves the rewrite on: the annotation is what keeps
    /// the env.
    ///
    /// ## References
    /// - Istio documentation: "Resource Annotations"
    /// - Istio documentation: "Install the Istio CNI node agent"
    "status-annotation-by-hand", Warning, fix: Sometimes, scope: Workloads
}

/// What stands for the image of a sidecar that the injector is to fill in.
const REQUEST: &str = "auto";

fn check(scene: &Scene<'_, '_>) -> Vec<Finding> {
    if !scene.may_have_mesh() {
        return Vec::new();
    }
    scene.pods().filter_map(report).collect()
}

fn report(pod: &WorkloadPrediction<'_>) -> Option<Finding> {
    let workload = &pod.workload;
    let template = &workload.template;
    let entry = template.annotation(keys::STATUS)?;
    let proxy = proxy_container(workload);
    if proxy.is_some_and(|proxy| proxy.image().is_some_and(|image| image != REQUEST)) {
        return None;
    }
    let message = format!(
        "`{}` is set by hand: the CNI plugin and ambient mode take the pod for an injected one, and \
         the manifest holds no sidecar",
        keys::STATUS,
    );
    let mut finding = pod_key::about(&RULE, workload, Place::Annotation, entry, message);
    if pod.prober_env.is_some() && pod.is_asked && pod.rewrite.value {
        finding.help = Some(format!(
            "set `{}` to \"false\", which keeps {} too, and remove the annotation",
            keys::REWRITE_PROBERS,
            keys::PROBERS_ENV,
        ));
        return Some(finding);
    }
    let degree = pod_key::degree(pod, &[entry], Applicability::Unsafe);
    let changes = pod_key::removal(template, Place::Annotation, &[keys::STATUS]);
    let title = format!("remove `{}`: the injector writes it", keys::STATUS);
    finding.fix = Some(scene::fix(&workload.object, title, degree, changes));
    Some(finding)
}
