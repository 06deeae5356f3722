//! The probes of a tree for which a pasted text is predicted.

use meshprobe_mesh::finding::Finding;
use meshprobe_predict::context::Context;
use meshprobe_predict::predict::{HandlerPrediction, WorkloadPrediction, handler_text};
use meshprobe_tree::source::SourceSet;
use meshprobe_yaml::Span;

use crate::rules;
use crate::symptoms::pattern::{Specificity, comparable};
use crate::symptoms::search::{Match, find};

/// A probe or hook of a tree that a symptom may be about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SymptomProbe {
    /// The file that the user edits.
    pub path: String,
    /// The line of the probe, if it is known.
    pub line: Option<usize>,
    /// The workload, such as `shop/Deployment/web`.
    pub workload: String,
    /// The container.
    pub container: String,
    /// The slot, such as `readinessProbe`.
    pub slot: &'static str,
    /// The handler as written, such as `http :8080/healthz`.
    pub written: String,
    /// The predicted outcome.
    pub outcome: &'static str,
    /// A short description of its cause.
    pub why: &'static str,
    /// The predicted text of the kubelet, if it is known.
    pub kubelet: Option<String>,
    /// The rules that report the probe.
    pub rules: Vec<String>,
    /// Whether the pasted text contains the predicted text, apart from addresses.
    pub is_same_text: bool,
}

/// Returns the probes for which the pasted text is predicted. If there are none, returns the probes for which another
/// text of the same symptom is predicted, such as one with another port, or whose rule the page of the symptom names.
#[must_use]
pub fn probes(
    context: &Context<'_>,
    predictions: &[WorkloadPrediction<'_>],
    text: &str,
    found: &[Match],
) -> Vec<SymptomProbe> {
    let findings = rules::check(context, predictions);
    let pasted = Pasted::new(text, found);
    let mut probes: Vec<SymptomProbe> = Vec::new();
    for pod in predictions.iter().filter(|pod| pod.is_target) {
        for handler in &pod.handlers {
            let Some(probe) = pasted.probe(context.sources, pod, handler, &findings) else {
                continue;
            };
            // Several overlays may deploy one probe.
            if !probes.contains(&probe) {
                probes.push(probe);
            }
        }
    }
    if probes.iter().any(|probe| probe.is_same_text) {
        probes.retain(|probe| probe.is_same_text);
    }
    probes
}

/// A pasted text with its best matches.
struct Pasted<'a> {
    comparable: String,
    best: Vec<&'a Match>,
}

impl<'a> Pasted<'a> {
    fn new(text: &str, found: &'a [Match]) -> Self {
        let specificity = found.first().map(|best| best.specificity);
        let best = found.iter();
        let best = best.filter(|found| Some(found.specificity) == specificity);
        Self {
            comparable: comparable(text),
            best: best.collect(),
        }
    }

    /// Returns the entry of a handler if the text may be about it.
    fn probe(
        &self,
        sources: &SourceSet,
        pod: &WorkloadPrediction<'_>,
        handler: &HandlerPrediction<'_>,
        findings: &[Finding],
    ) -> Option<SymptomProbe> {
        let verdict = &handler.verdict;
        if !verdict.outcome.is_bad() && !verdict.outcome.is_invalid() {
            return None;
        }
        let label = pod.workload.object.label_at(handler.handler.key.span(), "");
        let of_handler = |finding: &&Finding| {
            let probe = finding.probe.as_ref();
            probe.is_some_and(|probe| probe.path == label.path && probe.span == label.span)
        };
        let reported: Vec<&Finding> = findings.iter().filter(of_handler).collect();
        let kubelet = verdict.kubelet.as_deref();
        let is_same_text = kubelet.is_some_and(|text| self.comparable.contains(&comparable(text)));
        if !is_same_text && !self.is_similar(kubelet, &reported) {
            return None;
        }
        let mut rules: Vec<String> = reported
            .iter()
            .map(|finding| finding.rule.as_str().to_owned())
            .collect();
        rules.dedup();
        let (path, line) = location(sources, &label.path, label.span);
        Some(SymptomProbe {
            path,
            line,
            workload: workload_name(pod),
            container: handler.container.name().to_owned(),
            slot: handler.handler.slot.key(),
            written: handler_text(&handler.handler),
            outcome: verdict.outcome.as_str(),
            why: verdict.cause.describe(),
            kubelet: verdict.kubelet.clone(),
            rules,
            is_same_text,
        })
    }

    /// Returns whether the predicted text has one of the symptoms. If no text is predicted, or the pasted text does not
    /// contain the error, the rules decide.
    fn is_similar(&self, kubelet: Option<&str>, reported: &[&Finding]) -> bool {
        let predicted = kubelet.map(find).unwrap_or_default();
        self.best.iter().any(|pasted| {
            let symptom = pasted.symptom;
            let leads_to = predicted
                .first()
                .is_some_and(|best| best.symptom.id == symptom.id);
            let is_open = kubelet.is_none() || pasted.specificity < Specificity::Error;
            let names = || reported.iter().any(|finding| symptom.explains(finding));
            leads_to || (is_open && names())
        })
    }
}

/// Returns the file and the line that the user edits.
fn location(sources: &SourceSet, path: &str, span: Span) -> (String, Option<usize>) {
    match sources.source_of(path, span) {
        Some(source) => (
            source.path.to_string(),
            source.place.map(|(start, _)| start.line),
        ),
        None => {
            let line = sources.file(path).map(|file| file.line_of(span));
            (path.to_owned(), line)
        }
    }
}

/// Returns the name of a workload, with its namespace if one is known.
fn workload_name(pod: &WorkloadPrediction<'_>) -> String {
    let title = pod.workload.title();
    match &pod.namespace {
        Some(namespace) => format!("{namespace}/{title}"),
        None => title,
    }
}
