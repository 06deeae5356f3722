//! Composes the text of an answer.

use rmcp::schemars::JsonSchema;
use serde::Serialize;

use crate::report::NotJudgedEntry;

use super::super::answer::{NotJudged, Text};
use super::super::clean::clean;
use super::super::error::ToolError;
use super::super::page::Page;
use super::super::runner::Output;

/// The most entries of what is not judged, and the most notes, in one answer.
const MOST: usize = 5;

/// What an answer says in addition to its items.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(crate = "rmcp::schemars")]
pub(super) struct Rest {
    /// The directory that paths in the answer are relative to.
    #[serde(skip_serializing_if = "Option::is_none")]
    root: Option<String>,
    /// Objects and files that could not be judged, the first 5: nothing is known about their probes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    not_judged: Vec<NotJudged>,
    /// How many more could not be judged.
    #[serde(skip_serializing_if = "Option::is_none")]
    more_not_judged: Option<usize>,
    /// Notes and warnings about the run.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
    /// If there are more items, the `cursor` of the next call.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
}

/// Returns the error of a command that has no report.
pub(super) fn failure(output: &Output) -> ToolError {
    ToolError::of_command(&output.stderr)
}

/// Returns the lines of standard error as notes.
pub(super) fn notes(output: &Output) -> Vec<String> {
    let lines = output.stderr.lines().filter(|line| !line.trim().is_empty());
    lines.take(MOST).map(clean).collect()
}

impl Rest {
    pub(super) fn new<T>(
        root: Option<String>,
        page: &Page<T>,
        not_judged: &[NotJudgedEntry],
        output: &Output,
    ) -> Self {
        Self {
            root,
            more_not_judged: not_judged.len().checked_sub(MOST).filter(|more| *more > 0),
            not_judged: not_judged.iter().take(MOST).map(NotJudged::from).collect(),
            notes: notes(output),
            next_cursor: page.next_cursor.clone(),
        }
    }
}

/// Returns the text of an answer: a first line, the items of a page, and the rest.
pub(super) fn text<T: Text>(first: &str, page: &Page<T>, rest: &Rest) -> String {
    let mut out = format!("{first}\n");
    for item in &page.items {
        out.push('\n');
        item.write(&mut out);
    }
    if !rest.not_judged.is_empty() {
        out.push('\n');
    }
    for entry in &rest.not_judged {
        entry.write(&mut out);
    }
    if let Some(more) = rest.more_not_judged {
        out.push_str(&format!("not judged: {more} more\n"));
    }
    for note in &rest.notes {
        out.push_str(&format!("\n{note}"));
    }
    more(
        &mut out,
        page.items.len(),
        page.total,
        rest.next_cursor.as_deref(),
    );
    out
}

/// Appends how to get the next items.
pub(super) fn more(out: &mut String, shown: usize, total: usize, next_cursor: Option<&str>) {
    if let Some(cursor) = next_cursor {
        out.push_str(&format!(
            "\n{shown} of {total} items shown; call again with the same parameters and cursor `{cursor}`\n"
        ));
    }
}
