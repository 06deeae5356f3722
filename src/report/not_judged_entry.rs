//! What is not judged, in JSON.

use serde::Serialize;

use crate::context::NotJudged;
use crate::source::SourceSet;

use super::object_entry::ObjectEntry;
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
        object: found.object.clone().map(ObjectEntry::from),
        help: found.help.clone(),
    }
}
