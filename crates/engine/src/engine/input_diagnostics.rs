//! Reports files and documents that cannot be read.

use std::sync::Arc;

use meshprobe_mesh::finding::{Finding, Label, Severity, names_and_more};
use meshprobe_predict::context::Context;
use meshprobe_rules::rules::notices::{NOT_RENDERED, NOT_UTF8, SYNTAX_ERROR, UNREADABLE_FILE};
use meshprobe_tree::git::GitError;
use meshprobe_tree::source::{Fault, FileLimit, NO_SUCH_FILE, Role, SourceFile, SourceSet};
use meshprobe_yaml::Span;

use super::document_diagnostics::{error_if, label, of_document};
use super::panic_isolation;
use super::unsupported_parts::files_left_out;

/// Reports everything that kept a file or document from being checked. Faults of files that the user did not name are
/// only counted, see [`Summary`](crate::engine::Summary).
#[must_use]
pub fn input_diagnostics(set: &SourceSet) -> Vec<Finding> {
    diagnostics(set, |file| file.role != Role::Repository)
}

/// Returns what [`input_diagnostics`] would report if the surroundings of the inputs were checked, too.
pub(super) fn surrounding_diagnostics(set: &SourceSet) -> Vec<Finding> {
    diagnostics(set, |file| file.role == Role::Repository)
}

fn diagnostics(set: &SourceSet, is_wanted: fn(&SourceFile) -> bool) -> Vec<Finding> {
    let mut found = Vec::new();
    let repeated = set.repeated_targets();
    for file in set.files.iter().filter(|file| is_wanted(file)) {
        let fault = file.fault.as_ref();
        let fault = fault.and_then(|fault| of_fault(file, fault));
        // A release that several clusters deploy fails in the same way for each.
        let is_new = |fault: &Finding| fault.rule != NOT_RENDERED || !found.contains(fault);
        let fault = fault.filter(is_new);
        found.extend(fault);
        let is_repeated = file.is_linked() && file.shares_text(&repeated);
        if file.role != Role::Context && !is_repeated {
            found.extend(
                file.documents
                    .iter()
                    .flat_map(|document| of_document(file, document)),
            );
        }
    }
    let left_out = set.files.iter().filter(|file| is_wanted(file));
    let wanted = set.files.iter().filter(|file| is_wanted(file));
    found.extend(notice(wanted));
    found.extend(files_left_out(left_out.filter_map(left_out_file).collect()));
    found
}

fn left_out_file(file: &SourceFile) -> Option<(Severity, FileLimit, Label)> {
    match file.fault.as_ref()? {
        Fault::TooLarge { limit, kubernetes } => {
            let severity = match error_if(file.explicit || *kubernetes) {
                // Only the start of the file is known.
                Severity::Note if *limit == FileLimit::Size => Severity::Warning,
                severity => severity,
            };
            Some((severity, *limit, label(file, Span::empty(0))))
        }
        _ => None,
    }
}

/// Reports texts within documents that should be YAML but are not, such as values of a chart or the configuration of a
/// mesh. Their readers reject them.
#[must_use]
pub(super) fn broken_texts(context: &Context<'_>) -> Vec<Finding> {
    context
        .broken_texts()
        .into_iter()
        .filter(|text| context.sources.is_target(&text.path))
        .map(|text| {
            let label = Label {
                message: String::new(),
                ..text.clone()
            };
            let message = text.message.clone();
            let mut finding = Finding::new(SYNTAX_ERROR, Severity::Error, label, message);
            finding.help = Some("fix the text; no facts were read from it".into());
            finding
        })
        .collect()
}

fn of_fault(file: &SourceFile, fault: &Fault) -> Option<Finding> {
    match fault {
        Fault::Panicked(panic) => Some(panic_isolation::fault(&file.path, panic)),
        Fault::Unreadable(reason) => Some(unreadable(file, reason)),
        Fault::UnlistedIndex(error) => {
            let why = match error {
                GitError::DubiousOwnership(_) => "it belongs to another user".to_owned(),
                error => error.to_string(),
            };
            let mut finding = unreadable(file, &format!("{why}, so ignore files hide nothing"));
            finding.help = match error {
                GitError::NotInstalled => Some("install git".to_owned()),
                GitError::DubiousOwnership(_) => error.help(),
                _ => None,
            };
            Some(finding)
        }
        Fault::DanglingLink => Some(unreadable(file, NO_SUCH_FILE)),
        Fault::NotRendered { reason, asked } => Some(not_rendered(file, reason, asked)),
        // One finding names all of them.
        Fault::TooLarge { .. } => None,
        Fault::NotUtf8 { kubernetes } => {
            if file.role == Role::Context || is_encrypted(file) {
                return None;
            }
            let span = Span::empty(file.text.len());
            let message = "the file was not checked: the text is not UTF-8 from here on".to_owned();
            let mut finding =
                Finding::new(NOT_UTF8, error_if(*kubernetes), label(file, span), message);
            finding.help = Some("save the file as UTF-8".into());
            Some(finding)
        }
    }
}

