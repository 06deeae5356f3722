//! `meshprobe diff`.

mod changed_facts;
mod loaded;
mod rejected;
mod reports;
mod revisions;
mod states;

use std::collections::{BTreeSet, HashSet};
use std::path::Path;
use std::sync::Arc;

use meshprobe_mesh::settings::{FactScope, MeshKind, RequiredVerdicts, Version};
use meshprobe_tree::git::ChangedPaths;
use meshprobe_tree::source::{Fault, SourceFile};

use super::args::{ChangeFormat, DiffArgs, DiffFailOnArg};
use super::environments::reject_unknown_environments;
use super::input::NOTHING_READ;
use super::session::Session;
use super::stop::Stop;
use changed_facts::WhatIf;
use loaded::{Loaded, States};
use meshprobe_engine::diff::{
    Cause, Change, Class, Comparison, FailOn, Side, add_hidden, compare, explain_releases,
    name_option, patch_level_note,
};
use meshprobe_engine::engine::{Exit, UnknownEnvironments, unread_paths};
use meshprobe_report::changes::{Changes, ReportedState};
use rejected::reject_unrelated_paths;
use reports::Reports;

pub(super) fn run(session: &Session, args: &DiffArgs) -> Result<Exit, Stop> {
    let mut reports = Reports::new(session, args)?;
    let states = states::load(session, args)?;
    if states.before.run.reads_nothing() && states.after.run.reads_nothing() {
        return Err(Stop::usage("neither state contains a manifest").help(NOTHING_READ));
    }
    reject_unknown_environments_of(session, args, &states)?;
    if let Some(root) = &states.repository {
        reports.use_repository(root)?;
    }
    let mut comparison = compare(
        (&states.before.state, &states.before.run.set),
        (&states.after.state, &states.after.run.set),
        &states.other_files,
    );
    reject_unrelated_paths(session, args, &states, &comparison)?;
    reject_own_base(&states, &comparison)?;
    reject_unread_files(&states, &comparison)?;
    comparison.notes = notes(&states);
    for note in comparison.notes.iter().filter(|_| !args.common.quiet) {
        session.errln(&format!("note: {note}"));
    }
    let (before, after) = (&states.before, &states.after);
    if let Some(what_if) = &states.what_if {
        name_option(&mut comparison, &what_if.text());
    }
    if let Some(file) = &states.changed_config {
        name_configuration(
            &mut comparison,
            file,
            [before, after],
            &states.changed_paths,
        );
        if let Some(state) = &states.without_overrides {
            let sets = (&before.run.set, &after.run.set);
            let files = &states.other_files;
            let hidden = compare((&before.state, sets.0), (state, sets.1), files);
            add_hidden(&mut comparison, hidden, file);
        }
    }
    // Another fact could cause the same change.
    let releases = before.istio_release.zip(after.istio_release);
    let what_if = states.what_if.as_ref();
    if let Some((before, after)) = releases.filter(|_| what_if.is_some_and(WhatIf::is_only_release))
    {
        explain_releases(&mut comparison, before, after);
    }
    report_unread(session, before, after);
    let changes = Changes {
        before: reported(before),
        after: reported(after),
        comparison: &comparison,
        fail_on: fail_on(args),
        root: None,
    };
    let is_part = !states.are_trees && !args.common.paths.is_empty();
    report_missing_verdicts(session, args, &changes, is_part);
    let failed = reports.write(&changes)?;
    reports.print(&changes)?;
    let exit = before
        .exit
        .or(after.exit == Exit::Failure, Exit::Failure)
        .or(changes.fails(), Exit::Findings)
        .or(failed, Exit::Failure);
    session.release((states, comparison));
    Ok(exit)
}

/// Rejects a comparison of a revision with itself that the user did not ask for: a clone of one branch, for example in a CI
/// job, does not contain the base of that branch.
fn reject_own_base(states: &States, comparison: &Comparison) -> Result<(), Stop> {
    let differs = !comparison.changes.is_empty()
        || comparison.added_without_fault > 0
        || comparison.leaves_something_out();
    if !states.is_own_base || differs {
        return Ok(());
    }
    let (before, after) = (&states.before.name, &states.after.name);
    Err(Stop::usage(format!(
        "nothing is compared: {before} is the base of {after}, and no manifest differs"
    ))
    .help(
        "name the base with `--since`; if the clone does not contain it, fetch it, for example with \
         `git fetch origin main:refs/remotes/origin/main`",
    ))
}

