//! `meshprobe check`.

use std::collections::BTreeSet;

use crate::engine::{self, Exit, Fixed, Outcome, failing, rule_names};
use crate::finding::{RuleId, Severity};
use crate::report::{self, Hint, TerminalStyle, counted};
use crate::settings::{FailOn, Layer, RuleLevel, Settings};
use crate::source::SourceSet;

use super::args::{CheckArgs, FailOnArg, SeverityArg};
use super::baseline::{self, Known};
use super::environments::reject_unknown_environments;
use super::input::{Gate, RenderFallback, Run, prepare, print_files};
use super::output::{print_diffs, write};
use super::reports::{Reported, Reports};
use super::session::{OutputStream, Session};
use super::stop::Stop;
use super::terminal::terminal_style;

pub(super) fn run(session: &Session, args: &CheckArgs) -> Result<Exit, Stop> {
    let options = options(args)?;
    // Rejects options before it runs a renderer, and the configuration after it is read.
    reject_rendered_edits(args, args.common.renders_charts_of_tree())?;
    let gate = match args.fail_on {
        Some(_) => Gate::Yes,
        None => Gate::IfConfigured,
    };
    let mut run = prepare(session, &args.common, RenderFallback::Files, gate, None)?;
    run.layer = options.or(std::mem::take(&mut run.layer));
    reject_rendered_edits(args, run.layer.renders_charts == Some(true))?;
    let settings = run.layer.resolved(FailOn::default());
    print_files(session, &run.set, &args.common);
    let known = Known::read(session, (&run.layer, &run.request), args)?;
    if let Some(reason) = &args.add_ignore {
        return add_ignore(session, &run, args, &settings, &known, reason.trim());
    }
    if args.diff {
        return diff(session, &run, args, &settings, &known);
    }
    if args.fix {
        return fix(session, &run, args, &settings, &known);
    }
    let reports = Reports::new(session, args, &settings)?;
    let (mut outcome, probes) = run.on_threads(session, || reports.check(&run.set));
    reject_unknown_environments(&args.environments, outcome.unknown_environments.as_ref())?;
    if let Some(file) = &args.write_baseline {
        baseline::write(session, &run, file, &outcome, args.common.quiet)?;
        report_not_judged(session, args, &outcome);
        return Ok(run
            .exit()
            .or(lacks_workloads(session, args, &outcome), Exit::Findings));
    }
    known.suppress(&run.set, &mut outcome);
    known.report_stale(session, args, &run.set, &outcome);
    let reported = Reported {
        set: &run.set,
        outcome: &outcome,
        hint: Hint::Fixable,
        probes: &probes,
    };
    let failed = reports.write(reported)?;
    reports.print(reported, style_of_stdout(session, args))?;
    let exit = exit(session, &run, &outcome, args, &settings).or(failed, Exit::Failure);
    session.release((run, outcome));
    Ok(exit)
}

/// Rejects options that edit files if the manifests are rendered: there is no file to edit.
/// `renders_charts` is the setting of the options and the configuration.
fn reject_rendered_edits(args: &CheckArgs, renders_charts: bool) -> Result<(), Stop> {
    let options = [
        ("--fix", args.fix),
        ("--diff", args.diff),
        ("--add-ignore", args.add_ignore.is_some()),
    ];
    match options.iter().find(|(_, is_given)| *is_given) {
        Some((option, _)) if args.common.renders() || renders_charts => Err(Stop::usage(format!(
            "`{option}` cannot edit manifests that `--kustomize` or `--helm` renders"
        ))
        .help("pass the source files as paths instead")),
        _ => Ok(()),
    }
}

