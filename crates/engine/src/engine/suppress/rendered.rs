//! Looks up annotations of rendered objects that suppress findings.

use std::ptr::from_ref;

use hashbrown::HashMap;
use meshprobe_mesh::finding::{Finding, Label, RuleId};
use meshprobe_predict::predict::WorkloadPrediction;
use meshprobe_rules::rules::notices::rule_names;

use super::collect::{entries, lines_before, of_annotation};

/// The rendered workloads with such annotations.
#[derive(Debug, Default)]
pub(in crate::engine) struct AnnotatedPods<'p, 't> {
    /// The workloads by the name of their object, in order.
    by_name: HashMap<&'t str, Vec<AnnotatedPod<'p, 't>>>,
}

#[derive(Debug)]
struct AnnotatedPod<'p, 't> {
    prediction: &'p WorkloadPrediction<'t>,
    /// The lines by the rule and container that they name.
    lines: HashMap<(RuleId, Option<String>), Vec<Line>>,
}

/// A line of an annotation that names a rule.
#[derive(Clone, Debug)]
pub(super) struct Line {
    /// The location of the value in the source file.
    pub(super) place: Label,
    pub(super) reason: String,
    /// The number of lines from the start of the value to this line.
    pub(super) before: usize,
    /// The index among the lines of the pod.
    order: usize,
}

impl<'p, 't> AnnotatedPods<'p, 't> {
    /// Collects the annotations of rendered workloads.
    pub(in crate::engine) fn of(predictions: &'p [WorkloadPrediction<'t>]) -> Self {
        let mut by_name: HashMap<&'t str, Vec<AnnotatedPod<'p, 't>>> = HashMap::new();
        let rendered = predictions
            .iter()
            .filter(|prediction| prediction.workload.object.rendered_by.is_some());
        for prediction in rendered {
            let lines = lines(prediction);
            if !lines.is_empty() {
                let name = prediction.workload.object.name();
                let found = by_name.entry(name).or_default();
                found.push(AnnotatedPod { prediction, lines });
            }
        }
        Self { by_name }
    }

    /// Returns the lines about a finding on those of `pods` that have the object of the finding.
    pub(super) fn lines_about(
        &self,
        finding: &Finding,
        pods: &[WorkloadPrediction<'_>],
    ) -> Vec<Line> {
        let Some(about) = &finding.object else {
            return Vec::new();
        };
        let Some(annotated) = self.by_name.get(about.name.as_str()) else {
            return Vec::new();
        };
        // `pods` is a part of the predictions.
        let range = pods.as_ptr_range();
        let range = range.start.addr()..range.end.addr();
        let matching = annotated
            .iter()
            .filter(|pod| range.contains(&from_ref(pod.prediction).addr()))
            .filter(|pod| pod.prediction.workload.object.reference() == *about);
        let mut found = Vec::new();
        for pod in matching {
            let lines_of = |container: Option<String>| {
                let key = (finding.rule, container);
                pod.lines.get(&key).into_iter().flatten().cloned()
            };
            let for_container = finding
                .container
                .iter()
                .flat_map(|name| lines_of(Some(name.clone())));
            let mut lines: Vec<Line> = for_container.chain(lines_of(None)).collect();
            lines.sort_by_key(|line| line.order);
            found.extend(lines);
        }
        found
    }
}

fn lines(prediction: &WorkloadPrediction<'_>) -> HashMap<(RuleId, Option<String>), Vec<Line>> {
    let object = &prediction.workload.object;
    let mut found: HashMap<_, Vec<Line>> = HashMap::new();
    let mut order = 0;
    for entry in entries(object, Some(&prediction.workload)) {
        let place = object.label_at(entry.value.span(), String::new());
        let text = entry.value.text().unwrap_or_default();
        for (index, line) in text.lines().enumerate() {
            let Some(suppression) = of_annotation(line) else {
                continue;
            };
            order += 1;
            for name in suppression.names {
                let line = Line {
                    place: place.clone(),
                    reason: suppression.reason.clone(),
                    before: lines_before(entry.value, index),
                    order,
                };
                let Some(rule) = rule_names().find(&name.rule) else {
                    continue;
                };
                let known = found.entry((rule, name.container)).or_default();
                // A value may contain the same name twice.
                if known
                    .last()
                    .is_none_or(|last: &Line| last.place != line.place)
                {
                    known.push(line);
                }
            }
        }
    }
    found
}
