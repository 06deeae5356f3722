//! The items of answers, which are shorter than those of reports.

mod change;
mod fact;
mod finding;
mod not_judged;
mod probe;

pub(super) use change::{Change, ChangeSummary};
pub(super) use fact::Fact;
pub(super) use finding::{CheckSummary, Finding};
pub(super) use not_judged::NotJudged;
pub(super) use probe::{Probe, probes};

use std::fmt::Write as _;

use meshprobe_mesh::finding::ObjectRef;

use crate::report::path_of;

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

/// Returns `namespace/Kind/name`.
fn name(object: &ObjectRef) -> String {
    super::clean::clean(&path_of(object))
}

/// Returns `file:line`.
fn at(path: &str, line: Option<usize>) -> String {
    let path = super::clean::clean(path);
    match line {
        Some(line) => format!("{path}:{line}"),
        None => path,
    }
}
