//! What the JSON of several commands contains, as plain data.

use meshprobe_mesh::finding::{Label, ObjectRef};
use meshprobe_mesh::mesh::Reason;
use meshprobe_predict::context::NotJudged;
use meshprobe_tree::source::SourceSet;
use serde::Serialize;

use super::escape::json_safe;
use super::source_location::{SourceLocation, source_location};

/// Returns a report as JSON with a final line break.
///
/// # Errors
/// Never in practice: all keys are strings.
pub fn json(value: &impl Serialize) -> serde_json::Result<String> {
    Ok(json_safe(&serde_json::to_string_pretty(value)?) + "\n")
}

/// The program that has written a report.
#[derive(Debug, Serialize)]
pub(super) struct Tool {
    name: &'static str,
    version: &'static str,
}

impl Tool {
    pub(super) const MESHPROBE: Self = Self {
        name: env!("CARGO_PKG_NAME"),
        version: env!("CARGO_PKG_VERSION"),
    };
}

/// The line of a rendered file, if a tool has generated it.
#[derive(Debug, Serialize)]
pub(super) struct RenderedEntry {
    path: String,
    line: Option<usize>,
}

impl RenderedEntry {
    pub(super) fn of(location: &SourceLocation) -> Option<Self> {
        let (path, place) = location.rendered.as_ref()?;
        Some(Self {
            path: path.to_string(),
            line: place.map(|place| place.start.line),
        })
    }
}

/// A reason for an outcome, with its place in the file that the user edits.
#[derive(Debug, Serialize)]
pub struct ReasonEntry {
    /// The file; `None` if no file states the reason.
    pub path: Option<String>,
    /// The line.
    pub line: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rendered: Option<RenderedEntry>,
    /// What it states.
    pub message: String,
}

impl ReasonEntry {
    pub(super) fn new(set: &SourceSet, reason: &Reason) -> Self {
        let location = reason.place.as_ref();
        let location = location.map(|label| source_location(set, label));
        let location = location.as_ref();
        Self {
            path: location.map(|location| location.path.to_string()),
            line: location.and_then(SourceLocation::line),
            rendered: location.and_then(RenderedEntry::of),
            message: reason.message.clone(),
        }
    }

    /// Returns the reason without the line of the rendered file.
    pub(super) fn without_rendered(self) -> Self {
        Self {
            rendered: None,
            ..self
        }
    }
}

/// A line that a finding refers to.
#[derive(Debug, Serialize)]
pub struct RelatedEntry {
    /// The file.
    pub path: String,
    /// The line.
    pub line: Option<usize>,
    column: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rendered: Option<RenderedEntry>,
    /// What it states.
    pub message: String,
}

impl RelatedEntry {
    pub(super) fn new(set: &SourceSet, label: &Label) -> Self {
        let location = source_location(set, label);
        Self {
            path: location.path.to_string(),
            line: location.line(),
            column: location.place.map(|place| place.start.column),
            rendered: RenderedEntry::of(&location),
            message: label.message.clone(),
        }
    }
}

/// Something that runs pods and is not judged.
#[derive(Debug, Serialize)]
pub struct NotJudgedEntry {
    /// The id of the reason.
    pub reason: &'static str,
    /// What is not judged, and why.
    pub message: String,
    /// The file.
    pub path: String,
    /// The line.
    pub line: Option<usize>,
    column: Option<usize>,
    /// The object.
    pub object: Option<ObjectRef>,
    /// What to do.
    pub help: String,
}

/// Returns the entries of a report.
pub(super) fn not_judged_entries(set: &SourceSet, found: &[NotJudged]) -> Vec<NotJudgedEntry> {
    let entry = |found: &NotJudged| {
        let location = source_location(set, &found.place);
        NotJudgedEntry {
            reason: found.reason.id(),
            message: found.place.message.clone(),
            path: location.path.to_string(),
            line: location.line(),
            column: location.place.map(|place| place.start.column),
            object: found.object.clone(),
            help: found.help.clone(),
        }
    };
    found.iter().map(entry).collect()
}
