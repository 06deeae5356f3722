//! `textDocument/codeLens`: at each workload, the outcome of each probe. `textDocument/inlayHint`: at each probe, the rewritten
//! target and the outcome.

use std::collections::BTreeMap;

use gen_lsp_types::{CodeLens, CodeLensParams, Command, InlayHint, InlayHintParams};
use meshprobe_mesh::kube::Object;
use meshprobe_tree::source::SourceFile;
use meshprobe_yaml::Span;

use crate::analysis::Analysis;
use crate::insight::{Outcomes, probes_in};

/// The probes of a workload, by the place of their keys, with their container and slot.
type Probes<'a> = BTreeMap<Span, (&'a str, &'static str, Outcomes<'a>)>;

/// Returns one lens per workload of a document that is part of a mesh.
pub(super) fn lenses(analysis: &Analysis, params: &CodeLensParams) -> Option<Vec<CodeLens>> {
    let file = analysis.file(&params.text_document.uri)?;
    let mut workloads: BTreeMap<Span, Probes<'_>> = BTreeMap::new();
    for found in probes_in(analysis, file) {
        let (_, probe) = &found;
        let key = probe.place.span;
        let Some(place) = place_of_object(file, key) else {
            continue;
        };
        let new = || (probe.container.as_str(), probe.slot, Outcomes::default());
        let probes = workloads.entry(place).or_default();
        let known = probes.entry(key).or_insert_with(new);
        known.2.0.push(found);
    }
    let is_in_mesh = |probes: &Probes<'_>| {
        let mut outcomes = probes.values().map(|(.., outcomes)| outcomes);
        outcomes.any(|outcomes| outcomes.is_in_mesh())
    };
    let lens = |(place, probes): (Span, Probes<'_>)| CodeLens {
        range: analysis.range(file, place),
        command: Some(Command {
            title: title(&probes),
            tooltip: None,
            // A lens without a command is only text.
            command: String::new(),
            arguments: None,
        }),
        data: None,
    };
    let in_mesh = workloads
        .into_iter()
        .filter(|(_, probes)| is_in_mesh(probes));
    Some(in_mesh.map(lens).collect())
}

/// Returns `web: livenessProbe ok, readinessProbe fails`, with the containers in the order of the file.
fn title(probes: &Probes<'_>) -> String {
    let mut containers: Vec<(&str, Vec<String>)> = Vec::new();
    for (container, slot, outcomes) in probes.values() {
        let text = format!("{slot} {}", outcomes.text());
        match containers.last_mut() {
            Some((last, texts)) if *last == *container => texts.push(text),
            _ => containers.push((container, vec![text])),
        }
    }
    let titles = containers
        .iter()
        .map(|(name, texts)| format!("{name}: {}", texts.join(", ")));
    titles.collect::<Vec<_>>().join("; ")
}

/// Returns the place of the lens of the object that contains a span: its `kind`.
fn place_of_object(file: &SourceFile, within: Span) -> Option<Span> {
    let mut documents = file.documents.iter();
    let document = documents.find(|document| document.segment.contains(within))?;
    let objects = Object::all_in(document);
    let object = objects
        .iter()
        .find(|object| object.node.span().contains(within))?;
    let kind = object.node.entry("kind").map(|entry| entry.key.span());
    Some(kind.unwrap_or_else(|| object.name_span()))
}

/// Returns the hints for the probes in a range. Probes outside of a mesh have none.
pub(super) fn hints(analysis: &Analysis, params: &InlayHintParams) -> Option<Vec<InlayHint>> {
    let file = analysis.file(&params.text_document.uri)?;
    let wanted = params.range;
    let mut probes: BTreeMap<Span, Outcomes<'_>> = BTreeMap::new();
    for found in probes_in(analysis, file) {
        probes.entry(found.1.place.span).or_default().0.push(found);
    }
    let in_mesh = probes
        .into_iter()
        .filter(|(_, outcomes)| outcomes.is_in_mesh());
    let hints = in_mesh.filter_map(|(key, outcomes)| {
        let at = analysis.range(file, Span::new(key.start, line_end(file, key)));
        let is_wanted = at.start <= wanted.end && wanted.start <= at.end;
        is_wanted.then(|| InlayHint {
            position: at.end,
            label: label(&outcomes).into(),
            kind: None,
            text_edits: None,
            tooltip: outcomes.first().map(|first| first.why.into()),
            padding_left: Some(true),
            padding_right: None,
            data: None,
        })
    });
    Some(hints.collect())
}

/// Returns `→ :15020/app-health/web/readyz  ok`, or only the outcome if the mesh does not rewrite the probe.
fn label(outcomes: &Outcomes<'_>) -> String {
    let outcome = outcomes.text();
    match outcomes.first().map(|first| first.rewritten_to.as_str()) {
        None | Some("") => outcome,
        Some(target) => {
            let target = target.strip_prefix("http ").unwrap_or(target);
            format!("→ {target}  {outcome}")
        }
    }
}

/// Returns the end of the line of a key, without white space.
fn line_end(file: &SourceFile, key: Span) -> usize {
    let rest = file.text.get(key.end..).unwrap_or_default();
    let line = rest.split(['\n', '\r']).next().unwrap_or_default();
    key.end + line.trim_end().len()
}
