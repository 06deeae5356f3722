//! The protocol before functions: kustomize calls a plugin with the path of its configuration, and
//! pipes the resources through it as a plain stream of documents.
//!
//! `kubectl kustomize` knows no exec functions, but it does know this.
//! Source: kustomize 5.8, `api/internal/plugins/execplugin`.

use std::collections::BTreeSet;
use std::path::Path;

use crate::engine::{Exit, failing, rule_ids};
use crate::finding::Severity;
use crate::settings::{Action, Emit, FailOn};
use crate::source::{Content, SourceSet};
use crate::yaml::Tree;

use super::list::NAME;
use super::{Answer, ConfigFile, act, config, load, results};

/// Rewrites and checks a stream.
pub(super) fn answer(
    input: &[u8],
    directory: &Path,
    file: ConfigFile<'_>,
) -> Result<Answer, Vec<String>> {
    let layer = config::layer_of_file(file.name, file.bytes, &rule_ids())?;
    if layer.emit == Some(Emit::None) {
        let message = "`emit: none` is for functions under `validators:`; a plugin that gives nothing back deletes every resource";
        return Err(vec![format!("{}: {message}", file.name)]);
    }
    let set = load(input, directory, &layer)?;
    refuse_broken(&set)?;
    let settings = layer.resolved(FailOn::Severity(Severity::Error));
    let both = BTreeSet::from([Action::Check, Action::Rewrite]);
    let done = act(&set, &settings, &layer.actions.clone().unwrap_or(both));
    let after = done.set.as_ref().unwrap_or(&set);
    let text = after.file(NAME).map(|file| file.text.to_string());
    Ok(Answer {
        output: text,
        messages: results::messages(&set, &done.findings, &done.summary),
        exit: Exit::Success.or(failing(&done.findings, settings.fail_on), Exit::Findings),
    })
}

/// The documents of standard input that could be read.
fn trees(set: &SourceSet) -> impl Iterator<Item = &Tree> {
    let documents = set.file(NAME).into_iter().flat_map(|file| &file.documents);
    documents.filter_map(|document| document.tree())
}

/// What cannot be read was not judged, and the caller would apply it all the same.
fn refuse_broken(set: &SourceSet) -> Result<(), Vec<String>> {
    let file = set.file(NAME);
    let whole = file.filter(|file| file.fault.is_none());
    let Some(file) = whole else {
        return Err(vec!["standard input is not UTF-8".into()]);
    };
    let broken: Vec<String> = file
        .documents
        .iter()
        .filter_map(|document| match &document.content {
            Content::Broken { error, .. } => {
                let message = format!("the input is not YAML: {}", error.message);
                Some(config::at(NAME, &file.text, error.offset, &message))
            }
            _ => None,
        })
        .collect();
    match (broken.is_empty(), trees(set).next()) {
        (false, _) => Err(broken),
        (true, None) => Err(vec![format!("{NAME} holds no resources")]),
        (true, Some(_)) => Ok(()),
    }
}
