//! Rule `probe-env-reference`.

use super::rule::declare_rule;
use super::{Scene, scene};
use crate::finding::Finding;
use crate::kube::Action;
use crate::predict::{HandlerPrediction, Outcome, WorkloadPrediction};
use crate::yaml::{NodeRef, Span};

declare_rule! {
    /// Finds probes with text that the kubelet expands once it stands in the env of the sidecar.
    ///
    /// ## What it checks
    /// A path, header or gRPC service with `$(NAME)` or `$$` of a probe or hook that is
    /// rewritten, or in the entry that a pod rewritten ahead carries for it.
    ///
    /// ## Why it matters
    /// Fields of probes are never expanded, values of env variables are, and the rewrite moves the
    /// one into the other without a word: the agent asks for another path than the kubelet would.
    /// `$(NAME)` becomes the variable of the sidecar, where it has one of that name, and `$$`
    /// becomes `$`.
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
    ///           path: /ready?u=$(POD_NAME)
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
    ///           path: /ready
    ///           port: 8080
    /// ```
    ///
    /// ## Fix safety
    /// There is no fix by machine: the value that was meant is not known.
    ///
    /// ## References
    /// - Istio documentation: "Health Checking of Istio Services"
    /// - Kubernetes documentation: "Define Dependent Environment Variables"
    "probe-env-reference", Warning, fix: None, scope: Workloads
}

fn check(scene: &Scene<'_, '_>) -> Vec<Finding> {
    scene
        .handlers()
        .filter_map(|(pod, handler)| report(pod, handler))
        .collect()
}

fn report(pod: &WorkloadPrediction<'_>, handler: &HandlerPrediction<'_>) -> Option<Finding> {
    if handler.verdict.outcome != Outcome::Ok {
        return None;
    }
    let action = handler.handler.action.as_ref().ok()?;
    let (span, text) = if handler.agent_path().is_some() {
        (handler.handler.field_span("path"), recorded(pod, action)?)
    } else if handler.rewritten {
        written(handler, action)?
    } else {
        return None;
    };
    let message = format!(
        "{} contains `{text}`: rewritten, it stands in the env of the sidecar, where the kubelet \
         expands it",
        handler.title(),
    );
    let mut finding = scene::about_handler(&RULE, pod, handler, span, message);
    finding.outcome = None;
    finding.help = Some("write the value itself".to_owned());
    Some(finding)
}

/// The reference in the entry of a handler that points at the agent.
fn recorded(pod: &WorkloadPrediction<'_>, action: &Action) -> Option<String> {
    let Action::HttpGet(http) = action else {
        return None;
    };
    let probers = pod.prober_env.as_ref()?.probers.as_ref().ok()?;
    reference(probers.get(&http.path)?)
}

/// The place of the first reference in a handler, and the reference.
fn written(handler: &HandlerPrediction<'_>, action: &Action) -> Option<(Span, String)> {
    let node = handler.handler.node.get(action.key())?;
    let own = ["path", "service"]
        .into_iter()
        .filter_map(|key| node.get(key));
    let headers = node.get("httpHeaders");
    let headers = headers.into_iter().flat_map(NodeRef::items);
    let in_headers = headers.flat_map(|header| [header.get("name"), header.get("value")]);
    own.chain(in_headers.flatten())
        .find_map(|value| Some((value.span(), reference(value.text()?)?)))
}

/// The first `$(NAME)` or `$$` of a text.
fn reference(text: &str) -> Option<String> {
    let (at, _) = text.match_indices('$').find(|(at, _)| {
        text.get(at + 1..)
            .is_some_and(|rest| rest.starts_with(['$', '(']))
    })?;
    let rest = text.get(at..)?;
    if rest.starts_with("$$") {
        return Some("$$".to_owned());
    }
    let end = rest.find(')')?;
    rest.get(..=end).map(str::to_owned)
}
