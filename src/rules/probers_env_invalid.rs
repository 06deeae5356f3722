//! Rule `probers-env-invalid`.

use super::rule::declare_rule;
use super::{Scene, prober_env, scene};
use crate::finding::{Applicability, Finding, Fix};
use crate::mesh::istio::keys;
use crate::predict::{Cause, EnvRefusal, HandlerPrediction, WorkloadPrediction};

declare_rule! {
    /// Finds prober envs that the agent does not start on.
    ///
    /// ## What it checks
    /// The `ISTIO_KUBE_APP_PROBERS` of a pod with a sidecar (in the env of `istio-proxy`, or in `proxyMetadata`
    /// of `proxy.istio.io/config`) that is no JSON object, or holds an entry which is not the agent's: a path
    /// other than `/app-health/<container>/livez` and the like, a value without exactly one handler, a port that
    /// is no number.
    ///
    /// ## Why it matters
    /// The agent reads the variable when it starts, and exits on the first entry that it does not accept.
    /// `istio-proxy` is restarted for ever, the pod is never ready, and whatever is redirected to the sidecar is
    /// refused.
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
    /// spec:
    ///   containers:
    ///     - name: web
    ///       image: registry.example/web:1
    ///       ports:
    ///         - name: http
    ///           containerPort: 8080
    ///       livenessProbe:
    ///         httpGet:
    ///           path: /app-health/web/livez
    ///           port: 15020
    ///     - name: istio-proxy
    ///       image: auto
    ///       env:
    ///         - name: ISTIO_KUBE_APP_PROBERS
    ///           value: '{"/app-health/web/livez":{"httpGet":{"path":"/healthz","port":"http","scheme":"HTTP"},"timeoutSeconds":1}}'
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
    ///       ports:
    ///         - name: http
    ///           containerPort: 8080
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
    /// A port name that the container declares is replaced by its number; like all changes to a pod that was
    /// rewritten ahead this is unsafe. For all else there is no fix by machine, nor where the env stands in the
    /// annotation `proxy.istio.io/config`.
    ///
    /// ## References
    /// - Istio documentation: "Health Checking of Istio Services"
    "probers-env-invalid", Error, fix: Sometimes, scope: Workloads
}

fn check(scene: &Scene<'_, '_>) -> Vec<Finding> {
    scene.pods().flat_map(report).collect()
}

fn report(pod: &WorkloadPrediction<'_>) -> Vec<Finding> {
    let Some(EnvRefusal::Invalid { path, why }) = &pod.env_refusal else {
        return Vec::new();
    };
    let entry = path
        .as_ref()
        .map_or_else(String::new, |path| format!("its entry {path} "));
    let said = format!(
        "the agent does not start on {}: {entry}{why}",
        keys::PROBERS_ENV
    );
    let mut found = about(&RULE, pod, &said);
    for finding in &mut found {
        let help = match path {
            Some(_) => "mend the entry, or remove it with the probe that asks for it",
            None => "mend the JSON: an object of paths, as the injector writes it",
        };
        finding.help = Some(help.to_owned());
        finding.fix = path.as_ref().and_then(|path| resolve(pod, path));
    }
    found
}

/// One finding for each handler that suffers from an agent which does not start; one about the pod
/// where there is none.
pub(super) fn about(rule: &super::Rule, pod: &WorkloadPrediction<'_>, said: &str) -> Vec<Finding> {
    let struck = |handler: &&HandlerPrediction<'_>| handler.verdict.cause == Cause::AgentRefusesEnv;
    let mut found: Vec<Finding> = pod
        .handlers
        .iter()
        .filter(struck)
        .map(|handler| {
            let message = format!("{} will fail: {said}", handler.title());
            prober_env::about_handler(rule, pod, handler, message, "this one is then refused")
        })
        .collect();
    if found.is_empty() {
        let message = format!("`{}` is restarted for ever: {said}", keys::PROXY_CONTAINER);
        let mut finding = prober_env::about_pod(rule, pod, message);
        scene::rest_on_fact(&mut finding, &pod.dataplane);
        found.push(finding);
    }
    found
}

/// Replaces the name of a port by the number that the container of the path declares for it.
fn resolve(pod: &WorkloadPrediction<'_>, path: &str) -> Option<Fix> {
    let env = pod.prober_env.as_ref()?;
    let name = env.port_name_of(path)?;
    let owner = path.split('/').nth(2)?;
    let containers = pod.workload.template.containers();
    let container = containers
        .iter()
        .find(|container| container.name() == owner)?;
    let declared = container
        .ports()
        .filter(|port| port.name == Some(name.as_str()));
    let number = match name.parse() {
        Ok(number) => number,
        Err(_) => declared.last()?.number?,
    };
    let change = prober_env::with_value(pod, env.with_port(path, number)?)?;
    let title = format!("write {number}, which is port `{name}` of container `{owner}`");
    let object = &pod.workload.object;
    Some(scene::fix(
        object,
        title,
        Applicability::Unsafe,
        vec![change],
    ))
}
