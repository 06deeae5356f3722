//! `meshprobe explain`, `rule` and `schema`: pages and schemas.

use std::path::Path;

use meshprobe_engine::engine;
use meshprobe_engine::engine::{
    AnalysisRequest, Exit, Outcome, Predictions, ProbeReport, SymptomProbe, analyse, explained,
    failing, rule_names, symptom_probes,
};
use meshprobe_mesh::finding::{RuleId, Severity};
use meshprobe_mesh::settings;
use meshprobe_mesh::settings::FailOn;
use meshprobe_report as report;
use meshprobe_report::{SymptomMatch, rule_page};
use meshprobe_rules::symptoms;
use meshprobe_rules::symptoms::{Match, Symptom};

use super::args::{ExplainArgs, ExplainFormat, RuleArgs, RuleFormat, SchemaArgs, SchemaKind};
use super::input::{RenderFallback, prepare, print_findings};
use super::session::{OutputStream, Session};
use super::stop::Stop;
use super::terminal::terminal_style;
use crate::krm;

pub(super) fn run(session: &Session, args: &ExplainArgs) -> Result<Exit, Stop> {
    let Some(given) = args.text.as_deref() else {
        return list(session, args);
    };
    let reads_twice = given == "-" && args.common.paths.iter().any(|path| path == Path::new("-"));
    if reads_twice {
        return Err(
            Stop::usage("standard input cannot be both the text and a manifest")
                .help("pass the text as an argument, in quotes"),
        );
    }
    let text = match given {
        "-" => String::from_utf8_lossy(&session.read_stdin()?).into_owned(),
        given => given.to_owned(),
    };
    reject_words_as_paths(session, args)?;
    let id = text.trim();
    let symptom = symptoms::all().iter().find(|symptom| symptom.id == id);
    let rule = rule_names().parse(id).ok();
    match (symptom, rule) {
        (Some(symptom), _) => by_id(session, args, symptom),
        (None, Some(rule)) => by_rule(session, args, rule),
        (None, None) => by_text(session, args, &text),
    }
}

/// Prints all symptoms.
fn list(session: &Session, args: &ExplainArgs) -> Result<Exit, Stop> {
    if args.is_json() {
        let all: Vec<_> = symptoms::all().iter().map(without_line).collect();
        return print_json(session, &all, None);
    }
    session.print_text(&report::symptom_list())?;
    Ok(Exit::Success)
}

/// Prints the page of a symptom, and the probes of the tree to which it applies.
fn by_id(session: &Session, args: &ExplainArgs, symptom: &'static Symptom) -> Result<Exit, Stop> {
    answer(session, args, symptom.title(), &[Match::named(symptom)])
}

/// Prints the page of a rule; in JSON, the symptoms whose pages name it.
fn by_rule(session: &Session, args: &ExplainArgs, rule: RuleId) -> Result<Exit, Stop> {
    let symptoms = symptoms::all().iter().filter(|symptom| symptom.names(rule));
    if args.is_json() {
        let found: Vec<_> = symptoms.map(without_line).collect();
        return print_json(session, &found, None);
    }
    for notice in explained().iter().filter(|notice| notice.id == rule) {
        session.print_text(&rule_page(notice))?;
    }
    let ids: Vec<&str> = symptoms.map(|symptom| symptom.id).collect();
    if !ids.is_empty() {
        session.print_text(&format!(
            "\nSymptoms: {} (`meshprobe explain ID` shows the page)\n",
            ids.join(", ")
        ))?;
    }
    Ok(Exit::Success)
}

/// Prints the page of the symptom that a text shows.
fn by_text(session: &Session, args: &ExplainArgs, text: &str) -> Result<Exit, Stop> {
    let found = symptoms::find(text);
    if !found.is_empty() {
        return answer(session, args, text, &found);
    }
    if args.is_json() {
        print_json(session, &[], None)?;
    }
    session.errln("error: no symptom is known for this text");
    let is_file = !text.trim().is_empty()
        && session
            .directory()
            .is_ok_and(|directory| directory.join(text.trim()).is_file());
    session.errln(if is_file {
        "help: to explain the content of a file, pass it on standard input: `meshprobe explain - < FILE`"
    } else {
        "help: paste the event as `kubectl describe pod` shows it; `meshprobe explain` lists the known symptoms, and \
         `meshprobe predict PATH` shows the outcome of each probe"
    });
    Ok(Exit::Findings)
}

/// Prints the page of the best match, and the probes of the tree.
fn answer(
    session: &Session,
    args: &ExplainArgs,
    text: &str,
    found: &[Match],
) -> Result<Exit, Stop> {
    let has_paths = !args.common.paths.is_empty() || args.common.renders();
    let run = has_paths.then(|| analysed(session, args)).transpose()?;
    let probes = run.as_ref().map(|run| {
        let workloads = run.predictions.workloads.as_deref();
        symptom_probes(workloads.unwrap_or_default(), &run.outcome, text, found)
    });
    let exit = run.as_ref().map_or(Exit::Success, |run| run.exit);
    if args.is_json() {
        let found: Vec<SymptomMatch<'_>> = found.iter().map(SymptomMatch::from).collect();
        print_json(session, &found, probes.as_deref())?;
        return Ok(exit);
    }
    let style = terminal_style(session, OutputStream::Stdout, args.common.color);
    session.print_text(&report::symptom_page(found, style))?;
    if let Some(probes) = probes {
        let probes = report::symptom_probes(&probes, style);
        session.print_text(&format!("\n{probes}"))?;
    }
    Ok(exit)
}

