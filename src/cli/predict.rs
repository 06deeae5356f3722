//! `meshprobe predict`.

use crate::context::Context;
use crate::context::render::render_relevant;
use crate::engine::{self, Exit, failing};
use crate::finding::Severity;
use crate::predict::{self, Explanation, Report, Row, WorkloadPrediction};
use crate::report;
use crate::rules;
use crate::settings::FailOn;

use super::args::{PredictArgs, TableFormat};
use super::input::{Gate, Instead, prepare, tell_files, tell_findings};
use super::output::Stop;
use super::session::{Output, Session};
use super::terminal::look;

pub(super) fn run(session: &Session, args: &PredictArgs) -> Result<Exit, Stop> {
    let run = prepare(session, &args.common, Instead::Files, Gate::No)?;
    let settings = run.layer.resolved(FailOn::default());
    tell_files(session, &run.set, &args.common);
    let judged = run.on_threads(session, || {
        engine::judge(&run.set, |set| {
            let renderings = render_relevant(set);
            let context = Context::new(set, &renderings, &settings);
            let mut predictions = predict::predict_all(&context);
            predict::sort_by_place(&mut predictions);
            let mut notes = engine::not_followed(&renderings, &predictions);
            notes.retain(|note| {
                let mut overlays = note.overlays.iter();
                overlays.any(|one| context.inventory.is_target_overlay(one))
            });
            notes.extend(engine::broken_texts(&context));
            notes.extend(engine::ambiguous_configs(&predictions));
            (Some(shown(args, &context, &predictions)), notes)
        })
    });
    let (shown, notes) = judged.value;
    let is_json = args.output_format == TableFormat::Json && !args.explain;
    // Without predictions, JSON is still a whole document.
    let shown = shown.or_else(|| is_json.then(|| json(&Report::empty())));
    let mut findings = judged.faults;
    findings.extend(notes);
    findings.extend(engine::problems(&run.set));
    findings.extend(rules::unrendered(&run.set.files));
    tell_findings(session, &run.set, &findings, &args.common);
    match shown {
        // meshprobe panicked on every file, which the findings report.
        None => {}
        Some(Shown::Rows(rows)) => {
            let look = look(session, Output::Stdout, args.common.color);
            session.print_text(&report::table(&rows, look))?;
        }
        Some(Shown::Explanations(all)) => {
            let look = look(session, Output::Stdout, args.common.color);
            session.print_text(&report::explanations(&all, look))?;
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
        let all = predict::explanations(context, predictions, &machines);
        return Shown::Explanations(all);
    }
    match args.output_format {
        TableFormat::Table => Shown::Rows(predict::table(predictions, &machines)),
        TableFormat::Json => json(&Report::new(context, predictions, &machines)),
    }
}

fn json(report: &Report) -> Shown {
    Shown::Json(serde_json::to_string_pretty(report))
}

enum Shown {
    Rows(Vec<Row>),
    Explanations(Vec<Explanation>),
    Json(serde_json::Result<String>),
}
