//! Formats the answers of `meshprobe explain`.

use meshprobe_engine::engine::SymptomProbe;
use meshprobe_rules::symptoms::{self, Match, Symptom};
use serde::Serialize;

use super::escape::escape_control;
use super::rules::first_sentence;
use super::terminal_style::{TerminalStyle, Tone};

/// The longest line of a pasted text that is repeated, in characters.
const SHOWN_LINE: usize = 200;

/// Returns the list of all symptoms, each with its title and the first sentence of its page.
#[must_use]
pub fn symptom_list() -> String {
    let entry = |symptom: &Symptom| {
        let (title, summary) = (symptom.title(), symptom.summary());
        let summary = first_sentence(&summary);
        format!("{}\n    {title}\n    {summary}\n", symptom.id)
    };
    symptoms::all().iter().map(entry).collect()
}

/// Returns the page of the best match, with the line that it was found by, and the names of the other matches.
#[must_use]
pub fn symptom_page(found: &[Match], style: TerminalStyle) -> String {
    let Some((best, others)) = found.split_first() else {
        return String::new();
    };
    let id = style.paint(Tone::Strong, best.symptom.id);
    let line = one_line(&best.line);
    let mut text = format!("{id}: {line}\n");
    if !others.is_empty() {
        let ids: Vec<&str> = others.iter().map(|other| other.symptom.id).collect();
        text.push_str(&format!(
            "also matches: {} (`meshprobe explain ID` shows the page)\n",
            ids.join(", ")
        ));
    }
    text.push('\n');
    text.push_str(&best.symptom.text());
    text
}

/// Returns a line of a pasted text without control characters, shortened.
fn one_line(line: &str) -> String {
    let joined = line.split_whitespace().collect::<Vec<_>>().join(" ");
    let escaped = escape_control(&joined).into_owned();
    if escaped.chars().count() <= SHOWN_LINE {
        return escaped;
    }
    let shown: String = escaped.chars().take(SHOWN_LINE).collect();
    format!("{shown}…")
}

/// Returns the probes of a tree that a text may be about, each with its line, outcome and rules.
#[must_use]
pub fn symptom_probes(probes: &[SymptomProbe<'_>], style: TerminalStyle) -> String {
    let heading = match probes {
        [] => {
            return "## Probes of the tree\n\nThis text is not predicted for any probe.\n"
                .to_owned();
        }
        [first, ..] if first.is_same_text => "This text is predicted for:",
        _ => "This symptom is predicted for:",
    };
    let mut text = format!("## Probes of the tree\n\n{heading}\n\n");
    for found in probes {
        let (workload, probe) = (&found.workload.title, found.probe);
        let line = probe.line.map(|line| format!(":{line}"));
        let place = format!("{}{}", found.path(), line.unwrap_or_default());
        let place = style.paint(Tone::Strong, &escape_control(&place));
        let title = format!("{workload}: {} ({})", probe.title(), probe.written);
        text.push_str(&format!("{place}: {}\n", escape_control(&title)));
        text.push_str(&format!("    {}: {}\n", probe.outcome.as_str(), probe.why));
        if !found.rules.is_empty() {
            text.push_str(&format!("    rule: {}\n", found.rules.join(", ")));
        }
        if let Some(kubelet) = probe.kubelet.as_ref().filter(|_| !found.is_same_text) {
            text.push_str(&format!("    kubelet: {}\n", escape_control(kubelet)));
        }
    }
    text
}

/// Returns an answer in JSON, version 1: the symptoms, the best first, and the probes if paths were given.
///
/// # Errors
/// Never in practice: all keys are strings.
pub fn symptoms_json(
    found: &[SymptomMatch<'_>],
    probes: Option<&[SymptomProbe<'_>]>,
) -> serde_json::Result<String> {
    let report = Report {
        version: 1,
        symptoms: found.iter().map(SymptomEntry::new).collect(),
        probes: probes.map(|probes| probes.iter().map(ProbeEntry::new).collect()),
    };
    Ok(serde_json::to_string_pretty(&report)? + "\n")
}

/// A symptom with the line that shows it, if it was found in a text.
#[derive(Clone, Debug)]
pub struct SymptomMatch<'a> {
    /// The symptom.
    pub symptom: &'static Symptom,
    /// The line of the pasted text.
    pub line: Option<&'a str>,
}

impl<'a> From<&'a Match> for SymptomMatch<'a> {
    fn from(found: &'a Match) -> Self {
        Self {
            symptom: found.symptom,
            line: Some(&found.line),
        }
    }
}

#[derive(Serialize)]
struct Report<'a> {
    version: u32,
    symptoms: Vec<SymptomEntry<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    probes: Option<Vec<ProbeEntry<'a>>>,
}

#[derive(Serialize)]
struct SymptomEntry<'a> {
    id: &'static str,
    title: &'static str,
    summary: String,
    line: Option<&'a str>,
    rules: Vec<String>,
    url: String,
    docs: String,
}

impl<'a> SymptomEntry<'a> {
    fn new(found: &SymptomMatch<'a>) -> Self {
        let symptom = found.symptom;
        Self {
            id: symptom.id,
            title: symptom.title(),
            summary: symptom.summary(),
            line: found.line,
            rules: symptom.rules(),
            url: symptom.docs_url(),
            docs: symptom.text(),
        }
    }
}

#[derive(Serialize)]
struct ProbeEntry<'a> {
    path: &'a str,
    line: Option<usize>,
    workload: &'a str,
    container: &'a str,
    slot: &'a str,
    probe: &'a str,
    outcome: &'a str,
    why: &'a str,
    kubelet: Option<&'a str>,
    rules: &'a [&'static str],
    same_text: bool,
}

impl<'a> ProbeEntry<'a> {
    fn new(found: &'a SymptomProbe<'a>) -> Self {
        let probe = found.probe;
        Self {
            path: found.path(),
            line: probe.line,
            workload: &found.workload.title,
            container: &probe.container,
            slot: probe.slot,
            probe: &probe.written,
            outcome: probe.outcome.as_str(),
            why: probe.why,
            kubelet: probe.kubelet.as_deref(),
            rules: &found.rules,
            same_text: found.is_same_text,
        }
    }
}
