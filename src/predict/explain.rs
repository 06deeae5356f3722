//! Every fact behind a prediction, for `predict --explain`.

use crate::context::{Context, Dataplane};
use crate::finding::Label;
use crate::mesh::istio::rewrite::rewritten_since;
use crate::mesh::{Fact, Mesh, Reason};

use super::report::said_mode;
use super::row::{Row, merged, rows};
use super::{HandlerPrediction, MachinePrediction, WorkloadPrediction, World, worlds};

/// One fact, or one line of the verdict.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// What it is about: `dataplane`, `mTLS`, `outcome` …
    pub name: &'static str,
    /// Its value.
    pub value: String,
    /// How sure it is; empty for what is not a fact.
    pub certainty: &'static str,
    /// Where it comes from, one per reason.
    pub because: Vec<String>,
}

/// A handler with all its facts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explanation {
    /// `shop/Deployment/web: readinessProbe of container web`.
    pub title: String,
    /// `apps/web.yaml:31`.
    pub place: String,
    /// The facts in the order in which they are consulted, then the verdict.
    pub lines: Vec<Line>,
}

/// Explains every handler and every check of virtual machines, in the order of the files; nothing for
/// workloads that only state facts.
#[must_use]
pub fn explanations(
    context: &Context<'_>,
    predictions: &[WorkloadPrediction<'_>],
    machines: &[MachinePrediction<'_>],
) -> Vec<Explanation> {
    let of_handlers = of_handlers(context, predictions);
    let of_machines = machines.iter().map(|one| one.explain(context));
    merged(predictions, of_handlers, machines, of_machines)
}

fn of_handlers(context: &Context<'_>, predictions: &[WorkloadPrediction<'_>]) -> Vec<Explanation> {
    let mut rows = rows(predictions).into_iter();
    let mut explanations = Vec::new();
    for one in predictions.iter().filter(|one| one.is_target) {
        let worlds = worlds(context, one);
        for handler in &one.handlers {
            let Some(row) = rows.next() else { break };
            let mut explanation = one.explain(context, handler, row);
            explanation.lines.extend(otherwise(&worlds, handler));
            let by_release = handler.otherwise.clone();
            explanation
                .lines
                .extend(by_release.map(|said_of| said("otherwise", said_of)));
            explanations.push(explanation);
        }
    }
    explanations
}

impl WorkloadPrediction<'_> {
    fn explain(&self, context: &Context<'_>, of: &HandlerPrediction<'_>, row: Row) -> Explanation {
        let object = &self.workload.object;
        let key = object.label_at(of.handler.key.span(), String::new());
        let mut lines = vec![said("probe", row.probe)];
        lines.push(fact(context, "mesh", &self.mesh, |mesh| {
            mesh.map_or("none", Mesh::as_str).to_owned()
        }));
        lines.push(fact(context, "dataplane", &self.dataplane, |value| {
            value.as_str().to_owned()
        }));
        if matches!(
            self.dataplane.value,
            Dataplane::Sidecar | Dataplane::Uncaptured
        ) {
            lines.push(self.release_line(context, of));
        }
        if self.mesh.value.is_none_or(|mesh| mesh == Mesh::Istio) {
            lines.push(fact(context, "rewrite", &self.rewrite, |on| switch(*on)));
            lines.push(fact(
                context,
                "agent port",
                &self.status_port,
                ToString::to_string,
            ));
        }
        if let Some(captured) = &of.captured {
            lines.push(fact(context, "captured", captured, |yes| yes_no(*yes)));
        }
        if let Some(mtls) = &of.mtls {
            let said = said_mode(mtls).to_owned();
            lines.push(fact(context, "mTLS", mtls, |_| said));
        }
        if !row.becomes.is_empty() {
            lines.push(said("becomes", row.becomes));
        }
        let trail = of.trail.iter();
        lines.extend(trail.map(|(name, value)| said(name, value.clone())));
        let verdict = &of.verdict;
        let outcome = format!("{}: {}", verdict.outcome.as_str(), verdict.cause.describe());
        lines.push(Line {
            certainty: verdict.certainty.as_str(),
            ..said("outcome", outcome)
        });
        if let Some(kubelet) = &verdict.kubelet {
            lines.push(said("kubelet", kubelet.clone()));
        }
        for assumption in verdict.assumptions() {
            lines.push(said("assumed", assumption));
        }
        Explanation {
            title: format!("{}: {}", row.workload, of.title()),
            place: shown(context, &key),
            lines,
        }
    }
}

