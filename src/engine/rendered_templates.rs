//! Findings about templates, with what the whole tree contains about their charts.

use crate::context::Context;
use crate::finding::Finding;
use crate::rules::{self, is_about_template};
use crate::source::chart_folder;

use super::not_judged::{ChartDeployments, ChartTree};

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
        } else if chart != inner {
            finding.help = Some(format!(
                "render it first: `helm template {chart} | meshprobe check --context . -`"
            ));
        }
        true
    });
}
