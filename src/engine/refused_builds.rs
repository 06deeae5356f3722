//! Reports kustomizations that kustomize refuses to build.

use std::collections::BTreeMap;
use std::sync::Arc;

use meshprobe_deploy::kustomize::{Note, REFUSED, Rendering};
use meshprobe_mesh::finding::{Finding, Label, Severity, names_and_more};
use meshprobe_predict::context::Context;
use meshprobe_tree::source::template_marker;
use meshprobe_yaml::Span;

use meshprobe_rules::rules::notices::NOT_MODELLED;

/// The maximum number of causes that a message lists.
const NAMED: usize = 3;

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
    let found = found.into_values();
    found.filter_map(|file| finding(context, &file)).collect()
}

fn finding(context: &Context<'_>, file: &RefusedFile<'_>) -> Option<Finding> {
    let renderings = &file.renderings;
    let notes: Vec<&Note> = file.notes.values().copied().collect();
    let (first, others) = notes.split_first()?;
    let is_placeholder = |rendering: &&Rendering| {
        let mut notes = notes.iter();
        notes.all(|note| rendering.is_placeholder(note))
    };
    let is_template = |rendering: &&Rendering| is_undeployed_template(context, rendering);
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
    let message = format!("{}: {REFUSED}", names_and_more(causes, NAMED));
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
fn is_undeployed_template(context: &Context<'_>, rendering: &Rendering) -> bool {
    let root = &*rendering.id.root;
    let has_placeholder = || {
        let listed = rendering.used.iter().map(|(path, _)| &**path);
        let mut files = listed
            .chain([root])
            .filter_map(|path| context.sources.file(path));
        files.any(|file| template_marker(&file.text).is_some())
    };
    rendering.deployed.is_none() && context.inventory.is_left_to_others(root) && has_placeholder()
}
