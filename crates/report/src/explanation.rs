//! The facts behind a prediction, as lines: for `predict --explain`, for editors, and for HTML.

use std::borrow::Cow;
use std::fmt::{self, Display, Formatter, Write as _};
use std::sync::Arc;

use hashbrown::HashMap;
use meshprobe_mesh::finding::{Assumption, Certainty, Label};
use meshprobe_mesh::mesh::Reason;
use meshprobe_predict::predict::{Cause, Outcome};
use meshprobe_tree::source::SourceSet;

use super::escape::{code_span, inline_markdown};
use super::terminal_style::{in_note, name_list};
use meshprobe_engine::engine::{ProbeReport, WorkloadReport};

/// Formats the place of a reason.
pub(super) type Format<'a> = &'a dyn Fn(&Label) -> String;

/// Explains every handler and every check of virtual machines, in the order of the files. Merges the explanations of one
/// handler in several environments. The reports contain all facts.
#[must_use]
pub fn explain(set: &SourceSet, reports: &[WorkloadReport]) -> Vec<Explanation> {
    let place = |place: &Label| match set.file(&place.path) {
        Some(file) => format!("{}:{}", place.path, file.position(place.span.start).line),
        None => place.path.to_string(),
    };
    let shown = in_file_order(reports).into_iter().flat_map(|workload| {
        let handlers = workload.handlers.iter();
        handlers.map(move |probe| (workload, explanation(workload, probe, &place)))
    });
    merge_environments(shown)
}

/// Sorts workloads by file and document, then by the kustomization that renders the document.
pub(super) fn in_file_order(reports: &[WorkloadReport]) -> Vec<&WorkloadReport> {
    let mut reports: Vec<&WorkloadReport> = reports.iter().collect();
    reports.sort_by_key(|report| (&report.written_in, &report.rendered_by));
    reports
}

fn explanation(workload: &WorkloadReport, probe: &ProbeReport, place: Format<'_>) -> Explanation {
    let code = |name, text: &str| plain_line(name, Statement::Code(text.to_owned()));
    let mut lines = vec![code("probe", &probe.written)];
    lines.extend(fact_lines(probe, place));
    if !probe.rewritten_to.is_empty() {
        let becomes = code("becomes", &probe.rewritten_to);
        lines.insert(1 + probe.facts.len(), becomes);
    }
    lines.push(Line {
        certainty: match probe.outcome {
            Outcome::Unknown => "",
            _ => probe.certainty.as_str(),
        },
        because: outcome_because(workload, probe)
            .map(|reason| noted(place, reason))
            .collect(),
        ..plain_line(OUTCOME, Statement::Outcome(probe.outcome, probe.why))
    });
    if !workload.is_machine {
        let kubelet = probe.kubelet.iter();
        lines.extend(kubelet.map(|text| code("kubelet", text)));
        let assumed = probe.assumptions.iter();
        lines.extend(assumed.map(|known| plain_line("assumed", known.clone().into())));
        let otherwise = probe.otherwise.iter();
        lines.extend(otherwise.map(|known| plain_line("otherwise", known.clone().into())));
    }
    Explanation {
        title: format!("{}: {}", workload.title, probe.title()),
        place: place(&probe.place),
        environments: Vec::new(),
        lines,
    }
}

/// Returns the reasons of an outcome that its line names: those for which the pod or the handler is refused, without those
/// about the dataplane, and all those of a virtual machine.
fn outcome_because<'r>(
    workload: &'r WorkloadReport,
    probe: &'r ProbeReport,
) -> impl Iterator<Item = &'r Reason> {
    let is_refused = matches!(
        probe.cause,
        Some(Cause::HostForbidden | Cause::Malformed | Cause::PodRefused)
    );
    let because = probe.because.iter().map(|entry| &entry.reason);
    because.filter(move |reason| {
        let mut dataplane = workload.dataplane.because.iter();
        let mut is_own = || !dataplane.any(|entry| entry.reason == **reason);
        workload.is_machine || is_refused && reason.place.is_some() && is_own()
    })
}

/// Returns the facts of a probe, and the lines that its mesh adds.
pub(super) fn fact_lines(probe: &ProbeReport, place: Format<'_>) -> Vec<Line> {
    let facts = probe.facts.iter().map(|fact| {
        let because = fact.because.iter().map(|reason| noted(place, reason));
        Line {
            certainty: fact.certainty,
            because: because
                .chain(fact.note.clone().map(|note| Statement::from(note).into()))
                .collect(),
            ..plain_line(fact.name, fact.value.clone().into())
        }
    });
    let trail = probe.trail.iter();
    let trail = trail.map(|(name, value)| plain_line(name, value.clone().into()));
    facts.chain(trail).collect()
}

