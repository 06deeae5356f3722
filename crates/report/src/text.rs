//! Formats a finding as one text, for reports without separate fields, and numbers with their nouns.

use meshprobe_mesh::finding::{Applicability, Finding, Fix, Label, ObjectRef, name_list};

use super::results::Results;

/// Returns the lines of a finding: the message, the environments, the text of the kubelet, the assumptions, the help, and
/// the fix.
pub(super) fn finding_lines(finding: &Finding) -> Vec<String> {
    let mut lines = vec![finding.message.clone()];
    lines.extend(
        finding
            .environments_line()
            .map(|environments| format!("in: {environments}")),
    );
    lines.extend(
        finding
            .kubelet
            .iter()
            .map(|text| format!("kubelet: {text}")),
    );
    lines.extend(
        finding
            .assumptions
            .iter()
            .map(|text| format!("assumed: {text}")),
    );
    lines.extend(finding.help.iter().map(|text| format!("help: {text}")));
    lines.extend(
        finding
            .fix
            .iter()
            .map(|fix| format!("fix: {}", fix_text(fix))),
    );
    lines
}

/// Returns the title of a fix, and in parentheses the command that applies it and why it is not applied by default, for
/// reports whose readers may not know the options.
pub(super) fn fix_text(fix: &Fix) -> String {
    let how = match &fix.applicability {
        Applicability::Safe => "`meshprobe check --fix`".to_owned(),
        Applicability::Unsafe(reason) => {
            format!("`meshprobe check --fix --unsafe-fixes`, because {reason}")
        }
        Applicability::DisplayOnly(_) => how_to_apply(fix),
    };
    format!("{} ({how})", fix.title)
}

/// Returns how to apply a fix, and why it is not applied by default.
pub(super) fn how_to_apply(fix: &Fix) -> String {
    match &fix.applicability {
        Applicability::Safe => "--fix".to_owned(),
        Applicability::Unsafe(reason) => format!("--fix --unsafe-fixes, because {reason}"),
        Applicability::DisplayOnly(reason) if reason.is_empty() => "by hand".to_owned(),
        Applicability::DisplayOnly(reason) => format!("by hand, because {reason}"),
    }
}

/// Returns the object and the container of a finding; empty if it has neither.
pub(super) fn subject(finding: &Finding) -> String {
    let object = finding.object.as_ref().map(path_of);
    let container = finding
        .container
        .as_ref()
        .map(|name| format!("container {name}"));
    let parts: Vec<String> = object.into_iter().chain(container).collect();
    parts.join(", ")
}

/// Returns the namespace, kind and name of an object, such as `shop/Deployment/web`.
pub fn path_of(object: &ObjectRef) -> String {
    object
        .namespace
        .iter()
        .map(String::as_str)
        .chain([object.kind.as_str(), object.name.as_str()])
        .collect::<Vec<_>>()
        .join("/")
}

/// Related lines with the same message.
#[derive(Debug)]
pub(super) struct RelatedLines<'f> {
    /// The message of all lines.
    pub(super) message: &'f str,
    /// The lines, each with its index among the related lines of the finding.
    pub(super) lines: Vec<(usize, &'f Label)>,
}

/// Returns the related lines in their order. For a finding in several environments, in each of which another line may
/// decide, lines with the same message are merged.
pub(super) fn related_lines(finding: &Finding) -> Vec<RelatedLines<'_>> {
    let mut merged: Vec<RelatedLines<'_>> = Vec::new();
    for (index, label) in finding.related.iter().enumerate() {
        let message = label.message.as_str();
        let known = merged
            .iter_mut()
            .find(|known| known.message == message && !finding.environments.is_empty());
        match known {
            Some(known) => known.lines.push((index, label)),
            None => merged.push(RelatedLines {
                message,
                lines: vec![(index, label)],
            }),
        }
    }
    merged
}

impl RelatedLines<'_> {
    /// Returns the text of the lines: their places, of which a long list is cut, and the message.
    pub(super) fn text(&self, results: &Results<'_>) -> String {
        let mut places: Vec<String> = Vec::new();
        for (_, label) in &self.lines {
            let place = results.place(label);
            // Several outputs of a chart have the same source.
            if !places.contains(&place) {
                places.push(place);
            }
        }
        let places = name_list(places.iter().map(String::as_str));
        format!("{places}: {}", self.message)
    }
}

/// Returns a number with its noun: `1 file` or `2 files`.
#[must_use]
pub fn counted(count: usize, noun: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {noun}{plural}")
}
