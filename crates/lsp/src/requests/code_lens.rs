//! `textDocument/codeLens`: at each workload, the outcome of each probe.

use std::collections::BTreeMap;

use gen_lsp_types::{CodeLens, CodeLensParams, Command};
use meshprobe_mesh::kube::Object;
use meshprobe_tree::source::SourceFile;
use meshprobe_yaml::Span;

use crate::analysis::Analysis;
use crate::insight::{Outcomes, probes_in};

/// The probes of a workload, by the place of their keys, with their container and slot.
type Probes = BTreeMap<Span, (String, &'static str, Outcomes)>;

/// Returns one lens per workload of a document that is part of a mesh.
pub(super) fn answer(
    analysis: &Analysis<'_, '_>,
    params: &CodeLensParams,
) -> Option<Vec<CodeLens>> {
    let shown = analysis.shown(&params.text_document.uri)?;
    let file = shown.file;
    let mut workloads: BTreeMap<Span, Probes> = BTreeMap::new();
    for found in probes_in(analysis, file) {
        let (_, probe) = &found;
        let key = probe.place.span;
        let Some(place) = place_of_object(file, key) else {
            continue;
        };
        let new = || (probe.container.clone(), probe.slot, Outcomes::default());
        let probes = workloads.entry(place).or_default();
        let known = probes.entry(key).or_insert_with(new);
        known.2.0.push(found);
    }
    let is_in_mesh = |probes: &Probes| {
        let mut outcomes = probes.values().map(|(.., outcomes)| outcomes);
        outcomes.any(Outcomes::is_in_mesh)
    };
    let lens = |(place, probes): (Span, Probes)| {
        Some(CodeLens {
            range: shown.range(place)?,
            command: Some(Command {
                title: title(&probes),
                tooltip: None,
                // A lens without a command is only text.
                command: String::new(),
                arguments: None,
            }),
            data: None,
        })
    };
    let in_mesh = workloads
        .into_iter()
        .filter(|(_, probes)| is_in_mesh(probes));
    Some(in_mesh.filter_map(lens).collect())
}

/// Returns `web: livenessProbe ok, readinessProbe fails`, with the containers in the order of the file.
fn title(probes: &Probes) -> String {
    let mut containers: Vec<(&str, Vec<String>)> = Vec::new();
    for (container, slot, outcomes) in probes.values() {
        let text = format!("{slot} {}", outcomes.text());
        match containers.last_mut() {
            Some((last, texts)) if last == container => texts.push(text),
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
