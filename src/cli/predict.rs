//! `meshprobe predict`.

use crate::context::{Context, NotJudged};
use crate::engine::{self, Exit, UnknownEnvironments, failing};
use crate::finding::Severity;
use crate::mesh::{Mesh, Version};
use crate::predict::{self, WorkloadPrediction};
use crate::report;
use crate::report::prediction::{self, Explanation, Report, WorkloadRows};
use crate::settings::FailOn;
use crate::source::SourceSet;

use super::args::{PredictArgs, TableFormat};
use super::environments::reject_unknown_environments;
use super::input::{Gate, RenderFallback, prepare, print_files, print_findings};
use super::session::{OutputStream, Session};
use super::stop::Stop;
use super::terminal::{line_width, terminal_style};

const NO_WORKLOADS: &str = "Nothing was predicted: the files do not contain workloads.";
const NONE_SELECTED: &str = "Nothing was predicted: the files do not contain workloads that `--overlay` or `--cluster` \
                             selects.";

pub(super) fn run(session: &Session, args: &PredictArgs) -> Result<Exit, Stop> {
    let run = prepare(session, &args.common, RenderFallback::Files, Gate::No, None)?;
    let mut settings = run.layer.resolved(FailOn::default());
    settings.only_environments = args.environments.names();
    print_files(session, &run.set, &args.common);
    let predicted = run.on_threads(session, || {
        engine::predict(&run.set, &settings, |context, predictions, not_judged| {
            (
                shown(args, context, predictions, not_judged),
                Notices::new(context, predictions, not_judged),
            )
        })
    });
    // Without a view, meshprobe panicked on every file, which the findings report.
    let (view, notices) = predicted.view.unzip();
    let notices = notices.unwrap_or_default();
    reject_unknown_environments(&args.environments, notices.unknown.as_ref())?;
    // JSON output is a complete document, even without predictions.
    let shown = view.or_else(|| is_json(args).then(|| json(&Report::empty())));
    let findings = predicted.findings;
    print_findings(session, &run.set, &findings, &args.common);
    if !args.common.quiet {
        notices.print(session, args, &run.set);
    }
    match shown {
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

fn is_json(args: &PredictArgs) -> bool {
    args.output_format == TableFormat::Json && !args.explain
}

fn shown(
    args: &PredictArgs,
    context: &Context<'_>,
    predictions: &[WorkloadPrediction<'_>],
    not_judged: &[NotJudged],
) -> Shown {
    let machines = predict::machines(context);
    if args.explain {
        let all = prediction::explanations(context, predictions, &machines);
        return Shown::Explanations(all);
    }
    match args.output_format {
        TableFormat::Table => Shown::Rows(prediction::table(predictions, &machines)),
        TableFormat::Json => json(&Report::new(context, predictions, &machines, not_judged)),
    }
}

fn json(report: &Report) -> Shown {
    Shown::Json(serde_json::to_string_pretty(report))
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
        // The JSON output lists what is not judged.
        if !is_json(args) {
            for line in report::not_judged_lines(set, &self.not_judged) {
                session.errln(&line);
            }
        }
        if let Some((mesh, release)) = self.unproven {
            session.errln(&report::unproven_release_note(mesh, release));
        }
    }
}

enum Shown {
    Rows(Vec<WorkloadRows>),
    Explanations(Vec<Explanation>),
    Json(serde_json::Result<String>),
}
