//! The protocol of legacy plugins: kustomize calls a plugin with the path of its configuration, and pipes the resources
//! through it as a plain stream of documents.
//!
//! `kubectl kustomize` does not support exec functions, but it supports legacy plugins.
//! Source: kustomize 5.8, `api/internal/plugins/execplugin`.

use std::collections::BTreeSet;
use std::path::Path;

use meshprobe_mesh::finding::Severity;
use meshprobe_mesh::settings::{Action, Emit, FailOn};
use meshprobe_tree::source::{Content, SourceSet};
use meshprobe_yaml::Tree;

use super::act::act;
use super::answer::{Answer, ConfigFile};
use super::list::NAME;
use super::load::load;
use super::{config, results};

/// Rewrites and checks a stream.
///
/// # Errors
/// The configuration is invalid, or a document of the stream cannot be read.
pub(super) fn answer(
    input: &[u8],
    directory: &Path,
    file: ConfigFile<'_>,
) -> Result<Answer, Vec<String>> {
    let layer = config::layer_of_file(file.name, file.bytes)?;
    if layer.emit == Some(Emit::None) {
        let message = "`emit: none` is only allowed for functions under `validators:`; a plugin without output deletes every resource";
        return Err(vec![format!("{}: {message}", file.name)]);
    }
    let set = load(input, directory, &layer)?;
    reject_unreadable(&set)?;
    let settings = layer.resolved(FailOn::Severity(Severity::Error));
    let both = BTreeSet::from([Action::Check, Action::Rewrite]);
    let done = act(&set, &settings, &layer.actions.clone().unwrap_or(both));
    let after = done.set.as_ref().unwrap_or(&set);
    let text = after.file(NAME).map(|file| file.text.to_string());
    Ok(Answer {
        output: text,
        messages: results::messages(&set, &done),
        exit: done.exit(&settings),
    })
}

/// Returns the documents of standard input that were parsed.
fn trees(set: &SourceSet) -> impl Iterator<Item = &Tree> {
    set.file(NAME)
        .into_iter()
        .flat_map(|file| &file.documents)
        .filter_map(|document| document.tree())
}

/// Rejects input that cannot be read: it would be applied although it was not checked.
fn reject_unreadable(set: &SourceSet) -> Result<(), Vec<String>> {
    let Some(file) = set.file(NAME).filter(|file| file.fault.is_none()) else {
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
        (true, None) => Err(vec!["standard input contains no resources".to_owned()]),
        (true, Some(_)) => Ok(()),
    }
}
