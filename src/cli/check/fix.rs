//! `meshprobe check --fix` and `--diff`.

use super::invocation::Invocation;
use crate::cli::environments::reject_unknown_environments;
use crate::cli::output::{print_diffs, write};
use crate::cli::reports::{Reported, Reports};
use crate::cli::session::{OutputStream, Session};
use crate::cli::stop::Stop;
use crate::cli::terminal::terminal_style;
use crate::engine;
use crate::engine::{Exit, Fixed};
use crate::report::{Hint, counted};

/// Fixes the files, writes them, and reports the findings that remain.
pub(super) fn fix(invocation: Invocation<'_>) -> Result<Exit, Stop> {
    let Invocation {
        session,
        run,
        args,
        settings,
        known,
    } = invocation;
    let reports = Reports::new(session, args, settings)?;
    let mut fixed = fixed(invocation)?;
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
        reports.print(OutputStream::Stderr, reported, style)?;
        failed |= !session.print_whole(fixed.set.from_stdin())?;
    } else {
        let style = invocation.style_of_stdout();
        reports.print(OutputStream::Stdout, reported, style)?;
    }
    Ok(invocation.exit(&fixed.outcome).or(failed, Exit::Failure))
}

/// Shows the changes of `--fix`. Only a run without `--diff` reports the findings.
pub(super) fn diff(invocation: Invocation<'_>) -> Result<Exit, Stop> {
    let Invocation {
        session,
        run,
        args,
        known,
        ..
    } = invocation;
    let fixed = fixed(invocation)?;
    known.report_stale(session, args, &fixed.set, &fixed.outcome);
    report_unsettled(session, &fixed);
    print_diffs(session, &fixed.changed, invocation.style_of_stdout())?;
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
    invocation.report_not_judged(&fixed.outcome);
    let lacks_verdicts = invocation.lacks_verdicts(&fixed.outcome);
    Ok(run
        .exit()
        .or(!fixed.changed.is_empty() || lacks_verdicts, Exit::Findings))
}

/// Fixes the files in memory.
fn fixed(invocation: Invocation<'_>) -> Result<Fixed, Stop> {
    let Invocation {
        run,
        args,
        settings,
        known,
        ..
    } = invocation;
    let fixed = run.on_threads(invocation.session, || {
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