/// Rejects a comparison in which a probe seems to be removed because its file is not read in the second state.
fn reject_unread_files(states: &States, comparison: &Comparison) -> Result<(), Stop> {
    let (before, after) = (&states.before.run, &states.after.run);
    let files = after.set.files.iter();
    let read: HashSet<&Path> = files.filter_map(SourceFile::resolved_location).collect();
    let removed = comparison.changes.iter();
    let removed = removed.filter(|change| change.class == Class::Removed && !states.are_trees);
    for probe in removed.filter_map(Change::probe) {
        let file = before.set.file(&probe.file);
        let location = file.and_then(SourceFile::resolved_location);
        if location
            .is_some_and(|path| !read.contains(path) && after.request.filesystem.is_file(path))
        {
            let (path, name) = (&probe.file, &states.after.name);
            let message = format!("cannot compare {name}: `{path}` exists, but is not read");
            return Err(Stop::usage(message));
        }
    }
    Ok(())
}

/// Rejects names of `--overlay` and `--cluster` that neither state has. A name that only one state has is that of a new or
/// a removed environment.
fn reject_unknown_environments_of(
    session: &Session,
    args: &DiffArgs,
    states: &States,
) -> Result<(), Stop> {
    let (before, after) = (&states.before, &states.after);
    let unknown = [&before.unknown_environments, &after.unknown_environments];
    if let [Some(one), Some(other)] = unknown {
        let is_unknown = |name: &&String| other.given.contains(name);
        let both = UnknownEnvironments {
            given: one.given.iter().filter(is_unknown).cloned().collect(),
            without_workloads: one.without_workloads || other.without_workloads,
            known: one.known.union(&other.known).cloned().collect(),
        };
        reject_unknown_environments(&args.environments, Some(&both))?;
    }
    for (own, other) in [(before, after), (after, before)] {
        let unknown = own.unknown_environments.iter();
        let unknown = unknown.filter(|own| !own.without_workloads);
        let given = unknown.flat_map(|own| &own.given);
        for name in given.filter(|_| !args.common.quiet) {
            let other = &other.name;
            session.errln(&format!("note: only {other} has the environment `{name}`"));
        }
    }
    Ok(())
}

/// Reports the required verdicts that are missing, or that neither state has a workload if the report on standard output
/// does not.
fn report_missing_verdicts(
    session: &Session,
    args: &DiffArgs,
    changes: &Changes<'_>,
    is_part: bool,
) {
    let is_shown = args.report.output_format == ChangeFormat::Full || args.common.quiet;
    if let Some(missing) = changes.missing_verdicts() {
        session.errln(&format!("error: {missing}"));
    } else if changes.compares_nothing() && !is_shown {
        session.errln(
            "warning: nothing was compared: neither state contains a workload that can be judged",
        );
    }
    // A folder of policies contains no workload, but may break those of others.
    if changes.compares_nothing() && is_part && !args.common.quiet {
        session.errln(
            "help: paths limit the report to the workloads in them; without paths, `meshprobe diff` shows what their policies change",
        );
    }
}

/// Prints an error for each path that the user named and that cannot be read.
fn report_unread(session: &Session, before: &Loaded, after: &Loaded) {
    let mut reported = BTreeSet::new();
    for state in [before, after] {
        if state.exit == Exit::Success {
            continue;
        }
        for path in unread_paths(&state.run.set) {
            let file = state.run.set.file(&path);
            let reason = match file.and_then(|file| file.fault.as_ref()) {
                Some(Fault::Unreadable(reason)) => format!(": {reason}"),
                _ => String::new(),
            };
            if reported.insert(Arc::clone(&path)) {
                session.errln(&format!("error: cannot read `{path}`{reason}"));
            }
        }
    }
}

fn reported(loaded: &Loaded) -> ReportedState<'_> {
    ReportedState {
        name: &loaded.name,
        state: &loaded.state,
        set: &loaded.run.set,
    }
}

/// Names the configuration file as the cause of all changes that no line explains, or only a line of a file that its
/// `context` adds to one state.
fn name_configuration(
    comparison: &mut Comparison,
    file: &str,
    [before, after]: [&Loaded; 2],
    changed: &ChangedPaths,
) {
    let is_added = |cause: &Cause| {
        let (own, other) = match cause.side {
            Side::Before => (before, after),
            Side::After => (after, before),
        };
        cause.place.as_ref().is_some_and(|place| {
            let file = own.run.set.file(&place.path);
            let location =
                file.and_then(|file| file.resolved_location().or(file.location.as_deref()));
            // The other state has the file and does not read it.
            location.is_some_and(|location| {
                let is_named = |loaded: &Loaded| loaded.run.names_in_context(location);
                is_named(own) && !is_named(other) && !changed.contains(location)
            })
        })
    };
    for change in &mut comparison.changes {
        let cause = change.cause.as_ref();
        let is_explained = |cause: &Cause| cause.place.is_some() && !is_added(cause);
        if !cause.is_some_and(is_explained) {
            change.cause = Some(Cause::configuration(file));
        }
    }
}

