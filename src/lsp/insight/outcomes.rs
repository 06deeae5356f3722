//! The outcomes of one probe in all its environments.

use std::cell::OnceCell;
use std::fmt::Write as _;
use std::sync::Arc;

use meshprobe_predict::predict::{EnvironmentNames, Outcome, WorkloadPrediction};

use super::handlers::PredictedHandler;
use crate::lsp::analysis::Analysis;

/// The names of the environments, which few probes need.
#[derive(Debug)]
pub(in crate::lsp) struct Names<'s, 't> {
    predictions: &'s [WorkloadPrediction<'t>],
    names: OnceCell<EnvironmentNames>,
}

impl<'s, 't> Names<'s, 't> {
    /// Computes the names when the first is needed.
    pub(in crate::lsp) fn of(analysis: &Analysis<'s, 't>) -> Self {
        let predictions = analysis.facts.map(|facts| facts.predictions);
        Self {
            predictions: predictions.unwrap_or_default(),
            names: OnceCell::new(),
        }
    }

    fn name(&self, overlay: &Arc<str>) -> Arc<str> {
        let names = || EnvironmentNames::of(self.predictions);
        self.names.get_or_init(names).name(overlay)
    }
}

/// The outcomes of one probe, each with the environments that have it.
#[derive(Clone, Debug, Default)]
pub(in crate::lsp) struct Outcomes<'s, 't> {
    predictions: Vec<PredictedHandler<'s, 't>>,
}

impl<'s, 't> Outcomes<'s, 't> {
    /// Adds the prediction for another environment.
    pub(in crate::lsp) fn add(&mut self, prediction: PredictedHandler<'s, 't>) {
        self.predictions.push(prediction);
    }

    /// Returns whether the probe is part of a mesh anywhere.
    pub(in crate::lsp) fn is_in_mesh(&self) -> bool {
        let mut outcomes = self.predictions.iter().map(outcome);
        outcomes.any(|outcome| outcome != Outcome::NotInMesh)
    }

    /// Returns the first prediction.
    pub(in crate::lsp) fn first(&self) -> Option<&PredictedHandler<'s, 't>> {
        self.predictions.first()
    }

    /// Returns the outcome, such as `fails`, or `fails (prod-us), ok (prod-eu)` if the environments differ.
    pub(in crate::lsp) fn text(&self, names: &Names<'_, '_>) -> String {
        let mut groups: Vec<(Outcome, Vec<&PredictedHandler<'_, '_>>)> = Vec::new();
        for prediction in &self.predictions {
            let outcome = outcome(prediction);
            match groups.iter_mut().find(|(known, _)| *known == outcome) {
                Some((_, group)) => group.push(prediction),
                None => groups.push((outcome, vec![prediction])),
            }
        }
        if let [(outcome, _)] = groups.as_slice() {
            return outcome.as_str().to_owned();
        }
        let mut text = String::new();
        for (outcome, group) in groups {
            let overlays = group
                .iter()
                .filter_map(|of| of.workload.workload.object.overlay.as_ref());
            let environments: Vec<Arc<str>> = overlays.map(|overlay| names.name(overlay)).collect();
            let separator = if text.is_empty() { "" } else { ", " };
            // Writing to a string cannot fail.
            let _ = write!(text, "{separator}{}", outcome.as_str());
            if !environments.is_empty() {
                let _ = write!(text, " ({})", environments.join(", "));
            }
        }
        text
    }
}

fn outcome(prediction: &PredictedHandler<'_, '_>) -> Outcome {
    prediction.handler.verdict.outcome
}
