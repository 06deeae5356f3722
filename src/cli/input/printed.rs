//! Prints the files and the findings of a run to standard error.

use meshprobe_mesh::finding::{Finding, Severity};
use meshprobe_tree::source::{Content, Role, SourceFile, SourceSet};

use super::super::args::Common;
use super::super::session::{OutputStream, Session};
use super::super::terminal::terminal_style;
use crate::report;

/// Prints each file with its kind if `--verbose` is given.
pub(in crate::cli) fn print_files(session: &Session, set: &SourceSet, common: &Common) {
    if common.verbose {
        for file in &set.files {
            let context = match file.role {
                Role::Target => "",
                Role::Context | Role::Repository => " (context)",
            };
            session.errln(&format!("{}: {}{context}", file.path, kinds(file)));
        }
    }
}

/// Prints findings to standard error, without notes if `--quiet` is given.
pub(in crate::cli) fn print_findings(
    session: &Session,
    set: &SourceSet,
    findings: &[Finding],
    common: &Common,
) {
    let least = if common.quiet {
        Severity::Warning
    } else {
        Severity::Note
    };
    let shown: Vec<Finding> = findings
        .iter()
        .filter(|finding| finding.severity >= least)
        .cloned()
        .collect();
    let style = terminal_style(session, OutputStream::Stderr, common.color);
    session.eprint(&report::full(set, &shown, style));
}

/// Returns the kinds of the documents of a file.
fn kinds(file: &SourceFile) -> String {
    let kinds: Vec<&str> = file
        .documents
        .iter()
        .map(|document| match document.content {
            Content::Empty => "empty",
            Content::Tree(_) if document.patch => "patch of a kustomization",
            Content::Tree(_) if document.encrypted => "encrypted",
            Content::Tree(_) => "Kubernetes",
            Content::Plain(_) | Content::NotKubernetes => "not Kubernetes",
            Content::Template => "template",
            Content::Broken { .. } => "broken",
        })
        .collect();
    match file.fault {
        Some(_) => "not read".into(),
        None => kinds.join(", "),
    }
}