/// Returns what makes the run fail; of several classes, those that include the others.
fn fail_on(args: &DiffArgs) -> FailOn {
    let classes = |arg: &DiffFailOnArg| -> Option<&'static [Class]> {
        match arg {
            DiffFailOnArg::Regression => Some(FailOn::REGRESSION),
            DiffFailOnArg::Removed => Some(FailOn::REMOVED),
            DiffFailOnArg::Any => Some(&Class::ALL),
            DiffFailOnArg::Never => Some(&[]),
            DiffFailOnArg::NotJudged => None,
        }
    };
    let given = args.fail_on.iter();
    let requires_all =
        |arg: &DiffFailOnArg| matches!(arg, DiffFailOnArg::NotJudged | DiffFailOnArg::Any);
    FailOn {
        classes: given
            .clone()
            .filter_map(classes)
            .max_by_key(|classes| classes.len())
            .unwrap_or(FailOn::REGRESSION),
        required: match args.report.require_workloads {
            _ if given.clone().any(requires_all) => RequiredVerdicts::All,
            true => RequiredVerdicts::One,
            false => RequiredVerdicts::None,
        },
    }
}

/// Returns the notes about a comparison, in the order of importance.
fn notes(states: &States) -> Vec<String> {
    let (before, after) = (&states.before, &states.after);
    let mut notes = states.notes.clone();
    if let Some(what_if) = &states.what_if {
        let kind = after.run.layer.mesh.unwrap_or_default();
        notes.extend(newer_releases(what_if, kind));
        notes.extend(unread_facts(what_if, kind, [before, after]));
    }
    notes.extend(patch_levels(before, after));
    notes.extend(not_moved(after));
    notes
}

fn newer_releases(what_if: &WhatIf, kind: MeshKind) -> impl Iterator<Item = String> {
    let last = Version::LAST_ISTIO;
    let newer = what_if.newer_releases(kind).into_iter();
    newer.map(move |version| {
        format!(
            "Istio {version} is newer than {last}, the newest release that meshprobe models, and is treated like it"
        )
    })
}

/// Returns a note for each fact that no workload reads in either state.
fn unread_facts(what_if: &WhatIf, kind: MeshKind, states: [&Loaded; 2]) -> Vec<String> {
    let mut notes = Vec::new();
    for (option, key) in what_if.keys() {
        let scope = FactScope::of(key, kind);
        let [before, after] = states.map(|loaded| loaded.state.readers.why_unread(scope));
        if let (Some(_), Some(why)) = (before, after) {
            let note = format!("`{key}` of `{option}` has no effect: {why}");
            if !notes.contains(&note) {
                notes.push(note);
            }
        }
    }
    notes
}

/// Returns a note for each release whose patch level matters and is not known, if the releases of both states differ.
fn patch_levels(before: &Loaded, after: &Loaded) -> Vec<String> {
    let releases = before.istio_release.zip(after.istio_release);
    let Some((old, new)) = releases.filter(|(old, new)| old != new || old.patch() != new.patch())
    else {
        return Vec::new();
    };
    let found = [(before, old), (after, new)];
    let found = found.into_iter();
    found
        .filter_map(|(loaded, release)| patch_level_note(&loaded.state, release))
        .collect()
}

/// Returns a note for each workload that the dataplane of `--to` does not move.
fn not_moved(after: &Loaded) -> impl Iterator<Item = String> {
    after.state.not_moved.iter().map(|found| {
        let what = match found.keeps_sidecar {
            true => "keeps its sidecar",
            false => "stays in ambient mode",
        };
        let path = &found.place.path;
        let file = after.run.set.file(path);
        let line = file.map(|file| format!(":{}", file.line_of(found.place.span)));
        let (workload, label) = (&found.workload, &found.label);
        let line = line.unwrap_or_default();
        format!(
            "not moved by `dataplane`: {workload}, which {what}: label `{label}` ({path}{line})"
        )
    })
}
