//! `textDocument/hover`: on a probe, what `predict --explain` prints; on a line that decides probes, these probes; on a label
//! or annotation of a mesh, its meaning.

use gen_lsp_types::{Hover, HoverParams};
use meshprobe_yaml::Span;

use super::known_key;
use super::known_key::markup;
use crate::analysis::Analysis;
use crate::insight::{Cursor, Decision, decided_by, span_in};
use meshprobe_engine::engine::{ProbeReport, WorkloadReport};
use meshprobe_report::{explain, explanation_markdown, inline_markdown};

/// The maximum number of probes that a hover lists.
const LISTED: usize = 20;

/// Returns what meshprobe knows about the text at the position.
pub(super) fn answer(analysis: &Analysis, params: &HoverParams) -> Option<Hover> {
    let cursor = Cursor::of(analysis, &params.text_document_position_params)?;
    let (span, text) = match explanation(analysis, &cursor) {
        Some(explained) => explained,
        None => (cursor.entry()?.key.span(), about_line(analysis, &cursor)?),
    };
    Some(Hover {
        contents: markup(text).into(),
        range: Some(analysis.range(cursor.file, span)),
    })
}

/// Returns the explanations of the probe around the position, one for each group of environments, with the span of its key.
fn explanation(analysis: &Analysis, cursor: &Cursor<'_>) -> Option<(Span, String)> {
    let is_around = |probe: &&ProbeReport| {
        let span = span_in(cursor.file, &probe.place);
        let mut entries = cursor.entries.iter();
        span.is_some_and(|span| entries.any(|entry| entry.key.span() == span))
    };
    let mut reports = Vec::new();
    for workload in &analysis.workloads {
        let handlers: Vec<_> = workload
            .handlers
            .iter()
            .filter(is_around)
            .cloned()
            .collect();
        if !handlers.is_empty() {
            reports.push(WorkloadReport {
                handlers,
                ..workload.clone()
            });
        }
    }
    let mut probes = reports.iter().flat_map(|workload| &workload.handlers);
    let key = probes.next()?.place.span;
    let link = |place: &str| url(analysis, place);
    let texts: Vec<String> = explain(&analysis.set, &reports)
        .iter()
        .map(|explanation| explanation_markdown(explanation, &link))
        .collect();
    Some((key, texts.join("\n---\n\n")))
}

/// Returns the meaning of the label or annotation at the position, and the probes that the text at the position decides.
fn about_line(analysis: &Analysis, cursor: &Cursor<'_>) -> Option<String> {
    let meaning = known_key::at(cursor);
    let decisions = cursor
        .subject()
        .map(|span| decided_by(analysis, cursor.file, span))
        .unwrap_or_default();
    let decided = (!decisions.is_empty()).then(|| list(analysis, &decisions));
    let parts: Vec<String> = meaning.into_iter().chain(decided).collect();
    (!parts.is_empty()).then(|| parts.join("\n\n"))
}

/// Returns the number of the probes that a line decides and breaks, and the probes, those that it breaks first.
fn list(analysis: &Analysis, decisions: &[Decision<'_>]) -> String {
    let is_broken = |decision: &&Decision<'_>| {
        let outcome = decision.probe.outcome;
        outcome.is_bad() || outcome.is_invalid()
    };
    let (broken, others): (Vec<_>, Vec<_>) = decisions.iter().partition(is_broken);
    let mut out = match broken.len() {
        0 => format!("Decides {}\n\n", probes(decisions.len())),
        count => format!(
            "Decides {}, **breaks {count}**\n\n",
            probes(decisions.len())
        ),
    };
    for decision in broken.iter().chain(&others).take(LISTED) {
        out.push_str(&item(analysis, decision));
    }
    if let Some(more @ 1..) = decisions.len().checked_sub(LISTED) {
        out.push_str(&format!("- and {more} more\n"));
    }
    out
}

fn probes(count: usize) -> String {
    match count {
        1 => "1 probe".to_owned(),
        _ => format!("{count} probes"),
    }
}

/// Returns `- **fails** [shop/Deployment/web: readinessProbe of container web](…): STRICT for namespace shop`.
fn item(analysis: &Analysis, decision: &Decision<'_>) -> String {
    let key = &decision.probe.place;
    let file = analysis.set.file(&key.path);
    let place = file.map(|file| format!("{}:{}", key.path, file.line_of(key.span)));
    let title = inline_markdown(&decision.title);
    let title = match place.and_then(|place| url(analysis, &place)) {
        Some(url) => format!("[{title}]({url})"),
        None => title,
    };
    let outcome = decision.probe.outcome.as_str();
    format!(
        "- **{outcome}** {title}: {}\n",
        inline_markdown(decision.message)
    )
}

/// Returns the URL of a place such as `apps/web.yaml:31`.
fn url(analysis: &Analysis, place: &str) -> Option<String> {
    let (path, line) = place.rsplit_once(':')?;
    let file = analysis.set.file(path)?;
    let uri = analysis.uri(file)?;
    // The line is one of the analysed text.
    match analysis.is_shown(&uri, file) {
        true => Some(format!("{}#L{line}", uri.0)),
        false => Some(uri.0),
    }
}
