//! `meshprobe check`.

use std::collections::BTreeSet;

use crate::engine::{self, Changed, Exit, Fixed, Outcome, check_ids, failing};
use crate::finding::Severity;
use crate::report::{self, Hint, Look, counted};
use crate::settings::{FailOn, Layer, RuleLevel, Settings, not_one_of};

use super::args::{CheckArgs, FailOnArg, SeverityArg};
use super::input::{Gate, Instead, Run, prepare, tell_files};
use super::output::{Stop, write};
use super::reports::Reports;
use super::session::{Output, Session};
use super::terminal::look;

pub(super) fn run(session: &Session, args: &CheckArgs) -> Result<Exit, Stop> {
    let chosen = chosen(args)?;
    keep_rendered(args)?;
    let gate = match args.fail_on {
        Some(_) => Gate::Yes,
        None => Gate::IfConfigured,
    };
    let mut run = prepare(session, &args.common, Instead::Files, gate)?;
    run.layer = chosen.over(std::mem::take(&mut run.layer));
    let settings = run.layer.resolved(FailOn::default());
    tell_files(session, &run.set, &args.common);
    if let Some(reason) = &args.add_ignore {
        return add_ignore(session, &run, args, &settings, reason.trim());
    }
    if args.diff {
        return diff(session, &run, args, &settings);
    }
    if args.fix {
        return fix(session, &run, args, &settings);
    }
    let reports = Reports::new(session, args, &settings)?;
    let outcome = run.on_threads(session, || engine::check(&run.set, &settings));
    let hint = Hint::Fixable;
    let failed = reports.write(&run.set, &outcome, hint)?;
    reports.print(&run.set, &outcome, look_of_stdout(session, args), hint)?;
    let exit = exit(&run, &outcome, &settings).or(failed, Exit::Failure);
    session.release((run, outcome));
    Ok(exit)
}

/// There is no file to write where a tool makes the manifests.
fn keep_rendered(args: &CheckArgs) -> Result<(), Stop> {
    let edits = [
        ("--fix", args.fix),
        ("--diff", args.diff),
        ("--add-ignore", args.add_ignore.is_some()),
    ];
    let asked = edits.iter().find(|(_, given)| *given);
    match asked {
        Some((option, _)) if args.common.renders() => Err(Stop::usage(format!(
            "{option} cannot edit what --kustomize or --helm renders: name the files that it is made from"
        ))),
        _ => Ok(()),
    }
}

/// What the options of this command say, as a layer of settings.
fn chosen(args: &CheckArgs) -> Result<Layer, Stop> {
    let known = check_ids();
    let mut wrong = Vec::new();
    for (option, ids) in [("select", &args.select), ("ignore", &args.ignore)] {
        let unknown = ids.iter().filter(|id| !known.contains(&id.as_str()));
        wrong.extend(unknown.map(|id| format!("--{option}: {}", not_one_of("rule", id, &known))));
    }
    let is_line = |reason: &&String| !reason.trim().is_empty() && !reason.contains(['\n', '\r']);
    if args
        .add_ignore
        .as_ref()
        .is_some_and(|reason| !is_line(&reason))
    {
        wrong.push("--add-ignore: give a reason, on one line".to_owned());
    }
    if !wrong.is_empty() {
        return Err(Stop::Usage(wrong));
    }
    let ignored = args.ignore.iter().map(|id| (id.clone(), RuleLevel::Ignore));
    Ok(Layer {
        fail_on: args.fail_on.map(limit),
        rules: ignored.collect(),
        select: (!args.select.is_empty()).then(|| args.select.iter().cloned().collect()),
        min_severity: args.min_severity.map(least),
        require_rewritten: args.require_rewritten,
        ..Layer::default()
    })
}

