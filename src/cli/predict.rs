//! `meshprobe predict`.

use crate::context::Context;
use crate::engine::{self, Exit, failing};
use crate::finding::Severity;
use crate::predict::{self, WorkloadPrediction};
use crate::report;
use crate::report::prediction::{self, Explanation, Report, WorkloadRows};
use crate::settings::FailOn;

use super::args::{PredictArgs, TableFormat};
use super::environments::reject_unknown_environments;
use super::input::{Gate, RenderFallback, prepare, print_files, print_findings};
use super::session::{OutputStream, Session};
use super::stop::Stop;
use super::terminal::{line_width, terminal_style};

const NOTHING_PREDICTED: &str = "Nothing was predicted: the files contain no workloads of the run; `meshprobe check` \
                                 names what is not judged.";

pub(super) fn run(session: &Session, args: &PredictArgs) -> Result<Exit, Stop> {
    let run = prepare(session, &args.common, RenderFallback::Files, Gate::No, None)?;
    let mut settings = run.layer.resolved(FailOn::default());
    settings.only_environments = args.environments.names();
    print_files(session, &run.set, &args.common);
    let predicted = run.on_threads(session, || {
        engine::predict(&run.set, &settings, |context, predictions| {
            let unknown = engine::unknown_environments(context, predictions);
            let is_empty = !predictions.iter().any(|pod| pod.is_target)
                && predict::machines(context).is_empty();
            let unproven = engine::newest_unproven(predictions);
            (
                shown(args, context, predictions),
                (unknown, is_empty, unproven),
            )
        })
    });
    let (view, (unknown, is_empty, unproven)) = match predicted.view {
        Some((view, about)) => (Some(view), about),
        None => (None, (None, false, None)),
    };
    reject_unknown_environments(&args.environments, unknown.as_ref())?;
    let is_json = args.output_format == TableFormat::Json && !args.explain;
    // JSON output is a complete document, even without predictions.
    let shown = view.or_else(|| is_json.then(|| json(&Report::empty())));
    let findings = predicted.findings;
    print_findings(session, &run.set, &findings, &args.common);
    if is_empty && !args.common.quiet {
        session.errln(NOTHING_PREDICTED);
    }
    if let Some((mesh, release)) = unproven.filter(|_| !args.common.quiet) {
        session.errln(&report::unproven_release_note(mesh, release));
    }
    match shown {
        // meshprobe panicked on every file, which the findings report.
        None => {}
        Some(Shown::Rows(rows)) => {
            let style = terminal_style(session, OutputStream::Stdout, args.common.color);
            let width = line_width(session, OutputStream::Stdout);
            session.print_text(&report::predictions(&rows, style, width))?;
        }
        Some(Shown::Explanations(all)) => {
            let style = terminal_style(session, OutputStream::Stdout, args.common.color);
            session.print_text(&report::explanations(&all, style))?;
        }
        Some(Shown::Json(text)) => {
            let text = text.map_err(|error| Stop::usage(error.to_string()))?;
            session.print(&report::json_safe(&format!("{text}\n")))?;
        }
    }
    let broken = failing(&findings, FailOn::Severity(Severity::Error));
    Ok(run.exit().or(broken, Exit::Findings))
}

fn shown(
    args: &PredictArgs,
    context: &Context<'_>,
    predictions: &[WorkloadPrediction<'_>],
) -> Shown {
    let machines = predict::machines(context);
    if args.explain {
        let all = prediction::explanations(context, predictions, &machines);
        return Shown::Explanations(all);
    }
    match args.output_format {
        TableFormat::Table => Shown::Rows(prediction::table(predictions, &machines)),
        TableFormat::Json => json(&Report::new(context, predictions, &machines)),
    }
}

fn json(report: &Report) -> Shown {
    Shown::Json(serde_json::to_string_pretty(report))
}

enum Shown {
    Rows(Vec<WorkloadRows>),
    Explanations(Vec<Explanation>),
    Json(serde_json::Result<String>),
}
