//! Workloads without a verdict, kustomizations whose workloads are not known, and files that cannot be read.

use std::sync::Arc;

use meshprobe_deploy::kustomize::{Rendering, Topic};
use meshprobe_mesh::finding::Label;
use meshprobe_predict::context::{Detail, NotJudged, NotJudgedReason};
use meshprobe_predict::predict::WorkloadPrediction;
use meshprobe_tree::source::{Fault, NO_SUCH_FILE, SourceFile, SourceSet};
use meshprobe_yaml::Span;

use crate::engine::predicted::Predicted;
use crate::engine::summary::MissingFacts;
use crate::engine::unsupported_parts::renderings_of;

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
    if let Some(overlay) = &object.overlay {
        message.push_str(&format!(" in `{overlay}`"));
    }
    if let Some(unread) = object
        .unread
        .filter(|_| reason == NotJudgedReason::ValueUnknown)
    {
        message.push_str(&format!(": {unread}"));
    }
    Some(NotJudged {
        reason,
        detail: Detail::None,
        place: object.label_at(object.name_span(), message),
        object: Some(object.reference()),
        help: format!("{help} (`predict --explain` shows why)"),
    })
}

/// Returns the kustomizations that are checked, and not all of whose workloads are known.
pub(super) fn kustomizations(predicted: &Predicted<'_>) -> Vec<NotJudged> {
    let Predicted {
        renderings,
        context,
        predictions,
    } = predicted;
    let seen = renderings_of(predictions.iter());
    let is_reported = |rendering: &&Rendering| {
        rendering.has_unknown_objects
            && context.includes_overlay(rendering.environment())
            && context.inventory.reports_rendering(rendering)
    };
    let reported = renderings.iter().filter(is_reported);
    reported
        .filter_map(|rendering| kustomization(rendering, seen.contains(&rendering.id)))
        .collect()
}

/// Describes what is not known about a rendering; `None` if that does not run pods, and other workloads are known.
fn kustomization(rendering: &Rendering, has_workloads: bool) -> Option<NotJudged> {
    let root = &rendering.id.root;
    let causes = causes(rendering);
    let message = match has_workloads {
        true if causes.is_empty() => return None,
        // The charts that it lists install a mesh.
        false if causes.is_empty() && rendering.left_out.is_none() => return None,
        _ if are_about_schemas(rendering) => {
            format!("how patches merge lists in `{root}` is not known")
        }
        true => format!("a part of `{root}` is not among the files"),
        false => format!("the workloads of `{root}` are not among the files"),
    };
    let colon = if causes.is_empty() { "" } else { ": " };
    let start = format!("{message}{colon}");
    let message = format!("{start}{}", causes.join("; "));
    Some(NotJudged {
        reason: NotJudgedReason::Kustomization,
        detail: Detail::Causes(start, causes),
        place: Label {
            path: Arc::clone(rendering.declaring_file()),
            span: Span::empty(0),
            message,
        },
        object: None,
        help: format!(
            "check the output of the build: `{} | meshprobe check --context . -`",
            rendering.build()
        ),
    })
}

/// Returns the parts of a kustomization that add unknown objects, each with the reason.
fn causes(rendering: &Rendering) -> Vec<String> {
    let mut causes: Vec<String> = Vec::new();
    for note in rendering.notes.iter().filter(|note| note.adds_unknown) {
        // The rest of the message is the consequence.
        let message = note.message.as_str();
        let cause = message
            .rsplit_once(": ")
            .map_or(message, |(cause, _)| cause);
        if !causes.iter().any(|known| known == cause) {
            causes.push(cause.to_owned());
        }
    }
    causes
}

/// Returns whether only the schema of patches is unknown, and all objects are among the files.
fn are_about_schemas(rendering: &Rendering) -> bool {
    let mut unknown = rendering.notes.iter().filter(|note| note.adds_unknown);
    unknown.clone().next().is_some() && unknown.all(|note| note.topic == Topic::Schema)
}

/// Returns the targets that cannot be read, except those that the user named: they make the run fail.
pub(super) fn unreadable_files(set: &SourceSet) -> Vec<NotJudged> {
    let found = set.targets().filter(|file| !file.explicit);
    found.filter_map(unreadable).collect()
}

fn unreadable(file: &SourceFile) -> Option<NotJudged> {
    let (reason, help) = match &file.fault {
        Some(Fault::Unreadable(reason)) => {
            let help = "make it readable, or leave it out with `--exclude`";
            (reason.as_str(), help)
        }
        Some(Fault::DanglingLink) => {
            let help = "correct the link, or leave it out with `--exclude`";
            (NO_SUCH_FILE, help)
        }
        _ => return None,
    };
    let message = format!("cannot read `{}`: {reason}", file.path);
    Some(NotJudged::of_file(
        NotJudgedReason::UnreadableFile,
        file,
        message,
        help,
    ))
}
