//! Workloads without a verdict, and kustomizations whose workloads are not known.

use std::sync::Arc;

use crate::context::{NotJudged, NotJudgedReason};
use crate::engine::analysis::Analysis;
use crate::engine::summary::MissingFacts;
use crate::engine::unsupported_parts::roots;
use crate::finding::Label;
use crate::kustomize::Rendering;
use crate::predict::WorkloadPrediction;
use crate::yaml::Span;

/// Returns the workloads of targets whose facts do not suffice for a verdict. Each has the first missing fact.
pub(super) fn workloads(predictions: &[WorkloadPrediction<'_>]) -> Vec<NotJudged> {
    let targets = predictions.iter().filter(|prediction| prediction.is_target);
    targets.filter_map(workload).collect()
}

fn workload(prediction: &WorkloadPrediction<'_>) -> Option<NotJudged> {
    if prediction.has_all_verdicts() {
        return None;
    }
    let mut missing = MissingFacts::default();
    missing.count(prediction);
    let (reason, help) = if missing.mesh > 0 {
        (
            NotJudgedReason::MeshUnknown,
            "add the Namespace manifests, or set `--assume injection=all|none`",
        )
    } else if missing.value > 0 {
        (
            NotJudgedReason::ValueUnknown,
            "check the rendered manifests",
        )
    } else if missing.authorization > 0 {
        (
            NotJudgedReason::AuthorizationUnknown,
            "check the AuthorizationPolicy in the cluster",
        )
    } else {
        (
            NotJudgedReason::RunningMesh,
            "check the mutual TLS and the routes of the running mesh",
        )
    };
    let object = &prediction.workload.object;
    let mut message = format!("{} has no verdict", prediction.workload.title());
    if let Some(overlay) = object.overlay {
        message.push_str(&format!(" in `{overlay}`"));
    }
    Some(NotJudged {
        reason,
        place: object.label_at(object.name_span(), message),
        object: Some(object.reference()),
        help: format!("{help} (`predict --explain` shows why)"),
    })
}

/// Returns the kustomizations that are checked, but none of whose workloads is known.
pub(super) fn kustomizations(analysis: &Analysis<'_, '_>) -> Vec<NotJudged> {
    let Analysis {
        renderings,
        context,
        predictions,
    } = analysis;
    let seen = roots(predictions.iter());
    let is_unseen = |rendering: &&Rendering| {
        rendering.has_unknown_objects
            && context.includes_overlay(rendering.location_file())
            && context.inventory.reports_rendering(rendering)
            && !seen.contains(&*rendering.root)
    };
    let unseen = renderings.iter().filter(is_unseen);
    unseen
        .map(|rendering| {
            let path = rendering.location_file();
            NotJudged {
                reason: NotJudgedReason::Kustomization,
                place: Label {
                    path: Arc::clone(path),
                    span: Span::empty(0),
                    message: format!(
                        "the workloads of `{}` are not among the files",
                        rendering.root
                    ),
                },
                object: None,
                help: format!(
                    "check the output of the build: `{} | meshprobe check --context . -`",
                    rendering.build()
                ),
            }
        })
        .collect()
}