/// Returns the options of this command as a layer of settings.
///
/// # Errors
/// An unknown rule, or a reason for `--add-ignore` that is empty or has several lines.
pub(super) fn options(args: &CheckArgs) -> Result<Layer, Stop> {
    let mut errors = Vec::new();
    let select = rule_ids("select", &args.select, &mut errors);
    let ignore = rule_ids("ignore", &args.ignore, &mut errors);
    let is_line = |reason: &&String| !reason.trim().is_empty() && !reason.contains(['\n', '\r']);
    if args
        .add_ignore
        .as_ref()
        .is_some_and(|reason| !is_line(&reason))
    {
        errors.push("`--add-ignore` requires a reason on one line".to_owned());
    }
    if !errors.is_empty() {
        return Err(Stop::Usage(errors));
    }
    Ok(Layer {
        fail_on: args.fail_on.map(fail_on),
        rules: ignore
            .into_iter()
            .map(|id| (id, RuleLevel::Ignore))
            .collect(),
        select: (!select.is_empty()).then_some(select),
        min_severity: args.min_severity.map(severity),
        require_rewritten: args.require_rewritten,
        only_environments: args.environments.names(),
        ..Layer::default()
    })
}

/// Parses the rules of an option, and adds an error for each unknown one.
fn rule_ids(option: &str, ids: &[String], errors: &mut Vec<String>) -> BTreeSet<RuleId> {
    let mut parsed = BTreeSet::new();
    for id in ids {
        match rule_names().parse_reported(id) {
            Ok(id) => {
                parsed.insert(id);
            }
            Err(error) => errors.push(format!(
                "invalid value `{id}` for `--{option}`: {}",
                error.message
            )),
        }
    }
    parsed
}

/// Writes suppressions, and reports the findings that no comment can suppress.
fn add_ignore(
    session: &Session,
    run: &Run,
    args: &CheckArgs,
    settings: &Settings,
    known: &Known,
    reason: &str,
) -> Result<Exit, Stop> {
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
        let style = style_of_stdout(session, args);
        reports.print(reported, style)?;
    }
    if !args.common.quiet {
        session.errln(&summary);
        for path in unsuppressed_files(&added.outcome) {
            session.errln(&unsuppressed(&added.set, path));
        }
    }
    Ok(exit(session, run, &added.outcome, args, settings).or(failed, Exit::Failure))
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

fn fix(
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
fn diff(
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

/// Prints to standard error what is not judged, for runs that print no report.
fn report_not_judged(session: &Session, args: &CheckArgs, outcome: &Outcome) {
    let message = report::not_judged_message(outcome);
    if !args.common.quiet && !message.is_empty() {
        session.errln(&message);
    }
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

/// Returns whether required workloads are missing, and reports it: findings do not explain the exit code of such a run.
fn lacks_workloads(session: &Session, args: &CheckArgs, outcome: &Outcome) -> bool {
    let lacks_workloads = args.report.require_workloads && outcome.summary.judges_nothing();
    if lacks_workloads {
        session.errln(
            "error: the files contain no workload that can be judged, but `--require-workloads` requires one",
        );
    }
    lacks_workloads
}

/// Returns the exit code of a run that reports findings.
fn exit(
    session: &Session,
    run: &Run,
    outcome: &Outcome,
    args: &CheckArgs,
    settings: &Settings,
) -> Exit {
    run.exit()
        .or(failing(&outcome.findings, settings.fail_on), Exit::Findings)
        .or(lacks_workloads(session, args, outcome), Exit::Findings)
}

fn style_of_stdout(session: &Session, args: &CheckArgs) -> TerminalStyle {
    terminal_style(session, OutputStream::Stdout, args.common.color)
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

const fn severity(arg: SeverityArg) -> Severity {
    match arg {
        SeverityArg::Error => Severity::Error,
        SeverityArg::Warning => Severity::Warning,
        SeverityArg::Note => Severity::Note,
    }
}

const fn fail_on(arg: FailOnArg) -> FailOn {
    match arg {
        FailOnArg::Error => FailOn::Severity(Severity::Error),
        FailOnArg::Warning => FailOn::Severity(Severity::Warning),
        FailOnArg::Note => FailOn::Severity(Severity::Note),
        FailOnArg::Never => FailOn::Never,
    }
}
