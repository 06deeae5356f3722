//! Findings about templates, with what the whole tree contains about their charts.

use crate::context::Context;
use crate::finding::Finding;
use crate::rules::{self, is_about_template};
use crate::source::chart_folder;

use super::not_judged::{ChartDeployments, ChartTree, render_command};

/// Returns a note for each template that is not rendered.
pub(super) fn unrendered_templates(context: &Context<'_>) -> Vec<Finding> {
    let mut findings = rules::unrendered(context.sources);
    explain_templates(context, &mut findings);
    findings
}

/// Removes findings about templates of charts that are rendered as a part of another chart. The help of the others names
/// the chart that contains theirs, or the command that renders it with the values of its release.
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
        let of_inner = || deployments.of(inner);
        if let Some(deployed) = deployments.of(chart).or_else(of_inner) {
            finding.help = Some(format!("render it as it is deployed: {}", deployed.help));
        } else if chart != inner || is_in_templates(context, finding) {
            let command = render_command(context, chart);
            finding.help = Some(format!("render it first: {command}"));
        }
        true
    });
}

/// Returns whether a finding is about a file in the folder `templates` of a chart.
fn is_in_templates(context: &Context<'_>, finding: &Finding) -> bool {
    let file = context.sources.file(&finding.primary.path);
    file.is_some_and(|file| file.chart_template)
}
