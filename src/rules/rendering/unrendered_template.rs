//! Rule `unrendered-template`, documented in `docs/rules/unrendered-template.md`.

use std::sync::Arc;

use crate::finding::{Finding, Label};
use crate::rules::RuleContext;
use crate::rules::rule::declare_rule;
use crate::source::{Content, Role, SourceFile};
use crate::yaml::Span;

declare_rule! {
    "unrendered-template", Note, fix: None, scope: Tree
}

fn check(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    unrendered(&cx.context.sources.files)
}

/// Returns a note for each target file that is an unrendered template.
#[must_use]
pub fn unrendered(files: &[SourceFile]) -> Vec<Finding> {
    files
        .iter()
        .filter(|file| file.role == Role::Target)
        .filter_map(report)
        .collect()
}

/// Reports a file that contains a template. The number of its documents that are templates does not matter.
fn report(file: &SourceFile) -> Option<Finding> {
    // In a chart, documents without braces are templates too.
    let (document, offset) = file
        .documents
        .iter()
        .filter(|document| matches!(document.content, Content::Template))
        .find_map(|document| {
            let offset = document.segment.slice(&file.text).find("{{")?;
            Some((document, offset))
        })?;
    let start = document.segment.start + offset;
    let message = format!(
        "`{}` is an unrendered template, not YAML: it was not checked",
        file.path
    );
    let label = Label {
        path: Arc::clone(&file.path),
        span: Span::new(start, start + 2),
        message: String::new(),
    };
    let mut finding = Finding::new(RULE.id, RULE.severity, label, message);
    finding.document = document.index;
    let chart = chart_of(&file.path);
    finding.help = Some(format!(
        "render it first: `helm template {chart} | meshprobe check -`"
    ));
    Some(finding)
}

/// Returns the directory of the chart, or a placeholder if the path does not contain it.
fn chart_of(path: &str) -> &str {
    match path.find("/templates/").and_then(|at| path.get(..at)) {
        Some(chart) => chart,
        None if path.starts_with("templates/") => ".",
        None => "<chart>",
    }
}

#[cfg(test)]
mod tests {
    use super::chart_of;

    #[test]
    fn the_chart_directory_is_derived_from_the_path() {
        assert_eq!(chart_of("charts/web/templates/a.yaml"), "charts/web");
        assert_eq!(chart_of("templates/a.yaml"), ".");
        assert_eq!(chart_of("a.yaml"), "<chart>");
    }
}
