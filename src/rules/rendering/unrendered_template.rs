//! Rule `unrendered-template`, documented in `docs/rules/unrendered-template.md`.

use std::sync::Arc;

use crate::finding::{Finding, Label};
use crate::rules::RuleContext;
use crate::rules::rule::declare_rule;
use crate::source::{Content, SourceFile, SourceSet, chart_folder};
use crate::yaml::Span;

declare_rule! {
    "unrendered-template", Note, fix: None, scope: Tree
}

fn check(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    unrendered(cx.context.sources)
}

/// Returns a note for each target file that is an unrendered template, unless its chart is rendered in this run.
#[must_use]
pub fn unrendered(set: &SourceSet) -> Vec<Finding> {
    set.targets()
        .filter(|file| !chart_folder(&file.path).is_some_and(|chart| set.has_rendered_chart(chart)))
        .filter_map(report)
        .collect()
}

/// Returns whether this rule reported a finding.
#[must_use]
pub fn is_about_template(finding: &Finding) -> bool {
    finding.rule == RULE.id
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
    let chart = chart_folder(&file.path).filter(|_| file.chart_template);
    let chart = chart.unwrap_or("<chart>");
    finding.help = Some(format!(
        "render it first: `helm template {chart} | meshprobe check --context . -`"
    ));
    Some(finding)
}
