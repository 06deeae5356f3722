//! Reports unused and invalid suppressions.

use std::sync::Arc;

use globset::Glob;
use meshprobe_mesh::finding::{
    Applicability, FileEdit, Finding, Fix, Label, RuleId, Severity, SuppressedBy,
};
use meshprobe_mesh::settings::{Ignore, Scope, UnknownRule};
use meshprobe_rules::rules::notices::{INVALID_SUPPRESSION, UNUSED_SUPPRESSION, rule_names};
use meshprobe_tree::source::SourceSet;
use meshprobe_yaml::Span;

use super::collect::{Directive, Name, ParsedSuppression};
use super::suppressions::Suppressions;
use crate::engine::levels::{Ignores, Levels};

impl Suppressions {
    /// Reports invalid and unused suppressions. Must be called after all findings are marked.
    pub(in crate::engine) fn findings(
        &self,
        set: &SourceSet,
        levels: &Levels<'_>,
        ignores: &Ignores<'_>,
    ) -> Vec<Finding> {
        let mut found = Vec::new();
        let is_target = |directive: &&Directive| set.is_target(&directive.place.path);
        let directives = self.directives.iter().enumerate();
        for (at, directive) in directives.filter(|(_, directive)| is_target(directive)) {
            match &directive.parsed {
                Some(parsed) => {
                    found.extend(self.of_directive(at, directive, parsed, levels));
                }
                None => found.push(invalid(directive)),
            }
        }
        found.extend(unused_entries(set, levels, ignores));
        found
    }

    fn of_directive(
        &self,
        at: usize,
        directive: &Directive,
        parsed: &ParsedSuppression,
        levels: &Levels<'_>,
    ) -> Vec<Finding> {
        let mut found = Vec::new();
        let mut idle = Vec::new();
        for (index, name) in parsed.names.iter().enumerate() {
            match rule_names().parse_reported(&name.rule) {
                Err(error) => found.push(unknown(directive, error)),
                Ok(rule) => {
                    let is_enabled = || levels.is_enabled(rule, &directive.place.path);
                    if !self.is_used(at, index) && is_enabled() {
                        idle.push(name);
                    }
                }
            }
        }
        if parsed.reason.is_empty() {
            found.push(without_reason(directive));
        }
        let all = idle.len() == parsed.names.len();
        found.extend(idle.into_iter().map(|name| unused(directive, name, all)));
        found
    }

    fn is_used(&self, directive: usize, name: usize) -> bool {
        let group = self.index.group_of(directive, name);
        group.is_some_and(|group| self.used.borrow().contains(&group))
    }
}

/// Returns a finding for each entry of `ignore` that suppressed nothing in the files that it applies to, and for each path of
/// `ignore` and `scopes` that matches no file.
fn unused_entries(set: &SourceSet, levels: &Levels<'_>, ignores: &Ignores<'_>) -> Vec<Finding> {
    let without_findings = ignores.unused(set.targets().map(|file| &file.path), levels);
    let without_files = ignores.without_files(set.files.iter().map(|file| &file.path));
    let unused = without_findings.into_iter().map(|entry| {
        let reason = format!(
            "no file that it applies to has a finding of `{}`",
            entry.rule
        );
        unused_entry(set, entry, &reason)
    });
    let stale = without_files.into_iter().map(|entry| {
        let paths: Vec<&str> = entry.scope.paths.iter().map(Glob::glob).collect();
        unused_entry(
            set,
            entry,
            &format!("`{}` matches no file", paths.join("`, `")),
        )
    });
    let files = set.files.iter().map(|file| &file.path);
    let scope_paths = levels.scope_paths_without_files(files);
    let scope_paths = scope_paths.iter().map(|scope| stale_scope_path(set, scope));
    unused.chain(stale).chain(scope_paths).collect()
}

fn stale_scope_path(set: &SourceSet, scope: &Scope) -> Finding {
    let line = scope.lines.first().copied().unwrap_or(1);
    let path = scope.paths.first().map_or("", Glob::glob);
    let message = format!("the path `{path}` of `scopes` in line {line} matches no file");
    let mut finding = in_configuration(set, &scope.file, line, message);
    finding.help = Some("correct or delete the path".to_owned());
    finding
}

fn unused_entry(set: &SourceSet, entry: &Ignore, reason: &str) -> Finding {
    let message = format!(
        "the `ignore` entry in line {} is unused: {reason}",
        entry.line
    );
    in_configuration(set, &entry.scope.file, entry.line, message)
}

fn in_configuration(set: &SourceSet, file: &Arc<str>, line: usize, message: String) -> Finding {
    // The text of the configuration is only available if it was also read as a manifest.
    let line = set
        .file(file)
        .and_then(|file| file.lines().line(&file.text, line));
    let place = Label {
        path: Arc::clone(file),
        span: line.unwrap_or(Span::empty(0)),
        message: String::new(),
    };
    let mut finding = Finding::new(UNUSED_SUPPRESSION, Severity::Note, place, message);
    finding.help = Some("delete the entry".to_owned());
    finding
}

fn finding(rule: RuleId, directive: &Directive, message: String) -> Finding {
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

fn invalid(directive: &Directive) -> Finding {
    let message = "the comment starts with `meshprobe:`, but is not a valid suppression";
    let mut finding = finding(INVALID_SUPPRESSION, directive, message.to_owned());
    finding.help = Some("write `# meshprobe: ignore[rule-a, rule-b] reason`".to_owned());
    finding
}

fn unknown(directive: &Directive, error: UnknownRule) -> Finding {
    let setting = match error.guard {
        Some(_) => " in the configuration",
        None => "",
    };
    let message = format!(
        "the {} suppresses nothing: {}{setting}",
        directive.by.as_str(),
        error.or_setting_of_guard()
    );
    finding(INVALID_SUPPRESSION, directive, message)
}

fn without_reason(directive: &Directive) -> Finding {
    let message = format!(
        "the {} suppresses findings without a reason",
        directive.by.as_str()
    );
    let mut finding = finding(INVALID_SUPPRESSION, directive, message);
    let form = match directive.by {
        SuppressedBy::Annotation => "`rule-id: reason`",
        _ => "`# meshprobe: ignore[rule-id] reason`",
    };
    finding.help = Some(format!("add a reason: {form}"));
    finding
}

/// Returns the finding for an unused name. `all` is true if all names of the directive are unused.
fn unused(directive: &Directive, name: &Name, all: bool) -> Finding {
    let of = match &name.container {
        Some(container) => format!("`{}` of container `{container}`", name.rule),
        None => format!("`{}`", name.rule),
    };
    let message = format!(
        "the {} is unused: {of} does not occur here",
        directive.by.as_str()
    );
    let mut finding = finding(UNUSED_SUPPRESSION, directive, message);
    match directive.whole_line.filter(|_| all) {
        Some(line) => finding.fix = Some(removal(directive, line)),
        None => finding.help = Some(format!("remove `{}` from it", name.rule)),
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
        edits: vec![FileEdit {
            path: Arc::clone(&directive.place.path),
            span: line,
            text: String::new(),
        }],
    }
}