/// Silences what is found, and shows what cannot be silenced.
fn add_ignore(
    session: &Session,
    run: &Run,
    args: &CheckArgs,
    settings: &Settings,
    reason: &str,
) -> Result<Exit, Stop> {
    let reports = Reports::new(session, args, settings)?;
    let done = run.on_threads(session, || engine::add_ignore(&run.set, settings, reason));
    let mut failed = !write(session, &done.changed).is_empty();
    failed |= reports.write(&done.set, &done.outcome, Hint::Nothing)?;
    let said = format!(
        "Silenced {} in {}.",
        counted(done.silenced, "finding"),
        counted(done.changed.len(), "file")
    );
    if run.from_stdin {
        session.eprint(&report::human(
            &done.set,
            &done.outcome.findings,
            look(session, Output::Stderr, args.common.color),
        ));
        session.print_whole(done.set.from_stdin())?;
    } else {
        let look = look_of_stdout(session, args);
        reports.print(&done.set, &done.outcome, look, Hint::Nothing)?;
    }
    if !args.common.quiet {
        session.errln(&said);
        for path in unsilenced(&done.outcome) {
            session.errln(&format!(
                "{path}: no comment can stand there: give the reason in the annotation \
                 `meshprobe.dev/ignore: 'RULE: reason'`, or under `ignore` of the configuration"
            ));
        }
    }
    Ok(exit(run, &done.outcome, settings).or(failed, Exit::Failure))
}

/// The files of findings that are left.
fn unsilenced(outcome: &Outcome) -> BTreeSet<&str> {
    let left = outcome.findings.iter();
    left.map(|finding| &*finding.primary.path).collect()
}

fn fix(session: &Session, run: &Run, args: &CheckArgs, settings: &Settings) -> Result<Exit, Stop> {
    let reports = Reports::new(session, args, settings)?;
    let mut fixed = run.on_threads(session, || {
        engine::fix(&run.set, settings, args.unsafe_fixes)
    });
    let failures = write(session, &fixed.changed);
    let mut failed = !failures.is_empty();
    if failed {
        fixed = run.on_threads(session, || fixed.without(&failures, &run.set, settings));
    }
    tell_unsettled(session, &fixed);
    let hint = Hint::Fixed(fixed.cured);
    failed |= reports.write(&fixed.set, &fixed.outcome, hint)?;
    if run.from_stdin {
        // The fixed text takes the place of the report, as the next program reads it.
        let look = look(session, Output::Stderr, args.common.color);
        reports.eprint(&fixed.set, &fixed.outcome, look, hint)?;
        failed |= !session.print_whole(fixed.set.from_stdin())?;
    } else {
        let look = look_of_stdout(session, args);
        reports.print(&fixed.set, &fixed.outcome, look, hint)?;
    }
    Ok(exit(run, &fixed.outcome, settings).or(failed, Exit::Failure))
}

/// Shows what `--fix` would do; the findings are left to a run without `--diff`.
fn diff(session: &Session, run: &Run, args: &CheckArgs, settings: &Settings) -> Result<Exit, Stop> {
    let fixed = run.on_threads(session, || {
        engine::fix(&run.set, settings, args.unsafe_fixes)
    });
    tell_unsettled(session, &fixed);
    print_diffs(session, &fixed.changed, look_of_stdout(session, args))?;
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
    Ok(run.exit().or(!fixed.changed.is_empty(), Exit::Findings))
}

pub(super) fn print_diffs(session: &Session, changed: &[Changed], look: Look) -> Result<(), Stop> {
    for file in changed {
        session.print_text(&report::diff(file, look))?;
    }
    Ok(())
}

fn exit(run: &Run, outcome: &Outcome, settings: &Settings) -> Exit {
    run.exit()
        .or(failing(&outcome.findings, settings.fail_on), Exit::Findings)
}

fn look_of_stdout(session: &Session, args: &CheckArgs) -> Look {
    look(session, Output::Stdout, args.common.color)
}

/// A fault of ours, which leaves the files as they were.
fn tell_unsettled(session: &Session, fixed: &Fixed) {
    if !fixed.unsettled.is_empty() {
        session.errln(&format!(
            "warning: the fixes of {} undo each other, their files stay as they were; please report it",
            fixed.unsettled.join(", ")
        ));
    }
}

const fn least(arg: SeverityArg) -> Severity {
    match arg {
        SeverityArg::Error => Severity::Error,
        SeverityArg::Warning => Severity::Warning,
        SeverityArg::Note => Severity::Note,
    }
}

const fn limit(arg: FailOnArg) -> FailOn {
    match arg {
        FailOnArg::Error => FailOn::Severity(Severity::Error),
        FailOnArg::Warning => FailOn::Severity(Severity::Warning),
        FailOnArg::Note => FailOn::Severity(Severity::Note),
        FailOnArg::Never => FailOn::Never,
    }
}
