//! The protocol of KRM functions: a `ResourceList` on standard input and output.

use std::collections::BTreeSet;
use std::path::Path;

use meshprobe_mesh::finding::Severity;
use meshprobe_mesh::settings::{Action, Emit, FailOn, Layer};
use meshprobe_tree::source::SourceSet;
use meshprobe_yaml::{self as yaml, Change, FieldPath, Value};

use super::act::act;
use super::answer::Answer;
use super::list::{self, List, NAME};
use super::load::load;
use super::results;

/// Checks and rewrites the list on standard input.
///
/// # Errors
/// Standard input is not a list, or its configuration is invalid.
pub(super) fn answer(input: &[u8], directory: &Path) -> Result<Answer, Vec<String>> {
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
