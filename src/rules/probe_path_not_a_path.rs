//! Rule `probe-path-not-a-path`.

use super::rule::declare_rule;
use super::{Scene, scene};
use crate::finding::{Applicability, Finding, Fix};
use crate::kube::Action;
use crate::predict::{Cause, HandlerPrediction, WorkloadPrediction};
use crate::yaml::{Change, Value};

declare_rule! {
    /// Finds probe paths that the kubelet and the agent read differently.
    ///
    /// ## What it checks
    /// The `path` of an `httpGet` probe or hook that is rewritten, where it is a whole URL or holds
    /// a `%` that no two hexadecimal digits follow.
    ///
    /// ## Why it matters
    /// The kubelet reads the value as a URL: of `http://web.shop/healthz` it asks for `/healthz`,
    /// and it sends `/%zz` as `/%25zz`. The agent puts a slash in front and asks for
    /// `/http://web.shop/healthz` (404), or cannot read the value at all (500). A missing slash in
    /// front, a query and a fragment mean the same to both.
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
    ///           path: http://web.shop/healthz
    ///           port: 8080
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
    /// Writing the path only is unsafe: the probe then passes. There is no fix for a `%`, as nobody
    /// knows what was meant, and none on a pod that was rewritten ahead.
    ///
    /// ## References
    /// - Istio documentation: "Health Checking of Istio Services"
    /// - Kubernetes API reference: HTTPGetAction
    "probe-path-not-a-path", Error, fix: Sometimes, scope: Workloads
}

fn check(scene: &Scene<'_, '_>) -> Vec<Finding> {
    let struck = scene
        .handlers()
        .filter(|(_, handler)| handler.verdict.cause == Cause::PathMisread);
    struck.map(|(pod, handler)| report(pod, handler)).collect()
}

fn report(pod: &WorkloadPrediction<'_>, handler: &HandlerPrediction<'_>) -> Finding {
    let path = match &handler.handler.action {
        Ok(Action::HttpGet(http)) => http.path.as_str(),
        _ => "",
    };
    let only = path_of(path);
    let result = match &only {
        Some(_) => format!("the agent asks the application for `/{path}`"),
        None => format!("the agent cannot read the path `{path}`"),
    };
    let message = format!("{} will fail: {result}", handler.title());
    let span = handler.handler.field_span("path");
    let mut finding = scene::about_handler(&RULE, pod, handler, span, message);
    finding.help = Some(match &only {
        Some(only) => format!("write the path only: `{only}`"),
        None => "write a `%` that is meant as such as `%25`".to_owned(),
    });
    finding.fix = only
        .filter(|_| !pod.is_rewritten_ahead())
        .map(|only| shorten(pod, handler, only));
    finding
}

/// The path of a URL, with its query; `None` for what is no URL.
fn path_of(url: &str) -> Option<String> {
    let (scheme, rest) = url.split_once("://")?;
    if scheme.contains(['/', '?', '#', '%']) {
        return None;
    }
    let path = rest.find('/').and_then(|at| rest.get(at..)).unwrap_or("/");
    Some(path.to_owned())
}

fn shorten(pod: &WorkloadPrediction<'_>, handler: &HandlerPrediction<'_>, path: String) -> Fix {
    let change = Change::Set {
        route: handler.handler.route.child("httpGet").child("path"),
        value: Value::Str(path),
    };
    scene::fix(
        &pod.workload.object,
        "write the path only",
        Applicability::Unsafe,
        vec![change],
    )
}
