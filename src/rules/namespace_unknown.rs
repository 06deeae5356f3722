//! Rule `namespace-unknown`.

use std::collections::BTreeMap;

use super::rule::declare_rule;
use super::{Scene, scene};
use crate::finding::{Certainty, Finding};
use crate::predict::{Cause, HandlerPrediction, Outcome, WorkloadPrediction};

declare_rule! {
    /// Finds namespaces whose manifest is not in the tree, where probes depend on its labels.
    ///
    /// ## What it checks
    /// A workload with probes that go over the network, in a namespace of which no Namespace manifest
    /// is in scope, while something in the tree speaks of a mesh. The labels of the Namespace decide
    /// about injection, so the verdicts rest on an assumption, or there are none. Said once per
    /// namespace, not per workload.
    ///
    /// ## Why it matters
    /// Namespaces are often made by another repository, by Terraform or by hand. meshprobe takes such
    /// a namespace as injected if a pod or the namespace shows a sign of the mesh: an annotation of
    /// the sidecar, a PeerAuthentication. Without a sign its pods are not judged. If the guess is
    /// wrong, so is every verdict on the namespace.
    ///
    /// ## Example
    /// ```yaml
    /// apiVersion: security.istio.io/v1
    /// kind: PeerAuthentication
    /// metadata:
    ///   name: default
    ///   namespace: shop
    /// spec:
    ///   mtls:
    ///     mode: STRICT
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
    /// ## Use instead
    /// The Namespace in the tree or among the files of `--context`, or `--assume injection=all`.
    /// ```yaml
    /// apiVersion: v1
    /// kind: Namespace
    /// metadata:
    ///   name: shop
    ///   labels:
    ///     istio-injection: enabled
    /// ---
    /// apiVersion: security.istio.io/v1
    /// kind: PeerAuthentication
    /// metadata:
    ///   name: default
    ///   namespace: shop
    /// spec:
    ///   mtls:
    ///     mode: STRICT
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
    /// There is no fix: what the labels are is not known.
    ///
    /// ## References
    /// - Istio documentation: "Installing the Sidecar"
    "namespace-unknown", Note, fix: None, scope: Tree
}

/// The option that settles it.
const SETTLE: &str = "--assume injection=all|none";

fn check(scene: &Scene<'_, '_>) -> Vec<Finding> {
    let mut gaps: BTreeMap<String, (Finding, Option<String>, usize)> = BTreeMap::new();
    for pod in scene.pods().filter(|pod| asks_mesh(pod)) {
        let Some(gap) = scene.context.namespace_gap(&pod.workload) else {
            continue;
        };
        let object = &pod.workload.object;
        let written = object.metadata().and_then(|node| node.get("namespace"));
        let span = written.map_or_else(|| object.name_span(), |node| node.span());
        let (_, sign, count) = gaps.entry(gap.name).or_insert_with(|| {
            let finding = scene::about_object(&RULE, object, span, String::new());
            (finding, None, 0)
        });
        *count += 1;
        *sign = sign.take().or(gap.sign);
    }
    gaps.into_iter()
        .map(|(name, (finding, sign, count))| said(finding, &name, sign, count))
        .collect()
}

fn said(mut finding: Finding, name: &str, sign: Option<String>, count: usize) -> Finding {
    let rest = match count {
        1 => "1 workload rests on it".to_owned(),
        count => format!("{count} workloads rest on it"),
    };
    let (taken, certainty) = match sign {
        Some(sign) => (
            format!("taken as injected, since {sign}"),
            Certainty::Assumed,
        ),
        None => (
            "whether it is injected is not known".to_owned(),
            Certainty::Unknown,
        ),
    };
    finding.message = format!("no Namespace manifest for `{name}` in scope: {taken} ({rest})");
    finding.certainty = certainty;
    finding.help = Some(format!("read it with `--context`, or say it: `{SETTLE}`"));
    finding
}

fn asks_mesh(pod: &WorkloadPrediction<'_>) -> bool {
    pod.handlers.iter().any(depends)
}

/// Tells whether the labels of the Namespace matter to a handler.
fn depends(handler: &HandlerPrediction<'_>) -> bool {
    let verdict = &handler.verdict;
    verdict.cause != Cause::NoNetwork && verdict.outcome != Outcome::BrokenWithoutMesh
}
