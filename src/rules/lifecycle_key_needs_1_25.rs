//! Rule `lifecycle-key-needs-1-25`.

use super::probers_env_invalid::about;
use super::rule::declare_rule;
use super::{Scene, prober_env, scene};
use crate::finding::{Applicability, Finding, Fix};
use crate::kube::Port;
use crate::mesh::istio::keys;
use crate::predict::{EnvRefusal, WorkloadPrediction};
use crate::yaml::{Change, Value};

declare_rule! {
    /// Finds prober envs with lifecycle hooks that the agent is too old to read.
    ///
    /// ## What it checks
    /// The `ISTIO_KUBE_APP_PROBERS` of a pod with a sidecar that Istio before 1.25 injects, with an entry of a
    /// `postStart` or `preStop` hook (`/app-lifecycle/…`).
    ///
    /// ## Why it matters
    /// Hooks are recorded since 1.25. An older agent does not know the path, and exits: `istio-proxy` is restarted
    /// for ever, the pod is never ready, and whatever is redirected to the sidecar is refused. A manifest that is
    /// rewritten for a new release meets an old agent where a revision lags behind, and after a rollback.
    ///
    /// ## Example
    /// ```yaml
    /// # meshprobe check --mesh-version 1.24
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
    ///       lifecycle:
    ///         preStop:
    ///           httpGet:
    ///             path: /app-lifecycle/web/prestopz
    ///             port: 15020
    ///       livenessProbe:
    ///         httpGet:
    ///           path: /app-health/web/livez
    ///           port: 15020
    ///     - name: istio-proxy
    ///       image: auto
    ///       env:
    ///         - name: ISTIO_KUBE_APP_PROBERS
    ///           value: '{"/app-health/web/livez":{"httpGet":{"path":"/healthz","port":8080,"scheme":"HTTP"},"timeoutSeconds":1},"/app-lifecycle/web/prestopz":{"httpGet":{"path":"/drain","port":8080,"scheme":"HTTP"}}}'
    /// ```
    ///
    /// ## Use instead
    /// ```yaml
    /// # meshprobe check --mesh-version 1.24
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
    ///       lifecycle:
    ///         preStop:
    ///           httpGet:
    ///             path: /drain
    ///             port: 8080
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
    /// Writing the hook as it was and removing its entry is unsafe, like all changes to a pod that was rewritten
    /// ahead. There is no fix where the entry holds more than a path and a port, and where the env stands in the
    /// annotation `proxy.istio.io/config`.
    ///
    /// ## References
    /// - Istio documentation: "Health Checking of Istio Services"
    /// - Istio documentation: "Upgrade Notes"
    /// - Kubernetes documentation: "Container Lifecycle Hooks"
    "lifecycle-key-needs-1-25", Error, fix: Sometimes, scope: Workloads
}

fn check(scene: &Scene<'_, '_>) -> Vec<Finding> {
    scene.pods().flat_map(report).collect()
}

fn report(pod: &WorkloadPrediction<'_>) -> Vec<Finding> {
    let Some(EnvRefusal::Hook { path }) = &pod.env_refusal else {
        return Vec::new();
    };
    let release = pod.release.value;
    let release = release.map_or_else(String::new, |release| release.to_string());
    let said = format!(
        "the agent of Istio {release} does not start on {}: it knows no hooks, and there is {path}",
        keys::PROBERS_ENV,
    );
    let fix = restore(pod, path);
    let mut found = about(&RULE, pod, &said);
    for finding in &mut found {
        finding.help = Some("upgrade to Istio 1.25, or rewrite ahead without hooks".to_owned());
        finding.fix.clone_from(&fix);
        scene::rest_on_fact(finding, &pod.release);
    }
    found
}

/// Writes the hook that asks for `path` as its entry records it, and takes the entry away.
fn restore(pod: &WorkloadPrediction<'_>, path: &str) -> Option<Fix> {
    let env = pod.prober_env.as_ref()?;
    let mut changes = vec![prober_env::with_value(pod, env.without(path)?)?];
    let mut hooks = pod.handlers.iter();
    if let Some(hook) = hooks.find(|handler| handler.agent_path() == Some(path)) {
        let recorded = env.plain_http_of(path)?;
        let route = hook.handler.route.child("httpGet");
        let mut set = |field: &'static str, value: Value| {
            changes.push(Change::Set {
                route: route.child(field),
                value,
            });
        };
        set("path", Value::Str(recorded.path));
        if let Port::Number(port) = recorded.port {
            set("port", Value::Int(port));
        }
        if recorded.scheme != "HTTP" {
            set("scheme", Value::Str(recorded.scheme));
        }
    }
    let object = &pod.workload.object;
    let title = if changes.len() > 1 {
        format!("write the hook as it was, and remove the entry {path}")
    } else {
        format!("remove the entry {path}")
    };
    Some(scene::fix(object, title, Applicability::Unsafe, changes))
}
