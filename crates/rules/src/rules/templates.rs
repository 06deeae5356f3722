//! The rule about templates that are not rendered.

use std::sync::Arc;

use meshprobe_mesh::finding::{Finding, Label};
use meshprobe_tree::source::{
    Content, SourceFile, SourceSet, TemplateMarker, chart_folder, template_marker,
};
use meshprobe_yaml::Span;

crate::rules::rule::rules! {
    UNRENDERED_TEMPLATE = "unrendered-template", Note, fix: None, scope: Tree, |cx| unrendered(cx.context.sources);
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
    finding.rule == UNRENDERED_TEMPLATE.id
}

/// Returns the first tag of the templates in a file, and the index of its document.
#[must_use]
pub fn first_tag(file: &SourceFile) -> Option<(usize, TemplateMarker)> {
    // In a chart, documents without tags are templates too.
    let mut documents = file.documents.iter();
    documents.find_map(|document| {
        matches!(document.content, Content::Template).then_some(())?;
        let text = document.segment.slice(&file.text);
        let marker = template_marker(text).or_else(|| in_comment(text))?;
        let span = marker.span;
        let start = document.segment.start;
        let span = Span::new(start + span.start, start + span.end);
        Some((document.index, TemplateMarker { span, ..marker }))
    })
}

/// Returns the first expression of a template whose tags are all in comments, which Helm evaluates as well.
fn in_comment(text: &str) -> Option<TemplateMarker> {
    let at = text.find("{{")?;
    Some(TemplateMarker {
        span: Span::new(at, at + 2),
        shown: GO_TAG.to_owned(),
    })
}

/// The tag of Helm and of other programs that use the templates of Go.
const GO_TAG: &str = "{{ … }}";

/// Reports a file that contains a template. The number of its documents that are templates does not matter.
fn report(file: &SourceFile) -> Option<Finding> {
    let (document, marker) = first_tag(file)?;
    let tag = match marker.shown.as_str() {
        GO_TAG => String::new(),
        tag => format!(" (`{tag}`)"),
    };
    let message = format!(
        "`{}` is an unrendered template{tag}, not YAML: it was not checked",
        file.path
    );
    let label = Label {
        path: Arc::clone(&file.path),
        span: marker.span,
        message: String::new(),
    };
    let mut finding = Finding::new(
        UNRENDERED_TEMPLATE.id,
        UNRENDERED_TEMPLATE.severity,
        label,
        message,
    );
    finding.document = document;
    let chart = chart_folder(&file.path).filter(|_| file.chart_template);
    finding.help = Some(match (chart, tag.is_empty()) {
        (None, false) => format!(
            "render it with the tool that replaces `{}`, and check the result with `meshprobe check --context . -`",
            marker.shown
        ),
        (chart, _) => format!(
            "render it first: `helm template {} | meshprobe check --context . -`",
            chart.unwrap_or("<chart>")
        ),
    });
    Some(finding)
}
