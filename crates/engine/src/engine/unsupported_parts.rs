//! Reports what kustomizations contain and do not render: parts, refused builds, objects that are not deployed, and what a
//! limit leaves out.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use hashbrown::{HashMap, HashSet};
use meshprobe_deploy::kustomize::{Limit, Note, REFUSED, Rendering, kustomize_build};
use meshprobe_mesh::finding::{Finding, Label, Severity, environment_file, names_and_more};
use meshprobe_mesh::kube::RenderingId;
use meshprobe_predict::context::{Context, Dataplane, UncheckedPolicy, Unrendered};
use meshprobe_predict::predict::WorkloadPrediction;
use meshprobe_rules::rules::notices::{
    FILE_LEFT_OUT, NOT_MODELLED, OVERLAY_LEFT_OUT, POLICY_LEFT_OUT,
};
use meshprobe_tree::source::limits::{FILE_SIZE, FILE_VALUES, PARSED_VALUES};
use meshprobe_tree::source::{FileLimit, template_marker};
use meshprobe_yaml::Span;

/// Reports the parts of kustomizations that are not rendered, with the notes that `is_wanted` selects.
pub(super) fn unsupported_parts<'r>(
    renderings: impl IntoIterator<Item = &'r Rendering>,
    predictions: &[WorkloadPrediction<'_>],
    is_wanted: fn(&Note) -> bool,
) -> Vec<Finding> {
    let workloads_with_probes = predictions
        .iter()
        .filter(|prediction| prediction.is_target && !prediction.handlers.is_empty());
    let with_probes = renderings_of(workloads_with_probes);
    let renderings: Vec<&Rendering> = renderings.into_iter().collect();
    let left_out = left_out(renderings.iter().copied());
    let reported: Vec<(&Rendering, Vec<&Note>)> = renderings
        .into_iter()
        .filter_map(|rendering| {
            let has_probes = with_probes.contains(&rendering.id);
            Some((rendering, unsupported(rendering, has_probes, is_wanted)?))
        })
        .collect();
    let parts = grouped(&reported);
    let parts = parts.iter().filter_map(UnsupportedPart::finding);
    parts.chain(left_out).collect()
}

/// Groups kustomizations by the part of each that most of them include.
fn grouped<'r>(reported: &[(&'r Rendering, Vec<&'r Note>)]) -> Vec<UnsupportedPart<'r>> {
    let mut counts: HashMap<NotePlace<'_>, usize> = HashMap::new();
    for note in reported.iter().flat_map(|(_, notes)| notes) {
        *counts.entry(place_of(note)).or_default() += 1;
    }
    let count = |note: &Note| counts.get(&place_of(note)).copied().unwrap_or_default();
    let mut parts: Vec<UnsupportedPart<'_>> = Vec::new();
    let mut known: HashMap<NotePlace<'_>, usize> = HashMap::new();
    for (rendering, notes) in reported {
        // The first of several with the same count.
        let Some(first) = notes.iter().copied().rev().max_by_key(|note| count(note)) else {
            continue;
        };
        let others = notes.len() - 1;
        let index = *known.entry(place_of(first)).or_insert(parts.len());
        match parts.get_mut(index) {
            Some(part) => part.renderings.push((rendering, others)),
            None => parts.push(UnsupportedPart {
                first,
                renderings: vec![(rendering, others)],
            }),
        }
    }
    parts
}

/// The place and the message of a note.
type NotePlace<'r> = (&'r str, Span, &'r str);

fn place_of(note: &Note) -> NotePlace<'_> {
    (&note.path, note.span, &note.message)
}

/// A part of a kustomization that is not rendered, and the kustomizations that include it.
struct UnsupportedPart<'r> {
    first: &'r Note,
    /// Each kustomization, with the number of its other such parts.
    renderings: Vec<(&'r Rendering, usize)>,
}

/// The maximum number of kustomizations that a finding names.
const NAMED: usize = 5;

