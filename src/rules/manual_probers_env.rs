//! Rule `manual-probers-env`.

use super::rule::declare_rule;
use super::{Scene, prober_env, scene};
use crate::context::proxy_container;
use crate::finding::Finding;
use crate::mesh::istio::keys;
use crate::predict::{Cause, HandlerPrediction, WorkloadPrediction};
use crate::yaml::NodeRef;

declare_rule! {
    /// Finds prober envs that the injector makes void.
    ///
    /// ## What it checks
    /// A pod that carries `ISTIO_KUBE_APP_PROBERS` (in the env of `istio-proxy`, or in
    /// `proxyMetadata` of `proxy.istio.io/config`), without the opt-out, and with a handler that the
    /// injector still rewrites; or a container with two such variables.
    ///
    /// ## Why it matters
    /// The injector adds a second variable of that name for the handlers it rewrites, and of two the
    /// last one wins. The agent then answers 400 to every probe that only the first knows.
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
    ///           path: /healthz
    ///           port: 8080
    ///       readinessProbe:
    ///         httpGet:
    ///           path: /app-health/web/readyz
    ///           port: 15020
    ///     - name: istio-proxy
    ///       image: auto
    ///       env:
    ///         - name: ISTIO_KUBE_APP_PROBERS
    ///           value: '{"/app-health/web/readyz":{"httpGet":{"path":"/healthz","port":8080,"scheme":"HTTP"},"timeoutSeconds":1}}'
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
    ///           path: /healthz
    ///           port: 8080
    ///       readinessProbe:
    ///         httpGet:
    ///           path: /app-health/web/readyz
    ///           port: 15020
    ///     - name: istio-proxy
    ///       image: auto
    ///       env:
    ///         - name: ISTIO_KUBE_APP_PROBERS
    ///           value: '{"/app-health/web/readyz":{"httpGet":{"path":"/healthz","port":8080,"scheme":"HTTP"},"timeoutSeconds":1}}'
    /// ```
    ///
    /// ## Fix safety
    /// Switching the rewrite off is unsafe: handlers that are not in the variable then meet the
    /// sidecar.
    ///
    /// ## References
    /// - Istio documentation: "Health Checking of Istio Services"
    "manual-probers-env", Error, fix: Sometimes, scope: Workloads
}

fn check(scene: &Scene<'_, '_>) -> Vec<Finding> {
    scene
        .handlers()
        .filter_map(|(pod, handler)| report(pod, handler))
        .collect()
}

fn report(pod: &WorkloadPrediction<'_>, handler: &HandlerPrediction<'_>) -> Option<Finding> {
    match handler.verdict.cause {
        Cause::EntryReplaced => Some(replaced(pod, handler)),
        Cause::RewrittenWithoutEntry => Some(doubled(pod, handler, written_twice(pod)?)),
        _ => None,
    }
}

fn replaced(pod: &WorkloadPrediction<'_>, handler: &HandlerPrediction<'_>) -> Finding {
    let object = &pod.workload.object;
    let message = format!(
        "{} will fail: the injector adds a second {} for handlers that are still to be rewritten, \
         and the one in the manifest is lost",
        handler.title(),
        keys::PROBERS_ENV,
    );
    let span = handler.handler.field_span("path");
    let mut finding = scene::about_handler(&RULE, pod, handler, span, message);
    let env = pod.prober_env.as_ref();
    let lost = env.map(|env| object.label_at(env.span, "this variable is lost"));
    let left = still_to_rewrite(pod).map(|left| {
        let said = "the injector rewrites this one";
        object.label_at(left.handler.key.span(), said)
    });
    finding.related.splice(0..0, lost.into_iter().chain(left));
    finding.help = Some(format!(
        "rewrite the other handlers ahead too, or set `{}` to \"false\"",
        keys::REWRITE_PROBERS
    ));
    finding.fix = Some(prober_env::opt_out(pod));
    finding
}

fn doubled(
    pod: &WorkloadPrediction<'_>,
    handler: &HandlerPrediction<'_>,
    first: NodeRef<'_>,
) -> Finding {
    let message = format!(
        "{} will fail: {} is written twice, and of two variables only the last counts",
        handler.title(),
        keys::PROBERS_ENV,
    );
    let span = handler.handler.field_span("path");
    let mut finding = scene::about_handler(&RULE, pod, handler, span, message);
    let place = pod
        .workload
        .object
        .label_at(first.span(), "this variable is lost");
    finding.related.insert(0, place);
    finding.help = Some("put all probers into one variable".to_owned());
    finding
}

/// A handler that makes the injector write a variable of its own: one of the application's, or
/// one that asks the agent at a port which is not the mesh's.
fn still_to_rewrite<'p, 't>(pod: &'p WorkloadPrediction<'t>) -> Option<&'p HandlerPrediction<'t>> {
    let mut left = pod.handlers.iter().filter(|handler| handler.rewritten);
    left.find(|handler| {
        let recorded = [Cause::AgentCallsItself, Cause::RewrittenOtherPort];
        handler.agent_path().is_none() || recorded.contains(&handler.verdict.cause)
    })
}

/// The name of the first of two variables.
pub(super) fn written_twice<'t>(pod: &WorkloadPrediction<'t>) -> Option<NodeRef<'t>> {
    let env = proxy_container(&pod.workload)?.node.get("env")?;
    let names = env.items().filter_map(|item| item.get("name"));
    let mut ours = names.filter(|name| name.text() == Some(keys::PROBERS_ENV));
    let first = ours.next()?;
    ours.next().map(|_| first)
}
