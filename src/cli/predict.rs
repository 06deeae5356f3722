//! `meshprobe predict`.

use meshprobe_mesh::finding::Severity;
use meshprobe_mesh::mesh::{Mesh, Version};
use meshprobe_mesh::settings::FailOn;
use meshprobe_predict::context::{Context, NotJudged};
use meshprobe_predict::predict::{self, WorkloadPrediction};
use meshprobe_tree::source::SourceSet;

use super::args::{PredictArgs, TableFormat};
use super::environments::reject_unknown_environments;
use super::input::{RenderFallback, prepare, print_files, print_findings};
use super::report_files::{shared_files, write_file};
use super::reports::report_root;
use super::session::{Audience, OutputStream, Session};
use super::stop::Stop;
use super::terminal::{line_width, terminal_style};
use crate::engine::{self, Exit, UnknownEnvironments, failing, write_report};
use crate::report::prediction::{self, Explanation, PredictReport, ProbeView, WorkloadRows};
use crate::report::{self, Report, ReportRoot, TerminalStyle};

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
    let predicted = run.on_threads(session, || {
        engine::predict(&run.set, &settings, |context, predictions, not_judged| {
            let view = |format| shown(format, context, predictions, not_judged, &root);
            let reports = args.reports.iter();
            (
                view(format_of_stdout(args)),
                reports.map(|report| view(report.format.into())).collect(),
                Notices::new(context, predictions, not_judged),
            )
        })
    });
    // Without a view, meshprobe panicked on every file, which the findings report.
    let (view, reports, notices) = match predicted.view {
        Some((view, reports, notices)) => (Some(view), reports, notices),
        None => (None, Vec::new(), Notices::default()),
    };
    reject_unknown_environments(&args.environments, notices.unknown.as_ref())?;
    let findings = predicted.findings;
    let page = |probes: &[ProbeView]| {
        report::html_predict(&run.set, &root, probes, &findings, &notices.not_judged)
    };
    let mut failed = false;
    for (number, report) in args.reports.iter().enumerate() {
        let shown = reports.get(number);
        let text = text_of(
            shown,
            report.format.into(),
            &page,
            (TerminalStyle::PLAIN, None),
        )?;
        failed |= write_file(session, [&run.set], &report.path, |target| {
            write_report(target, &text)
        })?;
    }
    print_findings(session, &run.set, &findings, &args.common);
    if !args.common.quiet {
        notices.print(session, args, &run.set);
    }
    let style = terminal_style(session, OutputStream::Stdout, args.common.color);
    let width = line_width(session, OutputStream::Stdout);
    let format = format_of_stdout(args);
    if format == PredictFormat::Json {
        let report = match view {
            Some(Shown::Json(report)) => report,
            _ => PredictReport::default(),
        };
        session.print_json(Report::Predict(report))?;
    } else {
        let text = text_of(view.as_ref(), format, &page, (style, width))?;
        let audience = match format {
            PredictFormat::Table | PredictFormat::Explanations => Audience::People,
            PredictFormat::Json | PredictFormat::Html => Audience::Programs,
        };
        session.write_report(OutputStream::Stdout, &text, audience)?;
    }
    let broken = failing(&findings, FailOn::Severity(Severity::Error));
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

fn shown(
    format: PredictFormat,
    context: &Context<'_>,
    predictions: &[WorkloadPrediction<'_>],
    not_judged: &[NotJudged],
    root: &ReportRoot,
) -> Shown {
    let machines = predict::machines(context);
    match format {
        PredictFormat::Table => Shown::Rows(prediction::table(predictions, &machines)),
        PredictFormat::Explanations => {
            Shown::Explanations(prediction::explanations(context, predictions, &machines))
        }
        PredictFormat::Json => Shown::Json(PredictReport::new(
            context,
            predictions,
            &machines,
            not_judged,
        )),
        PredictFormat::Html => Shown::Probes(report::html_probes(context, predictions, root)),
    }
}

/// Returns the text of a report. JSON and HTML are complete documents, even without predictions.
fn text_of(
    shown: Option<&Shown>,
    format: PredictFormat,
    page: &dyn Fn(&[ProbeView]) -> String,
    (style, width): (TerminalStyle, Option<usize>),
) -> Result<String, Stop> {
    let empty = match format {
        PredictFormat::Json => Shown::Json(PredictReport::default()),
        PredictFormat::Html => Shown::Probes(Vec::new()),
        PredictFormat::Table | PredictFormat::Explanations => Shown::Nothing,
    };
    Ok(match shown.unwrap_or(&empty) {
        Shown::Nothing => String::new(),
        Shown::Rows(rows) => report::predictions(rows, style, width),
        Shown::Explanations(all) => report::explanations(all, style),
        Shown::Json(report) => {
            report::json(report).map_err(|error| Stop::usage(error.to_string()))?
        }
        Shown::Probes(probes) => page(probes),
    })
}

/// What one format shows.
enum Shown {
    Rows(Vec<WorkloadRows>),
    Explanations(Vec<Explanation>),
    Json(PredictReport),
    Probes(Vec<ProbeView>),
    Nothing,
}

/// What a run prints to standard error.
#[derive(Default)]
struct Notices {
    unknown: Option<UnknownEnvironments>,
    is_empty: bool,
    unproven: Option<(Mesh, Version)>,
    not_judged: Vec<NotJudged>,
}

impl Notices {
    fn new(
        context: &Context<'_>,
        predictions: &[WorkloadPrediction<'_>],
        not_judged: &[NotJudged],
    ) -> Self {
        Self {
            unknown: engine::unknown_environments(context, predictions),
            is_empty: !predictions.iter().any(|pod| pod.is_target)
                && predict::machines(context).is_empty(),
            unproven: engine::newest_unproven(predictions),
            not_judged: not_judged.to_vec(),
        }
    }

    fn print(&self, session: &Session, args: &PredictArgs, set: &SourceSet) {
        if self.is_empty {
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
            for line in report::not_judged_lines(set, &self.not_judged) {
                session.errln(&line);
            }
        }
        if let Some((mesh, release)) = self.unproven {
            session.errln(&report::unproven_release_note(mesh, release));
        }
    }
}
