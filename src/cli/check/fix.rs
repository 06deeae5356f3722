//! `meshprobe check --fix` and `--diff`.

use crate::engine::{self, Exit, Fixed};
use crate::report::{Hint, counted};
use crate::settings::Settings;

use super::super::args::CheckArgs;
use super::super::baseline::Known;
use super::super::environments::reject_unknown_environments;
use super::super::input::Run;
use super::super::output::{print_diffs, write};
use super::super::reports::{Reported, Reports};
use super::super::session::{OutputStream, Session};
use super::super::stop::Stop;
use super::super::terminal::terminal_style;
use super::result::{exit, lacks_workloads, report_not_judged, style_of_stdout};

/// Fixes the files, writes them, and reports the findings that remain.
pub(super) fn fix(
    session: &Session,
    run: &Run,
    args: &CheckArgs,
    settings: &Settings,
    known: &Known,
) -> Result<Exit, Stop> {
    let reports = Reports::new(session, args, settings)?;
    let mut fixed = fixed(session, run, args, settings, known)?;
    let failures = write(session, &fixed.changed);
    let mut failed = !failures.is_empty();
    if failed {
        fixed = run.on_threads(session, || {
            fixed.without(&failures, &run.set, settings, |set, outcome| {
                known.suppress(set, outcome);
            })
        });
    }
    known.report_stale(session, args, &fixed.set, &fixed.outcome);
    report_unsettled(session, &fixed);
    let probes = run.on_threads(session, || reports.probes(&fixed.set));
    let reported = Reported {
        set: &fixed.set,
        outcome: &fixed.outcome,
        hint: Hint::Fixed(fixed.cured),
        probes: &probes,
    };
    failed |= reports.write(reported)?;
    if run.from_stdin {
        // Standard output contains the fixed text for the next program, so the report is printed to standard error.
        let style = terminal_style(session, OutputStream::Stderr, args.common.color);
        reports.eprint(reported, style)?;
        failed |= !session.print_whole(fixed.set.from_stdin())?;
    } else {
        let style = style_of_stdout(session, args);
        reports.print(reported, style)?;
    }
    Ok(exit(session, run, &fixed.outcome, args, settings).or(failed, Exit::Failure))
}

/// Shows the changes of `--fix`. Only a run without `--diff` reports the findings.
pub(super) fn diff(
    session: &Session,
    run: &Run,
    args: &CheckArgs,
    settings: &Settings,
    known: &Known,
) -> Result<Exit, Stop> {
    let fixed = fixed(session, run, args, settings, known)?;
    known.report_stale(session, args, &fixed.set, &fixed.outcome);
    report_unsettled(session, &fixed);
    print_diffs(session, &fixed.changed, style_of_stdout(session, args))?;
    if !args.common.quiet {
        session.errln(&match fixed.changed.len() {
            0 => "Nothing to fix.".to_owned(),
            files => format!(
                "Would fix {} in {}.",
                counted(fixed.cured, "finding"),
                counted(files, "file")
            ),
        });
    }
    report_not_judged(session, args, &fixed.outcome);
    let lacks_workloads = lacks_workloads(session, args, &fixed.outcome);
    Ok(run
        .exit()
        .or(!fixed.changed.is_empty() || lacks_workloads, Exit::Findings))
}

/// Fixes the files in memory.
fn fixed(
    session: &Session,
    run: &Run,
    args: &CheckArgs,
    settings: &Settings,
    known: &Known,
) -> Result<Fixed, Stop> {
    let fixed = run.on_threads(session, || {
        engine::fix_unknown(&run.set, settings, args.unsafe_fixes, |set, outcome| {
            known.suppress(set, outcome);
        })
    });
    reject_unknown_environments(
        &args.environments,
        fixed.outcome.unknown_environments.as_ref(),
    )?;
    Ok(fixed)
}

/// Warns about fixes that undo each other, which is a bug in meshprobe.
fn report_unsettled(session: &Session, fixed: &Fixed) {
    if !fixed.unsettled.is_empty() {
        session.errln(&format!(
            "warning: the fixes of {} undo each other, so their files were not changed; please report this bug",
            fixed
                .unsettled
                .iter()
                .map(|rule| rule.as_str())
                .collect::<Vec<_>>()
                .join(", ")
        ));
    }
}
