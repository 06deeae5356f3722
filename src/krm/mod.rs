//! The KRM function: a `ResourceList` in, the same list out, edited in place.
//!
//! The caller deletes whatever is missing in the answer, without a word. Therefore the answer is
//! the text that came in with edits, never a list that is printed anew, and there is none at all
//! where the call fails.

mod config;
mod definition;
mod list;
mod plugin;
mod results;

use std::collections::BTreeSet;
use std::path::Path;

use crate::engine::{self, Exit, Outcome, Summary, failing};
use crate::finding::{Finding, Severity};
use crate::report::visible;
use crate::settings::{Action, Emit, FailOn, Layer, Settings};
use crate::source::{
    Fault, Input, Request, SourceSet, TrackedHidden, WalkOptions, boundary, resolved_within,
};
use crate::yaml::{self, Change, Route, Value};

pub use definition::definition;

use list::{List, NAME};

/// What the function gives back.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// For standard output; `None` where there is nothing that the caller may use.
    pub output: Option<String>,
    /// For standard error, one line per message.
    pub messages: String,
    /// How the process ends.
    pub exit: Exit,
}

impl Answer {
    fn failure(messages: &[String]) -> Self {
        Self {
            output: None,
            messages: messages
                .iter()
                .map(|message| format!("error: {}\n", visible(message)))
                .collect(),
            exit: Exit::Failure,
        }
    }
}

/// The configuration file that a legacy plugin of kustomize is given as its first argument.
#[derive(Clone, Copy, Debug)]
pub struct ConfigFile<'a> {
    /// The path, for messages.
    pub name: &'a str,
    /// What the file holds.
    pub bytes: &'a [u8],
}

/// Runs the function over the bytes of standard input; paths in its configuration are relative
/// to `directory`. With a configuration file, standard input is a plain stream of documents, and
/// so is the answer.
///
/// Source of the two protocols: kustomize 5.8, "KRM Functions Specification" and exec plugins.
#[must_use]
pub fn run(input: &[u8], directory: &Path, config: Option<ConfigFile<'_>>) -> Answer {
    let answered = match config {
        Some(config) if !is_list(input, directory) => plugin::answer(input, directory, config),
        // The arguments of a function are its caller's business.
        _ => answer(input, directory),
    };
    answered.unwrap_or_else(|messages| Answer::failure(&messages))
}

fn is_list(input: &[u8], directory: &Path) -> bool {
    load(input, directory, &Layer::default()).is_ok_and(|set| List::of(&set).is_ok())
}

fn answer(input: &[u8], directory: &Path) -> Result<Answer, Vec<String>> {
    let set = load(input, directory, &Layer::default())?;
    let layer = List::of(&set)?.configuration(&engine::rule_ids())?;
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
    let messages = results::messages(&set, &done.findings, &done.summary);
    let mut results = results::values(&set, &items, &done.findings);
    results.extend(results::left_out(&done.summary));
    // What the rewrite made of the list is verified already.
    let rewritten = List::of(done.set.as_ref().unwrap_or(&set))?;
    Ok(Answer {
        output: Some(output(&rewritten, emit, results)?),
        messages,
        exit: Exit::Success.or(failing(&done.findings, settings.fail_on), Exit::Findings),
    })
}

/// Reads standard input, and the files that the configuration names for facts.
///
/// # Errors
/// meshprobe panicked on standard input, or a file cannot be read.
fn load(input: &[u8], directory: &Path, layer: &Layer) -> Result<SourceSet, Vec<String>> {
    let boundary = boundary(directory);
    let context = layer.context.iter().map(|path| {
        let place = resolved_within(directory, Path::new(path), &boundary);
        let place = place.map_err(|why| vec![format!("context: cannot read {path}: {why}")])?;
        Ok(Input::Resolved(place))
    });
    let context = context.collect::<Result<_, Vec<String>>>()?;
    let set = engine::load(&Request {
        targets: vec![Input::Bytes {
            name: NAME.into(),
            bytes: input.into(),
            lies_at: None,
        }],
        context,
        working_directory: directory.to_path_buf(),
        // The function is a gate: a finding fails the build.
        walk: WalkOptions {
            tracked_hidden: TrackedHidden::Manifests,
            ..WalkOptions::default()
        },
        ..Request::default()
    });
    if let Some(Fault::Panicked(panic)) = set.file(NAME).and_then(|file| file.fault.as_ref()) {
        let help = engine::how_to_report("standard input");
        return Err(vec![format!(
            "meshprobe panicked on standard input: {panic}; {help}"
        )]);
    }
    let mut unread = engine::unread_paths(&set);
    // The list itself has its own message.
    unread.retain(|path| **path != *NAME);
    if unread.is_empty() {
        return Ok(set);
    }
    let told = unread
        .iter()
        .map(|path| format!("context: cannot read {path}"));
    Err(told.collect())
}