/// Returns a reason with its place, or with the option that settles it.
pub(super) fn noted(place: Format<'_>, reason: &Reason) -> Noted {
    let shown = reason.place.as_ref();
    let settle = reason.settle.filter(|_| shown.is_none());
    let statement = Assumption {
        fact: reason.message.clone(),
        option: settle.map(Cow::Borrowed),
    };
    Noted {
        places: shown.map(place).into_iter().collect(),
        ..Noted::from(Statement::from(statement))
    }
}

/// Returns the certainty of a reason on its own; empty if it depends on the fact.
pub(super) const fn own_certainty(reason: &Reason) -> &'static str {
    if reason.is_assumed_by_user {
        Certainty::Assumed.as_str()
    } else if reason.place.is_some() {
        Certainty::Known.as_str()
    } else {
        ""
    }
}

fn plain_line(name: &'static str, value: Statement) -> Line {
    Line {
        name,
        value,
        certainty: "",
        because: Vec::new(),
        environments: Vec::new(),
    }
}

/// What a line or a reason states.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Statement {
    /// A sentence.
    Text(String),
    /// A handler, or the text of the kubelet.
    Code(String),
    /// The outcome, and why.
    Outcome(Outcome, &'static str),
    /// A fact, with the option that settles it.
    Settled(String, Cow<'static, str>),
}

impl From<String> for Statement {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<Assumption> for Statement {
    fn from(Assumption { fact, option }: Assumption) -> Self {
        match option {
            Some(option) => Self::Settled(fact, option),
            None => Self::Text(fact),
        }
    }
}

impl Display for Statement {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) | Self::Code(text) => f.write_str(text),
            Self::Outcome(outcome, why) => write!(f, "{}: {why}", outcome.as_str()),
            Self::Settled(fact, option) => write!(f, "{fact} [{option}]"),
        }
    }
}

impl Statement {
    fn markdown(&self) -> String {
        match self {
            Self::Text(text) => inline_markdown(text),
            Self::Code(text) => code_span(text),
            Self::Outcome(outcome, why) => {
                format!("**{}**: {}", outcome.as_str(), inline_markdown(why))
            }
            Self::Settled(fact, option) => {
                format!("{} ({})", inline_markdown(fact), code_span(option))
            }
        }
    }
}

/// One fact, or one line of the verdict.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Line {
    /// The name of the fact: `dataplane`, `mTLS`, `outcome` …
    pub name: &'static str,
    /// Its value.
    pub value: Statement,
    /// Its certainty; empty for a line that is not a fact.
    pub certainty: &'static str,
    /// Its provenance, one item per reason.
    pub because: Vec<Noted>,
    /// The names of the environments to which it applies; empty if it applies to all.
    pub environments: Vec<Arc<str>>,
}

/// A reason, with the environments to which it applies.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Noted {
    /// The reason, with the option that settles it.
    pub text: Statement,
    /// The places that show it, such as `apps/web.yaml:31`, in the order of the environments.
    pub places: Vec<String>,
    /// The names of the environments; empty if it applies to all of the line.
    pub environments: Vec<Arc<str>>,
}

impl From<Statement> for Noted {
    fn from(text: Statement) -> Self {
        Self {
            text,
            places: Vec::new(),
            environments: Vec::new(),
        }
    }
}

/// A handler with all its facts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explanation {
    /// `shop/Deployment/web: readinessProbe of container web`.
    pub title: String,
    /// `apps/web.yaml:31`.
    pub place: String,
    /// The names of its environments; empty if only one deploys the workload.
    pub environments: Vec<Arc<str>>,
    /// The facts in the order in which they are consulted, then the verdict.
    pub lines: Vec<Line>,
}

/// Merges the explanations of each handler in all environments. A line or a reason that does not apply to all of them
/// names those to which it applies.
fn merge_environments<'r>(
    shown: impl Iterator<Item = (&'r WorkloadReport, Explanation)>,
) -> Vec<Explanation> {
    let mut merged: Vec<(Explanation, bool)> = Vec::new();
    let mut numbers = HashMap::new();
    for (workload, item) in shown {
        let next = merged.len();
        let Some(environment) = &workload.environment else {
            merged.push((item, false));
            continue;
        };
        let key = (&workload.written_in, item.title.clone(), item.place.clone());
        let number = *numbers.entry(key).or_insert(next);
        let item = item.within(environment);
        match merged.get_mut(number) {
            // Several objects of one environment may have the same title.
            Some((first, _)) if !first.environments.contains(environment) => first.merge(item),
            _ => merged.push((item, workload.is_shared)),
        }
    }
    let merged = merged.into_iter();
    merged
        .map(|(item, is_shared)| item.finished(is_shared))
        .collect()
}

impl Explanation {
    /// Names the environment in all parts of the explanation.
    fn within(mut self, environment: &Arc<str>) -> Self {
        self.environments.push(Arc::clone(environment));
        for line in &mut self.lines {
            line.environments.push(Arc::clone(environment));
            for reason in &mut line.because {
                reason.environments.push(Arc::clone(environment));
            }
        }
        self
    }

