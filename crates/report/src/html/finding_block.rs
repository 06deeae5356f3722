//! A finding with its texts and lines, and the lists of facts of predictions and of the run.

use std::collections::BTreeMap;

use hashbrown::HashMap;
use maud::{Markup, html};
use meshprobe_mesh::finding::{Finding, Label, docs_url};
use meshprobe_mesh::mesh::Mesh;
use meshprobe_predict::context::NotJudged;

use super::page::{Message, Text, severity_class};
use super::workloads::DecidingLine;
use crate::explanation::Line;
use crate::report_root::Places;
use crate::terminal_style::name_list;
use crate::text::{counted, fix_text, subject};
use meshprobe_engine::engine::{ProbeReport, WorkloadReport};

/// What the surroundings of a finding show already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shown<'a> {
    /// Nothing.
    Nothing,
    /// The object, and the lines at these places.
    Probe(&'a [&'a str]),
}

/// Returns the block of a finding.
pub(super) fn finding_block(places: Places<'_>, finding: &Finding, shown: Shown<'_>) -> Markup {
    let class = match finding.suppressed {
        Some(_) => "calm",
        None => severity_class(finding.severity),
    };
    html! {
        div class={ "finding " (class) } data-f=(status(finding)) {
            p.head {
                (tag(class, status(finding)))
                a.rule href=(Text(&docs_url(finding.rule))) { (finding.rule.as_str()) }
                (place_of(&places.place(&finding.primary)))
                (certainty(finding.certainty.as_str()))
            }
            p.msg { (Message(&finding.message)) }
            (fields(finding, shown))
            (related(places, finding, shown))
        }
    }
}

/// Returns the status by which a filter selects a finding: its severity, or `suppressed`.
pub(super) fn status(finding: &Finding) -> &'static str {
    match finding.suppressed {
        Some(_) => "suppressed",
        None => finding.severity.as_str(),
    }
}

/// Returns the mark of a status or a severity.
pub(super) fn tag(class: &str, text: &str) -> Markup {
    html! { span class={ "tag " (class) } { (Text(text)) } }
}

fn fields(finding: &Finding, shown: Shown<'_>) -> Markup {
    let object = Some(subject(finding)).filter(|text| shown == Shown::Nothing && !text.is_empty());
    let suppressed = finding.suppressed.as_ref().map(|suppression| {
        let (by, path, line) = (suppression.by.as_str(), &suppression.path, suppression.line);
        let at = format!("{by} in {path}:{line}");
        match suppression.reason.as_str() {
            "" => at,
            reason => format!("{at}: {reason}"),
        }
    });
    let mut rows: Vec<(&str, Markup)> = Vec::new();
    let mut add = |name, text: Option<String>| {
        rows.extend(text.map(|text| (name, html! { (Message(&text)) })));
    };
    add("suppressed by", suppressed);
    add("object", object);
    add("in", finding.environments_line());
    add("help", finding.help.clone());
    add("fix", finding.fix.as_ref().map(fix_text));
    for assumption in &finding.assumptions {
        add("assumed", Some(assumption.to_string()));
    }
    if let Some(kubelet) = finding.kubelet.as_ref().filter(|_| shown == Shown::Nothing) {
        rows.push(("kubelet", html! { code { (Text(kubelet)) } }));
    }
    field_list(rows)
}

/// Returns a list of names and values; empty for no rows.
pub(super) fn field_list(rows: Vec<(&str, Markup)>) -> Markup {
    html! {
        @if !rows.is_empty() {
            dl.fields { @for (name, value) in rows { div { dt { (Text(name)) } dd { (value) } } } }
        }
    }
}

/// Returns the lines that decide the finding, without those that its surroundings show.
fn related(places: Places<'_>, finding: &Finding, shown: Shown<'_>) -> Markup {
    let is_new = |(place, _): &(String, &Label)| !matches!(shown, Shown::Probe(known) if known.contains(&place.as_str()));
    let lines = finding
        .related
        .iter()
        .map(|label| (places.place(label), label));
    let lines: Vec<(String, &Label)> = lines.filter(is_new).collect();
    html! {
        @if !lines.is_empty() {
            ul.lines {
                @for (place, label) in &lines {
                    li {
                        (place_of(place)) span { (Message(&label.message)) }
                        @if let Some(line) = places.line(label) { pre { (Text(&line)) } }
                    }
                }
            }
        }
    }
}

/// Returns the list of the lines that decide.
pub(super) fn deciding_lines(lines: &[DecidingLine]) -> Markup {
    html! {
        @if !lines.is_empty() {
            h5 { "Lines that decide" }
            ul.lines {
                @for line in lines {
                    li {
                        @if let Some(place) = &line.place { (place_of(place)) }
                        @if let Some((name, value)) = &line.fact { b { (Text(&format!("{name} {value}"))) } }
                        span { (Message(&line.message)) }
                        (certainty(line.certainty))
                        @if let Some(text) = &line.text { pre { (Text(text)) } }
                    }
                }
            }
        }
    }
}

