//! What requests ask about: the node at a position, the probes of a file, and the lines that decide about them.

use gen_lsp_types::TextDocumentPositionParams;
use meshprobe_mesh::finding::Label;
use meshprobe_mesh::kube::{Object, Workload};
use meshprobe_mesh::mesh::Reason;
use meshprobe_predict::predict::Outcome;
use meshprobe_tree::source::SourceFile;
use meshprobe_yaml::{Entry, NodeRef, Span};

use super::analysis::Analysis;
use meshprobe_engine::engine::{ProbeReport, WorkloadReport};

/// A position in a file, with the mappings around it.
#[derive(Debug)]
pub(crate) struct Cursor<'t> {
    /// The file.
    pub file: &'t SourceFile,
    /// The object.
    pub object: Option<Object<'t>>,
    /// The entries that contain the position, the innermost first.
    pub entries: Vec<Entry<'t>>,
    offset: usize,
}

impl<'t> Cursor<'t> {
    /// Returns the position of a request; `None` if the file was not analysed as the client shows it there.
    pub(crate) fn of(analysis: &'t Analysis, at: &TextDocumentPositionParams) -> Option<Self> {
        let file = analysis.file(&at.text_document.uri)?;
        Some(Self::at(file, analysis.lines(file).offset(at.position)))
    }

    fn at(file: &'t SourceFile, offset: usize) -> Self {
        let here = Span::empty(offset);
        let mut documents = file.documents.iter();
        // Two documents meet at one offset; the later one starts there.
        let document = documents.rfind(|document| document.segment.contains(here));
        let objects = document.map(Object::all_in).unwrap_or_default();
        let is_here = |object: &Object<'t>| object.node.span().contains(here);
        let mut entries = Vec::new();
        let tree = document.and_then(|document| document.tree());
        let mut node = tree.and_then(|tree| tree.root());
        while let Some(inner) = node {
            node = match entry_at(inner, offset) {
                Some(entry) => {
                    entries.push(entry);
                    is_inside(entry.value, offset).then_some(entry.value)
                }
                None => inner.items().find(|item| is_inside(*item, offset)),
            };
        }
        entries.reverse();
        Self {
            file,
            object: objects.into_iter().find(is_here),
            entries,
            offset,
        }
    }

    /// Returns the innermost entry if the position is on its key, or on its value and that is a scalar.
    pub(crate) fn entry(&self) -> Option<Entry<'t>> {
        let entry = *self.entries.first()?;
        let is_on = |node: NodeRef<'_>| node.outer_span().contains(Span::empty(self.offset));
        let is_leaf = !entry.value.is_mapping() && !entry.value.is_sequence();
        (is_on(entry.key) || is_leaf && is_on(entry.value)).then_some(entry)
    }

    /// Returns the text that the position is about: the innermost entry, or the whole object for the `apiVersion`, `kind`,
    /// `metadata` and name of an object that is not a workload.
    pub(crate) fn subject(&self) -> Option<Span> {
        let entry = self.entry()?;
        let object = self.object.as_ref();
        let names_object = object.is_some_and(|object| {
            if Workload::from_object(object).is_some() {
                return false;
            }
            let own = |key: &str| object.node.entry(key) == Some(entry);
            let metadata = object.metadata();
            let name = metadata.and_then(|metadata| metadata.entry("name"));
            ["apiVersion", "kind", "metadata"].into_iter().any(own) || name == Some(entry)
        });
        match object.filter(|_| names_object) {
            Some(object) => Some(object.node.span()),
            None => Some(entry.span()),
        }
    }
}

impl Cursor<'_> {
    /// Iterates over the text that the position is about, and, in an object that is not a workload, the texts around it up to
    /// the whole object: one line of a policy alone decides little.
    pub(crate) fn subjects(&self) -> impl Iterator<Item = Span> {
        let object = self.object.as_ref();
        let policy = object.filter(|object| Workload::from_object(object).is_none());
        let around = self.entries.iter().map(|entry| entry.span());
        let around = around.filter(move |_| policy.is_some());
        let whole = policy.map(|object| object.node.span());
        self.subject().into_iter().chain(around).chain(whole)
    }
}

