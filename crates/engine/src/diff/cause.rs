//! Finds the changed line or the fact that makes two predictions of a handler differ.

use std::cell::OnceCell;
use std::sync::Arc;

use hashbrown::HashMap;
use meshprobe_mesh::finding::Label;
use meshprobe_mesh::mesh::Reason;
use meshprobe_tree::source::{Document, SourceSet};
use meshprobe_yaml::{NodeRef, Span};

use super::class::Side;
use super::fields::{Field, LABEL, container_path};
use super::probe_state::ProbeState;
use super::text_diff::{Strength, TextDiff};
use crate::engine::ReasonEntry;

/// The message of a cause without a line.
pub(super) const NOT_FOUND: &str = "the cause was not found among the changed lines";

/// The line or the fact that causes a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cause {
    /// What it states, such as "STRICT for namespace `shop`".
    pub message: String,
    /// The line, which only one of the states has; `None` for a fact of the user, the default of a release, or a cause that
    /// is not found.
    pub place: Option<Label>,
    /// The state that has the line.
    pub side: Side,
    /// Whether the message is an option of the user.
    pub is_option: bool,
    /// The file of the mesh, the issue or the measurement that shows the behaviour behind the change.
    pub source: Option<&'static str>,
}

impl Cause {
    fn new(message: impl Into<String>, place: Option<Label>, side: Side) -> Self {
        Self {
            message: message.into(),
            place,
            side,
            is_option: false,
            source: None,
        }
    }

    /// Returns a cause at a line of the text diff.
    pub(super) fn at(place: Label, message: impl Into<String>, side: Side) -> Self {
        Self::new(message, Some(place), side)
    }

    /// Returns a cause of which no changed line is known. The message contains what is known about it.
    pub(super) fn without_line(message: impl Into<String>) -> Self {
        Self::new(message, None, Side::After)
    }

    /// Returns the cause that the user names with an option.
    #[must_use]
    pub fn option(text: &str) -> Self {
        Self {
            is_option: true,
            ..Self::without_line(format!("`{text}`"))
        }
    }

    /// Returns the cause that the facts in the configuration file differ.
    #[must_use]
    pub fn configuration(file: &str) -> Self {
        Self {
            is_option: true,
            ..Self::without_line(format!("the changed configuration `{file}`"))
        }
    }

    /// Returns the cause of a regression that an override in the configuration file hides.
    pub(super) fn hidden(cause: Option<&Self>, file: &str) -> Self {
        let hidden = format!("hidden by an override in the changed configuration `{file}`");
        match cause {
            Some(cause) => Self {
                message: format!("{}, {hidden}", cause.message),
                ..cause.clone()
            },
            None => Self {
                is_option: false,
                message: hidden,
                ..Self::option("")
            },
        }
    }

    /// Returns the cause that a release changed its behaviour.
    pub(super) fn fact(text: &str, source: &'static str) -> Self {
        Self {
            source: Some(source),
            ..Self::without_line(text)
        }
    }
}

/// Returns the noun for a slot.
fn noun(slot: &str) -> &'static str {
    if slot.ends_with("robe") {
        "probe"
    } else {
        "hook"
    }
}

/// A fact that may be the cause, if its line is in the text diff.
struct Candidate<'c> {
    message: String,
    place: &'c Label,
    side: Side,
}

impl<'c> Candidate<'c> {
    fn of_reason(reason: &'c Reason, side: Side) -> Option<Self> {
        Some(Self {
            message: reason.message.clone(),
            place: place_of(reason)?,
            side,
        })
    }
}

/// The state, the root and the path of a file that an entry includes.
type EntryKey = (Side, Option<Arc<str>>, Arc<str>);

/// Finds causes in the text diff of two states.
#[derive(Debug)]
pub(super) struct Causes<'a> {
    before: (&'a str, &'a SourceSet),
    after: (&'a str, &'a SourceSet),
    diff: OnceCell<TextDiff<'a>>,
    /// The changed entries that include files, by state, root and file.
    pub(super) entries: HashMap<EntryKey, Option<Label>>,
}

