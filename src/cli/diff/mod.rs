//! `meshprobe diff`.

mod changed_facts;
mod loaded;
mod reports;
mod revisions;
mod states;

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::diff::{Cause, Comparison, FailOn, compare, explain_releases};
use crate::engine::{Exit, unread_paths};
use crate::report::changes::{Changes, ReportedState};
use crate::source::Fault;

use super::args::{DiffArgs, DiffFailOnArg};
use super::session::Session;
use super::stop::Stop;
use loaded::{Loaded, States};
use reports::Reports;

pub(super) fn run(session: &Session, args: &DiffArgs) -> Result<Exit, Stop> {
    let reports = Reports::new(session, args)?;
    let States {
        before,
        after,
        changed_fact,
        only_release,
    } = states::load(session, args)?;
    let mut comparison = compare(
        (&before.state, &before.run.set),
        (&after.state, &after.run.set),
    );
    if let Some(text) = changed_fact {
        name_option(&mut comparison, &text);
        // Another fact could cause the same change.
        let releases = before.istio_release.zip(after.istio_release);
        if let Some((before, after)) = releases.filter(|_| only_release) {
            explain_releases(&mut comparison, before, after);
        }
    }
    report_unread(session, &before, &after);
    let fail_on = fail_on(args.fail_on);
    let changes = Changes {
        before: reported(&before),
        after: reported(&after),
        comparison: &comparison,
        fail_on,
    };
    let failed = reports.write(&changes)?;
    reports.print(&changes)?;
    let exit = before
        .exit
        .or(after.exit == Exit::Failure, Exit::Failure)
        .or(comparison.fails(fail_on), Exit::Findings)
        .or(failed, Exit::Failure);
    session.release((before, after, comparison));
    Ok(exit)
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

/// Names the changed fact as the cause of all changes: the files of both states are the same.
fn name_option(comparison: &mut Comparison, text: &str) {
    for change in &mut comparison.changes {
        change.cause = Some(Cause::option(text));
    }
}

const fn fail_on(arg: DiffFailOnArg) -> FailOn {
    match arg {
        DiffFailOnArg::Regression => FailOn::Regression,
        DiffFailOnArg::Any => FailOn::Any,
        DiffFailOnArg::Never => FailOn::Never,
    }
}
