//! `meshprobe check --fix`, `--diff` and `--add-ignore`.

use std::collections::BTreeSet;

use meshprobe_mesh::settings::Settings;
use meshprobe_tree::source::SourceSet;

use crate::cli::args::CheckArgs;
use crate::cli::baseline::Known;
use crate::cli::environments::reject_unknown_environments;
use crate::cli::input::Run;
use crate::cli::output::{print_diffs, write};
use crate::cli::reports::{Reported, Reports};
use crate::cli::session::{OutputStream, Session};
use crate::cli::stop::Stop;
use crate::cli::terminal::terminal_style;
use meshprobe_engine::engine;
use meshprobe_engine::engine::{Exit, Fixed, Outcome, failing};
use meshprobe_report as report;
use meshprobe_report::{Hint, TerminalStyle, counted};

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

/// Writes suppressions, and reports the findings that no comment can suppress.
pub(super) fn add_ignore(invocation: Invocation<'_>, reason: &str) -> Result<Exit, Stop> {
    let Invocation {
        session,
        run,
        args,
        settings,
        known,
    } = invocation;
    let reports = Reports::new(session, args, settings)?;
    let added = run.on_threads(session, || {
        engine::add_ignore(&run.set, settings, reason, |set, outcome| {
            known.suppress(set, outcome);
        })
    });
    reject_unknown_environments(
        &args.environments,
        added.outcome.unknown_environments.as_ref(),
    )?;
    known.report_stale(session, args, &added.set, &added.outcome);
    let mut failed = !write(session, &added.changed).is_empty();
    let probes = run.on_threads(session, || reports.probes(&added.set));
    let reported = Reported {
        set: &added.set,
        outcome: &added.outcome,
        hint: Hint::Nothing,
        probes: &probes,
    };
    failed |= reports.write(reported)?;
    let summary = format!(
        "Suppressed {} in {}.",
        counted(added.suppressed, "finding"),
        counted(added.changed.len(), "file")
    );
    if run.from_stdin {
        session.eprint(&report::full(
            &added.set,
            &added.outcome.findings,
            terminal_style(session, OutputStream::Stderr, args.common.color),
        ));
        session.print_whole(added.set.from_stdin())?;
    } else {
        let style = invocation.style_of_stdout();
        reports.print(OutputStream::Stdout, reported, style)?;
    }
    if !args.common.quiet {
        session.errln(&summary);
        for path in unsuppressed_files(&added.outcome) {
            session.errln(&unsuppressed(&added.set, path));
        }
    }
    Ok(invocation.exit(&added.outcome).or(failed, Exit::Failure))
}

/// Explains why `--add-ignore` did not suppress the findings of a file, and what to do.
fn unsuppressed(set: &SourceSet, path: &str) -> String {
    if set.is_target(path) {
        return format!(
            "{path}: comments cannot suppress the findings of this file; use the annotation \
             `meshprobe.dev/ignore: 'RULE: reason'`, or `ignore` in the configuration"
        );
    }
    format!(
        "{path}: this file is only read as context; add it to the paths to suppress its findings"
    )
}

/// Returns the files that still have findings.
fn unsuppressed_files(outcome: &Outcome) -> BTreeSet<&str> {
    outcome
        .findings
        .iter()
        .map(|finding| &*finding.primary.path)
        .collect()
}

/// A run of the command: its options, settings and files, and the findings that are known.
#[derive(Clone, Copy)]
pub(super) struct Invocation<'a> {
    pub(super) session: &'a Session,
    pub(super) run: &'a Run,
    pub(super) args: &'a CheckArgs,
    pub(super) settings: &'a Settings,
    pub(super) known: &'a Known,
}

impl Invocation<'_> {
    /// Prints to standard error what is not judged, for runs that print no report.
    pub(super) fn report_not_judged(self, outcome: &Outcome) {
        let message = report::not_judged_message(outcome);
        if !self.args.common.quiet && !message.is_empty() {
            self.session.errln(&message);
        }
    }

    /// Returns whether required verdicts are missing, and reports it: findings do not explain the exit code of such a run.
    pub(super) fn lacks_verdicts(self, outcome: &Outcome) -> bool {
        let missing = report::missing_verdicts(outcome, self.settings.required);
        if let Some(missing) = &missing {
            self.session.errln(&format!("error: {missing}"));
        }
        missing.is_some()
    }

    /// Returns the exit code of a run that reports findings.
    pub(super) fn exit(self, outcome: &Outcome) -> Exit {
        let has_findings = failing(&outcome.findings, self.settings.fail_on);
        self.run
            .exit()
            .or(has_findings, Exit::Findings)
            .or(self.lacks_verdicts(outcome), Exit::Findings)
    }

    /// Returns the style of a report on standard output.
    pub(super) fn style_of_stdout(self) -> TerminalStyle {
        terminal_style(self.session, OutputStream::Stdout, self.args.common.color)
    }
}
