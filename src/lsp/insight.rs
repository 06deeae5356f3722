//! What requests ask about: the node at a position, the probes of a file, and the lines that decide about them.

use std::cell::OnceCell;
use std::fmt::Write as _;
use std::sync::Arc;

use gen_lsp_types::{Location, TextDocumentPositionParams};
use meshprobe_mesh::finding::Label;
use meshprobe_mesh::kube::{Object, Workload};
use meshprobe_mesh::mesh::Reason;
use meshprobe_predict::predict::{
    EnvironmentNames, HandlerPrediction, Outcome, WorkloadPrediction,
};
use meshprobe_tree::source::SourceFile;
use meshprobe_yaml::{Entry, NodeRef, Span};

use super::analysis::Analysis;

/// A position in a file, with the mappings around it.
#[derive(Debug)]
pub(in crate::lsp) struct Cursor<'t> {
    /// The file.
    pub(in crate::lsp) file: &'t SourceFile,
    /// The object.
    pub(in crate::lsp) object: Option<Object<'t>>,
    /// The entries that contain the position, the innermost first.
    pub(in crate::lsp) entries: Vec<Entry<'t>>,
    offset: usize,
}

impl<'t> Cursor<'t> {
    /// Returns the position of a request; `None` if the file was not analysed as the client shows it there.
    pub(in crate::lsp) fn of(
        analysis: &Analysis<'_, 't>,
        at: &TextDocumentPositionParams,
    ) -> Option<Self> {
        let shown = analysis.shown(&at.text_document.uri)?;
        let offset = shown.offset(at.position)?;
        Some(Self::at(shown.file, offset))
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
    pub(in crate::lsp) fn entry(&self) -> Option<Entry<'t>> {
        let entry = *self.entries.first()?;
        let is_on = |node: NodeRef<'_>| node.outer_span().contains(Span::empty(self.offset));
        let is_leaf = !entry.value.is_mapping() && !entry.value.is_sequence();
        (is_on(entry.key) || is_leaf && is_on(entry.value)).then_some(entry)
    }

    /// Returns the text that the position is about: the innermost entry, or the whole object for the `apiVersion`, `kind`,
    /// `metadata` and name of an object that is not a workload.
    pub(in crate::lsp) fn subject(&self) -> Option<Span> {
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
    pub(in crate::lsp) fn subjects(&self) -> impl Iterator<Item = Span> {
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
#[derive(Clone, Copy, Debug)]
pub(in crate::lsp) struct Decision<'s, 't> {
    /// The probe.
    pub(in crate::lsp) of: PredictedHandler<'s, 't>,
    /// The reason, which has a place.
    pub(in crate::lsp) reason: &'s Reason,
}

/// Returns the probes whose outcome a line within a span decides, each once.
pub(in crate::lsp) fn decided_by<'s, 't>(
    analysis: &Analysis<'s, 't>,
    file: &SourceFile,
    within: Span,
) -> Vec<Decision<'s, 't>> {
    let decides = |reason: &&'s Reason| {
        let place = reason.place.as_ref();
        let span = place.and_then(|place| span_in(file, place));
        span.is_some_and(|span| within.contains(span))
    };
    handlers(analysis)
        .filter_map(|of| {
            let reason = of.handler.verdict.because.iter().find(decides)?;
            Some(Decision { of, reason })
        })
        .collect()
}

/// Returns the locations of the lines that decide a probe, the most important first.
pub(in crate::lsp) fn deciding_locations(
    analysis: &Analysis<'_, '_>,
    of: &PredictedHandler<'_, '_>,
) -> Vec<Location> {
    let because = of.handler.verdict.because.iter();
    let places = because.filter_map(|reason| reason.place.as_ref());
    places
        .filter_map(|place| analysis.location(&place.path, place.span))
        .collect()
}

impl PredictedHandler<'_, '_> {
    /// Returns the location of its key.
    pub(in crate::lsp) fn location(&self, analysis: &Analysis<'_, '_>) -> Option<Location> {
        let key = self.key();
        analysis.location(&key.path, key.span)
    }
}

/// A probe or hook with its prediction. A document that several overlays include has one per overlay.
#[derive(Clone, Copy, Debug)]
pub(in crate::lsp) struct PredictedHandler<'s, 't> {
    /// The workload.
    pub(in crate::lsp) workload: &'s WorkloadPrediction<'t>,
    /// The probe or hook.
    pub(in crate::lsp) handler: &'s HandlerPrediction<'t>,
}

impl PredictedHandler<'_, '_> {
    /// Returns the place of its key.
    pub(in crate::lsp) fn key(&self) -> Label {
        let key = self.handler.handler.key.span();
        self.workload.workload.object.label_at(key, String::new())
    }
}

/// Iterates over the probes and hooks of all workloads that are reported.
pub(in crate::lsp) fn handlers<'s, 't>(
    analysis: &Analysis<'s, 't>,
) -> impl Iterator<Item = PredictedHandler<'s, 't>> + use<'s, 't> {
    let predictions = analysis.facts.map(|facts| facts.predictions);
    predictions
        .unwrap_or_default()
        .iter()
        .filter(|workload| workload.is_target)
        .flat_map(|workload| {
            let handlers = workload.handlers.iter();
            handlers.map(move |handler| PredictedHandler { workload, handler })
        })
}

/// Iterates over the probes and hooks whose key is in a file, with the span of the key.
pub(in crate::lsp) fn handlers_in<'s, 't>(
    analysis: &Analysis<'s, 't>,
    file: &'t SourceFile,
) -> impl Iterator<Item = (Span, PredictedHandler<'s, 't>)> + use<'s, 't> {
    handlers(analysis).filter_map(move |handler| {
        let key = handler.key();
        Some((span_in(file, &key)?, handler))
    })
}

/// Returns the span of a place in a file; `None` if it is in another file.
pub(in crate::lsp) fn span_in(file: &SourceFile, place: &Label) -> Option<Span> {
    (place.path == file.path).then_some(place.span)
}

/// The names of the environments, which few probes need.
#[derive(Debug)]
pub(in crate::lsp) struct Names<'s, 't> {
    predictions: &'s [WorkloadPrediction<'t>],
    names: OnceCell<EnvironmentNames>,
}

impl<'s, 't> Names<'s, 't> {
    /// Computes the names when the first is needed.
    pub(in crate::lsp) fn of(analysis: &Analysis<'s, 't>) -> Self {
        let predictions = analysis.facts.map(|facts| facts.predictions);
        Self {
            predictions: predictions.unwrap_or_default(),
            names: OnceCell::new(),
        }
    }

