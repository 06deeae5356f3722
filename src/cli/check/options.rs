//! The options of `meshprobe check` as settings.

use std::collections::BTreeSet;

use meshprobe_mesh::finding::{RuleId, Severity};
use meshprobe_mesh::settings::{FailOn, Layer, RequiredVerdicts, RuleLevel};

use super::super::args::{CheckArgs, FailOnArg, SeverityArg};
use super::super::stop::Stop;
use meshprobe_engine::engine::rule_names;

/// Returns the options of this command as a layer of settings.
///
/// # Errors
/// An unknown rule, or a reason for `--add-ignore` that is empty or has several lines.
pub(in crate::cli) fn options(args: &CheckArgs) -> Result<Layer, Stop> {
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
        fail_on: args.fail_on.iter().filter_map(fail_on).reduce(FailOn::or),
        required: required(args),
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

const fn severity(arg: SeverityArg) -> Severity {
    match arg {
        SeverityArg::Error => Severity::Error,
        SeverityArg::Warning => Severity::Warning,
        SeverityArg::Note => Severity::Note,
    }
}

const fn fail_on(arg: &FailOnArg) -> Option<FailOn> {
    match arg {
        FailOnArg::Error => Some(FailOn::Severity(Severity::Error)),
        FailOnArg::Warning => Some(FailOn::Severity(Severity::Warning)),
        FailOnArg::Note => Some(FailOn::Severity(Severity::Note)),
        FailOnArg::Never => Some(FailOn::Never),
        FailOnArg::NotJudged => None,
    }
}

/// Returns the verdicts that the options require; `None` if they leave it to the configuration.
fn required(args: &CheckArgs) -> Option<RequiredVerdicts> {
    if args.fail_on.contains(&FailOnArg::NotJudged) {
        return Some(RequiredVerdicts::All);
    }
    match args.report.require_workloads {
        true => Some(RequiredVerdicts::One),
        false => (!args.fail_on.is_empty()).then_some(RequiredVerdicts::None),
    }
}
