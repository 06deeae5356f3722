//! Rule `rewritten-without-entry`.

use super::manual_probers_env::written_twice;
use super::rule::declare_rule;
use super::{Scene, scene};
use crate::finding::Finding;
use crate::mesh::istio::keys;
use crate::predict::{Cause, HandlerPrediction, WorkloadPrediction};

declare_rule! {
    /// Finds probes that ask the agent for a check it does not know.
    ///
    /// ## What it checks
    /// An `httpGet` handler whose path is one of the agent's (`/app-health/<container>/livez` …), in a pod with
    /// a sidecar whose `ISTIO_KUBE_APP_PROBERS` has no such entry, or that has no such variable. `rewrite`
    /// refuses the pod by the same name.
    ///
    /// Entries that are lost to a second variable are reported by `manual-probers-env`.
    ///
    /// ## Why it matters
    /// The agent answers 400 to a path it has no entry for, so the probe fails for ever. The injector does not
    /// help: it takes a probe at the agent's port for one it has rewritten already, and records nothing.
    /// Typical of manifests that were exported from a cluster without the sidecar, and of containers that were
    /// renamed afterwards.
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
    /// spec:
    ///   containers:
    ///     - name: web
    ///       image: registry.example/web:1
    ///       livenessProbe:
    ///         httpGet:
    ///           path: /healthz
    ///           port: 8080
    /// ```
    ///
    /// ## Fix safety
    /// There is no fix by machine: what the probe asked for is written nowhere.
    ///
    /// ## References
    /// - Istio documentation: "Health Checking of Istio Services"
    "rewritten-without-entry", Error, fix: None, scope: Workloads
}

fn check(scene: &Scene<'_, '_>) -> Vec<Finding> {
    let struck = scene.handlers().filter(|(pod, handler)| {
        handler.verdict.cause == Cause::RewrittenWithoutEntry && written_twice(pod).is_none()
    });
    struck.map(|(pod, handler)| report(pod, handler)).collect()
}

fn report(pod: &WorkloadPrediction<'_>, handler: &HandlerPrediction<'_>) -> Finding {
    let written = handler.agent_path().unwrap_or_default();
    // Where the rewrite is on the injector writes the path anew.
    let asked = handler.becomes.as_ref();
    let asked = asked.map_or(written, |becomes| becomes.path.as_str());
    let env = pod.prober_env.as_ref();
    let why = match env {
        Some(_) => format!("{} has no entry for it", keys::PROBERS_ENV),
        None => format!("no {} tells the agent what to check", keys::PROBERS_ENV),
    };
    let message = format!(
        "{} will fail: it asks the agent for {asked}, but {why}",
        handler.title()
    );
    let span = handler.handler.field_span("path");
    let mut finding = scene::about_handler(&RULE, pod, handler, span, message);
    if let Some(env) = env {
        let said = "what the agent knows";
        let place = pod.workload.object.label_at(env.span, said);
        finding.related.insert(0, place);
    }
    let known = env.and_then(|env| env.probers.as_ref().ok());
    let known: Vec<&str> = known
        .into_iter()
        .flatten()
        .map(|(path, _)| path.as_str())
        .collect();
    finding.help = Some(if asked != written && known.contains(&written) {
        format!("the entry is for {written}, and the injector turns the path into {asked}")
    } else if pod.rewrite.value {
        "write the application's own path and port again: the mesh rewrites the probe itself"
            .to_owned()
    } else {
        "write the application's own path and port again, or add the entry".to_owned()
    });
    finding
}