/// The predictions and the findings of the tree.
struct Analysed {
    predictions: Predictions,
    outcome: Outcome,
    exit: Exit,
}

/// Analyses the tree, and prints what could not be read.
fn analysed(session: &Session, args: &ExplainArgs) -> Result<Analysed, Stop> {
    let run = prepare(session, &args.common, RenderFallback::Files, None)?;
    run.reject_nothing_read()?;
    let mut settings = run.layer.resolved(FailOn::default());
    settings.min_severity = None;
    let (predictions, outcome) = run.on_threads(session, || {
        let renderings = engine::rendered(&run.set, None);
        let request = AnalysisRequest {
            renderings: renderings.as_deref(),
            ..AnalysisRequest::new(&run.set, &settings)
        };
        (engine::predict(&request), analyse(&request).outcome)
    });
    print_findings(session, &run.set, &predictions.findings, &args.common);
    if !args.common.quiet {
        let is_broken = |probe: &&ProbeReport| probe.outcome.is_bad() || probe.outcome.is_invalid();
        let machines = predictions.workloads.iter().flatten();
        let machines = machines.filter(|workload| workload.is_machine);
        let broken = machines
            .flat_map(|machine| &machine.handlers)
            .filter(is_broken);
        let broken = broken.count();
        // No text is predicted for them, because the kubelet does not check virtual machines.
        if broken > 0 {
            session.errln(&format!(
                "note: {broken} of the checks of virtual machines fail or are refused, and are not compared with the text; \
                 `meshprobe check` reports them"
            ));
        }
        for line in report::not_judged_lines(&run.set, &predictions.not_judged) {
            session.errln(&line);
        }
    }
    let broken = failing(&predictions.findings, FailOn::Severity(Severity::Error));
    Ok(Analysed {
        exit: run.exit().or(broken, Exit::Findings),
        predictions,
        outcome,
    })
}

fn print_json(
    session: &Session,
    found: &[SymptomMatch<'_>],
    probes: Option<&[SymptomProbe<'_>]>,
) -> Result<Exit, Stop> {
    let text =
        report::symptoms_json(found, probes).map_err(|error| Stop::usage(error.to_string()))?;
    session.print_data(&report::json_safe(&text))?;
    Ok(Exit::Success)
}

const fn without_line(symptom: &'static Symptom) -> SymptomMatch<'static> {
    SymptomMatch {
        symptom,
        line: None,
    }
}

/// Rejects a text without quotes, whose words the shell passes as paths.
fn reject_words_as_paths(session: &Session, args: &ExplainArgs) -> Result<(), Stop> {
    let directory = session.directory()?;
    let exists = |path: &Path| path == Path::new("-") || directory.join(path).exists();
    let missing = args.common.paths.iter().find(|path| !exists(path));
    match missing {
        None => Ok(()),
        Some(path) => Err(
            Stop::usage(format!("`{}` is not a file or folder", path.display())).help(
                "put the text in quotes, or pass it on standard input: `meshprobe explain -`",
            ),
        ),
    }
}

impl ExplainArgs {
    fn is_json(&self) -> bool {
        self.output_format == ExplainFormat::Json
    }
}

/// Prints the page of a rule, or the list of all rules.
pub(super) fn rule(session: &Session, args: &RuleArgs) -> Result<Exit, Stop> {
    let notices = explained();
    if args.output_format == RuleFormat::Json {
        let text = report::rules_json().map_err(|error| Stop::usage(error.to_string()))?;
        session.print_data(&text)?;
        return Ok(Exit::Success);
    }
    if args.all {
        let pages: Vec<String> = notices.iter().map(rule_page).collect();
        session.print_text(&pages.join("\n"))?;
        return Ok(Exit::Success);
    }
    match &args.id {
        None => {
            session.print_text(&report::rule_list())?;
        }
        Some(id) => {
            let id = rule_names().parse(id).map_err(Stop::usage)?;
            for notice in notices.iter().filter(|notice| notice.id == id) {
                session.print_text(&rule_page(notice))?;
            }
        }
    }
    Ok(Exit::Success)
}

/// Prints a schema.
pub(super) fn schema(session: &Session, args: &SchemaArgs) -> Result<Exit, Stop> {
    let text = match args.of {
        SchemaKind::Config => serde_json::to_string_pretty(&settings::schema(rule_names()))
            .map(|text| text + "\n")
            .map_err(|error| Stop::usage(error.to_string()))?,
        SchemaKind::Function => {
            krm::definition().map_err(|error| Stop::usage(error.to_string()))?
        }
    };
    session.print_data(&text)?;
    Ok(Exit::Success)
}
