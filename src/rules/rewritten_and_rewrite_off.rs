//! Rule `rewritten-and-rewrite-off`.

use super::rule::declare_rule;
use super::{Scene, prober_env, scene};
use crate::finding::Finding;
use crate::mesh::istio::keys;
use crate::predict::{Cause, HandlerPrediction, WorkloadPrediction};

declare_rule! {
    /// Finds pods that were rewritten ahead and leave the rewrite on.
    ///
    /// ## What it checks
    /// A pod whose probes point at the agent, each with its entry in `ISTIO_KUBE_APP_PROBERS`, while the mesh
    /// rewrites the pod too and finds nothing left to do. This is what `rewrite --form container-only` writes.
    ///
    /// ## Why it matters
    /// The pod works as it stands. But whatever the injector still finds to rewrite replaces the whole variable:
    /// a container that another webhook adds, a hook after an upgrade to 1.25, another status port of the mesh.
    /// All the other probes then fail with 400. With the rewrite switched off, what is committed is what runs.
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
    /// Switching the rewrite off is unsafe, like all changes to a pod that was rewritten ahead. There is no fix
    /// where an annotation moves the agent to another port than the written one: the injector then corrects the
    /// probes.
    ///
    /// ## References
    /// - Istio documentation: "Health Checking of Istio Services"
    "rewritten-and-rewrite-off", Note, fix: Sometimes, scope: Workloads
}

fn check(scene: &Scene<'_, '_>) -> Vec<Finding> {
    scene.pods().filter_map(report).collect()
}

fn report(pod: &WorkloadPrediction<'_>) -> Option<Finding> {
    pod.prober_env.as_ref()?;
    let is_marked = pod.workload.template.annotation(keys::STATUS).is_some();
    let ahead: Vec<&HandlerPrediction<'_>> = pod
        .handlers
        .iter()
        .filter(|handler| handler.rewritten && handler.agent_path().is_some())
        .collect();
    let works = |handler: &&HandlerPrediction<'_>| handler.verdict.cause == Cause::Rewritten;
    if is_marked || ahead.is_empty() || !ahead.iter().all(works) {
        return None;
    }
    let message = format!(
        "the probes of {} work as they are, but its {} is replaced as soon as the injector finds \
         another handler to rewrite",
        pod.workload.title(),
        keys::PROBERS_ENV,
    );
    let mut finding = prober_env::about_pod(&RULE, pod, message);
    scene::rest_on_fact(&mut finding, &pod.rewrite);
    scene::rest_on_fact(&mut finding, &pod.dataplane);
    let stays = ahead
        .iter()
        .all(|handler| handler.port == Some(pod.agent_port.value));
    if stays {
        finding.fix = Some(prober_env::opt_out(pod));
    } else {
        let port = pod.agent_port.value;
        finding.help = Some(format!(
            "write port {port} into the probes, and set `{}` to \"false\"",
            keys::REWRITE_PROBERS
        ));
    }
    Some(finding)
}
