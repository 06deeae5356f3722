//! The items of answers, which are shorter than those of reports.

mod change;
mod finding;
mod probe;

use std::fmt::Write as _;

use meshprobe_mesh::finding::{Assumption, ObjectRef};
use rmcp::schemars::JsonSchema;
use serde::Serialize;

use super::error::{clean, clean_all};
use meshprobe_engine::engine::ReasonEntry;
use meshprobe_report::{NotJudgedEntry, Reader, RelatedEntry, path_of};

pub(super) use change::{Change, ChangeSummary};
pub(super) use finding::{CheckSummary, Finding};
pub(super) use probe::{Probe, probes};

/// An item of an answer as text.
pub(super) trait Text {
    /// Appends lines for the item.
    fn write(&self, out: &mut String);
}

/// Appends a line with a label, if there is a value.
fn line(out: &mut String, label: &str, value: Option<&str>) {
    if let Some(value) = value {
        let _ = writeln!(out, "  {label}: {value}");
    }
}

/// Appends the facts that decide, and the assumptions.
fn reasons(out: &mut String, because: &[Fact], assumptions: &[String]) {
    for fact in because {
        line(out, "because", Some(&fact.text()));
    }
    for assumption in assumptions {
        line(out, "assumes", Some(assumption));
    }
}

/// Returns a text with the arguments of tools instead of options.
fn worded(text: &str) -> String {
    clean(&Reader::Assistant.message(text))
}

fn help(text: &str) -> Option<String> {
    Reader::Assistant.help(text).as_deref().map(clean)
}

fn assumptions(assumptions: &[Assumption]) -> Vec<String> {
    let assumptions = assumptions.iter();
    let worded = assumptions.map(|known| Reader::Assistant.assumption(known));
    clean_all(&worded.collect::<Vec<_>>())
}

/// Returns `namespace/Kind/name`.
fn name(object: &ObjectRef) -> String {
    super::error::clean(&path_of(object))
}

/// Returns `file:line`.
fn at(path: &str, line: Option<usize>) -> String {
    let path = super::error::clean(path);
    match line {
        Some(line) => format!("{path}:{line}"),
        None => path,
    }
}

/// The longest list of facts in an item.
const MOST: usize = 10;

/// A fact that decides.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(crate = "rmcp::schemars")]
pub(crate) struct Fact {
    /// The file and line that state the fact, as `file:line`. Missing for defaults and for parameters of the call.
    at: Option<String>,
    /// The fact.
    fact: String,
}

impl From<&ReasonEntry> for Fact {
    fn from(reason: &ReasonEntry) -> Self {
        Self {
            at: reason.path.as_deref().map(|path| at(path, reason.line)),
            fact: worded(&reason.reason.message),
        }
    }
}

impl From<&RelatedEntry> for Fact {
    fn from(related: &RelatedEntry) -> Self {
        Self {
            at: Some(at(&related.path, related.line)),
            fact: worded(&related.message),
        }
    }
}

impl Fact {
    /// Shortens the facts of a report.
    pub(super) fn all<'r, T>(reported: &'r [T]) -> Vec<Self>
    where
        Self: From<&'r T>,
    {
        let mut facts: Vec<Self> = reported.iter().take(MOST).map(Self::from).collect();
        if let Some(more) = reported.len().checked_sub(MOST).filter(|more| *more > 0) {
            facts.push(Self {
                at: None,
                fact: format!("{more} more facts"),
            });
        }
        facts
    }

    /// Returns the line and the fact as text.
    pub(super) fn text(&self) -> String {
        match &self.at {
            Some(at) => format!("{at} {}", self.fact),
            None => self.fact.clone(),
        }
    }
}

/// Something that runs pods and could not be judged.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(crate = "rmcp::schemars")]
pub(crate) struct NotJudged {
    /// The file and line.
    at: String,
    /// The object, as `namespace/Kind/name`.
    object: Option<String>,
    /// The kind of the reason.
    reason: &'static str,
    /// What could not be judged, and why.
    message: String,
    /// What to do.
    help: String,
}

impl From<&NotJudgedEntry> for NotJudged {
    fn from(reported: &NotJudgedEntry) -> Self {
        Self {
            at: at(&reported.path, reported.line),
            object: reported.object.as_ref().map(name),
            reason: reported.reason,
            message: worded(&reported.message),
            help: help(&reported.help).unwrap_or_else(|| clean(&reported.help)),
        }
    }
}

impl Text for NotJudged {
    fn write(&self, out: &mut String) {
        out.push_str(&format!("not judged: {} {}\n", self.at, self.message));
        line(out, "help", Some(&self.help));
    }
}
