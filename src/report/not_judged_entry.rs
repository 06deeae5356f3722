//! What is not judged, in JSON.

use serde::Serialize;

use crate::context::NotJudged;
use crate::finding::ObjectRef;
use crate::source::SourceSet;

use super::source_location::source_location;

/// Something that runs pods and is not judged.
#[derive(Debug, Serialize)]
pub(super) struct NotJudgedEntry {
    reason: &'static str,
    message: String,
    path: String,
    line: Option<usize>,
    column: Option<usize>,
    object: Option<ObjectEntry>,
    help: String,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ObjectEntry {
    api_version: String,
    kind: String,
    namespace: Option<String>,
    name: String,
}

/// Returns the entries of a report.
pub(super) fn not_judged_entries(set: &SourceSet, found: &[NotJudged]) -> Vec<NotJudgedEntry> {
    found.iter().map(|found| entry(set, found)).collect()
}

fn entry(set: &SourceSet, found: &NotJudged) -> NotJudgedEntry {
    let location = source_location(set, &found.place);
    NotJudgedEntry {
        reason: found.reason.id(),
        message: found.place.message.clone(),
        path: location.path.to_string(),
        line: location.place.map(|place| place.start.line),
        column: location.place.map(|place| place.start.column),
        object: found.object.clone().map(object),
        help: found.help.clone(),
    }
}

fn object(object: ObjectRef) -> ObjectEntry {
    let ObjectRef {
        api_version,
        kind,
        namespace,
        name,
    } = object;
    ObjectEntry {
        api_version,
        kind,
        namespace,
        name,
    }
}
