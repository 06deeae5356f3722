//! `textDocument/codeLens`: at each workload, the outcome of each probe.

use std::collections::BTreeMap;

use gen_lsp_types::{CodeLens, CodeLensParams, Command};
use meshprobe_mesh::kube::Object;
use meshprobe_tree::source::SourceFile;
use meshprobe_yaml::Span;

use crate::lsp::analysis::Analysis;
use crate::lsp::insight::{Names, Outcomes, handlers_in};

/// The probes of a workload, by the place of their keys, with their container and slot.
type Probes<'s, 't> = BTreeMap<Span, (String, &'static str, Outcomes<'s, 't>)>;

/// Returns one lens per workload of a document that is part of a mesh.
pub(super) fn answer(
    analysis: &Analysis<'_, '_>,
    params: &CodeLensParams,
) -> Option<Vec<CodeLens>> {
    let shown = analysis.shown(&params.text_document.uri)?;
    let file = shown.file;
    let names = Names::of(analysis);
    let mut workloads: BTreeMap<Span, Probes<'_, '_>> = BTreeMap::new();
    for (key, of) in handlers_in(analysis, file) {
        let Some(place) = place_of_object(file, key) else {
            continue;
        };
        let new = || {
            let container = of.handler.container.name().to_owned();
            (
                container,
                of.handler.handler.slot.key(),
                Outcomes::default(),
            )
        };
        let probes = workloads.entry(place).or_default();
        probes.entry(key).or_insert_with(new).2.add(of);
    }
    let is_in_mesh = |probes: &Probes<'_, '_>| {
        let mut outcomes = probes.values().map(|(.., outcomes)| outcomes);
        outcomes.any(Outcomes::is_in_mesh)
    };
    let lens = |(place, probes): (Span, Probes<'_, '_>)| {
        Some(CodeLens {
            range: shown.range(place)?,
            command: Some(Command {
                title: title(&names, &probes),
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
fn title(names: &Names<'_, '_>, probes: &Probes<'_, '_>) -> String {
    let mut containers: Vec<(&str, Vec<String>)> = Vec::new();
    for (container, slot, outcomes) in probes.values() {
        let text = format!("{slot} {}", outcomes.text(names));
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
