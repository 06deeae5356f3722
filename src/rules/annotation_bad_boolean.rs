//! Rule `annotation-bad-boolean`.

use super::rule::declare_rule;
use super::{Scene, disable_rewrite, scene};
use crate::finding::{Applicability, Finding};
use crate::mesh::istio::keys;
use crate::mesh::istio::rewrite::parse_bool;
use crate::predict::WorkloadPrediction;
use crate::source::placeholder;
use crate::yaml::{Change, Value};

declare_rule! {
    /// Finds a switch of the probe rewrite that Istio cannot read.
    ///
    /// ## What it checks
    /// A value of the pod annotation `sidecar.istio.io/rewriteAppHTTPProbers` that Go's
    /// `strconv.ParseBool` refuses: `no`, `off`, `disabled`, an empty text, a value with blanks.
    ///
    /// ## Why it matters
    /// Istio drops the value without a word and takes the default of the mesh. A pod that was meant to
    /// keep its probes has them rewritten. Where the word means what the default does anyway, this is
    /// a warning.
    ///
    /// ## Example
    /// ```yaml
    /// apiVersion: v1
    /// kind: Pod
    /// metadata:
    ///   name: web
    ///   namespace: shop
    ///   annotations:
    ///     sidecar.istio.io/rewriteAppHTTPProbers: "no"
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
    /// ## Use instead
    /// ```yaml
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
    /// ```
    ///
    /// ## Fix safety
    /// Writing "true" or "false" is unsafe: the switch then takes effect. A "false" that a probe does not bear
    /// is only shown.
    ///
    /// ## References
    /// - Istio reference: "Resource Annotations"
    "annotation-bad-boolean", Error, fix: Sometimes, scope: Workloads
}

fn check(scene: &Scene<'_, '_>) -> Vec<Finding> {
    scene.pods().filter_map(|pod| report(scene, pod)).collect()
}

fn report(scene: &Scene<'_, '_>, pod: &WorkloadPrediction<'_>) -> Option<Finding> {
    let workload = &pod.workload;
    let entry = workload.template.annotation(keys::REWRITE_PROBERS)?;
    let word = entry.value.text()?;
    // A value that is no string at all is another fault: the API server refuses it.
    entry.value.as_str()?;
    if parse_bool(word).is_some() || placeholder::contains(word) {
        return None;
    }
    let default = scene.context.rewrite_default(workload);
    let state = if default.value { "on" } else { "off" };
    let message = format!(
        "`{}: \"{word}\"` is no boolean for Istio, which ignores it: the rewrite stays {state}",
        keys::REWRITE_PROBERS
    );
    let mut finding = scene::about_workload(&RULE, workload, entry.value.span(), message);
    let meant = meaning(word);
    if meant == Some(default.value) {
        finding.severity = finding.severity.lowered();
    }
    finding.field = Some(
        workload
            .template
            .within
            .child("metadata")
            .child("annotations")
            .child(keys::REWRITE_PROBERS)
            .to_string(),
    );
    let wanted = meant.unwrap_or(false).to_string();
    finding.help = Some("write \"true\" or \"false\", in quotes".to_owned());
    let object = &workload.object;
    finding.fix = meant.map(|_| {
        scene::fix(
            object,
            format!("write \"{wanted}\", which is what the word means"),
            Applicability::Unsafe,
            vec![Change::Set {
                route: workload.template.annotation_route(keys::REWRITE_PROBERS),
                value: Value::Str(wanted),
            }],
        )
    });
    if meant == Some(false) {
        disable_rewrite::show_where_it_spoils(scene, pod, &mut finding);
    }
    Some(finding)
}

/// What a person evidently meant.
fn meaning(word: &str) -> Option<bool> {
    match word.trim().to_ascii_lowercase().as_str() {
        "true" | "yes" | "y" | "on" | "enabled" | "enable" => Some(true),
        "false" | "no" | "n" | "off" | "disabled" | "disable" => Some(false),
        _ => None,
    }
}
