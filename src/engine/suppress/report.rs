//! Findings about suppressions: those that silence nothing, and those that are not understood.

use std::sync::Arc;

use crate::finding::{Applicability, FileEdit, Finding, Fix, Label, Severity, SuppressedBy};
use crate::rules;
use crate::settings::not_one_of;
use crate::source::SourceSet;
use crate::yaml::Span;

use super::super::levels::{Ignores, Levels};
use super::super::notices::{INVALID_SUPPRESSION, NOTICES, UNUSED_SUPPRESSION};
use super::Suppressions;
use super::collect::Directive;
use super::directive::{Name, Said};

/// The ids that can be silenced; guards of `rewrite` are passed by other means.
fn known() -> Vec<&'static str> {
    let rules = rules::all().iter().map(|rule| rule.id);
    rules
        .chain(NOTICES.iter().map(|notice| notice.id))
        .collect()
}

impl Suppressions {
    /// Reports what is wrong with suppressions; to be asked when all findings are marked.
    pub(in crate::engine) fn findings(
        &self,
        set: &SourceSet,
        levels: &Levels<'_>,
        ignores: &Ignores<'_>,
    ) -> Vec<Finding> {
        let known = known();
        let mut found = Vec::new();
        for (at, directive) in self.directives.iter().enumerate() {
            match &directive.said {
                Some(said) => found.extend(self.of_directive(at, directive, said, &known, levels)),
                None => found.push(not_understood(directive)),
            }
        }
        found.extend(unused_entries(set, levels, ignores));
        found
    }

    fn of_directive(
        &self,
        at: usize,
        directive: &Directive,
        said: &Said,
        known: &[&str],
        levels: &Levels<'_>,
    ) -> Vec<Finding> {
        let mut found = Vec::new();
        let mut idle = Vec::new();
        for (index, name) in said.names.iter().enumerate() {
            if !known.contains(&name.rule.as_str()) {
                found.push(unknown(directive, name, known));
            } else if !self.is_used(at, index) && levels.is_on(&name.rule, &directive.place.path) {
                idle.push(name);
            }
        }
        if said.reason.is_empty() {
            found.push(without_reason(directive));
        }
        let all = idle.len() == said.names.len();
        found.extend(idle.into_iter().map(|name| unused(directive, name, all)));
        found
    }

    fn is_used(&self, directive: usize, name: usize) -> bool {
        let group = self.index.group_of(directive, name);
        group.is_some_and(|group| self.used.borrow().contains(&group))
    }
}

/// Entries whose files were read and in which they silenced nothing.
fn unused_entries(set: &SourceSet, levels: &Levels<'_>, ignores: &Ignores<'_>) -> Vec<Finding> {
    let files = set.targets().map(|file| &file.path);
    let idle = ignores.unused(files, levels).into_iter();
    idle.map(|entry| {
        // A file that was not read as a manifest has no text to show.
        let line = set
            .file(&entry.file)
            .and_then(|file| file.lines().line(&file.text, entry.line));
        let place = Label {
            path: Arc::clone(&entry.file),
            span: line.unwrap_or(Span::empty(0)),
            message: String::new(),
        };
        let message = format!(
            "the entry of `ignore` in line {} silences nothing: no finding of `{}` where it holds",
            entry.line, entry.rule
        );
        let mut finding = Finding::new(UNUSED_SUPPRESSION, Severity::Note, place, message);
        finding.help = Some("delete the entry".to_owned());
        finding
    })
    .collect()
}

fn finding(rule: &'static str, directive: &Directive, message: String) -> Finding {
    let severity = if rule == UNUSED_SUPPRESSION {
        Severity::Note
    } else {
        Severity::Warning
    };
    let mut finding = Finding::new(rule, severity, directive.place.clone(), message);
    finding.document = directive.document;
    finding.object.clone_from(&directive.object);
    finding
}

fn not_understood(directive: &Directive) -> Finding {
    let message = "the comment speaks to meshprobe, but is not understood: it silences nothing";
    let mut finding = finding(INVALID_SUPPRESSION, directive, message.to_owned());
    finding.help = Some("write `# meshprobe: ignore[rule-a, rule-b] reason`".to_owned());
    finding
}

fn unknown(directive: &Directive, name: &Name, known: &[&str]) -> Finding {
    let problem = match super::super::is_guard(&name.rule) {
        true => format!(
            "`{0}` is a guard of `rewrite`, which no `check` reports; `rules: {{{0}: ignore}}` in the \
             configuration silences it",
            name.rule
        ),
        false => not_one_of("rule", &name.rule, known),
    };
    let message = format!("the {} silences nothing: {problem}", directive.by.as_str());
    finding(INVALID_SUPPRESSION, directive, message)
}

fn without_reason(directive: &Directive) -> Finding {
    let message = format!(
        "the {} silences findings without saying why",
        directive.by.as_str()
    );
    let mut finding = finding(INVALID_SUPPRESSION, directive, message);
    let form = match directive.by {
        SuppressedBy::Annotation => "`rule-id: reason`",
        _ => "`# meshprobe: ignore[rule-id] reason`",
    };
    finding.help = Some(format!("give a reason for the next reader: {form}"));
    finding
}

/// `all`: none of the names of the directive silences anything.
fn unused(directive: &Directive, name: &Name, all: bool) -> Finding {
    let of = match &name.container {
        Some(container) => format!("`{}` of container `{container}`", name.rule),
        None => format!("`{}`", name.rule),
    };
    let message = format!(
        "the {} silences nothing: there is no finding of {of} here",
        directive.by.as_str()
    );
    let mut finding = finding(UNUSED_SUPPRESSION, directive, message);
    match directive.whole_line.filter(|_| all) {
        Some(line) => finding.fix = Some(removal(directive, line)),
        None => finding.help = Some(format!("take `{}` out of it", name.rule)),
    }
    finding
}

fn removal(directive: &Directive, line: Span) -> Fix {
    Fix {
        title: "delete the comment".to_owned(),
        applicability: Applicability::Safe,
        path: Arc::clone(&directive.place.path),
        document: directive.document,
        changes: Vec::new(),
        adds: None,
        edits: vec![FileEdit {
            path: Arc::clone(&directive.place.path),
            span: line,
            text: String::new(),
        }],
    }
}