impl UnsupportedPart<'_> {
    fn finding(&self) -> Option<Finding> {
        let first = self.first;
        let (rendering, others) = self.renderings.first()?;
        let label = Label {
            path: Arc::clone(&first.path),
            span: first.span,
            message: String::new(),
        };
        let more = match (self.renderings.len(), others) {
            (1, 0) => String::new(),
            (1, count) => format!(" (and {count} more like this in {})", rendering.id.root),
            _ => format!(" (in {})", self.roots()),
        };
        let message = format!("{}{more}", first.message);
        let mut finding = Finding::new(NOT_MODELLED, Severity::Note, label, message);
        let overlays = self.renderings.iter();
        let overlays = overlays.map(|(rendering, _)| Arc::clone(rendering.environment()));
        finding.overlays.extend(overlays);
        let build = rendering.build();
        let outputs = match self.renderings.len() {
            1 => "the output of the build",
            _ => "the outputs of the builds, for example",
        };
        finding.help = Some(format!(
            "check {outputs}: `{build} | meshprobe check --context . -`"
        ));
        Some(finding)
    }

    /// Returns the kustomizations, each with the number of its other parts that are not rendered.
    fn roots(&self) -> String {
        let root = |(rendering, others): &(&Rendering, usize)| match others {
            0 => format!("`{}`", rendering.id.root),
            count => format!("`{}`, with {count} more", rendering.id.root),
        };
        let mut names: Vec<String> = self.renderings.iter().take(NAMED).map(root).collect();
        let more = self.renderings.len().saturating_sub(NAMED);
        if more > 0 {
            names.push(format!("{more} other kustomizations"));
        }
        names.join("; ")
    }
}

/// Returns the parts of a kustomization that are not rendered, if the kustomization renders probes or its objects are
/// not all known; `None` if there is none.
fn unsupported(
    rendering: &Rendering,
    has_probes: bool,
    is_wanted: fn(&Note) -> bool,
) -> Option<Vec<&Note>> {
    let notes = rendering.notes.iter().filter(|note| is_wanted(note));
    let notes: Vec<&Note> = notes.collect();
    // If objects are missing, only these may have probes.
    let is_reported = has_probes || rendering.has_unknown_objects;
    (is_reported && !notes.is_empty()).then_some(notes)
}

/// Returns the renderings that contain the workloads.
pub(super) fn renderings_of<'a, 't: 'a>(
    predictions: impl Iterator<Item = &'a WorkloadPrediction<'t>>,
) -> HashSet<&'t RenderingId> {
    predictions
        .filter_map(|prediction| prediction.workload.object.rendered_by)
        .collect()
}

/// The maximum number of causes that a message lists.
const CAUSES: usize = 3;

/// The maximum number of further places that a finding labels.
const LABELLED: usize = 10;

/// What kustomize refuses in one file: its notes by place and message, and the renderings that include it.
#[derive(Default)]
struct RefusedFile<'r> {
    notes: BTreeMap<(Span, &'r str), &'r Note>,
    renderings: Vec<&'r Rendering>,
}

/// Returns one warning for each kustomization with something that kustomize refuses; a note for a template that the tree
/// does not deploy.
pub(super) fn refused_builds<'r>(
    context: &Context<'_>,
    renderings: impl Iterator<Item = &'r Rendering>,
) -> Vec<Finding> {
    let mut found: BTreeMap<&str, RefusedFile<'_>> = BTreeMap::new();
    for rendering in renderings {
        for note in rendering.notes.iter().filter(|note| note.is_refused) {
            let file = found.entry(&note.path).or_default();
            file.notes.entry((note.span, &note.message)).or_insert(note);
            if file
                .renderings
                .last()
                .is_none_or(|last| last.id != rendering.id)
            {
                file.renderings.push(rendering);
            }
        }
    }
    let mut templates = HashMap::new();
    let found = found.into_values();
    found
        .filter_map(|file| finding(context, &file, &mut templates))
        .collect()
}

/// Whether files contain placeholders, by their paths.
type Templates<'r> = HashMap<&'r str, bool>;

