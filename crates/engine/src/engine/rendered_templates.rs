//! Findings about templates, with what the whole tree contains about their charts.

use std::sync::Arc;

use hashbrown::HashMap;
use meshprobe_mesh::finding::Finding;
use meshprobe_predict::context::Context;
use meshprobe_rules::rules::{self, first_tag, is_about_template};
use meshprobe_tree::source::{SourceSet, chart_folder, paths, shell_word};

use super::not_judged::{ChartDeployments, ChartTree};

/// Returns a note for each chart and each folder with templates that are not rendered.
pub(super) fn unrendered_templates(context: &Context<'_>) -> Vec<Finding> {
    let mut findings = rules::unrendered(context.sources);
    explain_templates(context, &mut findings);
    merge_templates(context.sources, &mut findings);
    findings
}

/// Removes findings about templates of charts that are rendered as a part of another chart. The others name the chart,
/// and the command that renders it, with the values of its release if an object deploys it.
pub(super) fn explain_templates(context: &Context<'_>, findings: &mut Vec<Finding>) {
    if !findings.iter().any(is_about_template) {
        return;
    }
    let tree = ChartTree::new(context);
    let deployments = ChartDeployments::new(context);
    findings.retain_mut(|finding| {
        let Some(inner) = chart_folder(&finding.primary.path) else {
            return true;
        };
        if !is_about_template(finding) {
            return true;
        }
        let chart = tree.outermost(inner);
        if context.sources.has_rendered_chart(chart) {
            return false;
        }
        let is_in_templates = is_in_templates(context, finding);
        if is_in_templates {
            finding.message =
                format!("the chart in `{chart}` is not rendered: its templates were not checked");
        }
        let of_inner = || deployments.of(inner);
        if let Some(deployed) = deployments.of(chart).or_else(of_inner) {
            finding.help = Some(match deployed.help.starts_with('`') {
                true => format!("render it as it is deployed: {}", deployed.help),
                false => deployed.help,
            });
        } else if chart != inner || is_in_templates {
            let chart = shell_word(chart);
            finding.help = Some(format!(
                "render it first: `meshprobe check --helm auto {chart}`"
            ));
        }
        true
    });
}

/// Merges the findings about the templates of a chart, and those about templates with the same tag in a folder, into
/// the first of them.
pub(super) fn merge_templates(set: &SourceSet, findings: &mut Vec<Finding>) {
    let mut groups: HashMap<String, (Arc<str>, usize)> = HashMap::new();
    for finding in findings.iter().filter(|finding| is_about_template(finding)) {
        let path = &finding.primary.path;
        let entry = groups.entry(shared_message(set, finding));
        entry.or_insert_with(|| (Arc::clone(path), 0)).1 += 1;
    }
    findings.retain_mut(|finding| {
        if !is_about_template(finding) {
            return true;
        }
        let message = shared_message(set, finding);
        let Some((first, count)) = groups.get(&message) else {
            return true;
        };
        if *count > 1 {
            finding.primary.message = format!("the first of {count} templates");
            finding.message = message;
        }
        *first == finding.primary.path
    });
}

/// Returns the message that a finding about a template shares with those about the other templates of its chart, or of
/// its folder.
fn shared_message(set: &SourceSet, finding: &Finding) -> String {
    let path = &finding.primary.path;
    let file = set.file(path);
    let Some(file) = file.filter(|file| !file.chart_template) else {
        return finding.message.clone();
    };
    let tag = first_tag(file).map_or_else(String::new, |(_, marker)| marker.shown);
    let folder = match paths::folder(path).trim_end_matches('/') {
        "" => ".",
        folder => folder,
    };
    format!("the templates in `{folder}` (`{tag}`) are not rendered: they were not checked")
}

/// Returns whether a finding is about a file in the folder `templates` of a chart.
fn is_in_templates(context: &Context<'_>, finding: &Finding) -> bool {
    let file = context.sources.file(&finding.primary.path);
    file.is_some_and(|file| file.chart_template)
}