    /// Adds the lines of another environment. Lines with one name stay adjacent.
    fn merge(&mut self, other: Self) {
        let mut next = 0;
        for line in other.lines {
            let lines = &mut self.lines;
            let equal = lines.iter().position(|known| known.is_equal(&line));
            let of_name = lines.iter().rposition(|known| known.name == line.name);
            next = match (equal.and_then(|at| Some((at, lines.get_mut(at)?))), of_name) {
                (Some((at, known)), _) => {
                    known.merge(line);
                    at + 1
                }
                (None, at) => {
                    let at = at.map_or(next, |at| at + 1);
                    lines.insert(at, line);
                    at + 1
                }
            };
        }
        self.environments.extend(other.environments);
    }

    /// Omits the environments of parts that apply to all of them, and the only environment of a workload.
    fn finished(mut self, is_shared: bool) -> Self {
        let all = self.environments.len();
        let keep = |environments: &mut Vec<Arc<str>>| {
            if environments.len() == all {
                environments.clear();
            }
        };
        for line in &mut self.lines {
            line.because = merge_places(std::mem::take(&mut line.because));
            for reason in &mut line.because {
                // The reasons of a line that names its environments apply to the same ones.
                if reason.environments.len() == line.environments.len() {
                    reason.environments.clear();
                }
                keep(&mut reason.environments);
            }
            keep(&mut line.environments);
        }
        if all == 1 && !is_shared {
            self.environments.clear();
        }
        self
    }
}

impl Line {
    fn is_equal(&self, other: &Self) -> bool {
        (self.name, &self.value, self.certainty) == (other.name, &other.value, other.certainty)
    }

    fn merge(&mut self, other: Self) {
        for reason in other.because {
            let known = self
                .because
                .iter_mut()
                .find(|known| (&known.text, &known.places) == (&reason.text, &reason.places));
            match known {
                Some(Noted { environments, .. }) => environments.extend(reason.environments),
                None => self.because.push(reason),
            }
        }
        self.environments.extend(other.environments);
    }
}

/// Merges equal reasons of different environments that have different places.
fn merge_places(reasons: Vec<Noted>) -> Vec<Noted> {
    let mut merged: Vec<Noted> = Vec::new();
    for reason in reasons {
        let is_elsewhere = |known: &&mut Noted| {
            let mut environments = reason.environments.iter();
            known.text == reason.text && !environments.any(|name| known.environments.contains(name))
        };
        match merged.iter_mut().find(is_elsewhere) {
            Some(known) if !reason.environments.is_empty() => {
                known.places.extend(reason.places);
                known.environments.extend(reason.environments);
            }
            _ => merged.push(reason),
        }
    }
    merged
}

/// The name of the line with the outcome.
const OUTCOME: &str = "outcome";

/// Returns an explanation in Markdown. `link` returns the URL of a place such as `apps/web.yaml:31`, if it has one.
#[must_use]
pub fn explanation_markdown(
    explanation: &Explanation,
    link: &dyn Fn(&str) -> Option<String>,
) -> String {
    let mut out = format!("**{}**\n\n", inline_markdown(&explanation.title));
    if !explanation.environments.is_empty() {
        let environments = inline_markdown(&name_list(&explanation.environments));
        // Writing to a string cannot fail.
        let _ = writeln!(out, "- **in** {environments}");
    }
    // The outcome is first, because editors cut a long text.
    let (outcomes, facts): (Vec<&Line>, Vec<&Line>) = explanation
        .lines
        .iter()
        .partition(|line| line.name == OUTCOME);
    for line in outcomes.into_iter().chain(facts) {
        out.push_str(&item(line, link));
    }
    out
}

fn item(line: &Line, link: &dyn Fn(&str) -> Option<String>) -> String {
    let certainty = match line.certainty {
        "" => String::new(),
        word => format!(" *({word})*"),
    };
    let note = note(&line.environments);
    let mut out = format!(
        "- **{}** {}{certainty}{note}\n",
        line.name,
        line.value.markdown()
    );
    for reason in &line.because {
        let _ = writeln!(out, "  - {}", because(reason, link));
    }
    out
}

/// Returns a reason with links to its places.
fn because(reason: &Noted, link: &dyn Fn(&str) -> Option<String>) -> String {
    let places = reason.places.iter().map(|place| match link(place) {
        Some(url) => format!("[{}]({url})", inline_markdown(place)),
        None => inline_markdown(place),
    });
    let places: Vec<String> = places.collect();
    let note = note(&reason.environments);
    let text = reason.text.markdown();
    match places.as_slice() {
        [] => format!("{text}{note}"),
        places => format!("{text} ({}){note}", places.join(", ")),
    }
}

/// Returns ` (in: prod-eu)`; empty for no environments.
fn note(environments: &[Arc<str>]) -> String {
    match in_note(environments).as_str() {
        "" => String::new(),
        note => format!(" {}", inline_markdown(note)),
    }
}
