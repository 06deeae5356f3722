//! `meshprobe check --add-ignore`.

use std::collections::BTreeSet;

use meshprobe_tree::source::SourceSet;

use super::invocation::Invocation;
use crate::cli::environments::reject_unknown_environments;
use crate::cli::output::write;
use crate::cli::reports::{Reported, Reports};
use crate::cli::session::OutputStream;
use crate::cli::stop::Stop;
use crate::cli::terminal::terminal_style;
use crate::engine::{Exit, Outcome};
use crate::report::{Hint, counted};
use crate::{engine, report};

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