/// Reports a failed rendering at the objects that deploy the chart, or else at the start of the file that was rendered.
fn not_rendered(file: &SourceFile, reason: &str, asked: &Arc<str>) -> Finding {
    let chart = file.rendered_chart.as_deref();
    let releases = chart.map(|chart| chart.releases.as_slice());
    let releases = releases.unwrap_or_default();
    let (wanted, others): (Vec<_>, Vec<_>) = releases.iter().partition(|release| release.is_target);
    let mut places: Vec<Label> = Vec::new();
    for release in wanted.into_iter().chain(others) {
        let (path, span) = &release.chart;
        let place = Label {
            path: Arc::clone(path),
            span: *span,
            message: String::new(),
        };
        if !places.contains(&place) {
            places.push(place);
        }
    }
    let mut places = places.into_iter();
    let first = places.next().unwrap_or_else(|| Label {
        path: Arc::clone(asked),
        span: Span::empty(0),
        message: String::new(),
    });
    let mut finding = Finding::new(NOT_RENDERED, Severity::Error, first, reason.to_owned());
    finding.related.extend(places.map(|place| Label {
        message: "deploys the chart with the same values".into(),
        ..place
    }));
    finding
}

/// Reports a file that cannot be read. It is a warning if a regular file with the name of a manifest is not judged, and a note
/// for anything else, such as a pipe or an ignore file.
fn unreadable(file: &SourceFile, reason: &str) -> Finding {
    let is_manifest = file.location.is_some() && reason != NO_SUCH_FILE;
    let severity = match (file.explicit, is_manifest) {
        (true, _) => Severity::Error,
        (false, true) => Severity::Warning,
        (false, false) => Severity::Note,
    };
    let message = format!("cannot read `{}`: {reason}", file.path);
    let label = label(file, Span::empty(0));
    Finding::new(UNREADABLE_FILE, severity, label, message)
}

/// The maximum number of files that a message names.
const NAMED: usize = 3;

/// The first bytes of an encrypted file, and the command that decrypts the repository.
/// Source: git-crypt, `commands.cpp`; Plural CLI, `cmd/command/crypto/crypto.go`.
const TOOLS: [(&str, &str); 2] = [
    ("\0GITCRYPT\0", "git-crypt unlock"),
    ("CHARTMART-ENCRYPTED", "plural crypto unlock"),
];

/// Returns whether a file cannot be read because it is encrypted.
pub(super) fn is_encrypted(file: &SourceFile) -> bool {
    command(file).is_some()
}

fn command(file: &SourceFile) -> Option<&'static str> {
    let is_unread = matches!(file.fault, Some(Fault::NotUtf8 { .. }));
    let mut tools = TOOLS.iter().filter(|_| is_unread);
    let (_, command) = tools.find(|(start, _)| file.text.starts_with(start))?;
    Some(command)
}

/// Returns one note for all encrypted files.
pub(super) fn notice<'f>(files: impl Iterator<Item = &'f SourceFile>) -> Option<Finding> {
    let files: Vec<&SourceFile> = files
        .filter(|file| file.role != Role::Context && is_encrypted(file))
        .collect();
    let first = files.first()?;
    let named = names_and_more(files.iter().map(|file| format!("`{}`", file.path)), NAMED);
    let verb = match files.len() {
        1 => "it is",
        _ => "they are",
    };
    let message = format!("not checked: {named}; {verb} encrypted");
    let label = Label {
        path: first.path.clone(),
        span: Span::empty(0),
        message: String::new(),
    };
    let mut finding = Finding::new(NOT_UTF8, Severity::Note, label, message);
    finding.help = command(first).map(|command| format!("decrypt first: `{command}`"));
    Some(finding)
}