impl<'a> Causes<'a> {
    /// Prepares the search in the files of two states, each with the root of its tree.
    pub(super) fn new(before: (&'a str, &'a SourceSet), after: (&'a str, &'a SourceSet)) -> Self {
        Self {
            before,
            after,
            diff: OnceCell::new(),
            entries: HashMap::new(),
        }
    }

    /// Returns the text diff.
    pub(super) fn diff(&self) -> &TextDiff<'a> {
        let diff = || TextDiff::between(self.before, self.after);
        self.diff.get_or_init(diff)
    }

    /// Returns the cause of the difference between two predictions: the changed line of a fact that only one of them has, or
    /// the changed line by which the files of such a fact are included; `None` if there is no such line.
    ///
    /// What follows from an unchanged line of the mesh depends on the pod as well, so that the fields of the pod that
    /// differ are facts, too. They come first if the manifest alone decides: then the facts of the mesh are missing because
    /// they do not matter.
    pub(super) fn of(&mut self, before: &ProbeState, after: &ProbeState) -> Option<Cause> {
        let new = only_in(&after.because, &before.because);
        let gone = only_in(&before.because, &after.because);
        let new = new.into_iter().map(|reason| (reason, Side::After));
        let gone = gone.into_iter().map(|reason| (reason, Side::Before));
        let reasons: Vec<Candidate<'_>> = new
            .chain(gone)
            .filter_map(|(reason, side)| Candidate::of_reason(reason, side))
            .collect();
        let (own, fields) = self.differing_fields(before, after, &reasons);
        let is_of_manifest = before.outcome.is_invalid() || after.outcome.is_invalid();
        let pods = [&own, &fields];
        for least in [Strength::New, Strength::Moved] {
            if is_of_manifest {
                let found = pods.iter().find_map(|fields| self.line(fields, least));
                if found.is_some() {
                    return found;
                }
            }
            let found = self
                .line(&reasons, least)
                .or_else(|| self.line(&own, least))
                .or_else(|| self.entry((before, after), &reasons, least))
                .or_else(|| self.line(&fields, least))
                .or_else(|| self.entry((before, after), &own, least))
                .or_else(|| self.entry((before, after), &fields, least));
            if found.is_some() {
                return found;
            }
        }
        self.only_line_of_object((before, after), &reasons)
    }

    /// Returns the fields of the pod that differ: those of the handler, and others that may decide about it.
    fn differing_fields<'c>(
        &self,
        before: &'c ProbeState,
        after: &'c ProbeState,
        reasons: &[Candidate<'_>],
    ) -> (Vec<Candidate<'c>>, Vec<Candidate<'c>>) {
        let container = |state: &ProbeState| {
            let list = state
                .list
                .map(|list| container_path(list, &state.id.container));
            list.unwrap_or_default()
        };
        let containers = [container(before), container(after)];
        // The container may be renamed.
        let key = |path: &'c str| {
            let rest = containers.iter().find_map(|own| path.strip_prefix(own));
            (rest.is_some(), rest.unwrap_or(path))
        };
        let handler = changed_handler(before, after);
        let (mut own, mut others): (Vec<_>, Vec<_>) = (Vec::new(), Vec::new());
        for (fields, other, side) in [
            (&after.fields, &before.fields, Side::After),
            (&before.fields, &after.fields, Side::Before),
        ] {
            let other = other.iter().map(|field| (key(&field.path), field));
            let other: HashMap<(bool, &str), &Field> = other.collect();
            for field in fields.iter() {
                let same = other.get(&key(&field.path)).copied();
                if same.is_some_and(|same| same.value == field.value) {
                    continue;
                }
                let (is_in_container, rest) = key(&field.path);
                let in_container = is_in_container.then_some(rest);
                let is_of_slot = |name: &str| in_container.is_some_and(|rest| rest.contains(name));
                let candidate = |message: String| Candidate {
                    message,
                    place: &field.place,
                    side,
                };
                if is_of_slot(after.id.slot) {
                    let message = handler.clone();
                    own.push(candidate(
                        message.unwrap_or_else(|| message_of(field, same, side)),
                    ));
                } else if is_of_slot("Probe") || is_of_slot(".lifecycle") {
                    // Another handler of the container.
                } else if let Some(label) = field.path.strip_prefix(LABEL) {
                    if reasons
                        .iter()
                        .any(|reason| self.is_in_document(reason, label))
                    {
                        others.push((1, candidate(message_of(field, same, side))));
                    }
                } else {
                    // Rarely decides anything.
                    let is_name = rest == ".name";
                    let rank = usize::from(in_container.is_none() || is_name);
                    others.push((rank, candidate(message_of(field, same, side))));
                }
            }
        }
        others.sort_by_key(|(rank, _)| *rank);
        (own, others.into_iter().map(|(_, field)| field).collect())
    }

    /// Returns the first candidate whose line is in the text diff.
    fn line(&self, candidates: &[Candidate<'_>], least: Strength) -> Option<Cause> {
        candidates.iter().find_map(|candidate| {
            let place = self
                .diff()
                .line_of(candidate.side, candidate.place, least)?;
            Some(Cause::at(place, &*candidate.message, candidate.side))
        })
    }

    /// Returns the changed entry by which a kustomization, or an object of Flux or Argo CD, includes the file of a
    /// candidate.
    fn entry(
        &mut self,
        (before, after): (&ProbeState, &ProbeState),
        candidates: &[Candidate<'_>],
        least: Strength,
    ) -> Option<Cause> {
        candidates.iter().find_map(|candidate| {
            let state = match candidate.side {
                Side::Before => before,
                Side::After => after,
            };
            let root = state.rendered_by.as_ref();
            let place = self.changed_entry(candidate.side, root, &candidate.place.path)?;
            let place = self.diff().line_of(candidate.side, &place, least)?;
            let message = format!(
                "it includes `{}`: {}",
                candidate.place.path, candidate.message
            );
            Some(Cause::at(place, message, candidate.side))
        })
    }

    /// Returns the only changed line of the object that states a fact, except the workload itself: its other fields decide
    /// nothing.
    fn only_line_of_object(
        &self,
        (before, after): (&ProbeState, &ProbeState),
        candidates: &[Candidate<'_>],
    ) -> Option<Cause> {
        let diff = self.diff();
        candidates.iter().find_map(|candidate| {
            let (own, other) = (candidate.side, candidate.side.other());
            let document = document_at(diff.set(own), candidate.place)?;
            let workload = match own {
                Side::Before => &before.place,
                Side::After => &after.place,
            };
            let is_workload =
                workload.path == candidate.place.path && document.segment.contains(workload.span);
            if is_workload {
                return None;
            }
            let file = diff.set(own).file(&document.path)?;
            let same = diff
                .set(other)
                .file(&diff.path_in_other(own, &document.path));
            let same = same.and_then(|file| {
                let mut documents = file.documents.iter();
                let same = documents.find(|other| identity(other) == identity(document))?;
                Some((other, file, spec_of(same)?))
            });
            let parts = [(own, file, spec_of(document)?)].into_iter().chain(same);
            let (place, side) = diff.only_line(parts)?;
            let message = format!("it changes the object that states: {}", candidate.message);
            Some(Cause::at(place, message, side))
        })
    }

    /// Returns whether the object of a reason contains a text, such as a policy that selects a label.
    fn is_in_document(&self, candidate: &Candidate<'_>, text: &str) -> bool {
        let set = self.diff().set(candidate.side);
        let document = document_at(set, candidate.place);
        let file = set.file(&candidate.place.path);
        document.zip(file).is_some_and(|(document, file)| {
            let segment = document.segment.slice(&file.text);
            segment.contains(text)
        })
    }

    /// Returns the cause of a new handler with a fault: its line, else a deciding line that only the second state has,
    /// else the environment that deploys it.
    pub(super) fn of_added(&mut self, probe: &ProbeState) -> Cause {
        self.of_single(probe, Side::After)
    }

    /// Returns the cause that a handler does not exist any more: its line, or the environment that deployed it.
    pub(super) fn of_removed(&mut self, probe: &ProbeState) -> Cause {
        self.of_single(probe, Side::Before)
    }

    fn of_single(&mut self, probe: &ProbeState, side: Side) -> Cause {
        let noun = noun(probe.id.slot);
        let message = match side {
            Side::Before => format!("the {noun} `{}` is removed", probe.written),
            Side::After => format!("the {noun} `{}` is new", probe.written),
        };
        let container = probe
            .list
            .map(|list| container_path(list, &probe.id.container));
        let container = container.unwrap_or_default();
        let is_own = |field: &&Field| {
            let rest = field.path.strip_prefix(&container);
            rest.is_some_and(|rest| rest.contains(probe.id.slot))
        };
        let fields = probe.fields.iter().filter(is_own);
        let places = std::iter::once(&probe.place).chain(fields.map(|field| &field.place));
        let own: Vec<Candidate<'_>> = places
            .map(|place| Candidate {
                message: message.clone(),
                place,
                side,
            })
            .collect();
        let reasons = probe.because.iter().filter(|_| side == Side::After);
        let reasons: Vec<Candidate<'_>> = reasons
            .filter_map(|entry| Candidate::of_reason(&entry.reason, side))
            .collect();
        for least in [Strength::New, Strength::Moved] {
            let found = self.line(&own, least);
            if let Some(cause) = found.or_else(|| self.line(&reasons, least)) {
                return cause;
            }
        }
        self.of_environment(probe, side)
    }
}

/// Returns what differs in a handler; `None` if it is written in the same way.
fn changed_handler(before: &ProbeState, after: &ProbeState) -> Option<String> {
    let (noun, old, new) = (noun(after.id.slot), &before.written, &after.written);
    (old != new).then(|| format!("the {noun} is `{new}`, and was `{old}`"))
}

/// Returns what differs in a field.
fn message_of(field: &Field, other: Option<&Field>, side: Side) -> String {
    let Field { path, value, .. } = field;
    match (other, side) {
        (Some(other), Side::After) => format!("`{path}` is `{value}`, and was `{}`", other.value),
        (Some(other), Side::Before) => format!("`{path}` is `{}`, and was `{value}`", other.value),
        (None, Side::After) => format!("`{path}: {value}` is new"),
        (None, Side::Before) => format!("`{path}: {value}` is removed"),
    }
}

/// Returns the document that contains a label.
pub(super) fn document_at<'s>(set: &'s SourceSet, label: &Label) -> Option<&'s Document> {
    let mut documents = set.file(&label.path)?.documents.iter();
    documents.find(|document| document.segment.contains(label.span))
}

/// Returns the part of an object that is not its metadata.
pub(super) fn spec_of(document: &Document) -> Option<Span> {
    let spec = document.tree()?.root()?.get("spec")?;
    Some(NodeRef::span(spec))
}

/// Returns the kind and the name of the object in a document.
fn identity(document: &Document) -> Option<(&str, &str)> {
    let root = document.tree()?.root()?;
    let name = root.get("metadata")?.get("name")?.text()?;
    Some((root.get("kind")?.text()?, name))
}

/// Returns the line that states a reason or suggests it.
fn place_of(reason: &Reason) -> Option<&Label> {
    reason.place.as_ref().or(reason.evidence.as_ref())
}

/// Returns the reasons that the other prediction does not have.
fn only_in<'r>(reasons: &'r [ReasonEntry], others: &[ReasonEntry]) -> Vec<&'r Reason> {
    let is_shared = |entry: &&ReasonEntry| {
        let mut others = others.iter();
        others.any(|other| other.reason.message == entry.reason.message)
    };
    let reasons = reasons.iter().filter(|entry| !is_shared(entry));
    reasons.map(|entry| &entry.reason).collect()
}
