//! `meshprobe diff`.

mod changed_facts;
mod loaded;
mod reports;
mod revisions;
mod states;

use crate::diff::{Cause, Comparison, FailOn, compare, explain_releases};
use crate::engine::Exit;
use crate::report::changes::{Changes, ReportedState};

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
    } = states::load(session, args)?;
    let mut comparison = compare(
        (&before.state, &before.run.set),
        (&after.state, &after.run.set),
    );
    if let Some(text) = changed_fact {
        name_option(&mut comparison, &text);
        if let (Some(before), Some(after)) = (before.istio_release, after.istio_release) {
            explain_releases(&mut comparison, before, after);
        }
    }
    let fail_on = fail_on(args.fail_on);
    let changes = Changes {
        before: reported(&before),
        after: reported(&after),
        comparison: &comparison,
        fail_on,
    };
    let failed = reports.write(&changes)?;
    reports.print(&changes)?;
    let mut all = comparison.changes.iter();
    let fails = all.any(|change| fail_on.includes(change.class));
    let exit = before
        .exit
        .or(after.exit == Exit::Failure, Exit::Failure)
        .or(fails, Exit::Findings)
        .or(failed, Exit::Failure);
    session.release((before, after, comparison));
    Ok(exit)
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
