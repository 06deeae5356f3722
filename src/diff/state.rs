//! The predictions and findings of one state.

use crate::context::{Context, NotJudged};
use crate::engine::{Fixes, Outcome, RenderedOverlays, check_with_view};
use crate::finding::Finding;
use crate::predict::{self, EnvironmentNames, WorkloadPrediction};
use crate::settings::Settings;
use crate::source::{SourceSet, chart_of_output};

use super::probe_state::ProbeState;

/// The predictions and findings of one state.
#[derive(Clone, Debug, Default)]
pub struct State {
    /// The predictions of all handlers that are reported, in the order of the files.
    pub probes: Vec<ProbeState>,
    /// The findings that the user has not suppressed.
    pub findings: Vec<Finding>,
    /// The findings that the user has suppressed.
    pub suppressed: Vec<Finding>,
    /// What runs pods and is not judged.
    pub not_judged: Vec<NotJudged>,
    /// The folder or the file of the tree, as shown to the user. Paths that identify a probe are relative to it.
    pub root: String,
}

impl State {
    /// Predicts and checks all files. `rendered` is empty, or belongs to the same files. `root` is the folder or the file to which paths in identities are relative; empty for the
    /// working directory.
    #[must_use]
    pub fn of(
        set: &SourceSet,
        rendered: &RenderedOverlays,
        settings: &Settings,
        root: &str,
    ) -> (Self, Outcome) {
        let (outcome, probes) = check_with_view(
            set,
            rendered,
            settings,
            Fixes::Removed,
            |context, predictions| {
                predict::sort_by_place(predictions);
                probes_of(context, predictions, root)
            },
        );
        let state = Self {
            probes: probes.unwrap_or_default(),
            findings: outcome.findings.clone(),
            suppressed: outcome.suppressed.clone(),
            not_judged: outcome.not_judged.clone(),
            root: root.to_owned(),
        };
        (state, outcome)
    }

    /// Returns whether the user has suppressed what `check` reports about a handler.
    pub(super) fn is_suppressed(&self, probe: &ProbeState) -> bool {
        let is_about = |finding: &Finding| {
            let reported = finding.probe.as_ref();
            reported.is_some_and(|reported| {
                reported.path == probe.place.path && reported.span == probe.place.span
            })
        };
        self.suppressed.iter().any(is_about) && !self.findings.iter().any(is_about)
    }
}

/// Returns the predictions of all handlers that are reported.
fn probes_of(
    context: &Context<'_>,
    predictions: &[WorkloadPrediction<'_>],
    root: &str,
) -> Vec<ProbeState> {
    let names = EnvironmentNames::of(predictions);
    let relative = |path: &str| relative(path, root);
    let reported = predictions.iter().filter(|pod| pod.is_target);
    let handlers = reported.flat_map(|pod| {
        let overlay = pod.workload.object.overlay;
        let environment = overlay.map(|overlay| names.name(overlay));
        pod.handlers.iter().map(move |handler| {
            ProbeState::of_handler(
                pod,
                handler,
                environment.clone(),
                context.sources,
                &relative,
            )
        })
    });
    let machines = predict::machines(context);
    let machines = machines
        .iter()
        .map(|machine| ProbeState::of_machine(machine, &relative));
    handlers.chain(machines).collect()
}

/// Returns a path relative to the tree. A rendered file of a chart counts as the folder of the chart.
pub(super) fn relative(path: &str, root: &str) -> String {
    below_root(chart_of_output(path).unwrap_or(path), root).to_owned()
}

/// Returns a path relative to `root`; empty for the root itself, and unchanged outside of it.
pub(super) fn below_root<'p>(path: &'p str, root: &str) -> &'p str {
    let below = path
        .strip_prefix(root)
        .filter(|rest| root.is_empty() || rest.is_empty() || rest.starts_with('/'));
    match below {
        Some(rest) if !root.is_empty() => rest.trim_start_matches('/'),
        _ => path,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_relative_to_the_root() {
        assert_eq!(below_root("a/b.yaml", ""), "a/b.yaml");
        assert_eq!(below_root("/a/b.yaml", ""), "/a/b.yaml");
        assert_eq!(below_root("a/b.yaml", "a"), "b.yaml");
        assert_eq!(below_root("ab/c.yaml", "a"), "ab/c.yaml");
        assert_eq!(below_root("a.yaml", "a.yaml"), "");
    }
}
