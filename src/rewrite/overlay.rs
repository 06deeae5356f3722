//! Bases of kustomizations: a file is rewritten only where every overlay of it agrees.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::finding::Finding;
use crate::kube::Workload;
use crate::mesh::istio::keys;
use crate::predict::WorkloadPrediction;
use crate::yaml::NodeRef;

use super::guard::Refusal;
use super::pod::has_work;

/// What the overlays make of a workload of a base.
pub(super) enum Overlaid<'t> {
    /// No kustomization of the tree takes the file in.
    Plain,
    /// All overlays leave its probes alone; this is the prediction to go by, the least sure one.
    Agreed(Box<WorkloadPrediction<'t>>),
    /// An overlay changes what a rewrite of the file would change too.
    Refused(Refusal),
}

/// Looks at what comes of `plain` in the overlays among `rendered`.
pub(super) fn overlaid<'t>(
    plain: &WorkloadPrediction<'t>,
    rendered: &[WorkloadPrediction<'t>],
) -> Overlaid<'t> {
    let mut agreed: Option<WorkloadPrediction<'t>> = None;
    let same = rendered
        .iter()
        .filter(|seen| is_same(&plain.workload, &seen.workload));
    for seen in same {
        if !leaves_probes(plain, seen) {
            return Overlaid::Refused(refusal(
                plain,
                seen,
                "changes its probes or how they are rewritten",
            ));
        }
        if agreed
            .as_ref()
            .is_some_and(|before| !is_alike(before, seen))
        {
            let said = "is not served by the mesh as another one of the same file is";
            return Overlaid::Refused(refusal(plain, seen, said));
        }
        let weaker = agreed
            .as_ref()
            .is_none_or(|before| rank(seen) < rank(before));
        if weaker {
            agreed = Some(WorkloadPrediction {
                workload: plain.workload.clone(),
                handlers: plain.handlers.clone(),
                ..seen.clone()
            });
        }
    }
    agreed.map_or(Overlaid::Plain, |prediction| {
        Overlaid::Agreed(Box::new(prediction))
    })
}

/// Refuses what an overlay to be rewritten takes in from files that are only context: these are
/// never edited.
pub(super) fn only_context(
    plain: &[WorkloadPrediction<'_>],
    rendered: &[WorkloadPrediction<'_>],
) -> Vec<Finding> {
    let place = |one: &WorkloadPrediction<'_>| {
        let document = one.workload.object.document;
        (Arc::clone(&document.path), document.index)
    };
    let mut bases: BTreeMap<_, Vec<&WorkloadPrediction<'_>>> = BTreeMap::new();
    for base in plain.iter().filter(|base| !base.is_target) {
        bases.entry(place(base)).or_default().push(base);
    }
    let mut told = BTreeSet::new();
    let mut findings = Vec::new();
    for seen in rendered.iter().filter(|one| one.is_target && has_work(one)) {
        let Some(bases) = bases.get(&place(seen)) else {
            continue;
        };
        let is_base = bases
            .iter()
            .any(|base| is_same(&base.workload, &seen.workload));
        if is_base && told.insert((place(seen), seen.workload.object.name())) {
            let path = seen.workload.object.path();
            let said = format!("{path} is read as context only and is not edited");
            let refusal = Refusal::new("context-only", seen.workload.object.name_span(), said)
                .with_help(format!("name {path} among the paths to have it rewritten"));
            findings.push(refusal.finding(seen));
        }
    }
    findings
}

/// Returns why a rewrite of the file can't be undone: an overlay sees other probes in it, or
/// another prober env.
pub(super) fn differing<'t>(
    plain: &WorkloadPrediction<'t>,
    rendered: &[WorkloadPrediction<'t>],
) -> Option<Refusal> {
    let probers = |pod: &WorkloadPrediction<'t>| {
        let env = pod.prober_env.as_ref();
        env.map(|env| env.probers.clone())
    };
    let mut same = rendered
        .iter()
        .filter(|seen| is_same(&plain.workload, &seen.workload));
    let seen = same.find(|seen| !leaves_probes(plain, seen) || probers(plain) != probers(seen))?;
    let refusal = refusal(plain, seen, "changes its probes or how they are rewritten");
    Some(refusal.with_help(
        "undo it in what the overlay builds: `kustomize build DIR | meshprobe rewrite --undo -`",
    ))
}

/// One rewrite of the file would be right for both.
fn is_alike(one: &WorkloadPrediction<'_>, other: &WorkloadPrediction<'_>) -> bool {
    one.dataplane.value == other.dataplane.value
        && one.status_port.value == other.status_port.value
        && one.rewrite.value == other.rewrite.value
        && one.release.value == other.release.value
}

/// A prefix or suffix may have been added to the name.
fn is_same(plain: &Workload<'_>, seen: &Workload<'_>) -> bool {
    let (base, rendered) = (&plain.object, &seen.object);
    let same_document =
        base.path() == rendered.path() && base.document.index == rendered.document.index;
    let same_object = match rendered.rendered_by {
        Some(_) => rendered.name().contains(base.name()),
        None => base.route == rendered.route,
    };
    same_document && base.kind == rendered.kind && same_object
}

/// What proves least that the mesh takes the pod in comes first.
fn rank(pod: &WorkloadPrediction<'_>) -> (bool, crate::finding::Certainty) {
    let in_mesh = pod.dataplane.value == crate::context::Dataplane::Sidecar;
    (in_mesh, pod.dataplane.certainty)
}

/// The overlay says the same about every handler, and nothing else about the rewrite.
fn leaves_probes(plain: &WorkloadPrediction<'_>, seen: &WorkloadPrediction<'_>) -> bool {
    let handlers = |pod: &WorkloadPrediction<'_>| -> Vec<_> {
        let each = pod.handlers.iter().map(|one| {
            let handler = &one.handler;
            let action = handler.action.as_ref().ok().cloned();
            (
                one.container.name().to_owned(),
                handler.slot,
                action,
                handler.timeout_seconds,
                one.port,
            )
        });
        each.collect()
    };
    let annotation = |pod: &WorkloadPrediction<'_>, key: &str| {
        let entry = pod.workload.template.annotation(key);
        entry
            .and_then(|entry| entry.value.text())
            .map(str::to_owned)
    };
    let settings = [
        keys::REWRITE_PROBERS,
        keys::PROXY_CONFIG,
        keys::STATUS_PORT,
        keys::TEMPLATES,
    ];
    handlers(plain) == handlers(seen)
        && settings
            .iter()
            .all(|key| annotation(plain, key) == annotation(seen, key))
}

fn refusal(plain: &WorkloadPrediction<'_>, seen: &WorkloadPrediction<'_>, said: &str) -> Refusal {
    let name = plain
        .workload
        .object
        .node
        .get("metadata")
        .and_then(|metadata| metadata.get("name"));
    let span = name.map_or_else(|| plain.workload.object.name_span(), NodeRef::span);
    let object = &seen.workload.object;
    let overlay = object.rendered_by.unwrap_or(object.home);
    let said = format!("what {overlay} makes of it {said}");
    Refusal::new("kustomize-overlay", span, said)
        .with_help("rewrite what the overlay builds: `kustomize build DIR | meshprobe rewrite -`")
}
