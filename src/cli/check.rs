//! `meshprobe check`.

use crate::engine::{self, Changed, Exit, Outcome, failing};
use crate::finding::Severity;
use crate::report::{self, Hint, Look, counted};
use crate::settings::{FailOn, Settings};
use crate::source::SourceSet;

use super::args::{CheckArgs, FailOnArg, OutputFormat};
use super::input::{Run, prepare, tell_files};
use super::output::{Stop, eprint, errln, print, print_whole, write};
use super::terminal::look;

pub(super) fn run(args: &CheckArgs) -> Result<Exit, Stop> {
    let mut run = prepare(&args.common)?;
    if let Some(fail_on) = args.fail_on {
        run.layer.fail_on = Some(limit(fail_on));
    }
    let settings = run.layer.resolved(FailOn::default());
    tell_files(&run.set, &args.common);
    if args.diff {
        return diff(&run, args, &settings);
    }
    if args.fix {
        return fix(&run, args, &settings);
    }
    let outcome = run.on_threads(|| engine::check(&run.set, &settings));
    let text = rendered(
        &run.set,
        &outcome,
        args,
        look_of_stdout(args),
        Hint::Fixable,
    )?;
    print(&text)?;
    Ok(exit(&run, &outcome, &settings))
}

fn fix(run: &Run, args: &CheckArgs, settings: &Settings) -> Result<Exit, Stop> {
    let mut fixed = run.on_threads(|| engine::fix(&run.set, settings, args.unsafe_fixes));
    let failures = write(&fixed.changed);
    let mut failed = !failures.is_empty();
    if failed {
        fixed = run.on_threads(|| fixed.without(&failures, &run.set, settings));
    }
    let hint = Hint::Fixed(fixed.cured);
    if run.from_stdin {
        // The fixed text takes the place of the report, as the next program reads it.
        eprint(&rendered(
            &fixed.set,
            &fixed.outcome,
            args,
            look(&std::io::stderr(), args.common.color),
            hint,
        )?);
        failed |= !print_whole(fixed.set.from_stdin())?;
    } else {
        print(&rendered(
            &fixed.set,
            &fixed.outcome,
            args,
            look_of_stdout(args),
            hint,
        )?)?;
    }
    Ok(exit(run, &fixed.outcome, settings).or(failed, Exit::Failure))
}

/// Shows what `--fix` would do; the findings are left to a run without `--diff`.
fn diff(run: &Run, args: &CheckArgs, settings: &Settings) -> Result<Exit, Stop> {
    let fixed = run.on_threads(|| engine::fix(&run.set, settings, args.unsafe_fixes));
    print_diffs(&fixed.changed, look_of_stdout(args))?;
    if !args.common.quiet {
        errln(&match fixed.changed.len() {
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

pub(super) fn print_diffs(changed: &[Changed], look: Look) -> Result<(), Stop> {
    for file in changed {
        print(&report::diff(file, look))?;
    }
    Ok(())
}

fn rendered(
    set: &SourceSet,
    outcome: &Outcome,
    args: &CheckArgs,
    look: Look,
    hint: Hint,
) -> Result<String, Stop> {
    let mut text = match args.output_format {
        OutputFormat::Json => {
            return report::json(set, outcome).map_err(|error| Stop::usage(error.to_string()));
        }
        OutputFormat::Full => report::human(set, &outcome.findings, look),
        OutputFormat::Concise => report::concise(set, &outcome.findings, look),
    };
    if !args.common.quiet {
        text.push_str(&report::summary_line(outcome, hint, look));
    }
    Ok(text)
}

fn exit(run: &Run, outcome: &Outcome, settings: &Settings) -> Exit {
    run.exit()
        .or(failing(&outcome.findings, settings.fail_on), Exit::Findings)
}

fn look_of_stdout(args: &CheckArgs) -> Look {
    look(&std::io::stdout(), args.common.color)
}

const fn limit(arg: FailOnArg) -> FailOn {
    match arg {
        FailOnArg::Error => FailOn::Severity(Severity::Error),
        FailOnArg::Warning => FailOn::Severity(Severity::Warning),
        FailOnArg::Note => FailOn::Severity(Severity::Note),
        FailOnArg::Never => FailOn::Never,
    }
}
