//! Reports settings with which kustomize refuses to build a kustomization.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::context::Context;
use crate::finding::{Finding, Label, Severity, names_and_more};
use crate::kustomize::{Note, REFUSED, Rendering};
use crate::source::template_marker;
use crate::yaml::Span;

use super::notices::NOT_MODELLED;

/// The maximum number of causes that a message lists.
const NAMED: usize = 3;

/// What kustomize refuses at one place: the messages, and the renderings that include it.
#[derive(Default)]
struct RefusedSetting<'r> {
    notes: BTreeMap<&'r str, &'r Note>,
    renderings: Vec<&'r Rendering>,
}

/// Returns one warning for each setting that kustomize refuses, with all objects because of which it does; a note for a
/// template that the tree does not deploy. [`absent_entries`](super::absent_entries) reports entries that do not exist.
pub(super) fn refused_builds<'r>(
    context: &Context<'_>,
    renderings: impl Iterator<Item = &'r Rendering>,
) -> Vec<Finding> {
    let mut found: BTreeMap<(&str, Span), RefusedSetting<'_>> = BTreeMap::new();
    for rendering in renderings {
        let notes = rendering.notes.iter();
        let refused = notes.filter(|note| note.is_refused && note.absent.is_none());
        for note in refused {
            let setting = found.entry((&note.path, note.span)).or_default();
            setting.notes.entry(&note.message).or_insert(note);
            if setting
                .renderings
                .last()
                .is_none_or(|last| last.id != rendering.id)
            {
                setting.renderings.push(rendering);
            }
        }
    }
    found
        .into_values()
        .filter_map(|setting| finding(context, &setting))
        .collect()
}

fn finding(context: &Context<'_>, setting: &RefusedSetting<'_>) -> Option<Finding> {
    let renderings = &setting.renderings;
    let (_, note) = setting.notes.first_key_value()?;
    let label = Label {
        path: Arc::clone(&note.path),
        span: note.span,
        message: String::new(),
    };
    let is_placeholder = |rendering: &&Rendering| rendering.is_placeholder(note);
    let is_template = |rendering: &&Rendering| is_undeployed_template(context, rendering);
    let severity = match renderings.iter().all(is_placeholder) || renderings.iter().all(is_template)
    {
        true => Severity::Note,
        false => Severity::Warning,
    };
    let mut finding = Finding::new(NOT_MODELLED, severity, label, message(setting));
    let overlays = renderings.iter();
    finding.overlays = overlays
        .map(|rendering| Arc::clone(rendering.environment()))
        .collect();
    let build = renderings.first().map(|rendering| rendering.build());
    finding.help = build.map(|build| format!("correct it; `{build}` prints the error"));
    Some(finding)
}

/// Returns the message about all causes at one place.
fn message(setting: &RefusedSetting<'_>) -> String {
    let ending = format!(": {REFUSED}");
    let causes = setting.notes.keys();
    let causes = causes.map(|message| message.strip_suffix(&*ending).unwrap_or(message));
    format!(
        "{}{ending}",
        names_and_more(causes.map(str::to_owned), NAMED)
    )
}

/// Returns whether a kustomization is scaffolding: it or a file that it lists contains placeholders, and the tree, which
/// deploys other folders, does not deploy it.
pub(super) fn is_undeployed_template(context: &Context<'_>, rendering: &Rendering) -> bool {
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
