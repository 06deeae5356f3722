//! Copies predictions into plain data, with the facts behind them.

use std::sync::Arc;

use hashbrown::{HashMap, HashSet};
use meshprobe_mesh::finding::{Assumption, Certainty, ObjectRef, sentence_list};
use meshprobe_mesh::kube::Object;
use meshprobe_mesh::mesh::istio::mtls::MtlsMode;
use meshprobe_mesh::mesh::istio::rewrite::rewritten_since;
use meshprobe_mesh::mesh::{Fact, Mesh};
use meshprobe_predict::context::{Context, Dataplane};
use meshprobe_predict::predict;
use meshprobe_predict::predict::{
    Alternative, EnvironmentNames, HandlerPrediction, MachinePrediction, RouteFacts,
    WorkloadPrediction, handler_text, rewritten_text,
};
use meshprobe_tree::source::{SourceSet, chart_of_output};
use rayon::iter::{IntoParallelRefIterator as _, ParallelIterator as _};

use super::probe_report::{
    AgentTarget, BecomesReport, DocumentKey, FactLine, FactReport, HeaderReport, ProbeReport,
    ReasonEntry, RenderedEntry, WorkloadReport, source_location,
};

/// Reports the handlers of all workloads that are targets, then the checks of virtual machines, in the order of the
/// predictions.
#[must_use]
pub fn report(
    context: &Context<'_>,
    predictions: &[WorkloadPrediction<'_>],
) -> Vec<WorkloadReport> {
    let names = EnvironmentNames::of(predictions);
    let shared = shared_workloads(predictions, &names);
    let reporter = Reporter {
        context,
        names: &names,
    };
    let mut reports: Vec<WorkloadReport> = predictions
        .par_iter()
        .filter(|pod| pod.is_target)
        .map(|pod| {
            let mut workload = reporter.workload(pod);
            workload.is_shared = shared.contains(&workload.title);
            workload
        })
        .collect();
    let machines = predict::machines(context).into_iter();
    reports.extend(machines.map(|machine| reporter.machine(&machine)));
    reports
}

/// Returns the names of the workloads that several environments deploy, also environments that are not reported. Each may
/// deploy another file.
fn shared_workloads(
    predictions: &[WorkloadPrediction<'_>],
    names: &EnvironmentNames,
) -> HashSet<String> {
    let mut first: HashMap<String, Arc<str>> = HashMap::new();
    let mut shared = HashSet::new();
    for pod in predictions {
        if let Some(overlay) = &pod.workload.object.overlay {
            let (environment, title) = (names.name(overlay), pod.full_name());
            let known = first.entry_ref(&*title);
            if *known.or_insert_with(|| Arc::clone(&environment)) != environment {
                shared.insert(title);
            }
        }
    }
    shared
}

fn document_of(object: &Object<'_>) -> DocumentKey {
    match chart_of_output(object.path()) {
        Some(folder) => (folder.to_owned(), 0),
        None => (object.path().to_string(), object.document.index),
    }
}

struct Reporter<'a, 't> {
    context: &'a Context<'t>,
    names: &'a EnvironmentNames,
}

impl Reporter<'_, '_> {
    fn workload(&self, pod: &WorkloadPrediction<'_>) -> WorkloadReport {
        let set = self.context.sources;
        let alternatives = match pod.handlers.is_empty() {
            true => Vec::new(),
            false => predict::alternatives(self.context, pod),
        };
        let handlers = pod
            .handlers
            .iter()
            .map(|handler| self.handler(pod, handler, &alternatives));
        WorkloadReport {
            mesh: fact_report(set, &pod.mesh, |mesh| mesh.map(Mesh::as_str)),
            dataplane: fact_report(set, &pod.dataplane, |dataplane| dataplane.as_str()),
            handlers: handlers.collect(),
            title: pod.full_name(),
            claims: other_claims(pod),
            is_prerewritten: pod.is_prerewritten(),
            ..self.object(&pod.workload.object, pod.namespace.as_ref())
        }
    }

    fn machine(&self, machine: &MachinePrediction<'_>) -> WorkloadReport {
        let (set, group) = (self.context.sources, &machine.group);
        let key = machine.probe.key.span();
        let mut own = group.label_at(key, "");
        (own.path, own.span) = (Arc::clone(group.path()), key);
        let location = source_location(set, &own);
        let probe = ProbeReport {
            slot: "probe",
            kind: machine.kind,
            field: "spec.probe".to_owned(),
            line: location.line(),
            rendered: RenderedEntry::of(&location),
            outcome: machine.outcome,
            certainty: machine.certainty,
            assumptions: predict::assumptions(&machine.because),
            because: ReasonEntry::all(set, &machine.because),
            written: machine.written.clone(),
            why: machine.why,
            route: RouteFacts::of_machine(machine),
            ..ProbeReport::at(group.label_at(key, ""))
        };
        let namespace = machine.namespace.as_ref();
        let prefix = namespace.map(|namespace| format!("{namespace}/"));
        WorkloadReport {
            path: location.path.to_string(),
            rendered: RenderedEntry::of(&location),
            handlers: vec![probe],
            title: format!(
                "{}WorkloadGroup/{}",
                prefix.unwrap_or_default(),
                group.name()
            ),
            is_machine: true,
            ..self.object(group, namespace)
        }
    }

    /// Returns the report of an object without its probes and facts.
    fn object(&self, object: &Object<'_>, namespace: Option<&String>) -> WorkloadReport {
        let mut place = object.label_at(object.name_span(), "");
        let shown = place.clone();
        (place.path, place.span) = (Arc::clone(object.path()), object.name_span());
        let location = source_location(self.context.sources, &place);
        let rendering = object.rendered_by;
        WorkloadReport {
            path: location.path.to_string(),
            document: object.document.index,
            rendered: RenderedEntry::of(&location),
            object: ObjectRef {
                namespace: namespace.cloned(),
                ..object.reference()
            },
            overlay: object.overlay.as_ref().map(ToString::to_string),
            mesh: FactReport::unknown(None),
            dataplane: FactReport::unknown(Dataplane::Unknown.as_str()),
            handlers: Vec::new(),
            title: String::new(),
            is_machine: false,
            is_prerewritten: false,
            place: shown,
            environment: object
                .overlay
                .as_ref()
                .map(|overlay| self.names.name(overlay)),
            is_shared: false,
            written_in: document_of(object),
            rendered_by: rendering.map(|rendering| Arc::clone(&rendering.root)),
            claims: String::new(),
        }
    }

    fn handler(
        &self,
        pod: &WorkloadPrediction<'_>,
        of: &HandlerPrediction<'_>,
        alternatives: &[Alternative<'_>],
    ) -> ProbeReport {
        let (set, object) = (self.context.sources, &pod.workload.object);
        let (handler, verdict) = (&of.handler, &of.verdict);
        let place = object.label_at(handler.key.span(), "");
        let location = source_location(set, &place);
        let other = otherwise(alternatives, of).into_iter();
        let rewritten_to = of.rewritten_to.as_ref();
        ProbeReport {
            container: of.container.name().to_owned(),
            list: Some(of.container.list),
            slot: handler.slot.key(),
            kind: handler
                .action
                .as_ref()
                .map_or("unreadable", |action| action.key()),
            field: handler.within.to_string(),
            path: (place.path != *object.path()).then(|| location.path.to_string()),
            line: location.line(),
            rendered: RenderedEntry::of(&location),
            rewritten: of.rewritten,
            captured: of.captured.as_ref().map(|fact| fact.value),
            mtls: of.mtls.as_ref().map(mode_text),
            outcome: verdict.outcome,
            certainty: verdict.certainty,
            kubelet: verdict.kubelet.clone(),
            becomes: becomes(of),
            assumptions: verdict.assumptions(),
            because: ReasonEntry::all(set, &verdict.because),
            written: handler_text(handler),
            rewritten_to: rewritten_to
                .map(|to| rewritten_text(to, of.rewritten_host()))
                .unwrap_or_default(),
            cause: Some(verdict.cause),
            why: verdict.cause.describe(),
            route: RouteFacts::of_handler(pod, of),
            facts: facts(pod, of),
            trail: of.explanation.clone(),
            otherwise: other.chain(of.by_other_release.clone()).collect(),
            ..ProbeReport::at(place)
        }
    }
}

fn fact_report<T: Copy, U>(
    set: &SourceSet,
    fact: &Fact<T>,
    value: impl FnOnce(T) -> U,
) -> FactReport<U> {
    FactReport {
        value: value(fact.value),
        certainty: fact.certainty,
        because: ReasonEntry::all(set, &fact.because),
    }
}

/// Returns the handler after the rewrite, if it is rewritten.
fn becomes(of: &HandlerPrediction<'_>) -> Option<BecomesReport> {
    let rewritten_to = of.rewritten_to.as_ref()?;
    let headers = of.rewritten_headers().iter().cloned();
    let http_get = AgentTarget {
        path: rewritten_to.path.clone(),
        port: rewritten_to.port,
        scheme: rewritten_to.scheme,
        host: of.rewritten_host().map(str::to_owned),
        http_headers: headers
            .map(|(name, value)| HeaderReport { name, value })
            .collect(),
    };
    Some(BecomesReport { http_get })
}

/// Returns the name of a mode; `unknown` if another tool fills it in.
fn mode_text(mode: &Fact<MtlsMode>) -> &'static str {
    match mode.certainty {
        Certainty::Unknown => "unknown",
        _ => mode.value.as_str(),
    }
}

/// Returns the end of the description of a cause that names the other meshes which inject the pod.
fn other_claims(pod: &WorkloadPrediction<'_>) -> String {
    let others = || pod.claims.iter().skip(1);
    let titles: Vec<&str> = others().map(|claim| claim.mesh.title()).collect();
    let is_certain = others().all(|claim| claim.is_certain);
    match (titles.as_slice(), pod.mesh.value) {
        ([], _) | (_, None) => String::new(),
        (titles, Some(mesh)) => format!(
            " (judged for {}; {}also injected by {})",
            mesh.title(),
            if is_certain { "" } else { "possibly " },
            sentence_list(titles)
        ),
    }
}

/// Returns the facts behind a prediction, in the order in which they are consulted.
fn facts(pod: &WorkloadPrediction<'_>, of: &HandlerPrediction<'_>) -> Vec<FactLine> {
    let on_or_off = |on: &bool| if *on { "on" } else { "off" }.to_owned();
    let yes_no = |yes: &bool| if *yes { "yes" } else { "no" }.to_owned();
    let mut lines = vec![
        fact_line("mesh", &pod.mesh, |mesh| {
            mesh.map_or("none", Mesh::as_str).to_owned()
        }),
        fact_line("dataplane", &pod.dataplane, |value| {
            value.as_str().to_owned()
        }),
    ];
    if matches!(
        pod.dataplane.value,
        Dataplane::Sidecar | Dataplane::Uncaptured
    ) {
        lines.push(release_line(pod, of));
    }
    if pod.mesh.value.is_none_or(|mesh| mesh == Mesh::ISTIO) {
        lines.push(fact_line("rewrite", &pod.rewrite, on_or_off));
        let port = &pod.status_port;
        lines.push(fact_line("agent port", port, ToString::to_string));
    }
    let captured = of.captured.iter();
    lines.extend(captured.map(|captured| fact_line("captured", captured, yes_no)));
    let mtls = of.mtls.iter();
    lines.extend(mtls.map(|mtls| fact_line("mTLS", mtls, |_| mode_text(mtls).to_owned())));
    lines
}

/// Returns the line about the release, with a note if it does not rewrite the handler yet.
fn release_line(pod: &WorkloadPrediction<'_>, of: &HandlerPrediction<'_>) -> FactLine {
    let action = of.handler.action.as_ref().ok();
    let since =
        action.and_then(|action| rewritten_since(action, of.handler.slot, of.container.list));
    let later = since
        .zip(pod.release.value)
        .filter(|(since, release)| release < since);
    FactLine {
        note: later.map(|(since, _)| {
            format!("this release does not rewrite the handler; {since} and later do")
        }),
        ..fact_line("release", &pod.release, |release| {
            release.map_or_else(|| "the latest".to_owned(), |release| release.to_string())
        })
    }
}

fn fact_line<T>(name: &'static str, fact: &Fact<T>, value: impl FnOnce(&T) -> String) -> FactLine {
    // The value of an unknown fact is only assumed.
    let (value, certainty) = match fact.certainty {
        Certainty::Unknown => ("unknown".to_owned(), ""),
        certainty => (value(&fact.value), certainty.as_str()),
    };
    FactLine {
        name,
        value,
        certainty,
        because: fact.because.clone(),
        note: None,
    }
}

/// Returns the line about the first alternative that breaks a handler, if there is one.
fn otherwise(alternatives: &[Alternative<'_>], of: &HandlerPrediction<'_>) -> Option<Assumption> {
    let (alternative, other) = alternatives.iter().find_map(|alternative| {
        let mut handlers = alternative.prediction.handlers.iter();
        let same = handlers.find(|other| other.handler.within == of.handler.within);
        Some((alternative, same?))
    })?;
    let verdict = &other.verdict;
    let (outcome, cause) = (verdict.outcome.as_str(), verdict.cause.describe());
    let suppositions = alternative.suppositions.iter();
    let settles: Vec<&str> = suppositions.map(|(_, settle)| *settle).collect();
    Some(Assumption {
        fact: format!("{outcome} if {}: {cause}", alternative.description()),
        option: Some(settles.join(", ").into()),
    })
}
