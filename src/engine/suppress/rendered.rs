//! Annotations that silence findings, as they stand on rendered objects.

use std::ptr::from_ref;

use hashbrown::HashMap;

use crate::finding::{Finding, Label};
use crate::predict::WorkloadPrediction;

use super::collect::{entries, lines_before};
use super::directive::of_annotation;

/// The rendered workloads that carry such annotations.
#[derive(Debug, Default)]
pub(in crate::engine) struct AnnotatedPods<'p, 't> {
    /// By name of their object, in their order.
    by_name: HashMap<&'t str, Vec<AnnotatedPod<'p, 't>>>,
}

#[derive(Debug)]
struct AnnotatedPod<'p, 't> {
    prediction: &'p WorkloadPrediction<'t>,
    /// By the rule and the container that they name.
    lines: HashMap<(String, Option<String>), Vec<Line>>,
}

/// A line of an annotation that names a rule.
#[derive(Clone, Debug)]
pub(super) struct Line {
    /// The value, in the file where it is written.
    pub(super) place: Label,
    pub(super) reason: String,
    /// How many lines of the file the value has before it.
    pub(super) before: usize,
    /// Its number among the lines of the pod.
    order: usize,
}

impl<'p, 't> AnnotatedPods<'p, 't> {
    /// Collects the annotations of rendered workloads.
    pub(in crate::engine) fn of(predictions: &'p [WorkloadPrediction<'t>]) -> Self {
        let mut by_name: HashMap<&'t str, Vec<AnnotatedPod<'p, 't>>> = HashMap::new();
        let rendered = predictions
            .iter()
            .filter(|one| one.workload.object.rendered_by.is_some());
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

    /// Lists the lines about a finding on those of `pods` that it may be about.
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
        // Both are in the order of the predictions.
        let range = pods.as_ptr_range();
        let (start, end) = (range.start.addr(), range.end.addr());
        let address = |one: &AnnotatedPod<'_, '_>| from_ref(one.prediction).addr();
        let first = annotated.partition_point(|one| address(one) < start);
        let here = annotated
            .iter()
            .skip(first)
            .take_while(|one| address(one) < end);
        let here = here.filter(|one| one.prediction.workload.object.reference() == *about);
        let mut found = Vec::new();
        for pod in here {
            let of = |container: Option<String>| {
                let key = (finding.rule.to_owned(), container);
                pod.lines.get(&key).into_iter().flatten().cloned()
            };
            let named = finding
                .container
                .iter()
                .flat_map(|name| of(Some(name.clone())));
            let mut lines: Vec<Line> = named.chain(of(None)).collect();
            lines.sort_by_key(|line| line.order);
            found.extend(lines);
        }
        found
    }
}

fn lines(prediction: &WorkloadPrediction<'_>) -> HashMap<(String, Option<String>), Vec<Line>> {
    let object = &prediction.workload.object;
    let mut found: HashMap<_, Vec<Line>> = HashMap::new();
    let mut order = 0;
    for entry in entries(object, Some(&prediction.workload)) {
        let place = object.label_at(entry.value.span(), String::new());
        let text = entry.value.text().unwrap_or_default();
        for (index, line) in text.lines().enumerate() {
            let Some(said) = of_annotation(line) else {
                continue;
            };
            order += 1;
            for name in said.names {
                let line = Line {
                    place: place.clone(),
                    reason: said.reason.clone(),
                    before: lines_before(entry.value, index),
                    order,
                };
                let known = found.entry((name.rule, name.container)).or_default();
                // What a value says twice is said once.
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