fn finding<'r>(
    context: &Context<'_>,
    file: &RefusedFile<'r>,
    templates: &mut Templates<'r>,
) -> Option<Finding> {
    let renderings = &file.renderings;
    let notes: Vec<&Note> = file.notes.values().copied().collect();
    let (first, others) = notes.split_first()?;
    let is_placeholder = |rendering: &&Rendering| {
        let mut notes = notes.iter();
        notes.all(|note| rendering.is_placeholder(note))
    };
    let is_template =
        |rendering: &&'r Rendering| is_undeployed_template(context, rendering, templates);
    let severity = match renderings.iter().all(is_placeholder) || renderings.iter().all(is_template)
    {
        true => Severity::Note,
        false => Severity::Warning,
    };
    let label = |note: &Note, message: &str| Label {
        path: Arc::clone(&note.path),
        span: note.span,
        message: message.to_owned(),
    };
    let mut causes: Vec<&str> = Vec::new();
    for cause in notes.iter().map(|note| cause(note)) {
        if !causes.contains(&cause) {
            causes.push(cause);
        }
    }
    let causes = causes.into_iter().map(str::to_owned);
    let message = format!("{}: {REFUSED}", names_and_more(causes, CAUSES));
    let mut finding = Finding::new(NOT_MODELLED, severity, label(first, ""), message);
    let others = others.iter().filter(|note| note.span != first.span);
    let related = others.map(|note| label(note, cause(note)));
    finding.related = related.take(LABELLED).collect();
    let overlays = renderings.iter();
    finding.overlays = overlays
        .map(|rendering| Arc::clone(rendering.environment()))
        .collect();
    finding.help = match notes.iter().all(|note| note.absent.is_some()) {
        true => Some("correct the path, or remove the entry".to_owned()),
        false => {
            let build = renderings.first().map(|rendering| rendering.build());
            build.map(|build| format!("correct it; `{build}` prints the error"))
        }
    };
    Some(finding)
}

/// Returns the message of a note without its consequence.
fn cause(note: &Note) -> &str {
    let message = note.message.strip_suffix(REFUSED);
    message.map_or(&*note.message, |message| message.trim_end_matches(": "))
}

/// Returns whether a kustomization is scaffolding: it or a file that it lists contains placeholders, and the tree, which
/// deploys other folders, does not deploy it.
fn is_undeployed_template<'r>(
    context: &Context<'_>,
    rendering: &'r Rendering,
    templates: &mut Templates<'r>,
) -> bool {
    let root = &*rendering.id.root;
    let mut has_placeholder = || {
        let listed = rendering.used.iter().map(|(path, _)| &**path);
        let mut listed = listed.chain([root]);
        listed.any(|path| {
            *templates.entry(path).or_insert_with(|| {
                let file = context.sources.file(path);
                file.is_some_and(|file| template_marker(&file.text).is_some())
            })
        })
    };
    rendering.deployed.is_none() && context.inventory.is_left_to_others(root) && has_placeholder()
}

