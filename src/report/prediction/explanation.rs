//! Lists every fact behind a prediction, for `predict --explain`.

use meshprobe_mesh::finding::{Certainty, Label};
use meshprobe_mesh::mesh::istio::rewrite::rewritten_since;
use meshprobe_mesh::mesh::{Fact, Mesh, Reason};
use meshprobe_predict::context::{Context, Dataplane};
use meshprobe_predict::predict::{
    Alternative, Cause, EnvironmentNames, HandlerPrediction, MachinePrediction, Outcome, Verdict,
    WorkloadPrediction, alternatives,
};

use super::explanation_lines::{Explanation, Line, Noted};
use super::json::mode_text;
use super::merged_explanations::merge_environments;
use super::row::{handler_row, machine_row};
use super::shown::{Shown, in_file_order};

/// Formats the place of a reason.
pub(super) type Places<'a> = &'a dyn Fn(&Label) -> String;

/// Explains every handler and every check of virtual machines, in the order of the files. Merges the explanations of one
/// handler in several environments. Omits workloads that are only context.
#[must_use]
pub fn explanations(
    context: &Context<'_>,
    predictions: &[WorkloadPrediction<'_>],
    machines: &[MachinePrediction<'_>],
) -> Vec<Explanation> {
    explanations_at(context, predictions, machines, |_| true)
}

/// Explains, as [`explanations`] does, the handlers and checks whose key is at a place for which `is_wanted` returns true.
#[must_use]
pub fn explanations_at(
    context: &Context<'_>,
    predictions: &[WorkloadPrediction<'_>],
    machines: &[MachinePrediction<'_>],
    is_wanted: impl Fn(&Label) -> bool,
) -> Vec<Explanation> {
    let names = EnvironmentNames::of(predictions);
    let mut shown = of_handlers(context, predictions, &names, &is_wanted);
    let wanted = machines
        .iter()
        .filter(|machine| is_wanted(&key_of_machine(machine)));
    shown.extend(wanted.map(|machine| {
        let explanation = explain_machine(machine, &|place| format_place(context, place));
        Shown::new(&machine.group, &names, explanation)
    }));
    merge_environments(in_file_order(shown))
}

fn key_of_machine(machine: &MachinePrediction<'_>) -> Label {
    let key = machine.probe.key.span();
    machine.group.label_at(key, String::new())
}

fn of_handlers(
    context: &Context<'_>,
    predictions: &[WorkloadPrediction<'_>],
    names: &EnvironmentNames,
    is_wanted: &impl Fn(&Label) -> bool,
) -> Vec<Shown<Explanation>> {
    let mut explanations = Vec::new();
    for prediction in predictions.iter().filter(|prediction| prediction.is_target) {
        let object = &prediction.workload.object;
        let key = |handler: &HandlerPrediction<'_>| {
            object.label_at(handler.handler.key.span(), String::new())
        };
        let handlers: Vec<_> = prediction
            .handlers
            .iter()
            .filter(|handler| is_wanted(&key(handler)))
            .collect();
        if handlers.is_empty() {
            continue;
        }
        let alternatives = alternatives(context, prediction);
        for handler in handlers {
            let mut explanation =
                explain_handler(prediction, &|place| format_place(context, place), handler);
            explanation.lines.extend(otherwise(&alternatives, handler));
            let by_release = handler.by_other_release.clone();
            explanation
                .lines
                .extend(by_release.map(|outcome| plain_line("otherwise", outcome)));
            explanations.push(Shown::new(&prediction.workload.object, names, explanation));
        }
    }
    explanations
}

pub(super) fn explain_handler(
    pod: &WorkloadPrediction<'_>,
    places: Places<'_>,
    of: &HandlerPrediction<'_>,
) -> Explanation {
    let row = handler_row(pod, of);
    let object = &pod.workload.object;
    let key = object.label_at(of.handler.key.span(), String::new());
    let mut lines = vec![plain_line("probe", row.probe)];
    lines.push(fact_line(places, "mesh", &pod.mesh, |mesh| {
        mesh.map_or("none", Mesh::as_str).to_owned()
    }));
    lines.push(fact_line(places, "dataplane", &pod.dataplane, |value| {
        value.as_str().to_owned()
    }));
    if matches!(
        pod.dataplane.value,
        Dataplane::Sidecar | Dataplane::Uncaptured
    ) {
        lines.push(release_line(pod, places, of));
    }
    if pod.mesh.value.is_none_or(|mesh| mesh == Mesh::ISTIO) {
        lines.push(fact_line(places, "rewrite", &pod.rewrite, |on| {
            on_or_off(*on)
        }));
        lines.push(fact_line(
            places,
            "agent port",
            &pod.status_port,
            ToString::to_string,
        ));
    }
    if let Some(captured) = &of.captured {
        lines.push(fact_line(places, "captured", captured, |yes| yes_no(*yes)));
    }
    if let Some(mtls) = &of.mtls {
        let mode = mode_text(mtls).to_owned();
        lines.push(fact_line(places, "mTLS", mtls, |_| mode));
    }
    if !row.rewritten_to.is_empty() {
        lines.push(plain_line("becomes", row.rewritten_to));
    }
    let trail = of.explanation.iter();
    lines.extend(trail.map(|(name, value)| plain_line(name, value.clone())));
    let verdict = &of.verdict;
    let outcome = format!("{}: {}", verdict.outcome.as_str(), verdict.cause.describe());
    lines.push(Line {
        certainty: certainty_of(verdict.outcome, verdict.certainty),
        because: refused_because(pod, places, verdict),
        ..plain_line("outcome", outcome)
    });
    if let Some(kubelet) = &verdict.kubelet {
        lines.push(plain_line("kubelet", kubelet.clone()));
    }
    for assumption in verdict.assumptions() {
        lines.push(plain_line("assumed", assumption));
    }
    Explanation {
        title: format!("{}: {}", row.workload, of.title()),
        place: places(&key),
        environments: Vec::new(),
        lines,
    }
}

/// Returns the lines because of which the pod or the handler is refused, without those about the dataplane.
fn refused_because(
    pod: &WorkloadPrediction<'_>,
    places: Places<'_>,
    verdict: &Verdict,
) -> Vec<Noted> {
    let shows_lines = matches!(
        verdict.cause,
        Cause::HostForbidden | Cause::Malformed | Cause::PodRefused
    );
    let because = verdict.because.iter().filter(|reason| {
        shows_lines && reason.place.is_some() && !pod.dataplane.because.contains(reason)
    });
    because.map(|reason| noted(places, reason)).collect()
}

pub(super) fn explain_machine(machine: &MachinePrediction<'_>, places: Places<'_>) -> Explanation {
    let key = key_of_machine(machine);
    let row = machine_row(machine);
    let because = machine.because.iter();
    let outcome = Line {
        name: "outcome",
        value: format!("{}: {}", row.outcome, row.why),
        certainty: certainty_of(machine.outcome, machine.certainty),
        because: because.map(|reason| noted(places, reason)).collect(),
        environments: Vec::new(),
    };
    Explanation {
        title: format!("{}: {}", row.workload, row.title()),
        place: places(&key),
        environments: Vec::new(),
        lines: vec![plain_line("probe", row.probe), outcome],
    }
}

/// Returns the line about the release, with a note if it does not rewrite the handler yet.
fn release_line(
    pod: &WorkloadPrediction<'_>,
    places: Places<'_>,
    of: &HandlerPrediction<'_>,
) -> Line {
    let mut line = fact_line(places, "release", &pod.release, |release| {
        release.map_or_else(|| "the latest".to_owned(), |release| release.to_string())
    });
    let action = of.handler.action.as_ref().ok();
    let since =
        action.and_then(|action| rewritten_since(action, of.handler.slot, of.container.list));
    if let Some((since, release)) = since.zip(pod.release.value)
        && release < since
    {
        let note = format!("this release does not rewrite the handler; {since} and later do");
        line.because.push(note.into());
    }
    line
}

/// Returns the line about the first alternative that breaks a handler, if there is one.
pub(super) fn otherwise(
    alternatives: &[Alternative<'_>],
    handler: &HandlerPrediction<'_>,
) -> Option<Line> {
    let (alternative, other) = alternatives.iter().find_map(|alternative| {
        let mut handlers = alternative.prediction.handlers.iter();
        let is_same =
            |candidate: &&HandlerPrediction<'_>| candidate.handler.within == handler.handler.within;
        Some((alternative, handlers.find(is_same)?))
    })?;
    let verdict = &other.verdict;
    let (outcome, cause) = (verdict.outcome.as_str(), verdict.cause.describe());
    let settles: Vec<&str> = alternative
        .suppositions
        .iter()
        .map(|(_, settle)| *settle)
        .collect();
    let value = format!(
        "{outcome} if {}: {cause} [{}]",
        alternative.description(),
        settles.join(", ")
    );
    Some(plain_line("otherwise", value))
}

/// Returns the certainty of an outcome; empty if the outcome is unknown.
fn certainty_of(outcome: Outcome, certainty: Certainty) -> &'static str {
    match outcome {
        Outcome::Unknown => "",
        _ => certainty.as_str(),
    }
}

const fn plain_line(name: &'static str, value: String) -> Line {
    Line {
        name,
        value,
        certainty: "",
        because: Vec::new(),
        environments: Vec::new(),
    }
}

fn fact_line<T>(
    places: Places<'_>,
    name: &'static str,
    fact: &Fact<T>,
    value: impl FnOnce(&T) -> String,
) -> Line {
    let because = fact.because.iter().map(|reason| noted(places, reason));
    // The value of an unknown fact is only assumed.
    let (value, certainty) = match fact.certainty {
        Certainty::Unknown => ("unknown".to_owned(), ""),
        certainty => (value(&fact.value), certainty.as_str()),
    };
    Line {
        name,
        value,
        certainty,
        because: because.collect(),
        environments: Vec::new(),
    }
}

pub(super) fn noted(places: Places<'_>, reason: &Reason) -> Noted {
    let place = reason.place.as_ref();
    let settle = reason.settle.filter(|_| place.is_none());
    let settle = settle.map(|settle| format!(" [{settle}]"));
    let text = format!("{}{}", reason.message, settle.unwrap_or_default());
    Noted {
        places: place.map(places).into_iter().collect(),
        ..text.into()
    }
}

/// Formats a place as `path:line`.
fn format_place(context: &Context<'_>, place: &Label) -> String {
    match context.sources.file(&place.path) {
        Some(file) => format!("{}:{}", place.path, file.position(place.span.start).line),
        None => place.path.to_string(),
    }
}

fn on_or_off(on: bool) -> String {
    if on { "on" } else { "off" }.to_owned()
}

fn yes_no(yes: bool) -> String {
    if yes { "yes" } else { "no" }.to_owned()
}