/// Returns the mark of a certainty; empty for an empty one.
pub(super) fn certainty(word: &str) -> Markup {
    html! { @if !word.is_empty() { span class={ "sure " (word) } { (word) } } }
}

/// Returns a place in a file.
pub(super) fn place_of(place: &str) -> Markup {
    html! { code.place { (Text(place)) } }
}

/// Returns the table of facts: value, certainty and reasons.
pub(super) fn fact_table(facts: &[Line]) -> Markup {
    html! {
        table.facts {
            thead { tr { @for name in ["fact", "value", "because"] { th scope="col" { (name) } } } }
            tbody {
                @for line in facts {
                    tr {
                        th scope="row" { (Text(line.name)) }
                        td { (Text(&line.value.to_string())) (certainty(line.certainty)) }
                        td {
                            @for reason in &line.because {
                                div {
                                    (Message(&reason.text.to_string()))
                                    @for place in &reason.places { (place_of(place)) }
                                    @if !reason.environments.is_empty() {
                                        (Text(&format!(" (in: {})", name_list(&reason.environments))))
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// The lists of facts of a report, numbered in the order of their first use.
#[derive(Debug, Default)]
pub(super) struct SharedFacts<'a> {
    numbers: HashMap<&'a [Line], usize>,
    lists: Vec<&'a [Line]>,
}

impl<'a> SharedFacts<'a> {
    /// Returns the link to a list of facts; empty for an empty one.
    pub(super) fn link(&mut self, facts: &'a [Line]) -> Markup {
        if facts.is_empty() {
            return Markup::default();
        }
        let next = self.lists.len();
        let number = *self.numbers.entry(facts).or_insert(next);
        if number == next {
            self.lists.push(facts);
        }
        html! { p.more { a href={ "#f" (number + 1) } { "Other facts of this prediction" } } }
    }

    /// Returns all lists, each with the id that links name; empty for no lists.
    pub(super) fn lists(&self) -> Markup {
        html! {
            @if !self.lists.is_empty() {
                p.lead { "Value, certainty and provenance of the facts to which the predictions link." }
                @for (number, facts) in (1_usize..).zip(&self.lists) {
                    details.factlist id={ "f" (number) } { summary { "Facts " (number) } (fact_table(facts)) }
                }
            }
        }
    }
}

fn probes(reports: &[WorkloadReport]) -> impl Iterator<Item = &ProbeReport> {
    reports.iter().flat_map(|workload| &workload.handlers)
}

/// Returns the release of each mesh, with its certainty and the number of predictions.
fn releases(reports: &[WorkloadReport]) -> impl Iterator<Item = (&'static str, Markup)> {
    let mut known: BTreeMap<(&str, &str, &str), usize> = BTreeMap::new();
    for probe in probes(reports) {
        let Some(mesh) = probe.route.mesh.map(Mesh::title) else {
            continue;
        };
        let release = probe.facts.iter().find(|fact| fact.name == "release");
        let (release, sure) = release.map_or(("", ""), |fact| (&*fact.value, fact.certainty));
        *known.entry((mesh, release, sure)).or_default() += 1;
    }
    known.into_iter().map(|((mesh, release, sure), count)| {
        let value = html! {
            (Text(format!("{mesh} {release}").trim_end())) (certainty(sure))
            span.n { (counted(count, "prediction")) }
        };
        ("mesh", value)
    })
}

/// Returns the facts of the run: the version, the releases of the meshes, and sentences.
pub(super) fn run_facts(reports: &[WorkloadReport], sentences: &[String]) -> Markup {
    let version = html! { "meshprobe " (env!("CARGO_PKG_VERSION")) };
    let mut rows = vec![("tool", version)];
    rows.extend(releases(reports));
    rows.extend(
        sentences
            .iter()
            .map(|text| ("note", html! { (Message(text)) })),
    );
    field_list(rows)
}

/// Returns the assumptions behind the predictions, with the number of predictions that each affects.
pub(super) fn assumptions(reports: &[WorkloadReport]) -> Markup {
    let mut known: BTreeMap<String, usize> = BTreeMap::new();
    for assumption in probes(reports).flat_map(|probe| &probe.assumptions) {
        *known.entry(assumption.to_string()).or_default() += 1;
    }
    html! {
        @if !known.is_empty() {
            ul.lines {
                @for (text, count) in known {
                    li { span { (Message(&text)) } span.n { (counted(count, "prediction")) } }
                }
            }
        }
    }
}

/// Returns what is not judged, with what to do.
pub(super) fn not_judged_list(places: Places<'_>, found: &[NotJudged]) -> Markup {
    html! {
        @if !found.is_empty() {
            ul.lines {
                @for found in found {
                    li {
                        (place_of(&places.place(&found.place)))
                        span { (Message(&found.place.message)) }
                        p { b { "help" } " " (Message(&found.help)) }
                    }
                }
            }
        }
    }
}