/// Returns a finding for each policy that is not taken into account because of a kustomization.
pub(super) fn policies_left_out(
    context: &Context<'_>,
    predictions: &[WorkloadPrediction<'_>],
) -> Vec<Finding> {
    let is_ambient = |pod: &WorkloadPrediction<'_>| pod.dataplane.value == Dataplane::Ambient;
    let has_ambient = predictions.iter().any(is_ambient);
    let policies = context.inventory.unchecked.iter();
    policies
        .filter(|policy| has_ambient || !policy.is_network_policy)
        .map(policy_left_out)
        .collect()
}

fn policy_left_out(policy: &UncheckedPolicy) -> Finding {
    let kustomization = policy.kustomization.as_ref();
    let subject =
        kustomization.map_or_else(|| "a kustomization".into(), |path| format!("`{path}`"));
    let title = &policy.title;
    let (reason, help) = match policy.why {
        Unrendered::Patch => (
            "uses its file as a patch, and the object that it changes is not among the files"
                .to_owned(),
            format!(
                "check the output of the build: `{} | meshprobe check --context . -`",
                kustomize_build(kustomization.map_or("", |path| path))
            ),
        ),
        Unrendered::Dropped => {
            let path = kustomization.map_or("KUSTOMIZATION", |path| path);
            let help = format!("if it is deployed in another way, add `--exclude {path}`");
            ("lists it and does not deploy it".to_owned(), help)
        }
    };
    let message = format!("{title} is not taken into account: {subject} {reason}");
    // A kustomization only decides about the workloads that it renders.
    let severity = match policy.why {
        Unrendered::Dropped if policy.concerns_others => Severity::Warning,
        Unrendered::Dropped | Unrendered::Patch => Severity::Note,
    };
    let mut finding = Finding::new(POLICY_LEFT_OUT, severity, policy.place.clone(), message);
    finding.document = policy.document;
    finding.help = Some(help);
    finding
}

/// Explains why a finding is about an object that a kustomization seems to use in another way.
pub(super) fn explain_unrendered(context: &Context<'_>, finding: &mut Finding) {
    let found = context
        .inventory
        .unrendered(&finding.primary.path, finding.document);
    let Some(why) = found.filter(|_| finding.overlays.is_empty()) else {
        return;
    };
    let reason = match why {
        Unrendered::Patch => {
            "a kustomization names this file as a patch, but no object that is rendered contains it: it is \
             checked as a manifest"
        }
        Unrendered::Dropped => {
            "no kustomization that lists this object deploys it: it is checked as it is written"
        }
    };
    finding.help = Some(match finding.help.take() {
        Some(help) => format!("{help} ({reason})"),
        None => reason.to_owned(),
    });
}

/// The maximum number of overlays that a message names.
const NAMED_ROOTS: usize = 3;

/// Returns one finding per limit for the overlays of the run that exceed it.
pub(super) fn left_out<'r>(renderings: impl Iterator<Item = &'r Rendering>) -> Vec<Finding> {
    let mut homes: BTreeMap<Limit, BTreeSet<&Arc<str>>> = BTreeMap::new();
    for rendering in renderings {
        if let Some(limit) = rendering.left_out {
            homes
                .entry(limit)
                .or_default()
                .insert(rendering.environment());
        }
    }
    homes
        .into_iter()
        .filter_map(|(limit, homes)| overlays_left_out(limit, &homes))
        .collect()
}

fn overlays_left_out(limit: Limit, homes: &BTreeSet<&Arc<str>>) -> Option<Finding> {
    let label = Label {
        path: environment_file(homes.first()?).into(),
        span: Span::empty(0),
        message: String::new(),
    };
    let named = names_and_more(homes.iter().map(|home| format!("`{home}`")), NAMED_ROOTS);
    let message = format!("not checked: {named}; {limit}");
    let mut finding = Finding::new(OVERLAY_LEFT_OUT, Severity::Error, label, message);
    finding.overlays = homes.iter().map(|home| Arc::clone(home)).collect();
    finding.help = Some(limit.help("check"));
    Some(finding)
}

/// Returns one finding per severity and limit for the files that exceed it, given with the severity of each.
pub(super) fn files_left_out(files: Vec<(Severity, FileLimit, Label)>) -> Vec<Finding> {
    let mut groups: BTreeMap<_, Vec<Label>> = BTreeMap::new();
    for (severity, limit, label) in files {
        groups.entry((severity, limit)).or_default().push(label);
    }
    let groups = groups.into_iter().rev();
    groups
        .filter_map(|((severity, limit), labels)| group_left_out(severity, limit, &labels))
        .collect()
}

fn group_left_out(severity: Severity, limit: FileLimit, labels: &[Label]) -> Option<Finding> {
    let named = names_and_more(
        labels.iter().map(|label| format!("`{}`", label.path)),
        NAMED_ROOTS,
    );
    let why = match limit {
        FileLimit::Size => format!("a file may have {} MiB", FILE_SIZE >> 20),
        FileLimit::Values => format!("a file may have {FILE_VALUES} values"),
        FileLimit::AllValues => format!("all files of a run may have {PARSED_VALUES} values"),
    };
    let message = format!("not checked: {named}; {why}");
    let mut finding = Finding::new(FILE_LEFT_OUT, severity, labels.first()?.clone(), message);
    let help = match limit {
        FileLimit::AllValues => "check a part of the tree, or leave files out with `--exclude`",
        _ => "split the file, or leave it out with `--exclude`",
    };
    finding.help = Some(help.to_owned());
    Some(finding)
}
