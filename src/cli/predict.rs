//! `meshprobe predict`.

use meshprobe_mesh::finding::Severity;
use meshprobe_mesh::settings::FailOn;
use meshprobe_tree::source::SourceSet;

use super::args::{PredictArgs, TableFormat};
use super::environments::reject_unknown_environments;
use super::input::{RenderFallback, prepare, print_files, print_findings};
use super::reports::{report_root, shared_files, write_file};
use super::session::{Audience, OutputStream, Session};
use super::stop::Stop;
use super::terminal::{line_width, terminal_style};
use meshprobe_engine::engine;
use meshprobe_engine::engine::{AnalysisRequest, Exit, Predictions, failing, write_report};
use meshprobe_report as report;
use meshprobe_report::{PredictReport, Report, TerminalStyle};

const NO_WORKLOADS: &str = "Nothing was predicted: the files do not contain workloads.";
const NONE_SELECTED: &str = "Nothing was predicted: the files do not contain workloads that `--overlay` or `--cluster` \
                             selects.";

pub(super) fn run(session: &Session, args: &PredictArgs) -> Result<Exit, Stop> {
    let errors = shared_files(&args.reports, session.directory()?);
    if !errors.is_empty() {
        return Err(Stop::Usage(errors));
    }
    let folder = args.report_root.as_deref();
    let root = report_root(folder, &args.common.paths, session.directory()?)?;
    let run = prepare(session, &args.common, RenderFallback::Files, None)?;
    run.reject_nothing_read()?;
    let mut settings = run.layer.resolved(FailOn::default());
    settings.only_environments = args.environments.names();
    print_files(session, &run.set, &args.common);
    let predictions = run.on_threads(session, || {
        engine::predict(&AnalysisRequest::new(&run.set, &settings))
    });
    reject_unknown_environments(
        &args.environments,
        predictions.unknown_environments.as_ref(),
    )?;
    let (findings, not_judged) = (&predictions.findings, &predictions.not_judged);
    let reports = predictions.workloads.as_deref().unwrap_or_default();
    let text_of = |format, style, width| match format {
        PredictFormat::Html => Ok(report::html_predict(
            &run.set, &root, reports, findings, not_judged,
        )),
        PredictFormat::Json => {
            let report = PredictReport::new(&run.set, reports.to_vec(), not_judged);
            report::json(&report).map_err(|error| Stop::usage(error.to_string()))
        }
        // meshprobe panicked on every file, which the findings report.
        _ if predictions.workloads.is_none() => Ok(String::new()),
        PredictFormat::Table => Ok(report::predictions(reports, style, width)),
        PredictFormat::Explanations => Ok(report::explanations(&run.set, reports, style)),
    };
    let mut failed = false;
    for report in &args.reports {
        let text = text_of(report.format.into(), TerminalStyle::PLAIN, None)?;
        failed |= write_file(session, [&run.set], &report.path, |target| {
            write_report(target, &text)
        })?;
    }
    print_findings(session, &run.set, findings, &args.common);
    if !args.common.quiet {
        print_notices(session, args, &run.set, &predictions);
    }
    let format = format_of_stdout(args);
    if format == PredictFormat::Json {
        let report = PredictReport::new(&run.set, reports.to_vec(), not_judged);
        session.print_json(Report::Predict(report))?;
    } else {
        let style = terminal_style(session, OutputStream::Stdout, args.common.color);
        let text = text_of(format, style, line_width(session, OutputStream::Stdout))?;
        let audience = match format {
            PredictFormat::Table | PredictFormat::Explanations => Audience::People,
            PredictFormat::Json | PredictFormat::Html => Audience::Programs,
        };
        session.write_report(OutputStream::Stdout, &text, audience)?;
    }
    let broken = failing(findings, FailOn::Severity(Severity::Error));
    Ok(run
        .exit()
        .or(broken, Exit::Findings)
        .or(failed, Exit::Failure))
}

/// The formats of `--output-format`, and that of `--explain`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PredictFormat {
    Table,
    Explanations,
    Json,
    Html,
}

impl From<TableFormat> for PredictFormat {
    fn from(format: TableFormat) -> Self {
        match format {
            TableFormat::Table => Self::Table,
            TableFormat::Json => Self::Json,
            TableFormat::Html => Self::Html,
        }
    }
}

fn format_of_stdout(args: &PredictArgs) -> PredictFormat {
    match args.explain {
        true => PredictFormat::Explanations,
        false => args.output_format.into(),
    }
}

/// Prints to standard error what the report does not show.
fn print_notices(
    session: &Session,
    args: &PredictArgs,
    set: &SourceSet,
    predictions: &Predictions,
) {
    if predictions.workloads.as_ref().is_some_and(Vec::is_empty) {
        let selects_all = args.environments.names().is_empty();
        session.errln(if selects_all {
            NO_WORKLOADS
        } else {
            NONE_SELECTED
        });
    }
    // These formats list what is not judged.
    let format = format_of_stdout(args);
    if !matches!(format, PredictFormat::Json | PredictFormat::Html) {
        for line in report::not_judged_lines(set, &predictions.not_judged) {
            session.errln(&line);
        }
    }
    if let Some((mesh, release)) = predictions.unproven {
        session.errln(&report::unproven_release_note(mesh, release));
    }
}
