//! The reports of `check` and `predict`: the workloads with their probes, and the findings.

use hashbrown::HashSet;
use maud::{Markup, html};
use meshprobe_mesh::finding::Finding;
use meshprobe_predict::context::NotJudged;
use meshprobe_tree::source::SourceSet;

use super::filters::{filters, overview};
use super::finding_block::{
    SharedFacts, Shown, assumptions, finding_block, not_judged_list, run_facts, status,
};
use super::page::{Page, Tile, tiles};
use super::probe_card::workload_list;
use super::workloads::Workloads;
use crate::not_judged::{COMMANDS_ABOVE, nothing_judged};
use crate::report_root::{Places, ReportRoot};
use crate::results::Results;
use crate::summary::{counted_files, milder, not_shown, unproven_release_note};
use crate::text::counted;
use meshprobe_engine::engine::WorkloadReport;

/// Returns the result of `check` as one HTML file.
#[must_use]
pub fn html_check(results: &Results<'_>, reports: &[WorkloadReport]) -> String {
    let outcome = results.outcome;
    let summary = &outcome.summary;
    let mut sentences = vec![format!("read {}", counted_files(results.set, outcome))];
    sentences.extend(
        not_shown(summary)
            .into_iter()
            .map(|text| format!("not shown: {text}")),
    );
    sentences.extend(milder(results.set, summary));
    sentences.extend(nothing_judged(outcome, COMMANDS_ABOVE));
    let unproven = summary.unproven_release;
    sentences.extend(unproven.map(|(mesh, release)| unproven_release_note(mesh, release)));
    let numbers = [
        ("bad", "errors", summary.errors),
        ("warn", "warnings", summary.warnings),
        ("note", "notes", summary.notes),
        ("calm", "suppressed", summary.suppressed),
    ];
    let parts = Parts {
        title: "Health probes in the mesh",
        places: results.places(),
        findings: outcome.all(),
        tiles: numbers
            .map(|(class, name, count)| Tile { class, name, count })
            .to_vec(),
        not_judged: &outcome.not_judged,
        sentences,
        counts: Some((summary.workloads, summary.handlers)),
    };
    page(parts, reports)
}

/// Returns the result of `predict` as one HTML file. `findings` are the parts of the files that could not be read.
#[must_use]
pub fn html_predict(
    set: &SourceSet,
    root: &ReportRoot,
    reports: &[WorkloadReport],
    findings: &[Finding],
    not_judged: &[NotJudged],
) -> String {
    let parts = Parts {
        title: "Predicted health probes",
        places: Places {
            set,
            root: Some(root),
        },
        findings: findings.iter().collect(),
        tiles: Vec::new(),
        not_judged,
        sentences: Vec::new(),
        counts: None,
    };
    page(parts, reports)
}

/// What the reports of both commands have in common.
struct Parts<'a> {
    title: &'static str,
    places: Places<'a>,
    findings: Vec<&'a Finding>,
    tiles: Vec<Tile>,
    not_judged: &'a [NotJudged],
    sentences: Vec<String>,
    /// The numbers of workloads and handlers of a summary.
    counts: Option<(usize, usize)>,
}

fn page(parts: Parts<'_>, reports: &[WorkloadReport]) -> String {
    let places = parts.places;
    let workloads = Workloads::new(places, reports, &parts.findings);
    let mut facts = SharedFacts::default();
    let list = workload_list(places, &mut facts, &workloads);
    let findings = other_findings(places, &workloads.other_findings);
    let sections = vec![
        ("overview", "Overview", overview(&workloads)),
        ("workloads", "Workloads", list),
        ("findings", "Other findings", findings),
        (
            "not-judged",
            "Not judged",
            not_judged_list(places, parts.not_judged),
        ),
        ("assumptions", "Assumptions", assumptions(reports)),
        (
            "run",
            "About this run",
            run_facts(reports, &parts.sentences),
        ),
        ("facts", "Facts", facts.lists()),
    ];
    let page = Page {
        title: parts.title,
        header: header(&workloads, reports, parts.counts, parts.tiles),
        filters: form(&workloads, &parts.findings),
        sections,
    };
    page.into_html()
}

fn header(
    workloads: &Workloads<'_>,
    reports: &[WorkloadReport],
    counts: Option<(usize, usize)>,
    mut all: Vec<Tile>,
) -> Markup {
    let number: usize = workloads.cards.iter().map(|card| card.probes.len()).sum();
    let probes: usize = reports.iter().map(|report| report.handlers.len()).sum();
    let distinct = || {
        let reports = reports.iter();
        let judged = reports.filter(|report| !report.handlers.is_empty());
        let pods: HashSet<_> = judged
            .map(|report| (&report.written_in, &report.overlay, &report.title))
            .collect();
        (pods.len(), probes)
    };
    let counts = counts.unwrap_or_else(distinct);
    for (name, count) in [("workloads", counts.0), ("probes", counts.1)] {
        all.push(Tile {
            class: "plain",
            name,
            count,
        });
    }
    html! {
        (tiles(&all))
        @if probes == 0 {
            p.lead { "Nothing was judged: the files contain no workload with a probe." }
        } @else if probes != number {
            p.lead {
                (counted(number, "probe"))
                " in the manifests: a probe counts once for each environment that deploys it."
            }
        }
    }
}

fn other_findings(places: Places<'_>, findings: &[&Finding]) -> Markup {
    html! {
        @for finding in findings {
            div.item data-kind="finding" data-s=(status(finding)) {
                (finding_block(places, finding, Shown::Nothing))
            }
        }
    }
}

fn form(workloads: &Workloads<'_>, findings: &[&Finding]) -> Markup {
    let count = |word| {
        let findings = findings.iter();
        (word, findings.filter(|found| status(found) == word).count())
    };
    let probes = workloads.cards.iter().flat_map(|card| &card.probes);
    let clean = probes.filter(|probe| probe.findings.is_empty()).count();
    let words = ["error", "warning", "note", "suppressed"].map(count);
    filters("Findings", words.into_iter().chain([("none", clean)]))
}