impl MachinePrediction<'_> {
    fn explain(&self, context: &Context<'_>) -> Explanation {
        let key = self.group.label_at(self.probe.key.span(), String::new());
        let row = self.row();
        let because = self.because.iter();
        let outcome = Line {
            name: "outcome",
            value: format!("{}: {}", row.outcome, row.why),
            certainty: self.certainty.as_str(),
            because: because.map(|one| reason(context, one)).collect(),
        };
        Explanation {
            title: format!("{}: probe", row.workload),
            place: shown(context, &key),
            lines: vec![said("probe", row.probe), outcome],
        }
    }
}

impl WorkloadPrediction<'_> {
    /// The release, and what it does not rewrite yet.
    fn release_line(&self, context: &Context<'_>, of: &HandlerPrediction<'_>) -> Line {
        let mut line = fact(context, "release", &self.release, |release| {
            release.map_or_else(|| "the latest".to_owned(), |release| release.to_string())
        });
        let action = of.handler.action.as_ref().ok();
        let since =
            action.and_then(|action| rewritten_since(action, of.handler.slot, of.container.list));
        if let Some((since, release)) = since.zip(self.release.value)
            && release < since
        {
            let said = format!("it leaves this handler alone, which is rewritten from {since} on");
            line.because.push(said);
        }
        line
    }
}

/// What becomes of a handler in another world, if that spoils it.
fn otherwise(worlds: &[World<'_>], handler: &HandlerPrediction<'_>) -> Option<Line> {
    let (world, there) = worlds.iter().find_map(|world| {
        let mut handlers = world.prediction.handlers.iter();
        let same = |one: &&HandlerPrediction<'_>| one.handler.within == handler.handler.within;
        Some((world, handlers.find(same)?))
    })?;
    let verdict = &there.verdict;
    let (outcome, cause) = (verdict.outcome.as_str(), verdict.cause.describe());
    let settles: Vec<&str> = world
        .suppositions
        .iter()
        .map(|(_, settle)| *settle)
        .collect();
    let value = format!(
        "{outcome} if {}: {cause} [{}]",
        world.said(),
        settles.join(", ")
    );
    Some(said("otherwise", value))
}

const fn said(name: &'static str, value: String) -> Line {
    Line {
        name,
        value,
        certainty: "",
        because: Vec::new(),
    }
}

fn fact<T>(
    context: &Context<'_>,
    name: &'static str,
    fact: &Fact<T>,
    value: impl FnOnce(&T) -> String,
) -> Line {
    let because = fact.because.iter().map(|one| reason(context, one));
    Line {
        name,
        value: value(&fact.value),
        certainty: fact.certainty.as_str(),
        because: because.collect(),
    }
}

fn reason(context: &Context<'_>, reason: &Reason) -> String {
    match (&reason.place, reason.settle) {
        (Some(place), _) => format!("{} ({})", reason.message, shown(context, place)),
        (None, Some(settle)) => format!("{} [{settle}]", reason.message),
        (None, None) => reason.message.clone(),
    }
}

/// `path:line` as people write it.
fn shown(context: &Context<'_>, place: &Label) -> String {
    match context.sources.file(&place.path) {
        Some(file) => format!("{}:{}", place.path, file.position(place.span.start).line),
        None => place.path.to_string(),
    }
}

fn switch(on: bool) -> String {
    if on { "on" } else { "off" }.to_owned()
}

fn yes_no(yes: bool) -> String {
    if yes { "yes" } else { "no" }.to_owned()
}
