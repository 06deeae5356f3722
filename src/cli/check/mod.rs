//! `meshprobe check`.

use fix::{Invocation, add_ignore, diff, fix};
use meshprobe_mesh::settings::FailOn;

use super::args::CheckArgs;
use super::baseline;
use super::baseline::Known;
use super::environments::reject_unknown_environments;
use super::input::{RenderFallback, prepare, print_files};
use super::reports::{Reported, Reports};
use super::session::{OutputStream, Session};
use super::stop::Stop;
use meshprobe_engine::engine::Exit;
use meshprobe_report::Hint;

pub(super) use options::options;

mod fix;
mod options;

pub(super) fn run(session: &Session, args: &CheckArgs) -> Result<Exit, Stop> {
    let options = options(args);
    // Rejects options before it runs a renderer, and the configuration after it is read.
    reject_rendered_edits(args, args.common.renders_charts_of_tree())?;
    let mut run = prepare(session, &args.common, RenderFallback::Files, None)?;
    run.layer = options.or(std::mem::take(&mut run.layer));
    reject_rendered_edits(args, run.layer.renders_charts == Some(true))?;
    let settings = run.layer.resolved(FailOn::default());
    run.reject_nothing_read()?;
    print_files(session, &run.set, &args.common);
    let known = Known::read(session, (&run.layer, &run.request), args)?;
    let invocation = Invocation {
        session,
        run: &run,
        args,
        settings: &settings,
        known: &known,
    };
    if let Some(reason) = &args.add_ignore {
        return add_ignore(invocation, reason);
    }
    if args.diff {
        return diff(invocation);
    }
    if args.fix {
        return fix(invocation);
    }
    let reports = Reports::new(session, args, &settings)?;
    let (mut outcome, probes) = run.on_threads(session, || reports.check(&run.set));
    reject_unknown_environments(&args.environments, outcome.unknown_environments.as_ref())?;
    if let Some(file) = &args.write_baseline {
        baseline::write(session, &run, file, &outcome, args.common.quiet)?;
        invocation.report_not_judged(&outcome);
        return Ok(run
            .exit()
            .or(invocation.lacks_verdicts(&outcome), Exit::Findings));
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
    reports.print(OutputStream::Stdout, reported, invocation.style_of_stdout())?;
    let exit = invocation.exit(&outcome).or(failed, Exit::Failure);
    session.release((run, outcome));
    Ok(exit)
}

/// Rejects options that edit files if the manifests are rendered, because rendered manifests have no file.
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