/// Which steps are done. A list that is not given back needs no rewrite.
fn actions(layer: &Layer, emit: Emit, list: &List<'_>) -> Result<BTreeSet<Action>, Vec<String>> {
    let both = BTreeSet::from([Action::Check, Action::Rewrite]);
    if emit == Emit::Items {
        return Ok(layer.actions.clone().unwrap_or(both));
    }
    if !list.comes_from_kustomize_build() {
        return Err(vec![
            "`emit: none` is for `validators:` of kustomize build only: anywhere else it would delete every resource".into(),
        ]);
    }
    match &layer.actions {
        Some(actions) if actions.contains(&Action::Rewrite) => Err(vec![
            "`emit: none` gives nothing back: the action `rewrite` would have no effect".into(),
        ]),
        _ => Ok(BTreeSet::from([Action::Check])),
    }
}

#[derive(Default)]
struct Done {
    findings: Vec<Finding>,
    /// What the check has seen.
    summary: Summary,
    /// The files as they are after the rewrite, if there was one.
    set: Option<SourceSet>,
}

fn act(set: &SourceSet, settings: &Settings, actions: &BTreeSet<Action>) -> Done {
    let mut done = Done::default();
    if actions.contains(&Action::Check) {
        let outcome = engine::check(set, settings);
        done.findings = outcome.findings;
        done.summary = outcome.summary;
    }
    if actions.contains(&Action::Rewrite) {
        let rewritten = engine::rewrite(set, settings);
        if actions.contains(&Action::Check) {
            let after = engine::check(&rewritten.set, settings);
            cure(&mut done.findings, &after);
        }
        let known: BTreeSet<_> = done.findings.iter().map(key).collect();
        let new: Vec<Finding> = rewritten
            .findings
            .into_iter()
            .filter(|finding| !known.contains(&key(finding)))
            .collect();
        done.findings.extend(new);
        done.set = Some(rewritten.set);
    }
    done
}

/// What the rewrite has cured is worth a note, no more.
fn cure(findings: &mut [Finding], after: &Outcome) {
    let left: BTreeSet<_> = after.findings.iter().map(key).collect();
    for finding in findings {
        if !left.contains(&key(finding)) {
            finding.severity = Severity::Note;
            finding.message.push_str(" (cured by the rewrite)");
            finding.help = None;
            finding.fix = None;
        }
    }
}

/// What makes two findings the same before and after.
fn key(finding: &Finding) -> impl Ord + use<> {
    (
        finding.rule,
        finding.object.clone(),
        finding.container.clone(),
        finding.field.clone(),
    )
}

fn output(list: &List<'_>, emit: Emit, results: Vec<Value>) -> Result<String, Vec<String>> {
    let mut changes = Vec::new();
    // Results of functions that ran before stay, in front of ours.
    let route = Route::keys(&["results"]);
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
        let route = Route::keys(&["items"]);
        changes.push(Change::Set {
            route,
            value: Value::Seq(Vec::new()),
        });
    }
    if changes.is_empty() {
        return Ok(list.text().to_owned());
    }
    let edits = yaml::apply(list.tree(), &changes)
        .map_err(|error| vec![format!("the list cannot be edited: {}", error.reason)])?;
    Ok(list.text_with(&edits))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::Label;
    use crate::yaml::Span;

    #[test]
    fn what_the_rewrite_cures_is_a_note() {
        let finding = |container: &str| {
            let label = Label {
                path: NAME.into(),
                span: Span::empty(0),
                message: String::new(),
            };
            let mut finding = Finding::new("r", Severity::Error, label, "it fails".into());
            finding.container = Some(container.into());
            finding
        };
        let mut findings = [finding("a"), finding("b")];
        let after = Outcome {
            findings: vec![finding("b")],
            ..Outcome::default()
        };
        cure(&mut findings, &after);
        assert_eq!(findings[0].severity, Severity::Note);
        assert_eq!(findings[0].message, "it fails (cured by the rewrite)");
        assert_eq!(findings[1], finding("b"));
    }
}
