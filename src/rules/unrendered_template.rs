//! Rule `unrendered-template`.

use std::sync::Arc;

use super::Scene;
use super::rule::declare_rule;
use crate::finding::{Finding, Label};
use crate::source::{Content, Role, SourceFile};
use crate::yaml::Span;

declare_rule! {
    /// Finds files that are the source of a template, such as a Helm chart's, and no YAML yet.
    ///
    /// ## What it checks
    /// A file below the `templates` folder of a chart, or one whose documents hold `{{ … }}` where
    /// YAML does not allow it. It is said once per file.
    ///
    /// ## Why it matters
    /// What a template comes out as depends on values, and only the tool that renders it knows.
    /// The file was not judged: silence about it means nothing.
    ///
    /// ## Example
    /// ```yaml
    /// # file: Chart.yaml
    /// apiVersion: v2
    /// name: web
    /// version: 0.1.0
    /// # file: templates/web.yaml
    /// apiVersion: v1
    /// kind: Pod
    /// metadata:
    ///   name: {{ .Release.Name }}
    /// spec:
    ///   containers:
    ///     - name: web
    ///       image: {{ .Values.image }}
    /// ```
    ///
    /// ## Use instead
    /// What comes out of it: `helm template . | meshprobe check -`.
    /// ```yaml
    /// apiVersion: v1
    /// kind: Pod
    /// metadata:
    ///   name: web
    /// spec:
    ///   containers:
    ///     - name: web
    ///       image: registry.example/web:1
    /// ```
    ///
    /// ## Fix safety
    /// There is no fix: render the file and check what comes out.
    ///
    /// ## References
    /// - Helm documentation: "helm template"
    "unrendered-template", Note, fix: None, scope: Tree
}

fn check(scene: &Scene<'_, '_>) -> Vec<Finding> {
    unrendered(&scene.context.sources.files)
}

/// Returns a note for each file that is the source of a template, among those to report on.
#[must_use]
pub fn unrendered(files: &[SourceFile]) -> Vec<Finding> {
    let targets = files.iter().filter(|file| file.role == Role::Target);
    targets.filter_map(template).collect()
}

/// One note per file, however many of its documents are templates.
fn template(file: &SourceFile) -> Option<Finding> {
    let mut templates = file
        .documents
        .iter()
        .filter(|document| matches!(document.content, Content::Template));
    // In a chart, documents without any braces count as well.
    let (document, at) = templates.find_map(|document| {
        let at = document.segment.slice(&file.text).find("{{")?;
        Some((document, at))
    })?;
    let start = document.segment.start + at;
    let message = format!(
        "{} is a template and no YAML yet: it was not judged",
        file.path
    );
    let place = Label {
        path: Arc::clone(&file.path),
        span: Span::new(start, start + 2),
        message: String::new(),
    };
    let mut finding = Finding::new(RULE.id, RULE.severity, place, message);
    finding.document = document.index;
    let chart = chart_of(&file.path);
    finding.help = Some(format!(
        "render it first: `helm template {chart} | meshprobe check -`"
    ));
    Some(finding)
}

/// The directory of the chart, where the path shows it.
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
    fn the_chart_is_named_where_the_path_shows_it() {
        assert_eq!(chart_of("charts/web/templates/a.yaml"), "charts/web");
        assert_eq!(chart_of("templates/a.yaml"), ".");
        assert_eq!(chart_of("a.yaml"), "<chart>");
    }
}