    fn name(&self, overlay: &Arc<str>) -> Arc<str> {
        let names = || EnvironmentNames::of(self.predictions);
        self.names.get_or_init(names).name(overlay)
    }
}

/// The outcomes of one probe, each with the environments that have it.
#[derive(Clone, Debug, Default)]
pub(in crate::lsp) struct Outcomes<'s, 't> {
    predictions: Vec<PredictedHandler<'s, 't>>,
}

impl<'s, 't> Outcomes<'s, 't> {
    /// Adds the prediction for another environment.
    pub(in crate::lsp) fn add(&mut self, prediction: PredictedHandler<'s, 't>) {
        self.predictions.push(prediction);
    }

    /// Returns whether the probe is part of a mesh anywhere.
    pub(in crate::lsp) fn is_in_mesh(&self) -> bool {
        let mut outcomes = self.predictions.iter().map(outcome);
        outcomes.any(|outcome| outcome != Outcome::NotInMesh)
    }

    /// Returns the first prediction.
    pub(in crate::lsp) fn first(&self) -> Option<&PredictedHandler<'s, 't>> {
        self.predictions.first()
    }

    /// Returns the outcome, such as `fails`, or `fails (prod-us), ok (prod-eu)` if the environments differ.
    pub(in crate::lsp) fn text(&self, names: &Names<'_, '_>) -> String {
        let mut groups: Vec<(Outcome, Vec<&PredictedHandler<'_, '_>>)> = Vec::new();
        for prediction in &self.predictions {
            let outcome = outcome(prediction);
            match groups.iter_mut().find(|(known, _)| *known == outcome) {
                Some((_, group)) => group.push(prediction),
                None => groups.push((outcome, vec![prediction])),
            }
        }
        if let [(outcome, _)] = groups.as_slice() {
            return outcome.as_str().to_owned();
        }
        let mut text = String::new();
        for (outcome, group) in groups {
            let overlays = group
                .iter()
                .filter_map(|of| of.workload.workload.object.overlay.as_ref());
            let environments: Vec<Arc<str>> = overlays.map(|overlay| names.name(overlay)).collect();
            let separator = if text.is_empty() { "" } else { ", " };
            // Writing to a string cannot fail.
            let _ = write!(text, "{separator}{}", outcome.as_str());
            if !environments.is_empty() {
                let _ = write!(text, " ({})", environments.join(", "));
            }
        }
        text
    }
}

fn outcome(prediction: &PredictedHandler<'_, '_>) -> Outcome {
    prediction.handler.verdict.outcome
}