/// Returns the entry of a mapping that contains an offset.
fn entry_at(mapping: NodeRef<'_>, offset: usize) -> Option<Entry<'_>> {
    if !mapping.is_mapping() {
        return None;
    }
    let mut entries = mapping.entries();
    entries.find(|entry| entry.span().contains(Span::empty(offset)))
}

/// Returns whether a collection contains an offset. An alias contains only its name.
fn is_inside(node: NodeRef<'_>, offset: usize) -> bool {
    let is_collection = node == node.resolved() && (node.is_mapping() || node.is_sequence());
    is_collection && node.outer_span().contains(Span::empty(offset))
}

/// A probe, and the reason why a line decides its outcome.
#[derive(Debug)]
pub(crate) struct Decision<'a> {
    /// `shop/Deployment/web: readinessProbe of container web`.
    pub(crate) title: String,
    pub(crate) probe: &'a ProbeReport,
    /// The reason, which has a place.
    pub(crate) message: &'a str,
}

/// Returns the probes whose outcome a line within a span decides, each once.
pub(crate) fn decided_by<'a>(
    analysis: &'a Analysis,
    file: &SourceFile,
    within: Span,
) -> Vec<Decision<'a>> {
    let decides = |reason: &&Reason| {
        let place = reason.place.as_ref();
        let span = place.and_then(|place| span_in(file, place));
        span.is_some_and(|span| within.contains(span))
    };
    let decision = |(workload, probe): (&WorkloadReport, &'a ProbeReport)| {
        let mut because = probe.because.iter().map(|entry| &entry.reason);
        Some(Decision {
            message: &because.find(decides)?.message,
            title: format!("{}: {}", workload.title, probe.title()),
            probe,
        })
    };
    probes(analysis).filter_map(decision).collect()
}

/// Iterates over the probes and hooks whose key is in a file, each with its environment. A document that several overlays
/// include has one per overlay.
pub(crate) fn probes_in<'a>(
    analysis: &'a Analysis,
    file: &'a SourceFile,
) -> impl Iterator<Item = (Option<&'a str>, &'a ProbeReport)> {
    probes(analysis)
        .filter(|(_, probe)| probe.place.path == file.path)
        .map(|(workload, probe)| (workload.environment.as_deref(), probe))
}

/// Iterates over the probes and hooks of pods that are reported.
fn probes(analysis: &Analysis) -> impl Iterator<Item = (&WorkloadReport, &ProbeReport)> {
    let pods = analysis.workloads.iter().filter(|pod| !pod.is_machine);
    pods.flat_map(|pod| pod.handlers.iter().map(move |probe| (pod, probe)))
}

/// Returns the span of a place in a file; `None` if it is in another file.
pub(crate) fn span_in(file: &SourceFile, place: &Label) -> Option<Span> {
    (place.path == file.path).then_some(place.span)
}

/// The predictions for one probe, each with its environment.
#[derive(Debug, Default)]
pub(crate) struct Outcomes<'a>(pub(crate) Vec<(Option<&'a str>, &'a ProbeReport)>);

impl<'a> Outcomes<'a> {
    /// Returns whether the probe is part of a mesh anywhere.
    pub(crate) fn is_in_mesh(&self) -> bool {
        let mut probes = self.0.iter();
        probes.any(|(_, probe)| probe.outcome != Outcome::NotInMesh)
    }

    /// Returns the first prediction.
    pub(crate) fn first(&self) -> Option<&'a ProbeReport> {
        self.0.first().map(|(_, probe)| *probe)
    }

    /// Returns the outcome, such as `fails`, or `fails (prod-us), ok (prod-eu)` if the environments differ.
    pub(crate) fn text(&self) -> String {
        let mut groups: Vec<(Outcome, Vec<&str>)> = Vec::new();
        for (environment, probe) in &self.0 {
            let at = groups.iter().position(|(known, _)| *known == probe.outcome);
            let at = at.unwrap_or_else(|| {
                groups.push((probe.outcome, Vec::new()));
                groups.len() - 1
            });
            if let Some((_, names)) = groups.get_mut(at) {
                names.extend(*environment);
            }
        }
        if let [(outcome, _)] = groups.as_slice() {
            return outcome.as_str().to_owned();
        }
        let texts = groups
            .iter()
            .map(|(outcome, names)| match names.as_slice() {
                [] => outcome.as_str().to_owned(),
                names => format!("{} ({})", outcome.as_str(), names.join(", ")),
            });
        texts.collect::<Vec<_>>().join(", ")
    }
}
