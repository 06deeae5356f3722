//! Rule `manual-probers-env`.

use std::collections::BTreeMap;

use super::rule::declare_rule;
use super::{Scene, scene};
use crate::context::proxy_container;
use crate::finding::{Applicability, Finding, Fix};
use crate::kube::Action;
use crate::mesh::istio::keys;
use crate::mesh::istio::rewrite::is_agent_path;
use crate::predict::{Cause, HandlerPrediction, WorkloadPrediction};
use crate::yaml::{Change, NodeRef, Value};

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
    let path = match &handler.handler.action {
        Ok(Action::HttpGet(http)) if handler.verdict.cause == Cause::RewrittenWithoutEntry => {
            &http.path
        }
        _ => return None,
    };
    let env = pod.prober_env.as_ref()?;
    let known = |probers: &Result<BTreeMap<String, String>, String>| {
        probers
            .as_ref()
            .is_ok_and(|probers| probers.contains_key(path))
    };
    let object = &pod.workload.object;
    let span = handler.handler.field_span("path");
    if known(&env.probers) {
        let message = format!(
            "{} will fail: the injector adds a second {} for handlers that are still to be rewritten, \
             and the one in the manifest is lost",
            handler.title(),
            keys::PROBERS_ENV,
        );
        let mut finding = scene::about_handler(&RULE, pod, handler, span, message);
        finding
            .related
            .insert(0, object.label_at(env.span, "this variable is lost"));
        if let Some(left) = still_to_rewrite(pod) {
            let said = "the injector rewrites this one";
            let place = object.label_at(left.handler.key.span(), said);
            finding.related.insert(1, place);
        }
        finding.help = Some(format!(
            "rewrite the other handlers ahead too, or set `{}` to \"false\"",
            keys::REWRITE_PROBERS
        ));
        finding.fix = Some(opt_out(pod));
        return Some(finding);
    }
    let first = written_twice(pod)?;
    let message = format!(
        "{} will fail: {} is written twice, and of two variables only the last counts",
        handler.title(),
        keys::PROBERS_ENV,
    );
    let mut finding = scene::about_handler(&RULE, pod, handler, span, message);
    let place = object.label_at(first.span(), "this variable is lost");
    finding.related.insert(0, place);
    finding.help = Some("put all probers into one variable".to_owned());
    Some(finding)
}

/// A handler that makes the injector write a variable of its own.
fn still_to_rewrite<'p, 't>(pod: &'p WorkloadPrediction<'t>) -> Option<&'p HandlerPrediction<'t>> {
    let mut left = pod.handlers.iter().filter(|handler| handler.rewritten);
    left.find(|handler| {
        let action = &handler.handler.action;
        !matches!(action, Ok(Action::HttpGet(http)) if is_agent_path(&http.path))
    })
}

/// The name of the first of two variables.
fn written_twice<'t>(pod: &WorkloadPrediction<'t>) -> Option<NodeRef<'t>> {
    let env = proxy_container(&pod.workload)?.node.get("env")?;
    let names = env.items().filter_map(|item| item.get("name"));
    let mut ours = names.filter(|name| name.text() == Some(keys::PROBERS_ENV));
    let first = ours.next()?;
    ours.next().map(|_| first)
}

fn opt_out(pod: &WorkloadPrediction<'_>) -> Fix {
    let key = keys::REWRITE_PROBERS;
    let change = Change::Set {
        route: pod.workload.template.annotation_route(key),
        value: Value::from("false"),
    };
    let title = format!("set `{key}` to \"false\": the probes then stay as they are written");
    scene::fix(
        &pod.workload.object,
        title,
        Applicability::Unsafe,
        vec![change],
    )
}
