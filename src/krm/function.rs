//! The protocol of KRM functions, a `ResourceList` on standard input and output, and that of legacy plugins of kustomize.

use std::collections::BTreeSet;
use std::path::Path;

use meshprobe_mesh::finding::Severity;
use meshprobe_mesh::settings::{Action, Emit, FailOn, Layer};
use meshprobe_tree::filesystem::FileSystem;
use meshprobe_tree::source::{Content, Fault, Input, Request, SourceSet};
use meshprobe_yaml as yaml;
use meshprobe_yaml::{Change, FieldPath, Tree, Value};

use super::act::{Answer, ConfigFile, act};
use super::list::{List, NAME};
use super::{config, list, results};
use meshprobe_engine::engine;

/// Checks and rewrites the list on standard input.
///
/// # Errors
/// Standard input is not a list, or its configuration is invalid.
pub(super) fn answer_function(input: &[u8], directory: &Path) -> Result<Answer, Vec<String>> {
    let set = load(input, directory, &Layer::default())?;
    let layer = List::of(&set)?.configuration()?;
    let set = if layer.context.is_empty() {
        set
    } else {
        load(input, directory, &layer)?
    };
    let list = List::of(&set)?;
    let settings = layer.resolved(FailOn::Severity(Severity::Error));
    let emit = layer.emit.unwrap_or_default();
    let actions = actions(&layer, emit, &list)?;
    let done = act(&set, &settings, &actions);
    let items: Vec<_> = list.items().collect();
    let messages = results::messages(&set, &done);
    let mut results = results::values(&set, &items, &done.findings);
    results.extend(results::left_out(&set, &done.summary));
    results.extend(
        done.missing_verdicts
            .as_deref()
            .map(results::missing_verdicts),
    );
    results.extend(done.rewrite.as_ref().and_then(results::rewrite_sum));
    // The edits of the rewrite have already been verified.
    let rewritten = List::of(done.set.as_ref().unwrap_or(&set))?;
    Ok(Answer {
        output: Some(output(&rewritten, emit, results)?),
        messages,
        exit: done.exit(&settings),
    })
}

/// Returns the actions of the call. A list that is not returned is not rewritten.
///
/// # Errors
/// `emit: none` outside of `kustomize build`, or together with the action `rewrite`.
fn actions(layer: &Layer, emit: Emit, list: &List<'_>) -> Result<BTreeSet<Action>, Vec<String>> {
    let both = BTreeSet::from([Action::Check, Action::Rewrite]);
    if emit == Emit::Items {
        return Ok(layer.actions.clone().unwrap_or(both));
    }
    if !list.comes_from_kustomize_build() {
        return Err(vec![
            "`emit: none` is only allowed for `validators:` of kustomize build; elsewhere it would delete every resource".into(),
        ]);
    }
    match &layer.actions {
        Some(actions) if actions.contains(&Action::Rewrite) => Err(vec![
            "`emit: none` cannot be used with the action `rewrite`, which would have no effect"
                .into(),
        ]),
        _ => Ok(BTreeSet::from([Action::Check])),
    }
}

fn output(list: &List<'_>, emit: Emit, results: Vec<Value>) -> Result<String, Vec<String>> {
    let mut changes = Vec::new();
    // The results of earlier functions are kept, before those of this one.
    let route = FieldPath::keys(&["results"]);
    if !results.is_empty() && emit == Emit::Items && list.has_results() {
        changes.extend(results.into_iter().map(|value| Change::Push {
            route: route.clone(),
            value,
        }));
    } else if !results.is_empty() {
        let value = Value::Seq(results);
        changes.push(Change::Set { route, value });
    }
    let empty;
    let list = match emit {
        Emit::Items => list,
        Emit::None => {
            empty = SourceSet::from_text(NAME, list::EMPTY);
            &List::of(&empty)?
        }
    };
    if !list.has_items() {
        let route = FieldPath::keys(&["items"]);
        changes.push(Change::Set {
            route,
            value: Value::Seq(Vec::new()),
        });
    }
    if changes.is_empty() {
        return Ok(list.text().to_owned());
    }
    let edits = yaml::apply(list.tree(), &changes)
        .map_err(|error| vec![format!("cannot edit the list: {}", error.reason)])?;
    Ok(list.text_with(&edits))
}

/// Rewrites and checks a stream.
///
/// # Errors
/// The configuration is invalid, or a document of the stream cannot be read.
pub(super) fn answer_plugin(
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

/// Runs the function on the bytes of standard input. Paths in its configuration are relative to `directory`. With a
/// configuration file, input and output are plain streams of documents.
///
/// Source of the two protocols: kustomize 5.8, "KRM Functions Specification" and exec plugins.
#[must_use]
pub fn run(input: &[u8], directory: &Path, config: Option<ConfigFile<'_>>) -> Answer {
    let result = match config {
        Some(config) if !is_list(input, directory) => answer_plugin(input, directory, config),
        // The arguments of a function have a meaning for its caller only.
        _ => answer_function(input, directory),
    };
    result.unwrap_or_else(|messages| Answer::failure(&messages))
}

fn is_list(input: &[u8], directory: &Path) -> bool {
    load(input, directory, &Layer::default()).is_ok_and(|set| List::of(&set).is_ok())
}

/// Reads standard input and the files under `context` of the configuration.
///
/// # Errors
/// meshprobe panicked on standard input, or a file cannot be read.
pub(super) fn load(
    input: &[u8],
    directory: &Path,
    layer: &Layer,
) -> Result<SourceSet, Vec<String>> {
    let files = FileSystem::default();
    let boundary = files.boundary(directory);
    let context = layer.context.iter().map(|path| {
        let place = files.resolved_within(directory, Path::new(path), &boundary);
        let place =
            place.map_err(|why| vec![format!("cannot read `{path}` for `context`: {why}")])?;
        Ok(Input::Resolved(place))
    });
    let context = context.collect::<Result<_, Vec<String>>>()?;
    let set = engine::load(&Request {
        targets: vec![Input::Bytes {
            name: NAME.into(),
            bytes: input.into(),
            disk_path: None,
        }],
        context,
        working_directory: directory.to_path_buf(),
        ..Request::default()
    });
    if let Some(Fault::Panicked(panic)) = set.file(NAME).and_then(|file| file.fault.as_ref()) {
        let help = engine::how_to_report("standard input");
        return Err(vec![format!(
            "meshprobe panicked on standard input: {panic}; {help}"
        )]);
    }
    let mut unread = engine::unread_paths(&set);
    // An unreadable list has a message of its own.
    unread.retain(|path| **path != *NAME);
    if unread.is_empty() {
        return Ok(set);
    }
    let messages = unread
        .iter()
        .map(|path| format!("cannot read `{path}` for `context`"));
    Err(messages.collect())
}
